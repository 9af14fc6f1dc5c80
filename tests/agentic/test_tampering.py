"""The audit is changed by somebody who may do everything in the database, and each change is named."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from agentic import accesses, anchors, batches, chain, runs
from agentic.audit import Recorder
from agentic.callers import Principal
from agentic.finishing import close_quietly
from agentic.models import AdminAct, Note, Run, SampledNote, Sentence
from agentic.proving import Proof, prove
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import ask, insurer_accepts
from tests.agentic.cast import house
from tests.agentic.tampering import tampered
from tests.standins.scripted_model import ScriptedModel, answers

QUOTE = "we accept liability for the damage to the Golf"
TRUE = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)
FALSE = ("The insurer pays 9,999 EUR.", "accept liability", "we will pay you 9,999 EUR")


@dataclass
class Kept:
    """A tenant with three runs, of which the first was answered, an act, a note and two batches of accesses."""

    tenant: Tenant
    jo: Principal
    answered: str
    anchor: Path


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    with django_db_blocker.unblock():
        home = house()
        jo, tenant = home.jo.principal, home.office.tenant
        answered = asyncio.run(ask(jo, ScriptedModel(answers(TRUE, FALSE))))
        for _ in range(2):
            accesses.note(tenant.pk, jo.caller, jo.label, "message", [home.golf.public_id])
            accesses.note(tenant.pk, jo.caller, jo.label, "run", [answered])
            asyncio.run(batches.seal_new())
        AdminAct.objects.create(tenant=tenant, actor="user:1", act="message quarantined", reason="It looks forged.")
        _note(tenant)
        for _ in range(2):
            _abandoned(jo)
        anchor = tmp_path_factory.mktemp("audit") / "anchor.json"
        assert verify(tenant, "--write-anchor", str(anchor)) == (0, "")
        yield Kept(tenant, jo, answered, anchor)


def _note(tenant: Tenant) -> None:
    author = get_user_model().objects.create_user(f"reader-{tenant.pk}")
    with bound(Binding(audit=frozenset({tenant.pk}))):
        sentence = Sentence.objects.filter(tenant=tenant, kept=False).first()
        assert sentence is not None
        note: Note = Note.objects.model(
            tenant=tenant, author=author, sentence=sentence, verdict="rightly", text="No such sum."
        )
        note.sample = "abcd:99"
        note.save()
        SampledNote.objects.create(note=note, tenant=tenant, sample=note.sample)
        Note.objects.create(tenant=tenant, author=author, sentence=sentence, verdict="unsure")


def _abandoned(principal: Principal) -> None:
    """A run that ends before its model is asked."""

    async def both() -> None:
        started = await runs.start(principal, runs.Ask("And the garden?"), runs.Models(insurer_accepts()))
        assert isinstance(started, runs.Started)
        recorder = Recorder(
            principal.tenant, started.run, started.public_id, started.began, started.chain, started.clock
        )
        await close_quietly(recorder, "interrupted", "interrupted")

    asyncio.run(both())


def verify(tenant: Tenant, *more: str) -> tuple[int, str]:
    """Exit code and findings of `audit_verify` for the tenant."""
    out = StringIO()
    code = 0
    try:
        call_command("audit_verify", "--tenant", tenant.slug, *more, stdout=out)
    except SystemExit as end:
        code = int(str(end.code))
    told = [
        line.removeprefix(f"{tenant.slug}: ") for line in out.getvalue().splitlines() if line.startswith(tenant.slug)
    ]
    return code, "\n".join(told)


RUN = "(SELECT id FROM agentic_run WHERE tenant_id = %(tenant)s ORDER BY id LIMIT 1)"
LAST = "(SELECT max(id) FROM agentic_run WHERE tenant_id = %(tenant)s)"
LAST_SEAL = "(SELECT max(number) FROM agentic_seal WHERE tenant_id = %(tenant)s)"
OF_LAST = [
    f"DELETE FROM agentic_{table} WHERE {'id' if table == 'run' else 'run_id'} = {LAST}"
    for table in (*(one for one in chain.TABLES if one != "run"), "payloadtext", "run")
]
SWAP = (
    "UPDATE agentic_{table} SET {key} = 999999 WHERE {where} AND {key} = {one}",
    "UPDATE agentic_{table} SET {key} = {one} WHERE {where} AND {key} = {two}",
    "UPDATE agentic_{table} SET {key} = {two} WHERE {where} AND {key} = 999999",
)


def swap(**places: object) -> list[str]:
    return [statement.format(**places) for statement in SWAP]


CHANGES = {
    "a column of an event": (
        [f"UPDATE agentic_traceevent SET at_ms = at_ms + 1 WHERE run_id = {RUN} AND seq = 2"], "(event) was changed",
    ),
    "a moment": (
        [f"UPDATE agentic_evidence SET at = at - interval '1 day' WHERE run_id = {RUN}"], "(evidence) was changed",
    ),
    "facts of an event": (
        [f"UPDATE agentic_traceevent SET facts = facts || '{{\"total\": 9}}' WHERE run_id = {RUN} AND event = 'found'"],
        "(event) was changed",
    ),
    "a verdict": ([f"UPDATE agentic_sentence SET kept = true WHERE run_id = {RUN}"], "(sentence) was changed"),
    "who asked": ([f"UPDATE agentic_run SET caller = 'key:x' WHERE id = {RUN}"], "row 1 (run) was changed"),
    "what a citation cites": (
        [
            "UPDATE agentic_citation SET sentence_id = (SELECT max(id) FROM agentic_sentence"
            f" WHERE tenant_id = %(tenant)s) WHERE run_id = {RUN}"
        ],
        "(citation) was changed",
    ),
    "words": (
        [f"UPDATE agentic_payloadtext SET content = replace(content, 'Golf', 'Polo') WHERE run_id = {RUN}"],
        "the words of row 1 (run) were changed",
    ),
    "words deleted without an act": (
        [f"DELETE FROM agentic_payloadtext WHERE run_id = {RUN} AND kind = 'question'"],
        "the words of row 1 (run) are gone, and no act is on record",
    ),
    "words deleted under a tombstone that no act names": (
        [
            "INSERT INTO agentic_erasedtext (text, tenant_id, act_id) SELECT id, tenant_id, (SELECT max(id) FROM"
            f" agentic_adminact WHERE tenant_id = %(tenant)s) FROM agentic_payloadtext WHERE run_id = {RUN}",
            f"DELETE FROM agentic_payloadtext WHERE run_id = {RUN}",
        ],
        "erased other words than its record says",
    ),
    "a row deleted": (
        [f"DELETE FROM agentic_citation WHERE run_id = {RUN}"], "is missing",
    ),
    "the tail of a run cut": (
        [f"DELETE FROM agentic_traceevent WHERE run_id = {RUN} AND event = 'done'"], "rows were cut off",
    ),
    "a row added": (
        [
            "INSERT INTO agentic_widenattempt (tenant_id, run_id, at, kind, tool, argument, read_before)"
            f" VALUES (%(tenant)s, {RUN}, now(), 'marker', 'search', 'query', '{{}}')"
        ],
        "a row of widenattempt stands outside of the chain",
    ),
    "rows of a run reordered": (
        swap(table="traceevent", key="link", where=f"run_id = {RUN}", one=2, two=3), "rows were reordered",
    ),
    "a whole run deleted": ([*OF_LAST], "is gone"),
    "a seal deleted": (
        ["DELETE FROM agentic_seal WHERE tenant_id = %(tenant)s AND number = 3"], "entry 3 is missing",
    ),
    "a seal changed": (
        ["UPDATE agentic_seal SET count = count + 1 WHERE tenant_id = %(tenant)s AND number = 3"], "entry 3",
    ),
    "a signature changed": (
        [
            "UPDATE agentic_seal SET signature = (SELECT signature FROM agentic_seal WHERE tenant_id = %(tenant)s"
            " AND number = 1) WHERE tenant_id = %(tenant)s AND number = 2"
        ],
        "its signature is not genuine",
    ),
    "seals reordered": (
        swap(table="seal", key="number", where="tenant_id = %(tenant)s", one=2, two=3), "entries were reordered",
    ),
    "the last seal cut off": (
        [f"DELETE FROM agentic_seal WHERE tenant_id = %(tenant)s AND number = {LAST_SEAL}"], "the chain was cut: entry",
    ),
    "an act changed": (
        ["UPDATE agentic_adminact SET actor = 'user:2' WHERE tenant_id = %(tenant)s AND act = 'message quarantined'"],
        "was changed",
    ),
    "an act deleted": (
        ["DELETE FROM agentic_adminact WHERE tenant_id = %(tenant)s AND act = 'message quarantined'"], "is gone",
    ),
    "a note changed": (["UPDATE agentic_note SET verdict = 'wrongly' WHERE tenant_id = %(tenant)s"], "note"),
    "the sample of a verdict changed": (
        ["UPDATE agentic_samplednote SET sample = 'abcd:100' WHERE tenant_id = %(tenant)s"],
        "that it was given on a random sample was changed",
    ),
    "the sample of a verdict deleted": (
        ["DELETE FROM agentic_samplednote WHERE tenant_id = %(tenant)s"],
        "that it was given on a random sample is gone",
    ),
    "a verdict put into a sample": (
        [
            "INSERT INTO agentic_samplednote (note_id, tenant_id, sample) SELECT max(id), tenant_id, 'abcd:99'"
            " FROM agentic_note WHERE tenant_id = %(tenant)s GROUP BY tenant_id"
        ],
        "stands in a sample, and its entry knows of none",
    ),
    "an access changed": (
        ["UPDATE agentic_accesslog SET reader = 'key:x' WHERE tenant_id = %(tenant)s AND kind = 'run'"],
        "a row was changed or moved",
    ),
    "an access deleted": (
        ["DELETE FROM agentic_accesslog WHERE tenant_id = %(tenant)s AND kind = 'run'"], "1 rows where 2 were sealed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_named_with_an_anchor_and_without(
    kept: Kept, owner_conninfo: str, django_db_blocker: Any, what: str
) -> None:
    statements, words = CHANGES[what]
    with django_db_blocker.unblock(), tampered(owner_conninfo, kept.tenant.pk, *statements):
        code, found = verify(kept.tenant)
        anchored, told = verify(kept.tenant, "--anchor", str(kept.anchor))
    assert (code, anchored) == (1, 1)
    assert words in found
    assert set(found.splitlines()) <= set(told.splitlines())


def dropped(runs: int) -> list[str]:
    """The last *runs* runs with all of theirs and their seals, and the end of the chain set back before them."""
    head = f"(SELECT hash FROM agentic_seal s WHERE s.tenant_id = %(tenant)s AND s.number = {LAST_SEAL} - 1)"
    one = [
        *OF_LAST,
        f"UPDATE agentic_tenantchain SET number = {LAST_SEAL} - 1, head = {head} WHERE tenant_id = %(tenant)s",
        f"DELETE FROM agentic_seal WHERE tenant_id = %(tenant)s AND number = {LAST_SEAL}",
    ]
    return one * runs


@pytest.mark.parametrize("runs", [1, 2])
def test_last_runs_dropped_with_their_seals_are_found_with_an_anchor_alone(
    kept: Kept, owner_conninfo: str, django_db_blocker: Any, runs: int
) -> None:
    with django_db_blocker.unblock(), tampered(owner_conninfo, kept.tenant.pk, *dropped(runs)):
        assert verify(kept.tenant) == (0, "")
        code, found = verify(kept.tenant, "--anchor", str(kept.anchor))
    assert code == 1
    last = json.loads(kept.anchor.read_text())["tenants"][kept.tenant.slug]["number"]
    which = f"entry {last} is" if runs == 1 else f"entries {last - 1} to {last} are"
    assert found == f"the chain was cut: {which} missing with all that they sealed, as the anchor knows"


def test_runs_that_came_after_the_dropped_ones_do_not_hide_them(
    kept: Kept, owner_conninfo: str, django_db_blocker: Any
) -> None:
    with django_db_blocker.unblock(), tampered(owner_conninfo, kept.tenant.pk, *dropped(2)):
        for _ in range(3):
            _abandoned(kept.jo)
        assert verify(kept.tenant) == (0, "")
        code, found = verify(kept.tenant, "--anchor", str(kept.anchor))
    assert code == 1
    last = json.loads(kept.anchor.read_text())["tenants"][kept.tenant.slug]["number"]
    assert found == f"entry {last} is not the one that the anchor knows: the chain was written anew"


def test_all_is_as_it_was_written(kept: Kept, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        assert verify(kept.tenant, "--anchor", str(kept.anchor)) == (0, "")
        proof = Proof(kept.tenant)
        assert list(prove(proof)) == []
        with bound(Binding(audit=frozenset({kept.tenant.pk}))):
            state = chain.state(Run.objects.get(public_id=kept.answered))
    assert (state.status, state.problems) == ("sealed", ())
    assert proof.runs == 3


def test_an_anchor_of_another_chain_and_a_forged_one_are_named(
    kept: Kept, django_db_blocker: Any, tmp_path: Path
) -> None:
    told = json.loads(kept.anchor.read_text())
    own = told["tenants"][kept.tenant.slug]
    forged = tmp_path / "forged"
    forged.write_text(json.dumps({"tenants": {kept.tenant.slug: {**own, "number": own["number"] + 1}}}))
    with django_db_blocker.unblock():
        code, found = verify(kept.tenant, "--anchor", str(forged))
    assert code == 1
    assert "the anchor itself does not hold" in found


@pytest.mark.parametrize("content", ["", "[]", '{"tenants": {"x": {"number": "many"}}}'])
def test_what_is_no_anchor_is_refused_with_a_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad").write_text(content)
    with pytest.raises(anchors.UnreadableAnchor, match="is no anchor"):
        anchors.read(tmp_path / "bad")
