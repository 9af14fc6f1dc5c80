"""The evaluation of questions: verdicts, bad input, and a whole run over a little mail."""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentic.evaluation import questions
from agentic.evaluation.questions.cases import Case, Cited, Gold, judge, read
from agentic.evaluation.report import BadInput
from mailsearch.models import Tenant
from tests.standins import model_server as server
from tests.standins.model_server import ModelServer
from tests.standins.service import ANSWERED, answers_golf, configured

GOLD = Gold("1@nordlicht.example", "We accept liability for the damage to the Golf.")


def case(*, answerable: bool = True, gold: tuple[Gold, ...] = (GOLD,)) -> Case:
    return Case("c1", "Did Nordlicht accept?", answerable, "", gold if answerable else (), frozenset(), (), "")


def cited(quote: str, message: str = GOLD.message) -> Cited:
    return Cited(message, quote, True)


@pytest.mark.parametrize(
    ("quotes", "verdict"),
    [
        ([cited("we accept liability for the damage")], "right"),
        ([cited("we accept")], "wrong"),
        ([cited(GOLD.quote, "2@elsewhere.example")], "wrong"),
        ([cited("> We accept liability\n> for the damage to the Golf.")], "right"),
        ([cited("Good morning."), cited(GOLD.quote)], "right"),
    ],
)
def test_an_answer_is_right_if_it_cites_half_of_every_gold_quote(quotes: list[Cited], verdict: str) -> None:
    assert judge(case(), True, quotes) == verdict


def test_no_answer_is_refused_and_any_answer_to_the_unanswerable_wrong() -> None:
    assert judge(case(), False, []) == "refused"
    assert judge(case(answerable=False), True, [cited(GOLD.quote)]) == "wrong"
    assert judge(case(answerable=False), False, []) == "refused"


def test_an_answer_with_one_of_two_gold_quotes_is_wrong() -> None:
    second = Gold("2@nordlicht.example", "Payment follows on Monday.")
    assert judge(case(gold=(GOLD, second)), True, [cited(GOLD.quote)]) == "wrong"


@pytest.mark.parametrize("text", ["", "no json", '{"id": "x"}', '["a"]'])
def test_a_file_without_questions_is_bad_input(tmp_path: Path, text: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    with pytest.raises(BadInput):
        read(file)


def test_a_row_ends_at_a_line_feed_and_at_nothing_else(tmp_path: Path) -> None:
    asked = ["Who\u2028called?", "Who\x85came?"]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(f'{{"question": "{one}", "answerable": false}}' for one in asked), encoding="utf-8")
    assert [case.question for case in read(file)] == asked


def test_a_file_that_is_no_text_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="can't be read"):
        read(file)


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    """Two corpora of a few messages each."""
    bodies = {
        "one": ["As we agreed, we accept liability for the damage to the Golf.", "The choir meets on Thursday."],
        "two": ["The boat leaves from the north pier.", "Quarterly figures are attached."],
    }
    for corpus, texts in bodies.items():
        folder = tmp_path / "mail" / corpus
        folder.mkdir(parents=True)
        for number, text in enumerate(texts):
            message = EmailMessage()
            message["From"] = "Nordlicht claims desk <claims@nordlicht.example>"
            message["To"] = "jo@brandt.example"
            message["Subject"] = f"Note {number}"
            message["Date"] = "Sat, 14 Mar 2026 09:12:00 +0100"
            message["Message-ID"] = f"<{corpus}-{number}@nordlicht.example>"
            message.set_content(text)
            (folder / f"{number}.eml").write_bytes(bytes(message))
    return tmp_path / "mail"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    quote = {"message_id": "<one-0@nordlicht.example>", "quote": GOLD.quote}
    rows = [
        {"id": "a", "question": "Did Nordlicht accept liability for the damage to the Golf?", "answerable": True,
         "corpus": "one", "gold": [quote]},
        {"id": "n", "question": "Which dentist did Wilhelmina Okafor recommend?", "answerable": False, "corpus": "two"},
    ]  # fmt: skip
    written = tmp_path / "questions.jsonl"
    written.write_text("\n".join(json.dumps(row) for row in rows))
    return written


@pytest.fixture
def no_evaluation_left() -> Iterator[None]:
    yield
    assert not Tenant.objects.filter(slug__startswith="evaluation-", evaluation=False).exists()


@pytest.mark.django_db(transaction=True)
def test_questions_are_asked_of_their_own_corpus_and_of_a_scope_that_lacks_it(
    mail: Path, file: Path, no_evaluation_left: None
) -> None:
    report = questions.run(file, {"mail": mail, "model": "extractive", "seconds": 60})
    assert (report.n, report.agree, report.differ, report.ok) == (2, 2, (), True)
    assert report.gates["leaks"].value == 0
    assert report.figures["twins"] == {
        "asked": 1, "leaked": 0, "answered_out_of_scope": 0, "answered_deleted": 0, "answered_older": 0
    }  # fmt: skip
    assert report.figures["answerable"] == {"right": 1, "wrong": 0, "refused": 0}
    baselines: Any = report.figures["baselines"]
    assert set(baselines) == {"refuse_all", "top_hit", "one_search"}
    # A second time finds the mail where it was put the first time.
    assert questions.run(file, {"mail": mail, "limit": 1}).n == 1


def _units(file: Path) -> list[str]:
    return [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.django_db(transaction=True)
def test_a_model_that_stalls_costs_its_question_and_a_second_start_goes_on(
    mail: Path, file: Path, tmp_path: Path, settings: Any
) -> None:
    kept, units = tmp_path / "results.jsonl", tmp_path / "units.jsonl"
    settings.PM_AGENT_MODEL = "m"
    options = {"mail": mail, "model": "http", "seconds": 2, "results": kept, "units": units}
    declined = server.stream(server.message(None, ("insufficient", '{"missing": "all"}')))
    with ModelServer(server.hangs) as there:
        settings.PM_AGENT_BASE_URL = there.url
        # Both questions, and both twins of the first, are asked; none was answered by a single word.
        report = questions.run(file, options)
        assert len(there.seen) >= 3
    assert (report.n, report.gates["not_asked"].value, report.exit_code, kept.exists()) == (0, 3, 1, False)
    with configured(settings, answers_golf()):
        settings.PM_AGENT_MODEL = "m"
        report = questions.run(file, {**options, "limit": 1, "seconds": 60})
    assert (report.n, report.agree, report.gates["not_asked"].value) == (1, 1, 0)
    with ModelServer(declined) as there:
        settings.PM_AGENT_BASE_URL = there.url
        report = questions.run(file, {**options, "seconds": 60})
        assert not any("Golf" in json.dumps(one.body) for one in there.seen)
    assert (report.n, report.agree, report.gates["not_asked"].value) == (2, 2, 0)
    assert ANSWERED in " ".join(_units(units))
    written = kept.read_text()
    # With nothing left to ask, the same comes of what was noted.
    settings.PM_AGENT_BASE_URL = "http://127.0.0.1:1"
    again = questions.run(file, {**options, "seconds": 60})
    assert (again.last_line(), kept.read_text()) == (report.last_line(), written)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.django_db(transaction=True)
def test_what_there_is_at_an_interruption_is_written_for_readers(
    mail: Path, file: Path, tmp_path: Path, settings: Any
) -> None:
    kept, units = tmp_path / "results.jsonl", tmp_path / "units.jsonl"

    golf = answers_golf()

    def until_the_second(handler: Any) -> None:
        if "dentist" in json.dumps(handler.body):
            os.kill(os.getpid(), signal.SIGINT)
            server.hangs(handler)
        else:
            golf(handler)

    options = {"mail": mail, "model": "http", "seconds": 60, "results": kept, "units": units}
    with configured(settings, until_the_second), pytest.raises(KeyboardInterrupt):
        questions.run(file, options)
    assert [json.loads(line)["id"] for line in kept.read_text().splitlines()] == ["a"]
    assert ANSWERED in " ".join(_units(units))


@pytest.mark.parametrize("text", ["no json", '{"id": "a"}', "[]"])
@pytest.mark.django_db(transaction=True)
def test_a_file_of_other_results_is_bad_input(mail: Path, file: Path, tmp_path: Path, text: str) -> None:
    kept = tmp_path / "results.jsonl"
    kept.write_text(text)
    with pytest.raises(BadInput, match="no results"):
        questions.run(file, {"mail": mail, "results": kept})
    assert kept.read_text() == text


def test_a_sample_holds_of_each_kind_its_share_and_is_the_same_for_a_seed(tmp_path: Path) -> None:
    kinds = ["reversal"] * 20 + ["attachment"] * 10 + [""] * 10
    rows = [
        {"id": f"q{number}", "question": "Who?", "answerable": bool(kind), "kind": kind}
        for number, kind in enumerate(kinds)
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    drawn = read(file, 12, 7)
    counts = Counter(case.kind for case in drawn)
    assert counts == {"reversal": 6, "attachment": 3, "": 3}
    assert [case.case_id for case in drawn] == [case.case_id for case in read(file, 12, 7)]
    assert [case.case_id for case in drawn] != [case.case_id for case in read(file, 12, 8)]


@pytest.mark.django_db(transaction=True)
def test_the_command_ends_with_bad_input_where_no_mail_is(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("evaluate", "questions", str(file), mail=tmp_path / "nowhere")
    assert ended.value.code == 2
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["ok"] is False


@pytest.mark.django_db(transaction=True)
def test_a_chat_model_is_shown_the_mail_of_the_one_search_that_it_is_compared_with(
    mail: Path, file: Path, settings: Any
) -> None:
    with configured(settings, answers_golf()) as there:
        questions.run(file, {"mail": mail, "model": "http", "seconds": 60, "limit": 1})
    (compared,) = [one.body for one in there.seen if len(one.body["messages"]) == 2 and "[m1]" in json.dumps(one.body)]
    assert GOLD.quote.lower() in compared["messages"][1]["content"].lower()


@pytest.mark.django_db(transaction=True)
def test_alone_and_with_one_step_a_model_is_asked_once_a_question(
    mail: Path, file: Path, tmp_path: Path, settings: Any
) -> None:
    options = {"mail": mail, "model": "http", "seconds": 60, "steps": 1, "alone": True, "results": tmp_path / "kept"}
    with configured(settings, answers_golf()) as there:
        report = questions.run(file, options)
        assert (len(there.seen), report.figures["model_calls"]) == (2, 2)
        again = questions.run(file, options)
        assert (len(there.seen), again.last_line()) == (2, report.last_line())
        # Who then wants the comparison, too, gets it for each.
        whole: Any = questions.run(file, {**options, "alone": False}).figures["baselines"]
        assert set(whole) == {"refuse_all", "top_hit", "one_search"}
    assert report.figures["answerable"] == {"right": 1, "wrong": 0, "refused": 0}
    baselines: Any = report.figures["baselines"]
    assert (set(baselines), "leaks" in report.gates, report.gates["not_asked"].value) == ({"refuse_all"}, False, 0)


@pytest.mark.parametrize("steps", ["0", "-1", "two"])
def test_a_number_of_steps_that_is_none_is_refused(file: Path, steps: str) -> None:
    with pytest.raises(CommandError, match="whole number from 1"):
        call_command("evaluate", "questions", str(file), "--steps", steps)
