"""The whole service on loopback, in a thread of the tests: real HTTP, real lifespan, real database."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from tests.standins.model_server import Exchange, ModelServer, message, stream

ANSWERED = "The insurer accepts liability for the damage to the Golf."
QUOTED = "we accept liability for the damage to the Golf"


class Service:
    """A running server at `url`. Leaving the block ends it as a shutdown would."""

    def __init__(self) -> None:
        config = uvicorn.Config(
            "agentic.server.asgi:application",
            host="127.0.0.1",
            port=0,
            log_level="error",
            lifespan="on",
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def __enter__(self) -> "Service":
        self._thread.start()
        # An upper bound, for machines that have much else to do.
        until = time.monotonic() + 180
        while not self._server.started:
            if time.monotonic() > until or not self._thread.is_alive():
                raise RuntimeError("the service did not start")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    def client(self, headers: dict[str, str], timeout: float = 30.0) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout)


def answers_golf() -> Exchange:
    """A model's reply over the wire: the Golf question answered from the shown mail, by its label."""

    def exchange(handler: Any) -> None:
        shown = json.dumps(handler.server.owner.seen[-1].body, ensure_ascii=False)
        label = _label(shown)
        sentence = {"text": ANSWERED, "citations": [label], "quotes": [{"label": label, "text": QUOTED}]}
        call = ("answer", json.dumps({"sentences": [sentence]})) if label else ("search", '{"query": "Golf liability"}')
        stream(message(None, call), "tool_calls")(handler)

    return exchange


def _label(shown: str) -> str:
    """The label before the mail that holds the quote; empty where that mail was not shown."""
    at = shown.rfind(QUOTED)
    labels = re.findall(r"\[([a-z][0-9a-z]{5,11})\] [0-9]{4}-", shown[:at]) if at >= 0 else []
    return labels[-1] if labels else ""


@contextmanager
def configured(settings: Any, *script: Exchange) -> Iterator[ModelServer]:
    """The settings name a model on loopback that replies by *script*."""
    with ModelServer(*script) as server:
        settings.PM_AGENT_BASE_URL = server.url
        settings.PM_AGENT_MODEL = "scripted-http"
        yield server


def events(lines: Iterator[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(id, event, data) of each event of a stream; comments are passed over."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line and "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields |= {name: value} if name else {}
