"""`/healthz`, `/readyz` and `/metrics`, answered before Django: a probe names no host and comes over plain HTTP."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from agentic.server import health, metrics

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_JSON = "application/json"


class Probes:
    """An ASGI application of three addresses."""

    PATHS = frozenset({"/healthz", "/readyz", "/metrics"})

    def __init__(self) -> None:
        self.health = health.Health()

    async def __call__(self, scope: Mapping[str, Any], send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await _send(send, scope, 405, b"", "text/plain", allow="GET, HEAD")
        elif scope["path"] == "/healthz":
            await _send(send, scope, 200, b'{"alive": true}', _JSON)
        elif scope["path"] == "/readyz":
            await self._ready(scope, send)
        elif metrics.admits(_authorization(scope)):
            await _send(send, scope, 200, metrics.exposition(), metrics.CONTENT_TYPE)
        else:
            # Without a token set nobody is to learn that there is anything here.
            await _send(send, scope, 404, b"", "text/plain")

    async def _ready(self, scope: Mapping[str, Any], send: Send) -> None:
        checks = await self.health.checks()
        ready = health.is_ready(checks)
        told = {check.name: {"state": check.state, "word": check.word} for check in checks}
        await _send(send, scope, 200 if ready else 503, json.dumps({"ready": ready, "checks": told}).encode(), _JSON)


def _authorization(scope: Mapping[str, Any]) -> str:
    given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
    return given[0].decode("latin-1") if len(given) == 1 else ""


async def _send(send: Send, scope: Mapping[str, Any], status: int, body: bytes, content_type: str, **more: str) -> None:
    headers = {"content-type": content_type, "content-length": str(len(body)), "cache-control": "no-store", **more}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
