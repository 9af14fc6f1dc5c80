"""Limits of size and time on what is sent to the service, kept before anything else looks at it.

Django reads a body whole before a view runs, however large it is and however long it takes; so both are limited at the
edge, where a refusal costs nothing. What is sent too slowly holds a connection, but never a worker.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from agentic.web import problems
from agentic.web.problems import Problem

LARGEST, LARGEST_MAIL = 1_000_000, 50_000_000
# For 1 MB, and for mail.
SECONDS, MAIL_SECONDS = 20.0, 300.0
_LINGER_SECONDS = 1.0
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
_MAIL_PATH = "/v1/messages"


def limited(application: Application, *, seconds: float = SECONDS, mail_seconds: float = MAIL_SECONDS) -> Application:
    """*application* for which no body is larger, or takes longer to come, than it may."""

    async def with_limits(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        is_mail = scope["path"] == _MAIL_PATH and scope["method"] == "POST"
        largest = LARGEST_MAIL if is_mail else LARGEST
        body = _Body(receive, largest, mail_seconds if is_mail else seconds)
        if _announced(scope) > largest:
            await body.discard()
            await _refuse(scope, send, _too_large(largest))
            return
        answer = _Answer(send)
        await application(scope, body.receive, answer.send)
        if body.refused is not None and not answer.begun:
            await body.discard()
            await _refuse(scope, send, body.refused)

    return with_limits


class _Body:
    """A request's body as it comes. Where it breaks a limit, the application is told that the client has left."""

    def __init__(self, receive: Receive, largest: int, seconds: float) -> None:
        self._receive = receive
        self._largest = largest
        self._ends = asyncio.get_running_loop().time() + seconds
        self._size = 0
        self._whole = False
        self.refused: Problem | None = None

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._receive()
        except TimeoutError:
            self.refused = Problem("too-slow", "Send the body at once, and on a better line try again.")
            return {"type": "http.disconnect"}
        self._size += len(message.get("body", b""))
        if self._size > self._largest:
            self.refused = _too_large(self._largest)
            return {"type": "http.disconnect"}
        self._whole = not message.get("more_body", False)
        return message

    async def discard(self) -> None:
        """Read on for a moment: whoever closes on unread bytes takes back the answer that was sent."""
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while (await self._receive()).get("more_body", False):
                    pass
        except TimeoutError:
            return


class _Answer:
    """Lets an answer through, and knows whether there was one."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def send(self, message: Message) -> None:
        self.begun = True
        await self._send(message)


def _announced(scope: MutableMapping[str, Any]) -> int:
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(given) if given.isdigit() else 0


def _too_large(largest: int) -> Problem:
    return Problem("too-large", f"A body may have {largest // 1_000_000} MB here.")


async def _refuse(scope: MutableMapping[str, Any], send: Send, problem: Problem) -> None:
    told = problems.as_json(problem, scope["path"])
    body = json.dumps(told).encode()
    headers = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        "cache-control": "private, no-store",
        # What is left of the body will not be read.
        "connection": "close",
    }
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": told["status"], "headers": raw})
    await send({"type": "http.response.body", "body": body})
