"""The sample mail and its questions hold what their README promises."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import default
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mailsearch.ingest.attachments import read_text

SAMPLE = Path(__file__).resolve().parents[2] / "sample"
# A reply of the kind that puts the old message below a rule has nothing of its own after that rule.
RULES = ("-----Original Message-----", "-----Ursprüngliche Nachricht-----", "_______________")
TEXT_FILES = (".txt", ".csv", ".ics", ".pdf", ".docx", ".xlsx")


@dataclass(frozen=True)
class Mail:
    """One message of the sample: where it lies and what it says."""

    place: str
    message: EmailMessage
    # The message inside which this one was found, as a file name; empty for mail that lies in a folder.
    inside: str = ""

    @property
    def message_id(self) -> str:
        return str(self.message["Message-ID"])


class VisibleText(HTMLParser):
    """Collects the text of a page that a reader would see."""

    _HIDING = re.compile(r"display:\s*none|font-size:\s*0|color:\s*#ffffff")

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        style = dict(attrs).get("style") or ""
        if tag in {"style", "title"} or self._HIDING.search(style):
            self._hidden.append(tag)
        if tag in {"p", "br", "td", "th", "li", "tr", "h1", "h2", "div"}:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def flat(text: str) -> str:
    return " ".join(text.split())


def content_of(part: MIMEPart) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def own_words(message: EmailMessage) -> str:
    """The visible body without what it quotes."""
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    text = content_of(part).decode(part.get_content_charset() or "utf-8")
    if part.get_content_type() == "text/html":
        page = VisibleText()
        page.feed(text)
        return flat("".join(page.pieces))
    for rule in RULES:
        text = text.partition(rule)[0]
    return flat("\n".join(line for line in text.splitlines() if not line.startswith(">")))


@cache
def attachment_text(content: bytes, kind: str, filename: str) -> str:
    state, parsed = read_text(content, kind, filename)
    assert state == "ok", f"{filename} is {state}"
    return flat(parsed.text)


def attachments_of(message: EmailMessage) -> Iterator[MIMEPart]:
    return (part for part in message.iter_attachments() if part.get_filename())


def words_of(message: EmailMessage, filename: str) -> str:
    """The own words of the body, or the text of one attachment."""
    if not filename:
        return own_words(message)
    part = next(part for part in attachments_of(message) if part.get_filename() == filename)
    return attachment_text(content_of(part), part.get_content_type(), filename)


def mails_in(message: EmailMessage, place: str, inside: str = "") -> Iterator[Mail]:
    yield Mail(place, message, inside)
    for part in message.iter_attachments():
        if part.get_content_type() == "message/rfc822":
            yield from mails_in(part.get_content(), place, place)


@pytest.fixture(scope="module")
def mails() -> list[Mail]:
    found: list[Mail] = []
    for path in sorted((SAMPLE / "mail").rglob("*.eml")):
        message = message_from_bytes(path.read_bytes(), policy=default)
        assert isinstance(message, EmailMessage)
        found += mails_in(message, path.relative_to(SAMPLE / "mail").as_posix())
    return found


@pytest.fixture(scope="module")
def by_id(mails: list[Mail]) -> dict[str, list[Mail]]:
    found: dict[str, list[Mail]] = defaultdict(list)
    for mail in mails:
        found[mail.message_id].append(mail)
    return found


@pytest.fixture(scope="module")
def questions() -> list[dict[str, Any]]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def demo() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((SAMPLE / "demo.json").read_text(encoding="utf-8"))["questions"]
    return loaded


def test_every_message_parses_without_a_defect_and_says_who_wrote_it_when(mails: list[Mail]) -> None:
    for mail in mails:
        faults = [fault for part in mail.message.walk() for fault in part.defects]
        assert not faults, mail.place
        assert mail.message["From"].addresses, mail.place
        assert mail.message["Date"].datetime.tzinfo is not None, mail.place
        assert mail.message["Message-ID"], mail.place


def test_the_sample_is_as_large_and_as_old_as_its_readme_says(mails: list[Mail], by_id: dict[str, list[Mail]]) -> None:
    dates = sorted(mail.message["Date"].datetime for mail in mails)
    assert 150 <= len(by_id) <= 260
    assert dates[0].year == 2024
    assert (dates[-1].year, dates[-1].month) == (2026, 3)
    assert sum(path.stat().st_size for path in (SAMPLE / "mail").rglob("*.eml")) < 3_000_000


def test_one_message_id_names_one_message_or_copies_with_the_same_words(by_id: dict[str, list[Mail]]) -> None:
    for copies in by_id.values():
        assert len({own_words(mail.message) for mail in copies}) == 1, copies[0].place
        assert len({Path(mail.place).parent for mail in copies}) == len(copies), copies[0].place


def test_every_reply_names_messages_that_came_before_it(mails: list[Mail], by_id: dict[str, list[Mail]]) -> None:
    replies = [mail for mail in mails if mail.message["In-Reply-To"]]
    assert len(replies) > 100
    for reply in replies:
        for parent in str(reply.message["References"]).split():
            if parent in by_id:
                assert by_id[parent][0].message["Date"].datetime < reply.message["Date"].datetime, reply.place


def test_attachments_of_every_promised_kind_are_read(mails: list[Mail]) -> None:
    kinds: Counter[str] = Counter()
    carriers = set()
    for mail in mails:
        for part in attachments_of(mail.message):
            name = str(part.get_filename())
            kinds[Path(name).suffix] += 1
            carriers.add(mail.place)
            if name.endswith(TEXT_FILES):
                assert attachment_text(content_of(part), part.get_content_type(), name), mail.place
    assert len(carriers) >= 25
    assert set(TEXT_FILES) <= set(kinds)
    assert any(mail.inside for mail in mails), "a message inside a message"


def test_trust_differs_between_honest_and_hostile_mail(mails: list[Mail]) -> None:
    results = Counter(
        match.group(1)
        for mail in mails
        for field in mail.message.get_all("Authentication-Results") or []
        if (match := re.search(r"dmarc=(\w+)", str(field)))
    )
    assert results["pass"] > 150
    assert results["fail"] >= 2
    assert results["none"] >= 2
    assert [mail.place for mail in mails if "/Quarantine/" in mail.place]


def test_one_date_is_disputed_by_more_than_two_days(mails: list[Mail]) -> None:
    def border(mail: Mail) -> Any:
        received = mail.message.get_all("Received") or [""]
        stamp = str(received[0]).rpartition(";")[2].strip()
        return message_from_bytes(f"Date: {stamp}\n\n".encode(), policy=default)["Date"].datetime

    received = [mail for mail in mails if mail.message["Received"]]
    late = [
        mail.place
        for mail in received
        if abs((border(mail) - mail.message["Date"].datetime).total_seconds()) > 48 * 3600
    ]
    assert len(late) == 1


def test_every_gold_quote_stands_in_the_own_words_of_its_message(
    questions: list[dict[str, Any]], by_id: dict[str, list[Mail]]
) -> None:
    missing = [
        (question["id"], gold["quote"])
        for question in questions
        for gold in question["gold"]
        for mail in by_id[gold["message_id"]][:1]
        if flat(gold["quote"]) not in words_of(mail.message, gold.get("part", ""))
    ]
    assert not missing


def test_every_gold_quote_of_an_attachment_stands_in_one_block_and_few_blocks_hold_several_lines(
    questions: list[dict[str, Any]], by_id: dict[str, list[Mail]]
) -> None:
    across: list[str] = []
    for gold in (gold for question in questions for gold in question["gold"] if gold.get("part")):
        message = by_id[gold["message_id"]][0].message
        part = next(one for one in attachments_of(message) if one.get_filename() == gold["part"])
        _, parsed = read_text(content_of(part), part.get_content_type(), gold["part"])
        blocks = [parsed.text[block.start : block.end] for block in parsed.blocks]
        if not any(flat(gold["quote"]) in flat(block) for block in blocks):
            across.append(gold["quote"])
        if gold["part"].endswith(".pdf"):
            assert sum("\n" in block for block in blocks) <= 1, gold["part"]
    assert not across


def test_every_alternative_is_a_message_of_the_sample(
    questions: list[dict[str, Any]], by_id: dict[str, list[Mail]]
) -> None:
    assert not [other for question in questions for other in question["alt_message_ids"] if other not in by_id]


def test_what_would_answer_an_unanswerable_question_stands_nowhere(
    questions: list[dict[str, Any]], mails: list[Mail]
) -> None:
    texts = [own_words(mail.message) for mail in mails]
    texts += [
        words_of(mail.message, str(part.get_filename()))
        for mail in mails
        for part in attachments_of(mail.message)
        if str(part.get_filename()).endswith(TEXT_FILES)
    ]
    found = [
        (question["id"], match.group(0))
        for question in questions
        for pattern in question.get("must_not_match", [])
        for text in texts
        if (match := re.search(pattern, text))
    ]
    assert not found


def test_the_questions_are_as_many_of_each_kind_as_promised(questions: list[dict[str, Any]]) -> None:
    answerable = [question for question in questions if question["answerable"]]
    languages = Counter(question["language"] for question in answerable)
    several = [question for question in answerable if len({gold["message_id"] for gold in question["gold"]}) > 1]
    reversals = [question for question in answerable if question["kind"] == "reversal"]
    attached = [question for question in answerable if any("part" in gold for gold in question["gold"])]
    assert len({question["id"] for question in questions}) == len(questions)
    assert len(answerable) >= 150
    assert len(questions) - len(answerable) == 40
    assert min(languages[language] for language in ("en", "de", "fr")) >= 25
    assert len(several) >= 0.4 * len(answerable)
    assert len(reversals) >= 0.15 * len(answerable)
    assert len(attached) >= 0.15 * len(answerable)


def test_no_thread_is_asked_about_in_both_splits(questions: list[dict[str, Any]], by_id: dict[str, list[Mail]]) -> None:
    sides: dict[str, set[str]] = defaultdict(set)
    for question in questions:
        for gold in question["gold"]:
            references = str(by_id[gold["message_id"]][0].message["References"] or gold["message_id"])
            sides[references.split()[0]].add(question["split"])
    assert not [thread for thread, splits in sides.items() if len(splits) > 1]
    halves = Counter(question["split"] for question in questions)
    assert min(halves["dev"], halves["test"]) >= 0.4 * len(questions)


def test_the_demo_asks_one_question_of_each_kind_and_names_messages_that_exist(
    demo: list[dict[str, Any]], by_id: dict[str, list[Mail]]
) -> None:
    assert [question["kind"] for question in demo] == ["several-messages", "attachment", "not-in-the-mail", "steered"]
    for question in demo:
        named = [*question["cites"], *question["alternatives"], *question.get("hostile", [])]
        assert set(named) <= set(by_id)
        assert question["outcome"] in question["accepted_outcomes"]


def test_hostile_mails_are_of_many_kinds_and_ordinary_ones_stand_among_them() -> None:
    lines = (SAMPLE / "injections.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    kinds = Counter(row["category"] for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert sum(kinds.values()) - kinds["benign-control"] >= 60
    assert len(kinds) == 13
    assert all(row["checks"]["answer_must_contain"] for row in rows if row["category"] == "benign-control")
