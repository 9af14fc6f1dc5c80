"""Who reads runs and mail on the pages is written down before it is shown, and administrators of the tenant see it."""

import csv
import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agentic.models import AccessLog, AdminAct, Seal
from mailsearch.models import Permission
from mailsearch.sessions import bound
from tests.agentic.asking import asked, run
from tests.pages.people import person, principal, signed_in
from tests.pages.scene import FALSE, TRUE, WIDENS, Scene, scene
from tests.standins.scripted_model import ScriptedModel, answers

pytestmark = pytest.mark.django_db(transaction=True)


def _read_by(made: Scene, user: User) -> list[tuple[str, set[str]]]:
    with bound(made.audit):
        rows = AccessLog.objects.filter(tenant=made.home.office.tenant, reader=f"user:{user.pk}").order_by("pk")
        return [(row.kind, set(row.subjects)) for row in rows if row.via == "page"]


def test_every_page_that_shows_runs_or_mail_is_an_access() -> None:
    made = scene()
    answered, other, golf = made.runs["answered"], made.runs["insufficient"], made.home.golf.public_id
    ada, jo = signed_in(made.ada), signed_in(made.jo)
    for page in ("/runs", "/review?kind=all", "/widen-attempts", f"/runs/{answered}", f"/messages/{golf}"):
        assert ada.get(page).status_code == 200
    assert ada.get(f"/runs/{answered}/export").status_code == 200
    listed, reviewed, widened, *rest = _read_by(made, made.ada)
    assert listed == ("runs", {answered, other})
    assert reviewed == ("review", {answered, golf})
    assert (widened[0], widened[1] >= {answered, golf}) == ("widening", True)
    assert rest == [("run", {answered}), ("message", {golf}), ("export", {answered})]
    assert jo.get(f"/ask?run={answered}").status_code == 200
    assert _read_by(made, made.jo) == [("run", {answered})]


def test_what_a_reader_was_not_shown_is_no_access() -> None:
    made = scene()
    blind = person(made.home.office.tenant, "auditor", (Permission.SEARCH_READ,))
    client = signed_in(blind)
    client.get("/review?kind=all")
    client.get("/review?kind=all&q=repair")
    client.get("/widen-attempts")
    assert client.get(f"/messages/{made.home.golf.public_id}").status_code == 404
    # Runs are named; no message is, since none of its words were given out.
    assert _read_by(made, blind) == [("review", {made.runs["answered"]}), ("widening", {made.runs["answered"]})]


def test_administrators_alone_see_who_read_what() -> None:
    made = scene()
    signed_in(made.ada).get(f"/runs/{made.runs['answered']}")
    shown = signed_in(made.jo).get("/audit/accesses").content.decode()
    assert made.ada.get_username() in shown
    assert made.runs["answered"] in shown
    assert made.runs["answered"] in signed_in(made.jo).get(f"/audit/accesses?of=user:{made.ada.pk}").content.decode()
    elsewhere = signed_in(made.sue).get("/audit/accesses")
    assert elsewhere.status_code == 200
    assert made.ada.get_username() not in elsewhere.content.decode()
    for user in (made.ada, made.max, made.olga):
        assert signed_in(user).get("/audit/accesses").status_code == 404


def test_acts_are_listed_with_their_reasons() -> None:
    made = scene(runs=False)
    AdminAct.objects.create(
        tenant=made.home.office.tenant, actor="user:7", act="key revoked", reason="<b>It leaked.</b>"
    )
    for user in (made.jo, made.ada):
        shown = signed_in(user).get("/audit/acts").content.decode()
        assert "key revoked" in shown
        assert "&lt;b&gt;It leaked." in shown
    assert "key revoked" not in signed_in(made.sue).get("/audit/acts").content.decode()
    for user in (made.max, made.olga):
        assert signed_in(user).get("/audit/acts").status_code == 404


def _file(client: Client, what: str, form: str) -> str:
    response = client.get(f"/audit/export/{what}.{form}")
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "private, no-store"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{what}.{form}"'

    async def whole() -> str:
        return "".join([piece.decode() async for piece in response.streaming_content])  # type: ignore[attr-defined]

    return run(whole())


DANGEROUS = ("=1+1", "\t=1+1", "\r@x", "\uff1d1+1", "\uff0bx", "\uff0dx", "\uff20x", " \u200b=1")


def test_exports_of_pages_hold_no_formula_and_end_with_the_chain() -> None:
    made = scene(runs=False)
    jo = principal(made.jo)
    for question in DANGEROUS:
        asked(jo, ScriptedModel(answers(TRUE)), question)
    client = signed_in(made.ada)
    for what in ("runs", "sentences", "widen_attempts", "accesses"):
        *_, last = csv.reader(StringIO(_file(client, what, "csv"), newline=""))
        chain = json.loads(_file(client, what, "jsonl").splitlines()[-1])["chain"]
        with bound(made.audit):
            sealed = Seal.objects.get(tenant=made.home.office.tenant, number=chain["number"])
        assert (last[0], last[1].isdigit(), len(last[2])) == ("chain", True, 64)
        assert (chain["head"], chain["signature"]) == (bytes(sealed.hash).hex(), sealed.signature)
    names, *rows, _ = csv.reader(StringIO(_file(client, "runs", "csv"), newline=""))
    questions = {row[names.index("question")] for row in rows}
    assert len(questions) == len(DANGEROUS)
    assert all(one.startswith("'") for one in questions)


def test_what_a_widen_attempt_asked_for_is_exported_beside_readable_mail_alone() -> None:
    made = scene(runs=False)
    asked(principal(made.jo), ScriptedModel(WIDENS, answers(TRUE, FALSE)))
    blind = person(made.home.office.tenant, "auditor", (Permission.SEARCH_READ,))
    for user, words in ((made.ada, "shown"), (blind, "withheld")):
        client = signed_in(user)
        *rows, _ = (json.loads(line) for line in _file(client, "widen_attempts", "jsonl").splitlines())
        assert {one["words"] for one in rows} == {words}
        assert {one["requested"] for one in rows} == ({"workshop"} if user is made.ada else {None})
        exported = client.get(f"/runs/{rows[0]['run']}/export").json()
        assert {one.get("requested") for one in exported["widen_attempts"]} == (
            {"workshop"} if user is made.ada else {None}
        )
        assert ("1,450" in json.dumps(exported)) is (user is made.ada)
    for page, what in (("/runs", "runs"), ("/review?kind=all", "sentences"), ("/widen-attempts", "widen_attempts")):
        link = f"/audit/export/{what}.csv?tenant={made.home.office.tenant.slug}"
        assert link in signed_in(made.ada).get(page).content.decode()
        assert signed_in(made.ada).get(link).status_code == 200
    assert "/audit/export" not in signed_in(made.max).get("/runs").content.decode()
    for user in (made.max, made.olga, made.sue):
        address = f"/audit/export/runs.csv?tenant={made.home.office.tenant.slug}"
        assert signed_in(user).get(address).status_code == 404
