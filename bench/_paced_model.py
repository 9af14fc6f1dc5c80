"""A chat model on loopback that takes as long as a real one: OpenAI's streamed wire format, at a published pace.

First token after a time drawn from a log-normal with p50 0.5 s and p95 1.5 s, then 80 tokens a second; in 3 % of the
replies the stream stalls for three seconds. It searches for the question's words, then quotes from what it is shown.
"""

import json
import math
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FIRST_P50, FIRST_P95 = 0.5, 1.5
TOKENS_A_SECOND = 80
STALLS, STALL_SECONDS = 0.03, 3.0
_PIECE, _CHARACTERS_A_TOKEN = 16, 4
_SIGMA = math.log(FIRST_P95 / FIRST_P50) / 1.6449
_SHOWN = re.compile(r"^\[([0-9a-z]{2,12})\] [0-9]{4}-", re.MULTILINE)
_ASKED = re.compile(r"^Question: (.+)$", re.MULTILINE)
_BODY = re.compile(r"^body: (?:\([a-z ]+\) )?(.{20,})$", re.MULTILINE)


@contextmanager
def paced_model(seed: int) -> Iterator[str]:
    """The model's base address, up to and with `/v1`, while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    # Not for secrets: the same seed draws the same pace.
    _Handler.dice = random.Random(seed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    dice = random.Random(0)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name, arguments = _call(body["messages"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        time.sleep(self.dice.lognormvariate(math.log(FIRST_P50), _SIGMA))
        stalled_at = self.dice.randrange(4) if self.dice.random() < STALLS else -1
        try:
            self._tell({"role": "assistant", "tool_calls": [_delta(name, "")]})
            for number, at in enumerate(range(0, len(arguments), _PIECE)):
                time.sleep(_PIECE / _CHARACTERS_A_TOKEN / TOKENS_A_SECOND)
                if number == stalled_at:
                    time.sleep(STALL_SECONDS)
                self._tell({"tool_calls": [_delta("", arguments[at : at + _PIECE])]})
            self._tell({}, "tool_calls")
            usage = {"prompt_tokens": 1_500, "completion_tokens": len(arguments) // _CHARACTERS_A_TOKEN}
            self._write({"choices": [], "usage": {**usage, "total_tokens": sum(usage.values())}})
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            # The service has had enough.
            return

    def _tell(self, delta: Mapping[str, Any], finish: str | None = None) -> None:
        self._write({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _write(self, chunk: Mapping[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'id': 'paced', 'model': 'paced', **chunk})}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Nothing."""


def _delta(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"index": 0, **({"id": "call_1", "type": "function"} if name else {}), "function": function}


def _call(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The final tool with a quote of what is shown, or a search where nothing is shown yet."""
    texts = [str(message.get("content") or "") for message in messages]
    for text in reversed(texts):
        for shown in _SHOWN.finditer(text):
            words = _BODY.search(text, shown.end())
            if words:
                quote = " ".join(words[1].split()[:14])
                sentence = {
                    "text": f"“{quote}”",
                    "citations": [shown[1]],
                    "quotes": [{"label": shown[1], "text": quote}],
                }
                return "answer", json.dumps({"sentences": [sentence]}, ensure_ascii=False)
    asked = _ASKED.search("\n".join(texts))
    return "search", json.dumps({"query": asked[1][:200] if asked else "mail"}, ensure_ascii=False)
