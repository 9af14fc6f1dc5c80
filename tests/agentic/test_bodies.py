"""No body is larger, or takes longer to come, than it may; and what was refused is told as a problem."""

import socket
import threading
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import uvicorn

from agentic.web.bodies import LARGEST, LARGEST_MAIL, limited

WHOLE_SECONDS = 0.5


async def _counting(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """Answers with the size of the body; not at all where the client has left."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    body = str(size).encode()
    head = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    application = limited(_counting, seconds=WHOLE_SECONDS, mail_seconds=60)
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join()


@contextmanager
def _begun(address: tuple[str, int], head: str) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=30) as conn:
        conn.sendall(f"POST /v1/search HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode())
        yield conn


def _answer(conn: socket.socket) -> str:
    told = b""
    while piece := conn.recv(65536):
        told += piece
    return told.decode()


def test_a_body_within_its_limits_comes_through_whole(address: tuple[str, int]) -> None:
    for path, size in (("/v1/search", LARGEST), ("/v1/messages", LARGEST + 1)):
        answered = httpx.post(f"http://127.0.0.1:{address[1]}{path}", content=b"x" * size)
        assert (answered.status_code, answered.text) == (200, str(size))


def test_a_body_that_is_announced_too_large_is_refused_before_it_is_sent(address: tuple[str, int]) -> None:
    with _begun(address, f"Content-Length: {LARGEST_MAIL}") as conn:
        told = _answer(conn)
    assert told.startswith("HTTP/1.1 413 ")
    assert "problems/too-large" in told


def test_a_body_that_turns_out_too_large_is_refused(address: tuple[str, int]) -> None:
    with _begun(address, "Transfer-Encoding: chunked") as conn:
        for _ in range(3):
            conn.sendall(f"{LARGEST // 2:x}\r\n".encode() + b"x" * (LARGEST // 2) + b"\r\n")
        conn.sendall(b"0\r\n\r\n")
        told = _answer(conn)
    assert told.startswith("HTTP/1.1 413 ")


def test_a_body_that_trickles_is_refused_when_its_time_is_up(address: tuple[str, int]) -> None:
    with _begun(address, "Content-Length: 1000") as conn:
        conn.sendall(b"x")
        told = _answer(conn)
    assert told.startswith("HTTP/1.1 408 ")
    assert "problems/too-slow" in told
    assert "cache-control: private, no-store" in told
