"""How fast a caller may ask: a bucket for each caller and each tenant, in each process.

A soft limit against accidents. What must hold exactly (runs of a day, runs at once) is counted in the database.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

PER_CALLER, PER_TENANT = 10.0, 50.0
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
