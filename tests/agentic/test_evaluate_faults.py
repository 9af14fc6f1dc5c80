"""The evaluation of faults tells what differs, and only that."""

import json
from pathlib import Path

import pytest

from agentic.evaluation import faults
from agentic.evaluation.report import BadInput
from mailsearch.models import Tenant
from tests.mailsearch.importing import mail, write

pytestmark = pytest.mark.django_db(transaction=True)


def fault(folder: Path, **expected: object) -> Path:
    write(
        folder,
        a__eml=mail("The heron has moved.", id_="a@x.example", subject="Colony"),
        b__eml=mail("Where to?", id_="b@x.example", subject="Re: Colony", in_reply_to="<a@x.example>"),
    )
    described = {"id": folder.name, "format": "eml", "input": ["a.eml", "b.eml"], **expected}
    (folder / "expected.json").write_text(json.dumps(described))
    return folder


def test_what_is_as_expected_agrees(tmp_path: Path) -> None:
    fault(
        tmp_path / "herons",
        message_count=2,
        reimport_adds=0,
        messages=[
            {
                "file": "a.eml",
                "message_id": "<a@x.example>",
                "status": "ok",
                "subject": "Colony",
                "from": {"name": "Ann Abel", "address": "ann@abel.example"},
                "date": "2026-03-04T08:00:00Z",
                "text_contains": ["\nThe heron"],
                "text_excludes": ["bittern"],
                "attachments": [],
                "flags": [],
                "folder": "INBOX",
            }
        ],
        threads=[["<a@x.example>", "b.eml"]],
        search=[
            {"query": "heron", "must_return": ["<a@x.example>"], "must_not_return": ["<b@x.example>"]},
            {"query": "'\":*", "must_not_fail": True},
        ],
        unheard_of={"key": "is not checked"},
    )
    before = Tenant.objects.count()
    report = faults.run(tmp_path, {})
    assert (report.n, report.agree, report.differ, report.exit_code) == (1, 1, (), 0)
    # Nothing is left of the account.
    assert Tenant.objects.count() == before


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"message_count": 3}, "2 messages are stored"),
        ({"messages": [{"file": "a.eml", "subject": "Colonies"}]}, "the subject is 'Colony'"),
        ({"messages": [{"file": "a.eml", "date_any_of": [None]}]}, "the date is"),
        ({"messages": [{"file": "a.eml", "status": "stored_with_defect"}]}, "no defect is recorded"),
        ({"messages": [{"file": "a.eml", "text_contains": ["bittern"]}]}, "the text lacks 'bittern'"),
        ({"messages": [{"message_id": "<c@x.example>"}]}, "is not stored"),
        ({"threads": [["a.eml"], ["b.eml"]]}, "in one thread"),
        ({"search": [{"query": "heron", "must_return": ["<b@x.example>"]}]}, "misses <b@x.example>"),
        ({"search": [{"query": "heron", "must_return": []}]}, "finds ['<a@x.example>']"),
        ({"not_imported": ["<a@x.example>"]}, "<a@x.example> was taken in"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, expected: dict[str, object], said: str) -> None:
    report = faults.run(fault(tmp_path / "herons", **expected), {})
    assert (report.differ, report.exit_code) == (("herons",), 1)
    assert said in "\n".join(report.lines)


def test_a_folder_without_faults_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        faults.run(tmp_path, {})
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "expected.json").write_text("{")
    with pytest.raises(BadInput):
        faults.run(tmp_path, {})
