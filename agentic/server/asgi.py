"""The service as an ASGI application: Django, and what must live as long as the process does.

At its start a process refuses a login that could bypass row-level security, opens its database pool, listens for the
doorbell and closes the runs that a dead process left; at its end it lets its own runs end within their budgets.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from agentic import answering, batches, doorbell, runs, verifiers  # noqa: E402 - Django must be set up first
from agentic.server import garbage, logs, metrics  # noqa: E402
from agentic.server.probes import Probes  # noqa: E402
from agentic.server.start import refuse_bypass  # noqa: E402
from agentic.web.bodies import limited  # noqa: E402
from agentic.web.mcp.endpoint import PATH as MCP_PATH  # noqa: E402
from agentic.web.mcp.endpoint import Endpoint  # noqa: E402
from mailsearch import embeddings, sessions  # noqa: E402

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_SWEEP_SECONDS = 15.0
mcp = Endpoint()
probes = Probes()
_log = logging.getLogger(__name__)
# A server tells its log of every seal, whatever else it keeps silent about: a place that knows what a database held.
logging.getLogger("agentic.sealing").setLevel(logging.INFO)
_django_within_limits = limited(django_application)  # type: ignore[arg-type]


async def application(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    """The ASGI entry point."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "http" and scope["path"] in probes.PATHS:
        await probes(scope, send)
    elif scope["type"] == "http" and scope["path"].rstrip("/") == MCP_PATH:
        await mcp(scope, receive, send)
    else:
        await _django_within_limits(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    try:
        async with living():
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await runs.drain()
        await send({"type": "lifespan.shutdown.complete"})
    except Exception as error:
        await send({"type": "lifespan.startup.failed", "message": str(error)})
        raise


@asynccontextmanager
async def living() -> AsyncIterator[None]:
    """What the process needs while it serves. Raises ImproperlyConfigured where the login could bypass."""
    logs.hush()
    await asyncio.to_thread(refuse_bypass, sessions.dsn())
    verifiers.warm()
    await _warm()
    garbage.settle()
    async with sessions.pool(), answering.connected(), mcp.serving():
        sweeper = asyncio.create_task(_sweep())
        try:
            with doorbell.listening():
                yield
        finally:
            sweeper.cancel()
            await asyncio.to_thread(metrics.leave)
            await asyncio.to_thread(verifiers.close)


async def _warm() -> None:
    """Load the embedding model before the first request comes. Without it search goes by keywords."""
    try:
        await asyncio.to_thread(embeddings.warm)
    except embeddings.EmbeddingUnavailable as error:
        _log.warning("semantic search is off: %s", error)


async def _sweep() -> None:
    """Close the runs of processes that died, at the start and again, and seal the accesses that came meanwhile."""
    while True:
        try:
            closed = await runs.close_left_over()
            if closed:
                _log.warning("closed %s runs that a dead process left", closed)
            await batches.seal_new()
            await probes.health.look_up_backlog()
        except psycopg.Error:
            _log.warning("could not look for runs that a dead process left, for accesses to seal and passages to embed")
        await metrics.listen()
        await asyncio.sleep(_SWEEP_SECONDS)
