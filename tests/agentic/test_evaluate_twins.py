"""Deletion twins: what has to go with an answer, and the proof that nothing of it is left."""

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from agentic.evaluation import twins
from agentic.evaluation.questions.cases import Case, Gold
from agentic.evaluation.questions.stating import Paragraphs, Stating
from agentic.evaluation.report import BadInput
from mailsearch.models import Message, Tenant
from mailsearch.sessions import Binding, bound

QUOTE = "The mooring at berth 14 costs EUR 318.40 a month from the first of June."
ROW = {
    "id": "q", "question": "What does the mooring at the north pier cost a month?", "answerable": True,
    "gold": [{"message_id": "<gold@harbour.example>", "quote": QUOTE}],
    "answer_canonical": "EUR 318.40", "aliases": ["318.40"],
}  # fmt: skip


def _says(text: str) -> bool:
    gold = (Gold("gold@harbour.example", QUOTE),)
    case = Case("q", str(ROW["question"]), True, "", gold, frozenset(), (), "", ("EUR 318.40",))
    return Stating(case).among([Paragraphs.of(text)])


@pytest.mark.parametrize(
    "text",
    [
        QUOTE,
        "Bo wrote:\n> The mooring at berth 14\n> costs EUR 318.40 a month\n>\tfrom the first of June.\nFine.",
        ">> “The mooring at berth 14 costs EUR 318.40 a month",
        "Fwd: the mooring at BERTH 14 costs EUR 318.40 a month from the first",
        "Dear Jo,\r\n\r\nfor berth 14 the mooring is now €318.40 each month.\r\n\r\nBo",
        "Mooring, north pier, per month | 318.40 EUR",
    ],
)
def test_copies_quotes_and_other_words_say_the_answer(text: str) -> None:
    assert _says(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The mooring at berth 15 costs EUR 290.00 a month from the first of May.",
        "We paid EUR 318.40 for paint.",
        "The mooring at berth 14 is wet, and a month of June is long.\r\n\r\nThe paint was EUR 318.40.",
        "The mooring at the north pier.",
    ],
)
def test_a_topic_or_a_number_alone_does_not(text: str) -> None:
    assert not _says(text)


def test_without_facts_most_of_the_words_have_to_be_there() -> None:
    gold = (Gold("gold@harbour.example", "Ottilie prefers the green barge for summer excursions."),)
    stating = Stating(Case("q", "Which barge does Ottilie like?", True, "", gold, frozenset(), (), ""))
    assert stating.among([Paragraphs.of("For summer excursions Ottilie still prefers the barge in green.")])
    assert not stating.among([Paragraphs.of("Ottilie has painted the barge.")])


def _mail(folder: Path, name: str, text: str = "See below.", subject: str = "Berth", **more: Any) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Bo <bo@harbour.example>"
    message["To"] = "jo@brandt.example"
    message["Subject"] = subject
    message["Date"] = "Sat, 14 Mar 2026 09:12:00 +0100"
    message["Message-ID"] = f"<{name}@harbour.example>"
    message.set_content(text)
    for file, content in more.items():
        message.add_attachment(content, filename=f"{file}.txt") if isinstance(content, str) else (
            message.add_attachment(content)
        )
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.eml").write_bytes(bytes(message))
    return message


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """The answer in every place that it can be in, and a mail beside that is about something else."""
    folder = tmp_path / "mail"
    gold = _mail(folder, "gold", f"Dear Jo,\n\n{QUOTE}\n\nBo")
    _mail(folder, "reply", "Thank you.\n\nBo wrote:\n> " + QUOTE.replace(" costs", "\n> costs"))
    _mail(folder, "forwarded", attached=gold)
    _mail(folder, "file", prices=f"Prices\n\n{QUOTE}\n")
    _mail(folder, "subject", subject=f"Re: {QUOTE[:50]}")
    _mail(folder, "retold", "So it will be 318.40 EUR a month for the mooring?")
    _mail(folder, "other", "The barge was painted. It cost EUR 90.00 a month of work.")
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "questions.jsonl"
    unanswerable = {"id": "n", "question": "Who paints the crane?", "answerable": False}
    written.write_text("\n".join(json.dumps(row) for row in (ROW, unanswerable)), encoding="utf-8")
    return written


@pytest.mark.django_db(transaction=True)
def test_of_a_twins_mail_no_copy_is_left_and_all_is_put_back(mail: Path, file: Path) -> None:
    report = twins.run(file, {"mail": mail})
    assert (report.n, report.agree, report.differ, report.ok) == (1, 1, (), True), report.lines
    # The forwarded message is one by itself, too.
    assert report.figures["deleted"] == 7
    tenant = Tenant.objects.filter(slug__startswith="evaluation-").latest("pk")
    with bound(Binding(tenant.pk, frozenset(tenant.mailboxes.values_list("pk", flat=True)))):
        assert Message.objects.filter(tenant=tenant, deleted_at_source__isnull=True).count() == 8


@pytest.mark.django_db(transaction=True)
def test_what_the_store_does_not_show_is_found_in_the_mail_itself(mail: Path, file: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "Bo <bo@harbour.example>", "Berth"
    message["Message-ID"] = "<two-faced@harbour.example>"
    # Mail programs show the second, and the store the first.
    message.set_content("Good morning, the crane is repaired, everybody may use it again.")
    message.add_alternative(f"<p>{QUOTE}</p>", subtype="html")
    (mail / "two.eml").write_bytes(bytes(message))
    report = twins.run(file, {"mail": mail})
    assert (report.gates["left"].value, report.differ, report.ok) == (1, ("q",), False)
    assert report.lines == ("q: two-faced@harbour.example still says it",)


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_is_nowhere_proves_nothing(mail: Path, file: Path) -> None:
    row = {**ROW, "gold": [{"message_id": "<x@y.example>", "quote": "Nobody ever wrote this about any crane at all."}]}
    file.write_text(json.dumps({**row, "answer_canonical": "crane", "aliases": []}))
    report = twins.run(file, {"mail": mail})
    assert (report.gates["nothing_deleted"].value, report.ok) == (1, False)
    with pytest.raises(BadInput):
        twins.run(file, {})
