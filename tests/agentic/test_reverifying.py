"""`manage.py reverify`: what became of old sentences, told by the mail of today, and nothing on record changes."""

import asyncio
import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from agentic import reverifying
from agentic.models import Citation, Run, Sentence, TraceEvent
from mailsearch.models import Message
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import asked, insurer_accepts
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Letter
from tests.standins.scripted_model import ScriptedModel, answers, declares

pytestmark = pytest.mark.django_db(transaction=True)
QUOTE = "we accept liability for the damage to the Golf"


def _reverify(home: House, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and the lines of `--json`, the counts last."""
    out, code = StringIO(), 0
    try:
        call_command("reverify", *arguments, "--tenant", home.office.tenant.slug, "--json", stdout=out)
    except SystemExit as ended:
        code = int(str(ended.code))
    return code, [json.loads(line) for line in out.getvalue().splitlines()]


def _change(home: House, **values: Any) -> None:
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).update(**values)


def _answered(home: House) -> str:
    return str(asked(home.jo.principal, insurer_accepts())["run_id"])


def _as_owner(owner_conninfo: str, statement: str, *values: object) -> None:
    """Changes a row that nobody else can, to stand for one that an older version wrote."""
    with psycopg.connect(owner_conninfo) as conn:
        conn.execute("SET session_replication_role = replica")
        for trigger in ("DISABLE", "ENABLE ALWAYS"):
            conn.execute(f"ALTER TABLE {statement.split()[1]} {trigger} TRIGGER add_only")
            if trigger == "DISABLE":
                conn.execute(statement, values)


def test_what_still_stands_where_it_stood_is_still_true() -> None:
    home = house()
    run = _answered(home)
    code, (sentence, counted) = _reverify(home, run)
    assert (code, sentence["status"], sentence["citations"][0]["place"]) == (0, "still_true", "in_place")
    assert counted == {
        "runs": 1, "sentences": 1, "still_true": 1, "text_re_extracted": 0, "verifier_changed": 0,
        "verdict_differs": 0, "source_gone": 0, "not_verified": 0,
    }  # fmt: skip


def _erase(home: House) -> None:
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).delete()


@pytest.mark.parametrize(
    ("lose", "place"), [(_erase, "gone"), (lambda home: _change(home, quarantined=True), "quarantined")]
)
def test_a_source_that_is_gone_is_named_and_its_words_are_not_told(lose: Callable[[House], None], place: str) -> None:
    home = house()
    run = _answered(home)
    lose(home)
    code, (sentence, _) = _reverify(home, run)
    assert (code, sentence["status"], sentence["citations"][0]["place"]) == (1, "source_gone", place)
    assert "liability" not in json.dumps(sentence)


@pytest.mark.parametrize(
    ("text", "place", "kept"),
    [
        ("New beginning.\n\n{}", "elsewhere", True),
        ("{}\n\nAppended.", "in_place", True),
        ("Nothing of it is left.", "not_found", False),
    ],
)
def test_text_that_was_extracted_anew_says_where_the_words_stand_now(text: str, place: str, kept: bool) -> None:
    home = house()
    run = _answered(home)
    body = text.format(home.golf.body_text)
    _change(home, body_text=body, body_blocks=[[0, len(body), "paragraph"]])
    code, (sentence, _) = _reverify(home, run)
    (citation,) = sentence["citations"]
    assert (code, sentence["status"], citation["place"]) == (1, "text_re_extracted", place)
    assert citation["text_changed"] is True
    assert sentence["kept"] is kept


def test_newer_rules_that_decide_otherwise_are_told_from_changed_text(owner_conninfo: str) -> None:
    home = house()
    run = _answered(home)
    _as_owner(owner_conninfo, "UPDATE agentic_run SET verifier_version = '0' WHERE public_id = %s", run)
    assert _reverify(home, run)[1][0]["status"] == "still_true"
    # As if older rules had let the sentence stand as a reference alone.
    tenant = home.office.tenant.pk
    _as_owner(owner_conninfo, "UPDATE agentic_sentence SET support = 'reference' WHERE tenant_id = %s", tenant)
    code, (sentence, _) = _reverify(home, run)
    assert (code, sentence["status"], sentence["support"]) == (1, "verifier_changed", "quote")
    assert (sentence["verifier_then"], sentence["verifier_now"]) != ("0", "0")


def test_another_verdict_under_the_same_rules_and_text_is_never_hidden(owner_conninfo: str) -> None:
    home = house()
    run = _answered(home)
    tenant = home.office.tenant.pk
    _as_owner(owner_conninfo, "UPDATE agentic_sentence SET support = 'reference' WHERE tenant_id = %s", tenant)
    code, (sentence, _) = _reverify(home, run)
    assert (code, sentence["status"]) == (1, "verdict_differs")


def test_mail_that_was_only_deleted_at_its_source_still_bears_its_sentence() -> None:
    home = house()
    run = _answered(home)
    _change(home, deleted_at_source="2026-05-01T00:00:00Z")
    assert _reverify(home, run)[0] == 0


def test_mail_that_came_later_changes_no_verdict() -> None:
    home = house()
    run = _answered(home)
    home.office.post("family", Letter("We refuse the Golf claim after all.", thread=home.golf.thread))
    assert _reverify(home, run)[0] == 0


def test_a_table_is_looked_up_as_the_table_that_it_was() -> None:
    home = house()
    table = "| Who | What |\n| --- | --- |\n| insurer | accept liability |"
    response = asked(home.jo.principal, ScriptedModel(answers((table, "accept liability", QUOTE))))
    assert response["outcome"] == "answered"
    code, (sentence, _) = _reverify(home, str(response["run_id"]))
    assert (code, sentence["status"]) == (0, "still_true")


def test_all_runs_since_a_day_are_looked_up_and_runs_without_sentences_count_too() -> None:
    home = house()
    _answered(home)
    asked(home.jo.principal, ScriptedModel(declares()))
    _answered(home)
    code, lines = _reverify(home, "--since", "2020-01-01")
    assert (code, lines[-1]["runs"], lines[-1]["still_true"]) == (0, 3, 2)
    assert _reverify(home, "--since", "2999-01-01")[1] == [{**lines[-1], "runs": 0, "sentences": 0, "still_true": 0}]


def test_verification_runs_in_a_child_that_can_be_killed_and_says_when_it_did_not_end() -> None:
    home = house()
    run = _answered(home)
    tenant = home.office.tenant.pk
    (sentence,) = asyncio.run(reverifying.reverify(tenant, run, seconds=-1))
    assert (sentence.status, sentence.kept, sentence.text is None) == ("not_verified", False, False)
    _erase(home)
    assert [one.status for one in asyncio.run(reverifying.reverify(tenant, run, seconds=-1))] == ["source_gone"]


def test_the_record_stays_as_it_was() -> None:
    home = house()
    run = _answered(home)
    tenant = home.office.tenant.pk

    def rows() -> list[Any]:
        with bound(Binding(audit=frozenset({tenant}))):
            return [
                list(table.objects.filter(tenant=tenant).values()) for table in (Run, Sentence, Citation, TraceEvent)
            ]

    before = rows()
    _change(home, body_text="Nothing of it is left.")
    _reverify(home, run)
    assert rows() == before


def test_a_run_of_another_tenant_is_not_there() -> None:
    home, other = house(), house()
    run = _answered(home)
    for arguments in ([run], ["run_nothing"], ["--since", "yesterday"]):
        with pytest.raises(CommandError) as refused:
            _reverify(other, *arguments)
        assert refused.value.returncode == 2


def test_people_are_told_only_what_differs() -> None:
    home = house()
    run = _answered(home)
    _change(home, body_text="Nothing of it is left.")
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("reverify", run, "--tenant", home.office.tenant.slug, stdout=out)
    assert "body: not found; removed: quote_not_found" in out.getvalue()
    assert out.getvalue().endswith("1 runs, 1 kept sentences: 1 text re extracted.\n")
