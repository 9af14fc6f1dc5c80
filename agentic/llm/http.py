"""The model over HTTP: Workers AI, or any server that speaks OpenAI's chat completions."""

import asyncio
import codecs
import json
import random
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import httpx

from agentic.core.conversation import prompt_text
from agentic.core.ports import ModelFault, Prompt, Reply
from agentic.llm.breaker import Breaker, Clock
from agentic.llm.faults import PASSING, fault_of
from agentic.llm.wire import EventLines, Prices, ReplyBuilder, request_body

WORKERS_AI = "https://api.cloudflare.com"
_CONNECT_SECONDS = 3.0
# Servers that do not stream send their first byte when all is thought: a run's own deadline is the usual limit.
_FIRST_BYTE_SECONDS = 120.0
_SILENCE_SECONDS = 20.0
_RETRIES = 2
_FIRST_PAUSE = 0.2
# Sending again is pointless with less time than this left after the pause.
_LEAST_SECONDS = 1.0
_ERROR_BODY_AT_MOST = 20_000
# Bytes of a body, unpacked: many times what the longest reply takes as a stream of single tokens.
_BODY_AT_MOST = 16_000_000
# Given up after this long without a byte, a call counts against the model.
_TELLING_SECONDS = 2.0


class HttpModel:
    """A chat model behind an HTTP endpoint.

    With *account_id* it is Workers AI (`base_url` defaults to Cloudflare's), else `{base_url}/chat/completions`.
    *effort* is the reasoning effort, left out where empty. Replies are streamed, so that a server that hangs is
    noticed; one that does not stream is understood too. One client is kept for each event loop; `aclose` closes the
    running one's.
    """

    def __init__(
        self, name: str, base_url: str = WORKERS_AI, token: str = "", *, account_id: str | None = None,
        effort: str = "", prices: Prices | None = None, transport: httpx.AsyncBaseTransport | None = None,
        breaker: Breaker | None = None, clock: Clock = time.monotonic,
        first_byte_seconds: float = _FIRST_BYTE_SECONDS, silence_seconds: float = _SILENCE_SECONDS,
    ) -> None:  # fmt: skip
        path = f"/client/v4/accounts/{account_id}/ai/v1/chat/completions" if account_id else "/chat/completions"
        self.name = name
        self._url = base_url.rstrip("/") + path
        self._workers_ai = bool(account_id)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._effort = effort
        self.prices = prices or Prices()
        self._transport = transport
        self._breaker = breaker or Breaker(clock)
        self._clock = clock
        self._first_byte_seconds = first_byte_seconds
        self._silence_seconds = silence_seconds
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def is_failing(self) -> bool:
        """Whether its circuit is open, in this process."""
        return self._breaker.is_open

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        """One reply, or ModelFault with a code of `faults`, `circuit_open`, `hung`, `cut`, `timeout` or `unreachable`.

        What may pass is tried again as long as *deadline* (on the model's clock) leaves time for it.
        """
        for attempt in range(_RETRIES + 1):
            try:
                return await self._attempt(prompt, deadline)
            except ModelFault as fault:
                pause = _pause(fault, attempt)
                if fault.code not in PASSING or attempt == _RETRIES:
                    raise
                if self._clock() + pause + _LEAST_SECONDS > deadline:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, prompt: Prompt, deadline: float) -> Reply:
        if not self._breaker.admits():
            raise ModelFault("circuit_open", "the model failed repeatedly; it is tried again in a moment")
        began = self._clock()
        exchange = _Exchange(ReplyBuilder(self.name, self.prices, len(prompt_text(prompt))))
        try:
            reply = await self._within(exchange, prompt, deadline)
        except ModelFault as fault:
            # A fault that came with part of a reply, or that is the prompt's, says nothing against the model.
            if fault.charged or fault.code in {"too_long", "bad_request", "json_mode_unmet"}:
                self._breaker.succeeded()
            else:
                self._breaker.failed(fault.code)
            raise
        except asyncio.CancelledError:
            if exchange.bytes_came or self._clock() - began < _TELLING_SECONDS:
                self._breaker.released()
            else:
                self._breaker.failed("hung")
            raise
        self._breaker.succeeded()
        return reply

    async def _within(self, exchange: "_Exchange", prompt: Prompt, deadline: float) -> Reply:
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock())):
                return await self._exchange(exchange, prompt)
        except TimeoutError as error:
            if exchange.bytes_came:
                raise exchange.builder.fault("timeout", "the reply had begun") from error
            raise ModelFault("hung", "no byte came in time") from error

    async def _exchange(self, exchange: "_Exchange", prompt: Prompt) -> Reply:
        builder = exchange.builder
        try:
            async with self._response(prompt) as response:
                if response.status_code != 200:
                    raise _with_pause(fault_of(response.status_code, await _body(response)), response)
                if "event-stream" in response.headers.get("content-type", ""):
                    await self._read_stream(exchange, response)
                else:
                    builder.take(await self._read_whole(exchange, response))
        except httpx.TimeoutException as error:
            raise ModelFault("unreachable", "no connection in time") from error
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.DecodingError) as error:
            # Only what came at all can have been cut.
            raise (builder.fault("cut") if exchange.bytes_came else ModelFault("unreachable", "cut")) from error
        except httpx.HTTPError as error:
            raise ModelFault("unreachable", type(error).__name__) from error
        return builder.reply()

    @asynccontextmanager
    async def _response(self, prompt: Prompt) -> AsyncIterator[httpx.Response]:
        body = request_body(prompt, self.name, effort=self._effort, workers_ai=self._workers_ai)
        headers = {"x-session-affinity": prompt.session, "content-type": "application/json"}
        # By hand: a reply may have held half of a surrogate pair, which has no place in UTF-8.
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        request = self._client().build_request("POST", self._url, content=content, headers=headers)
        try:
            async with asyncio.timeout(self._first_byte_seconds):
                response = await self._client().send(request, stream=True)
        except TimeoutError as error:
            raise ModelFault("hung", "no byte of a response") from error
        try:
            yield response
        finally:
            await response.aclose()

    async def _read_stream(self, exchange: "_Exchange", response: httpx.Response) -> None:
        lines, done = EventLines(), False
        async for text in self._chunks(exchange, response):
            for data in lines.feed(text):
                done = done or data == "[DONE]"
                if not done and data:
                    exchange.builder.take(data)
            if done:
                return
        for data in lines.end():
            if data and data != "[DONE]":
                exchange.builder.take(data)
        if not exchange.builder.complete:
            raise exchange.builder.fault("cut", "the stream ended early")

    async def _read_whole(self, exchange: "_Exchange", response: httpx.Response) -> str:
        return "".join([text async for text in self._chunks(exchange, response)])

    async def _chunks(self, exchange: "_Exchange", response: httpx.Response) -> AsyncIterator[str]:
        """The body as text, as it comes. Raises ModelFault `hung` when nothing comes."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        chunks, came = response.aiter_bytes(), 0
        while True:
            limit = self._silence_seconds if exchange.bytes_came else self._first_byte_seconds
            try:
                # Not `wait_for`: before Python 3.12 it loses a cancel, as of a deadline, that comes with a chunk.
                async with asyncio.timeout(limit):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                if exchange.bytes_came:
                    raise exchange.builder.fault("hung", "the stream fell silent") from error
                raise ModelFault("hung", "no byte of the body") from error
            if chunk is None:
                break
            exchange.bytes_came = exchange.bytes_came or bool(chunk)
            came += len(chunk)
            if came > _BODY_AT_MOST:
                raise exchange.builder.fault("too_long_reply")
            yield decoder.decode(chunk)
        yield decoder.decode(b"", final=True)

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx.AsyncClient(
                headers=self._headers,
                timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
                transport=self._transport,
                follow_redirects=False,
            )
        return client


class _Exchange:
    """One request on its way: what came of it so far."""

    def __init__(self, builder: ReplyBuilder) -> None:
        self.builder = builder
        self.bytes_came = False


class _PausedFault(ModelFault):
    """A fault whose server said how long to wait, in seconds."""

    retry_after: float = 0.0


def _with_pause(fault: ModelFault, response: httpx.Response) -> ModelFault:
    paused = _PausedFault(fault.code, fault.detail)
    try:
        paused.retry_after = max(0.0, float(response.headers.get("retry-after", "")))
    except ValueError:
        return fault
    return paused


def _pause(fault: ModelFault, attempt: int) -> float:
    # With jitter, so that the runs of a busy minute do not come back together.
    grown: float = _FIRST_PAUSE * 2.0**attempt * (1 + random.random())  # noqa: S311
    return max(grown, fault.retry_after if isinstance(fault, _PausedFault) else 0.0)


async def _body(response: httpx.Response) -> str:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _ERROR_BODY_AT_MOST:
            break
    return body.decode("utf-8", "replace")
