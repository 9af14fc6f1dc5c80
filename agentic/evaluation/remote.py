"""The model that the settings name, for evaluations: patient, since a slow model is to be judged by what it says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings

from agentic.core.ports import Model
from agentic.evaluation.report import BadInput
from agentic.llm.breaker import Breaker
from agentic.llm.configured import configured_models
from agentic.llm.http import HttpModel
from mailsearch.sessions import pool

# Seconds that a first byte may take, and the pause between two; the budget of a run ends it all the same.
_PATIENCE = 3_600.0


class _AlwaysClosed(Breaker):
    """A circuit that never opens: a question that the model was not asked would say nothing about it."""

    def failed(self, code: str) -> None:
        """See Breaker."""


def remote_model() -> HttpModel:
    """The configured model. Raises BadInput where the settings name none."""
    values = {key: getattr(settings, key, "") for key in dir(settings) if key.startswith("PM_")}
    model, _ = configured_models(values, breaker=_AlwaysClosed, patience=_PATIENCE)
    if model is None:
        raise BadInput("--model http needs PM_AGENT_MODEL and where to find it")
    return model


@asynccontextmanager
async def at_work(model: Model | None) -> AsyncIterator[None]:
    """A pool of sessions for the running event loop; in the end it and the connections of *model* are closed."""
    try:
        async with pool():
            yield
    finally:
        if isinstance(model, HttpModel):
            await model.aclose()
