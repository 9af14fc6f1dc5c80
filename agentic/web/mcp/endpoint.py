"""`/mcp` as an ASGI application beside Django: who may speak to it, from where, and how much at once.

Streamable HTTP without sessions: each POST stands for itself, so any worker may answer it, and nothing but POST is
taken. What the library would check of Host and Origin is checked here against the hosts that Django serves.
"""

import asyncio
import json
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus

from agentic.callers import Principal, Unrecognised, resolve_key
from agentic.web import problems, rates
from agentic.web.mcp.server import PRINCIPAL, make_server
from agentic.web.problems import Problem
from agentic.workers import in_worker

PATH = "/mcp"
_BODY_SECONDS = 15.0
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(slots=True)
class Endpoint:
    """The application. It serves within `serving`, which belongs to the event loop's lifespan."""

    _managers: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, StreamableHTTPSessionManager]" = field(
        default_factory=weakref.WeakKeyDictionary
    )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """While this block runs, requests of this event loop are served."""
        # Else every open response would be cut when a shutdown begins, though runs may end within their budgets.
        AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]
        manager = StreamableHTTPSessionManager(
            make_server(),
            stateless=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        )
        loop = asyncio.get_running_loop()
        async with manager.run():
            self._managers[loop] = manager
            try:
                yield
            finally:
                del self._managers[loop]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            _check_place(scope, headers)
            principal = await in_worker(resolve_key, _token(headers))
            body = await _body(receive, headers)
        except (Problem, Unrecognised) as error:
            await _refuse(problems.of(error), send)
            return
        manager = self._managers.get(asyncio.get_running_loop())
        if manager is None:
            await _refuse(Problem("search-unavailable", "The service is starting or stopping.", retry_after=1), send)
            return
        await manager.handle_request(
            {**scope, PRINCIPAL: principal}, _replayed(body, receive), _private(send, principal)
        )


def _check_place(scope: Scope, headers: Mapping[str, str]) -> None:
    """Refuse hosts that are not ours, pages of other origins (they reach us by rebinding a name), and plain HTTP."""
    if scope["method"] != "POST":
        raise Problem("method-not-allowed", "It takes POST alone: there are no sessions, and no streams beside calls.")
    host = headers.get("host", "")
    domain, _ = split_domain_port(host)
    if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
        raise Problem("invalid-request", "This server does not answer for that Host; PM_ALLOWED_HOSTS names them.")
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise Problem("not-permitted", "Pages of another Origin may not speak to this server.")
    if settings.SECURE_SSL_REDIRECT and "https" not in (scope.get("scheme"), headers.get("x-forwarded-proto")):
        raise Problem("invalid-request", "Use https: a key must not travel in the open.")


def _token(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.casefold() != "bearer":
        raise Unrecognised
    return token.strip()


async def _body(receive: Receive, headers: Mapping[str, str]) -> bytes:
    """The whole body. Raises Problem for one that is too long or comes too slowly."""
    largest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    declared = headers.get("content-length", "")
    read = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            more = True
            while more and max(len(read), int(declared) if declared.isdigit() else 0) <= largest:
                message = await receive()
                read += message.get("body", b"")
                more = bool(message.get("more_body", False))
    except TimeoutError as error:
        raise Problem("too-slow", f"It must come within {_BODY_SECONDS:.0f} s.") from error
    if more or len(read) > largest:
        raise Problem("too-large", "A request body may have 1 MB.")
    return bytes(read)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more for whoever handles it, then what really comes: the client's leaving."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _private(send: Send, principal: Principal) -> Send:
    """Responses are nobody else's, and say what may still be asked at once."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() != b"cache-control"]
            added = {
                "cache-control": "private, no-store, no-transform",
                "x-content-type-options": "nosniff",
                **{name.lower(): value for name, value in rates.headers(principal).items()},
            }
            message = {
                **message,
                "headers": [*kept, *((name.encode(), value.encode()) for name, value in added.items())],
            }
        await send(message)

    return sending


async def _refuse(problem: Problem, send: Send) -> None:
    """Answer with a problem, as every address of the API does."""
    told = problems.as_json(problem, PATH)
    headers = {"content-type": "application/problem+json", "cache-control": "private, no-store"}
    match told["status"]:
        case 401:
            headers["www-authenticate"] = "Bearer"
        case 405:
            headers["allow"] = "POST"
    if "retry_after" in told:
        headers["retry-after"] = str(told["retry_after"])
    await send({"type": "http.response.start", "status": told["status"], "headers": _pairs(headers)})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})


def _pairs(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
