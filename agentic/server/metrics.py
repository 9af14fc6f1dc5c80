"""What is counted, as Prometheus reads it: guarded by a token, or at an address of its own; else for nobody.

Where PROMETHEUS_MULTIPROC_DIR names a folder, each process writes its figures there, and any of them tells the sum.
"""

import asyncio
import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, REGISTRY, CollectorRegistry, generate_latest, multiprocess

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_LIVE = re.compile(r"gauge_live[a-z]*_(\d+)\.db")
_listening: WSGIServer | None = None


def exposition() -> bytes:
    """All figures of now. In several processes: of all that share the folder, open streams only of those alive."""
    folder = _folder()
    if folder is None:
        return generate_latest(REGISTRY)
    _forget_dead(folder)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def admits(authorization: str) -> bool:
    """Whether this Authorization header may read the figures at the service's own address."""
    token = settings.PM_METRICS_TOKEN
    return bool(token) and secrets.compare_digest(authorization.encode(), f"Bearer {token}".encode())


async def listen() -> None:
    """Serve the figures at PM_METRICS_BIND, where that is set and no other worker does so already."""
    global _listening
    if settings.PM_METRICS_BIND is None or _listening is not None:
        return
    host, port = settings.PM_METRICS_BIND
    # Whoever comes first serves for all; when it ends, the next that tries takes over.
    with suppress(OSError):
        _listening = await asyncio.to_thread(make_server, host, port, _answer, _Server, _Quiet)
        Thread(target=_listening.serve_forever, name="metrics", daemon=True).start()


def port() -> int:
    """Where this process tells its figures; 0 where it does not listen."""
    return _listening.server_port if _listening else 0


def leave() -> None:
    """This process ends: its port is free again, and its streams are not counted any more."""
    global _listening
    if _listening is not None:
        _listening.shutdown()
        _listening.server_close()
        _listening = None
    if _folder() is not None:
        multiprocess.mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    guarded = bool(settings.PM_METRICS_TOKEN)
    if environ.get("PATH_INFO") != "/metrics" or (guarded and not admits(environ.get("HTTP_AUTHORIZATION", ""))):
        start("404 Not Found", [("Content-Type", "text/plain")])
        return [b""]
    start("200 OK", [("Content-Type", CONTENT_TYPE), ("Cache-Control", "no-store")])
    return [exposition()]


def _folder() -> Path | None:
    named = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
    return Path(named) if named else None


def _forget_dead(folder: Path) -> None:
    """A process that was killed leaves figures of what it had open."""
    for path in folder.glob("gauge_live*.db"):
        match = _LIVE.fullmatch(path.name)
        if match is None:
            continue
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except PermissionError:
            continue
