"""A loopback server that speaks the real wire format of chat completions, with every fault it is told to have."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Exchange = Callable[["_Handler"], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)


class ModelServer:
    """Answers with one exchange of the script after the other; the last one again and again."""

    def __init__(self, *script: Exchange) -> None:
        self.seen: list[Seen] = []
        self.script = list(script)
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = False
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whoever hangs is let go, so that no thread outlives the test.
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Of the request that is being answered.
    body: Mapping[str, Any]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        owner: ModelServer = self.server.owner  # type: ignore[attr-defined]
        self.body = body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        owner.seen.append(Seen(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        exchange = owner.script.pop(0) if len(owner.script) > 1 else owner.script[0]
        try:
            exchange(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @property
    def released(self) -> threading.Event:
        owner: ModelServer = self.server.owner  # type: ignore[attr-defined]
        return owner.released

    def send(self, status: int, body: str, content_type: str = "application/json", **headers: str) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


def message(text: str | None = None, *tool_calls: tuple[str, str], reasoning: str = "") -> dict[str, Any]:
    """An assistant's message: text, and calls as (name, arguments as the string that stands on the wire)."""
    made: dict[str, Any] = {"role": "assistant", "content": text}
    if tool_calls:
        made["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(tool_calls)
        ]
    if reasoning:
        made["reasoning_content"] = reasoning
    return made


USAGE = {"prompt_tokens": 1840, "completion_tokens": 96, "prompt_tokens_details": {"cached_tokens": 1400}}


def whole(said: Mapping[str, Any], finish: str = "stop", usage: Mapping[str, Any] | None = USAGE) -> Exchange:
    """One response that is not streamed."""
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": said, "finish_reason": finish}]}
    return lambda handler: handler.send(200, json.dumps(body | ({"usage": usage} if usage else {})))


def stream(said: Mapping[str, Any], finish: str = "stop", usage: Mapping[str, Any] | None = USAGE) -> Exchange:
    """A streamed response, text and arguments in small pieces, usage at its end."""

    def exchange(handler: _Handler) -> None:
        handler.start_stream()
        for delta in _deltas(said):
            handler.chunk(_event({"index": 0, "delta": delta, "finish_reason": None}))
        handler.chunk(_event({"index": 0, "delta": {}, "finish_reason": finish}))
        if usage:
            handler.chunk(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n")
        handler.chunk("data: [DONE]\n\n")
        handler.end_stream()

    return exchange


def streams_text(*pieces: str) -> Exchange:
    """A stream of raw pieces, ended properly as HTTP."""

    def exchange(handler: _Handler) -> None:
        handler.start_stream()
        for piece in pieces:
            handler.chunk(piece)
        handler.end_stream()

    return exchange


def fails(status: int, body: object = "", **headers: str) -> Exchange:
    """A response with *status* and a body as JSON, or as it is where it is text."""
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda handler: handler.send(status, text, **headers)


def workers_ai_error(status: int, code: int, words: str = "AiError") -> Exchange:
    """An error as Workers AI words it."""
    return fails(status, {"success": False, "errors": [{"code": code, "message": words}], "messages": [], "result": {}})


def hangs(handler: _Handler) -> None:
    """Takes the request and never sends a byte."""
    handler.released.wait()
    handler.close_connection = True


def hangs_after_head(handler: _Handler) -> None:
    """Opens a stream and sends nothing in it."""
    handler.start_stream()
    handler.wfile.flush()
    handler.released.wait()
    handler.close_connection = True


def falls_silent(handler: _Handler) -> None:
    """Begins a stream and goes quiet."""
    handler.start_stream()
    handler.chunk(_event({"index": 0, "delta": {"content": "The insurer"}, "finish_reason": None}))
    handler.released.wait()
    handler.close_connection = True


def drips(line: str) -> Exchange:
    """A stream that sends *line* by single bytes, again and again without end."""

    def exchange(handler: _Handler) -> None:
        handler.start_stream()
        while not handler.released.wait(0.01):
            for sign in line:
                handler.chunk(sign)

    return exchange


def cuts_stream(handler: _Handler) -> None:
    """Breaks the connection in the middle of a stream."""
    handler.start_stream()
    handler.chunk(_event({"index": 0, "delta": {"content": "The insurer"}, "finish_reason": None}))
    handler.close_connection = True


def cuts_body(handler: _Handler) -> None:
    """Promises more bytes than it sends."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "The ins')
    handler.close_connection = True


def drops(handler: _Handler) -> None:
    """Closes the connection without a response."""
    handler.close_connection = True


def slow(exchange: Exchange, seconds: float) -> Exchange:
    """*exchange* after a while."""

    def later(handler: _Handler) -> None:
        time.sleep(seconds)
        exchange(handler)

    return later


def _deltas(said: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    for field_ in ("reasoning_content", "content"):
        deltas.extend({field_: piece} for piece in _pieces(said.get(field_) or ""))
    for index, call in enumerate(said.get("tool_calls", ())):
        function = call["function"]
        head = {"index": index, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [head | {"function": {"name": function["name"], "arguments": ""}}]})
        deltas.extend(
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(function["arguments"])
        )
    return deltas


def _pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _event(choice: Mapping[str, Any]) -> str:
    body = {"object": "chat.completion.chunk", "choices": [choice]}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
