"""Which models the settings name: Workers AI, another server, or none (then the built-in reader serves)."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from agentic.llm.breaker import Breaker, Clock
from agentic.llm.http import WORKERS_AI, HttpModel
from agentic.llm.wire import Prices

WORKERS_AI_MODEL = "@cf/qwen/qwen3.8-27b"
# USD per million tokens, as documented in 2026-11.
_PRICES = {WORKERS_AI_MODEL: Prices(prompt=0.45, cached=0.05, completion=3.20)}


def configured_models(
    settings: Mapping[str, object], *, breaker: Callable[[Clock], Breaker] = Breaker, patience: float | None = None
) -> tuple[HttpModel | None, HttpModel | None]:
    """The model that answers and the one that is asked before a run is `degraded`; None for each that is not set.

    Reads PM_AGENT_MODEL, PM_AGENT_BASE_URL, PM_AGENT_API_TOKEN, PM_CLOUDFLARE_ACCOUNT_ID and PM_AGENT_FALLBACK_MODEL.
    An account without a base URL means Workers AI and a default model; a base URL needs a model's name. *patience* is
    how many seconds a reply's first byte and each next one may take, where that is not the model client's own choice.
    """
    base_url, account = _text(settings, "PM_AGENT_BASE_URL"), _text(settings, "PM_CLOUDFLARE_ACCOUNT_ID")
    name = _text(settings, "PM_AGENT_MODEL") or (WORKERS_AI_MODEL if account else "")
    if not name or not (base_url or account):
        return None, None
    fallback = _text(settings, "PM_AGENT_FALLBACK_MODEL")
    token = _text(settings, "PM_AGENT_API_TOKEN")
    waits: dict[str, Any] = {} if patience is None else {"first_byte_seconds": patience, "silence_seconds": patience}

    def model(name: str) -> HttpModel:
        # Only Workers AI is known to take an effort from every model; other servers refuse requests over it.
        return HttpModel(
            name, base_url or WORKERS_AI, token, account_id=account or None, effort="low" if account else "",
            prices=_PRICES.get(name), breaker=breaker(time.monotonic), **waits,
        )  # fmt: skip

    return model(name), model(fallback) if fallback else None


def _text(settings: Mapping[str, object], name: str) -> str:
    value = settings.get(name)
    return value.strip() if isinstance(value, str) else ""
