"""How fast a caller may ask: a bucket for each caller and each tenant, in each process.

A soft limit against accidents. What must hold exactly (runs of a day, runs at once) is counted in the database.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.conf import settings

from agentic.callers import Principal
from agentic.web.problems import Problem

_BURST = 2.0
# Buckets that are kept; the longest unused go first, and an unused bucket is a full one anyway.
_KEPT = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


@dataclass(slots=True)
class Rates:
    """Buckets by name. `take` gives 0.0 where a request may pass, else the seconds until one may."""

    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, per_second: float) -> float:
        now = self.clock()
        with self._lock:
            bucket = self._buckets.pop(name, None) or _Bucket(per_second * _BURST, now)
            self._buckets[name] = bucket
            if len(self._buckets) > _KEPT:
                self._buckets.popitem(last=False)
            bucket.tokens = min(per_second * _BURST, bucket.tokens + (now - bucket.filled_at) * per_second)
            bucket.filled_at = now
            if bucket.tokens >= 1:
                bucket.tokens -= 1
                return 0.0
            return (1 - bucket.tokens) / per_second

    def left(self, name: str, per_second: float) -> int:
        """Requests that may come at once."""
        with self._lock:
            bucket = self._buckets.get(name)
            return int(bucket.tokens if bucket else per_second * _BURST)


rates = Rates()


def check(principal: Principal) -> None:
    """Count one request. Raises Problem where the caller or its tenant asks too fast."""
    for name, bucket, per_second in _limits(principal):
        seconds = rates.take(bucket, per_second)
        if seconds:
            detail = f"At most {per_second:g} requests of this {name} a second, {_BURST * per_second:g} at once."
            raise Problem("rate-limited", detail, retry_after=max(1, math.ceil(seconds)))


def headers(principal: Principal) -> Mapping[str, str]:
    """What is allowed and left, as draft-ietf-httpapi-ratelimit-headers writes it: quota in a window of seconds, rest,
    and the seconds until all of it is there again."""
    policy, left = [], []
    for name, bucket, per_second in _limits(principal):
        quota, rest = int(_BURST * per_second), rates.left(bucket, per_second)
        policy.append(f'"{name}";q={quota};w={_BURST:.0f}')
        left.append(f'"{name}";r={rest};t={math.ceil((quota - rest) / per_second)}')
    return {"RateLimit-Policy": ", ".join(policy), "RateLimit": ", ".join(left)}


def _limits(principal: Principal) -> tuple[tuple[str, str, float], ...]:
    return (
        ("caller", principal.caller, float(settings.PM_RATE_CALLER)),
        ("tenant", f"tenant:{principal.tenant}", float(settings.PM_RATE_TENANT)),
    )
