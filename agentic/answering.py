"""Which model answers for a tenant: the configured one where text may leave for it, else the built-in reader."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from django.conf import settings

from agentic.admission import Models
from agentic.core.ports import Model
from agentic.llm import sandbox
from agentic.llm.configured import configured_models
from agentic.llm.extractive import ExtractiveReader
from agentic.llm.http import HttpModel
from agentic.workers import in_worker
from mailsearch.embeddings import configured_embedder
from mailsearch.models import Tenant


async def models_for(tenant: int, question: str = "") -> Models:
    """The models for a tenant's next run, which asks *question*.

    A tenant whose text may not leave, and a service for which no model is named, are served by the built-in reader,
    whose name then stands in the response. It is never put in place of a model that fails. The fixed questions of the
    sandbox are answered by its script; no other tenant ever is.
    """
    may_leave, is_sandbox = await in_worker(_terms, tenant)
    if is_sandbox and (fixed := sandbox.find(question)):
        return Models(sandbox.SandboxModel(fixed), chat=False, used_up=fixed.outcome is None)
    configured = _configured()
    if configured is None or may_leave == Tenant.MayLeave.NOTHING:
        return Models(reader(), chat=False)
    return configured


@asynccontextmanager
async def connected() -> AsyncIterator[None]:
    """At the end of this block, connections to the models that the running event loop opened are closed."""
    try:
        yield
    finally:
        for made in _closable(_configured()):
            await made.aclose()


def failing() -> tuple[bool, ...] | None:
    """Of the model and its fallback, whether each is failing in this process; None where no model is configured."""
    models = _configured()
    return tuple(made.is_failing for made in _closable(models)) if models else None


def _closable(models: Models | None) -> list[HttpModel]:
    both = (models.answering, models.fallback) if models else ()
    return [model for model in both if isinstance(model, HttpModel)]


def reader() -> Model:
    """The built-in extractive reader, which compares meanings by the embedding that comes along."""
    return ExtractiveReader(configured_embedder(Tenant.MayLeave.NOTHING).embed)


def _configured() -> Models | None:
    names = ("AGENT_MODEL", "AGENT_BASE_URL", "AGENT_API_TOKEN", "AGENT_FALLBACK_MODEL", "CLOUDFLARE_ACCOUNT_ID")
    return _made(tuple((f"PM_{name}", str(getattr(settings, f"PM_{name}", ""))) for name in names))


@lru_cache(4)
def _made(named: tuple[tuple[str, str], ...]) -> Models | None:
    """The same models every time, since they keep connections and know whether they answered lately."""
    answering, fallback = configured_models(dict(named))
    if answering is None:
        return None
    dearer = max((one.prices for one in (answering, fallback) if one), key=lambda prices: prices.prompt)
    return Models(answering, fallback, prices=dearer)


def _terms(tenant: int) -> tuple[str, bool]:
    return Tenant.objects.values_list("may_leave", "sandbox").get(pk=tenant)
