"""One Chromium and one server process for all tests in a browser; they are skipped where there is no Chromium."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlparse

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from tests.pages.people import signed_in
from tests.standins.model_server import ModelServer
from tests.standins.server_process import ServerProcess

CHROMIUM = Path("/usr/bin/chromium")
_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)
# Times out late: this tells a page that hangs from a slow machine, and nothing else.
PATIENCE_MS = 60_000


class Chromium:
    """A Chromium that runs for all tests; `address` is where it is spoken to. Leaving the block ends it."""

    def __init__(self) -> None:
        self.address = ""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        own = ("--remote-debugging-port=0", f"--user-data-dir={self._profile.name}", "about:blank")
        command = (str(CHROMIUM), *_ARGUMENTS.split(), *own)
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told, until = Path(self._profile.name) / "DevToolsActivePort", time.monotonic() + PATIENCE_MS / 1000
        # Its second line is written after its first.
        while not (told.exists() and len(lines := told.read_text().split()) == 2):
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError("Chromium did not start")
            time.sleep(0.02)
        self.address = f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()


class Site:
    """The running service, its scripted model, and a browser to look at it.

    With the first page the browser's event loop occupies this thread, so runs are made before.
    """

    def __init__(self, url: str, model: ModelServer, chromium: Chromium) -> None:
        self.url = url
        self.model = model
        self._chromium = chromium
        self.faults: list[str] = []
        self._open = ExitStack()
        self._browser: Browser | None = None

    def page(self, user: User | None = None, **more: Any) -> Page:
        """A page of a fresh profile, signed in as *user*. What goes wrong in it stands in `faults`."""
        cookie = signed_in(user).cookies["sessionid"] if user is not None else None
        if self._browser is None:
            chromium = self._open.enter_context(sync_playwright()).chromium
            self._browser = chromium.connect_over_cdp(self._chromium.address)
            self._open.callback(self._browser.close)
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **more})
        if cookie is not None:
            context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": self.url}])
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.faults.append(f"{page.url}: {error}"))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self._watch(request.url))
        return page

    def close(self) -> None:
        self._open.close()

    def _watch(self, address: str) -> None:
        if urlparse(address).netloc != urlparse(self.url).netloc:
            self.faults.append(f"a request left: {address}")

    def _refuse(self, dialog: Dialog) -> None:
        self.faults.append(f"a dialog opened: {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="session")
def _running(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[str, ModelServer, Chromium]]:
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"needs a Chromium at {CHROMIUM}")
    with (
        django_db_blocker.unblock(),
        ModelServer(lambda handler: None) as model,
        ServerProcess(model.url) as server,
        Chromium() as chromium,
    ):
        yield server.url, model, chromium


@pytest.fixture
def site(_running: tuple[str, ModelServer, Chromium], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    # Django takes the browser's loop in this thread for async code, which the tests are not.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    expect.set_options(timeout=PATIENCE_MS)
    made = Site(*_running)
    yield made
    made.close()
    assert made.faults == []


@pytest.fixture
def says(site: Site) -> Callable[..., None]:
    """What the model replies from now on, one exchange after the other."""

    def script(*exchanges: Any) -> None:
        site.model.script[:] = exchanges

    return script
