"""What runs and streams count while they live, for /metrics (docs/operation.md).

Every label comes from a short list of words: no tenant, no caller, no run, no word of mail. A label whose words are
not listed in code takes the first sixty that look like reason codes, and calls all others `other`.
"""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from prometheus_client import Counter, Gauge, Histogram

from agentic.core.events import Event, Finished, Found, Replied

_CODE = re.compile(r"[a-z][a-z_]{0,39}")
_CODES_AT_MOST = 60
_codes: dict[str, set[str]] = {}

RUNS = Counter("mailsearch_runs", "Runs that ended, by outcome and reason.", ["outcome", "reason"])
RUN_SECONDS = Histogram(
    "mailsearch_run_seconds",
    "From the request to the run's end.",
    ["outcome"],
    buckets=(0.25, 0.5, 1, 2, 4, 6, 8, 10, 15, 30, 60, 120),
)
FIRST_EVIDENCE_SECONDS = Histogram(
    "mailsearch_first_evidence_seconds",
    "From the request to the first message of the evidence.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30),
)
MODEL_CALLS = Counter("mailsearch_model_calls", "Replies of the model, by fault; `none` could be used.", ["fault"])
MODEL_SECONDS = Histogram(
    "mailsearch_model_seconds", "How long a reply took.", buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)
)
TOKENS = Counter("mailsearch_model_tokens", "Tokens of prompts (all, and cached of them) and replies.", ["kind"])
COST = Counter("mailsearch_model_cost_usd", "USD by the model's list prices, where they are known.")
SENTENCES = Counter("mailsearch_sentences", "Sentences of answers that were kept, by support.", ["support"])
REMOVED = Counter("mailsearch_removed_sentences", "Sentences that verification removed, by reason.", ["reason"])
WIDEN_ATTEMPTS = Counter("mailsearch_widen_attempts", "Tool arguments that would have widened the scope.", ["kind"])
STREAMS = Gauge("mailsearch_streams_open", "Event streams that are followed now.", multiprocess_mode="livesum")
BACKLOG = Gauge(
    "mailsearch_embedding_backlog",
    "Passages without a vector of their tenant's model, among the newest of each tenant; looked up every 15 s.",
    multiprocess_mode="mostrecent",
)


def happened(event: Event) -> None:
    """Count *event*, of any kind but the run's end."""
    if isinstance(event, Replied):
        MODEL_CALLS.labels(_code("fault", event.fault) if event.fault else "none").inc()
        MODEL_SECONDS.observe(event.took_ms / 1000)
        TOKENS.labels("prompt").inc(event.usage.prompt)
        TOKENS.labels("cached").inc(event.usage.cached)
        TOKENS.labels("completion").inc(event.usage.completion)
        COST.inc(event.usage.cost_usd)
    elif isinstance(event, Found):
        for attempt in event.widen:
            WIDEN_ATTEMPTS.labels(attempt.kind).inc()


def ended(finished: Finished) -> None:
    """Count a run whose end is on record."""
    closed(finished.outcome, finished.reason or "", finished.seconds)
    if finished.first_evidence_ms is not None:
        FIRST_EVIDENCE_SECONDS.observe(finished.first_evidence_ms / 1000)
    if finished.verification is None:
        return
    _count_removed(sentence.reason for sentence in finished.verification.removed)
    if finished.outcome == "answered":
        for sentence in finished.verification.kept:
            SENTENCES.labels(sentence.support or "none").inc()


def closed(outcome: str, reason: str, seconds: float) -> None:
    """Count a run that somebody closed, since it could not end by itself."""
    RUNS.labels(outcome, _code("reason", reason) if reason else "none").inc()
    RUN_SECONDS.labels(outcome).observe(seconds)


@asynccontextmanager
async def streaming() -> AsyncIterator[None]:
    """Within this block one more stream is open."""
    STREAMS.inc()
    try:
        yield
    finally:
        STREAMS.dec()


def _count_removed(reasons: Iterable[str]) -> None:
    for reason in reasons:
        REMOVED.labels(_code("removed", reason)).inc()


def _code(label: str, word: str) -> str:
    known = _codes.setdefault(label, set())
    if word in known:
        return word
    if not _CODE.fullmatch(word) or len(known) >= _CODES_AT_MOST:
        return "other"
    known.add(word)
    return word
