"""What the docs show was run: each example against a live server with a sandbox key, and shown as it was run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from string import Template

import pytest
from django.conf import settings

from tests.standins.mcp_client import speak
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
DOCS: Path = settings.BASE_DIR / "docs"
EXAMPLES = DOCS / "examples"
PAGES: list[Path] = [settings.BASE_DIR / "README.md", *sorted(DOCS.glob("*.md"))]
# A code block that is copied from an example names it in the line before.
SHOWN = re.compile(r"<!-- copied from docs/examples/(\S+) -->\n\n?```[a-z]*\n(.*?)```\n", re.DOTALL)
ACCEPTED = "The insurer accepts liability for the damage to the Golf"
TOLD = {
    "ask.sh": ['"outcome":"answered"', ACCEPTED],
    "stream.sh": ["event: step", "event: evidence", "event: answer", "event: done", "quote_not_found"],
    "ask.py": ["answered", ACCEPTED, "[quote]", "@nordlicht.example"],
    "stream.py": ["step plan", "evidence search", "answer", "done"],
    "stream_sse.py": [" evidence", " answer", " done", "answered"],
    "mcp_client.py": ["0 run run_", ": answered", "Outcome: answered", ACCEPTED, "--- end "],
}


def _environment(service: Service, token: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MAILSEARCH_URL": service.url, "MAILSEARCH_KEY": token}


@pytest.mark.parametrize("name", TOLD)
def test_an_example_runs_as_it_is_shown(service: Service, sandbox_key: Callable[..., str], name: str) -> None:
    command = ["sh", "-eu"] if name.endswith(".sh") else [sys.executable]
    ran = subprocess.run(
        [*command, str(EXAMPLES / name)],
        env=_environment(service, sandbox_key()),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    for words in TOLD[name]:
        assert words in ran.stdout, ran.stdout


def test_an_mcp_host_that_is_configured_so_finds_the_tools(service: Service, sandbox_key: Callable[..., str]) -> None:
    text = Template((EXAMPLES / "mcp.json").read_text()).substitute(_environment(service, sandbox_key()))
    server = json.loads(text)["mcpServers"]["mailsearch"]
    assert server["type"] == "http"

    async def look(client: object) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]  # type: ignore[attr-defined]

    assert "ask_mail" in speak(server["url"].removesuffix("/mcp"), server["headers"], look)


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {*TOLD, "mcp.json"}


def test_the_docs_show_the_examples_as_they_are() -> None:
    shown = [(page, match[1], match[2]) for page in PAGES for match in SHOWN.finditer(page.read_text())]
    for page, name, text in shown:
        assert text == (EXAMPLES / name).read_text(), f"{page.name} shows another {name}"
    assert {name for _, name, _ in shown} == {path.name for path in EXAMPLES.iterdir()}
    assert {name for page, name, _ in shown if page.name == "README.md"} >= {"ask.sh", "stream_sse.py", "mcp.json"}
