"""A worker of the service in a process of its own, over an embedded Postgres: for benchmarks that speak HTTP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django
import httpx
import psycopg

_START_SECONDS = 180


@dataclass(frozen=True)
class Worker:
    """One worker: where it answers, and its process."""

    url: str
    pid: int

    def figures(self) -> dict[str, int]:
        """Memory in kB that is its own, threads, and file descriptors."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        own = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        private = sum(int(line.split()[1]) for line in own.splitlines() if line.startswith("Private_"))
        return {
            "private_kb": private,
            "threads": int(fields["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
        }


@contextmanager
def database() -> Iterator[str]:
    """An embedded Postgres that is set up; the connection string of its administrator. Django is set up, too."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from django.conf import settings

    from agentic.server.embedded import EmbeddedPostgres
    from agentic.server.setup import setup_database

    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    try:
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)
        yield server.conninfo(settings.PM_DATABASE_NAME)
    finally:
        server.stop()


@contextmanager
def worker(application: str = "agentic.server.asgi:application") -> Iterator[Worker]:
    """A worker of *application* on a free port, ended at the block's end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", application, "--lifespan", "on"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"],
        cwd=Path(__file__).resolve().parents[1],
        stdin=subprocess.DEVNULL,
    )
    try:
        _wait(f"http://127.0.0.1:{port}", process)
        yield Worker(f"http://127.0.0.1:{port}", process.pid)
    finally:
        process.kill()
        process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            if httpx.get(f"{url}/v1/me", timeout=5).status_code == 401:
                return
        except httpx.TransportError:
            pass
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("the worker did not start")
        time.sleep(0.05)


def connections(administrator: str) -> int:
    """How many sessions the application has open in the database."""
    with psycopg.connect(administrator, autocommit=True) as conn:
        row = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE '%app'"
        ).fetchone()
    assert row is not None
    return int(row[0])
