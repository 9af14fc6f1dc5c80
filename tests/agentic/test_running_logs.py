"""A service that takes mail in, answers and fails leaves no word of mail or question in any log, and counts it all."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from django.conf import settings

from tests.agentic.cast import house
from tests.standins.model_server import ModelServer, fails, message, stream
from tests.standins.server_process import ServerProcess
from tests.standins.service import answers_golf

pytestmark = pytest.mark.django_db(transaction=True)
# In every place that somebody else writes, and in what is asked.
CANARY = "zyxkanari"
BROKEN = f"{CANARY}broken"
MAIL = f"""\
From: "{CANARY} sender" <{CANARY}@example.org>
To: jo@brandt.example
Subject: {CANARY} subject
Message-ID: <{CANARY}@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8

{CANARY} body
--b
Content-Type: application/pdf; name="{CANARY}.pdf"
Content-Disposition: attachment; filename="{CANARY}.pdf"
Content-Transfer-Encoding: base64

bm8gcGRmIHp5eGthbmFyaQ==
--b--
"""
UNREADABLE = f"Content-Type: multipart/mixed\nSubject: =?x-{CANARY}?q?{CANARY}?=\nDate: {CANARY}\n\n\xff{CANARY}\x00"
TOKEN = "0123456789abcdef-metrics"


@contextmanager
def _no_such_words(conninfo: str) -> Iterator[None]:
    """The database refuses to keep a question with these words, and says which in its error's detail."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        check = f"CHECK (content NOT LIKE '%{BROKEN}%') NOT VALID"
        conn.execute(f"ALTER TABLE agentic_payloadtext ADD CONSTRAINT refused {check}".encode())
        try:
            yield
        finally:
            conn.execute("ALTER TABLE agentic_payloadtext DROP CONSTRAINT refused")


def _ask(client: httpx.Client, words: str) -> httpx.Response:
    body = {"query": f"Did the insurer accept the Golf claim? {words}", "mode": "agentic"}
    return client.post("/v1/search", json=body)


def _put_in(client: httpx.Client, mail: bytes) -> int:
    headers = {"Content-Type": "message/rfc822"}
    return client.post("/v1/messages?mailbox=family", content=mail, headers=headers).status_code


def _figures(text: str) -> dict[str, float]:
    found = re.findall(r"^(mailsearch_[^\s]+) ([0-9.e+-]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_a_service_tells_no_word_of_mail_and_counts_what_it_does(owner_conninfo: str, tmp_path: Path) -> None:
    home = house()
    invented = json.dumps({"sentences": [{"text": f"{CANARY} invented.", "citations": ["zzzzzz"], "quotes": []}]})
    script = (
        answers_golf(),
        # What comes back holds the words, too: as an error, as no JSON, as an answer without a source.
        fails(500, {"error": CANARY}),
        fails(500, {"error": CANARY}),
        stream(message(None, ("search", f"no json {CANARY}")), "tool_calls"),
        stream(message(None, ("answer", invented)), "tool_calls"),
    )
    with (
        ModelServer(*script) as model,
        ServerProcess(
            model.url,
            PM_LOG_LEVEL="DEBUG",
            PM_LOG_FORMAT="json",
            PM_METRICS_TOKEN=TOKEN,
            PROMETHEUS_MULTIPROC_DIR=str(tmp_path),
        ) as server,
    ):
        with server.client(home.jo.headers) as client:
            assert _put_in(client, MAIL.encode()) == 201
            assert _put_in(client, UNREADABLE.encode("latin-1")) == 201
            answered = _ask(client, CANARY).json()
            assert _ask(client, CANARY).status_code == 200
            with _no_such_words(owner_conninfo):
                assert _ask(client, BROKEN).status_code >= 500
            client.post("/v1/search", content=json.dumps({"query": f"{CANARY}\x00\ud800"}).encode())
            client.get(f"/v1/{CANARY} nowhere?query={CANARY}")
            assert client.get("/metrics").status_code == 404
            figures = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
        told = server.told()
    _check_log(told, answered["run_id"])
    _check_figures(figures, str(home.office.tenant.slug))
    database = (Path(settings.PM_DATA) / "postgres" / "server.log").read_text(errors="replace")
    assert "refused" in database
    assert CANARY not in database


def _check_log(told: str, run: str) -> None:
    assert CANARY not in told
    lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert any("psycopg" in error["kind"] for line in lines for error in line.get("errors", ()))
    assert any(line.get("run") == run for line in lines)


def _check_figures(text: str, tenant: str) -> None:
    assert tenant not in text
    figures = _figures(text)
    assert sum(value for name, value in figures.items() if name.startswith("mailsearch_runs_total")) >= 2
    assert figures['mailsearch_model_calls_total{fault="none"}'] >= 1
    assert figures['mailsearch_model_tokens_total{kind="prompt"}'] > 0
    assert any(name.startswith("mailsearch_search_seconds_count") for name in figures)
    assert figures["mailsearch_pool_wait_seconds_count"] > 0
