"""The audit as files: whole, streamed, harmless, with the chain's head, and without mail that is not its reader's."""

import asyncio
import csv
import gc
import json
import tracemalloc
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from agentic import accesses, exporting
from agentic.exporting import Exporter, Form, What
from agentic.models import AccessLog, AdminAct, Seal
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import ask, run
from tests.agentic.cast import House, house
from tests.standins.scripted_model import ScriptedModel, answers, calls
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
QUOTE = "we accept liability for the damage to the Golf"
TRUE = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)
FORMULA = ("=HYPERLINK(1) was paid.", "accept liability", "we will pay you at once")
WIDENS = calls(("search", {"query": "Golf", "tenant": "other"}))


@pytest.fixture
def home() -> House:
    made = house()
    asyncio.run(ask(made.jo.principal, ScriptedModel(WIDENS, answers(TRUE, FORMULA)), "=1+1 or the Golf claim?"))
    return made


def lines(home: House, what: What, form: Form, scope: Scope | None = None) -> list[str]:
    async def collected() -> list[str]:
        exporter = Exporter(home.office.tenant.pk, "user:7", "Ada", "page", scope)
        return [line async for line in exporting.export(exporter, what, form)]

    return run(collected())


def rows(home: House, what: What, scope: Scope | None = None) -> list[dict[str, Any]]:
    """The rows of JSON Lines, without the last, which must be the chain."""
    *found, last = [json.loads(line) for line in lines(home, what, "jsonl", scope)]
    sealed = Seal.objects.filter(tenant=home.office.tenant, number=last["chain"]["number"]).get()
    assert last["chain"]["head"] == bytes(sealed.hash).hex()
    assert last["chain"]["signature"] == sealed.signature
    return found


def table(home: House, what: What) -> Sequence[dict[str, str]]:
    text = "".join(lines(home, what, "csv"))
    names, *found, last = csv.reader(StringIO(text))
    assert last[0] == "chain"
    assert last[1].isdigit()
    return [dict(zip(names, one, strict=True)) for one in found]


def test_all_that_a_run_left_is_exported(home: House) -> None:
    (one,) = rows(home, "runs")
    assert (one["outcome"], one["question"], one["seal_number"] > 0) == ("answered", "=1+1 or the Golf claim?", True)
    told = rows(home, "sentences")
    assert {(one["kept"], one["reason"], one["words"]) for one in told} >= {
        (True, "", "shown"), (False, "quote_not_found", "shown"),
    }  # fmt: skip
    assert any(one["text"] == TRUE[0] for one in told)
    (attempt,) = rows(home, "widen_attempts")
    assert (attempt["kind"], attempt["argument"]) == ("unknown_property", "tenant")
    assert "other" in attempt["requested"]


def test_cells_that_could_be_formulas_are_text(home: House) -> None:
    assert table(home, "runs")[0]["question"] == "'=1+1 or the Golf claim?"
    assert "'=HYPERLINK(1) was paid." in {one["text"] for one in table(home, "sentences")}


def test_words_of_runs_that_read_other_mail_are_left_out(home: House) -> None:
    hidden = rows(home, "sentences", home.office.scope("workshop"))
    assert {one["words"] for one in hidden} == {"withheld"}
    assert "liability" not in str(hidden)
    shown = rows(home, "sentences", home.office.scope("family"))
    assert {one["words"] for one in shown} == {"shown"}


def test_an_export_is_an_act_and_an_access(home: House) -> None:
    lines(home, "runs", "csv")
    act = AdminAct.objects.get(tenant=home.office.tenant, act="audit exported")
    assert (act.actor, act.detail) == ("user:7", {"what": "runs", "form": "csv"})
    found = rows(home, "accesses")
    assert [(one["reader"], one["kind"], one["subjects"]) for one in found[-2:]] == [
        ("user:7", "export", ["runs"]), ("user:7", "export", ["accesses"]),
    ]  # fmt: skip


def test_memory_does_not_grow_with_the_rows(owner_conninfo: str) -> None:
    # The first loads what is loaded once.
    _, few = (_peak(owner_conninfo, rows) for rows in (1, 1_500))
    # What other threads of this process take for themselves is counted, too: what comes from the rows comes each time.
    assert any(_peak(owner_conninfo, 6_000) < 1.5 * few for _ in range(3))


def _peak(owner_conninfo: str, rows: int) -> int:
    """Bytes that an export of so many *rows* held at once at most."""
    home = house()
    with psycopg.connect(owner_conninfo) as conn:
        conn.execute(
            "INSERT INTO agentic_accesslog (tenant_id, at, reader, label, kind, via, subjects)"
            " SELECT %s, now(), 'key:x', repeat('long ', 30), 'message', 'rest', ARRAY['msg_' || n]"
            " FROM generate_series(1, %s) n",
            (home.office.tenant.pk, rows),
        )

    async def counted() -> int:
        count = 0
        async for _ in exporting.export(Exporter(home.office.tenant.pk, "user:7", "Ada", "page"), "accesses", "csv"):
            count += 1
        return count

    # A server that ran in this process lets much garbage gather before it is collected.
    usual = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    tracemalloc.start()
    try:
        assert run(counted()) == rows + 3
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*usual)


def test_the_command_writes_a_file_of_everything(home: House, tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    call_command("export_audit", "runs", "--tenant", home.office.tenant.slug, "--format", "jsonl", "--output", str(out))
    told = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(told) == 2
    assert "chain" in told[-1]


def test_over_rest_it_takes_the_right_to_audit(home: House, service: Service) -> None:
    auditor = home.caller("family", permissions=("audit:read", "search:read"), name="Ada")
    with service.client(auditor.headers) as client:
        told = client.get("/v1/audit/sentences?format=csv")
        assert told.status_code == 200
        assert told.headers["Content-Type"].startswith("text/csv")
        assert TRUE[0] in told.text
        assert client.get("/v1/audit/nothing").status_code == 404
        assert client.get("/v1/audit/runs?format=xls").status_code == 400
    blind = home.caller("family", permissions=("audit:read",), name="Eve")
    with service.client(blind.headers) as client:
        assert TRUE[0] not in client.get("/v1/audit/sentences").text
    with service.client(home.caller("family", permissions=("search:read",)).headers) as client:
        assert client.get("/v1/audit/sentences").status_code == 403


def test_what_is_read_over_rest_is_written_down_and_what_is_not_there_is_not(home: House, service: Service) -> None:
    jo = home.jo
    mail = home.golf.public_id
    with service.client(jo.headers) as client:
        for address in (f"/v1/messages/{mail}", f"/v1/messages/{mail}/raw", f"/v1/threads/{home.thread(home.golf)}"):
            assert client.get(address).status_code == 200
        assert client.post("/v1/search", json={"query": "liability"}).status_code == 200
        assert client.get("/v1/contacts?query=nordlicht").status_code == 200
        assert client.get("/v1/contacts?query=nobody").status_code == 200
        assert client.get("/v1/runs").status_code == 200
        assert client.get(f"/v1/messages/{home.secret.public_id}").status_code == 404
    with bound(Binding(audit=frozenset({home.office.tenant.pk}))):
        found = list(AccessLog.objects.filter(reader=jo.principal.caller).order_by("pk"))
    assert [one.kind for one in found] == ["message", "raw", "thread", "search", "contacts", "runs"]
    assert all(mail in one.subjects for one in found[:4])
    assert home.secret.public_id not in str([one.subjects for one in found])


def test_accesses_can_be_added_by_their_function_alone() -> None:
    home = house()
    tenant = home.office.tenant
    accesses.note(tenant.pk, "user:1", "Ada", "message", ["msg_a", "msg_a"])
    with bound(Binding(audit=frozenset({tenant.pk}))):
        (one,) = AccessLog.objects.filter(tenant=tenant)
        assert one.subjects == ["msg_a"]
        with pytest.raises(Exception, match="permission denied"):
            AccessLog.objects.create(tenant=tenant, at=one.at, reader="user:2", kind="message", via="rest")
