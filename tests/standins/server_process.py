"""The whole service as a process of its own, so that it can be killed."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

import httpx
from django.conf import settings

_PROJECT = Path(__file__).resolve().parent.parent.parent
# An upper bound, for machines that have much else to do.
_START_SECONDS = 180


class ServerProcess:
    """A server of *workers* on the tests' database, with a model at *model_url*. Leaving the block kills it.

    *more* are further settings of its own. `told` reads its log while it runs.
    """

    def __init__(self, model_url: str, workers: int = 1, **more: str) -> None:
        self._workers = workers
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self._environment = {
            **os.environ,
            "PM_DATA": str(settings.PM_DATA),
            "PM_DATABASE_NAME": settings.PM_DATABASE_NAME,
            "PM_SECRET_KEY": settings.SECRET_KEY,
            "PM_AGENT_BASE_URL": model_url,
            "PM_AGENT_MODEL": "scripted-http",
            **more,
        }
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the block of this object

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        command = (sys.executable, "-m", "uvicorn", "agentic.server.asgi:application", "--lifespan", "on")
        self._process = subprocess.Popen(
            [
                *command,
                "--host",
                "127.0.0.1",
                "--port",
                str(self._port),
                "--log-level",
                "warning",
                "--workers",
                str(self._workers),
            ],
            cwd=_PROJECT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._told,
            stderr=subprocess.STDOUT,
            # A group of its own, so that its workers end with it.
            start_new_session=True,
        )
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                self._told.seek(0)
                told = self._told.read().decode()[-2000:]
                self._told.close()
                raise RuntimeError(f"the server did not start: {told}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._told.close()

    def kill(self) -> None:
        """As `kill -9` does: nothing of the process gets to say anything."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def told(self) -> str:
        """What the process has written to its standard output and its log until now."""
        # Another position than the one at which the process writes.
        return os.pread(self._told.fileno(), 100_000_000, 0).decode()

    def client(self, headers: dict[str, str]) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/v1/me", timeout=5).status_code == 401
        except httpx.TransportError:
            return False
