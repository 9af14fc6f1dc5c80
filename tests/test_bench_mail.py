"""The mail that benchmarks take in."""

from datetime import timedelta
from email import message_from_bytes
from email.utils import getaddresses, parsedate_to_datetime
from itertools import pairwise
from pathlib import Path

from bench import _recombined, search_quality
from bench._mail import SAMPLE, write_corpus


def read(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def text(mail: bytes) -> bytes:
    """What the first text of *mail* says."""
    first = next(part for part in message_from_bytes(mail).walk() if part.get_content_maintype() == "text")
    decoded = first.get_payload(decode=True)
    assert isinstance(decoded, bytes)
    return decoded


def test_benchmark_mail_is_the_same_each_time_and_no_message_twice(tmp_path: Path) -> None:
    count = 2 * len(list(SAMPLE.rglob("*.eml"))) + 5
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name, count)
    mails = read(tmp_path / "one")
    assert mails == read(tmp_path / "other")
    assert len(set(mails)) == count
    assert len({text(mail) for mail in mails}) == count
    known = {message_from_bytes(mail)["Message-ID"] for mail in mails}
    answers = [message_from_bytes(mail)["In-Reply-To"] for mail in mails]
    assert sum(one in known for one in answers if one) > count / 4


def test_a_round_comes_some_weeks_after_the_one_before(tmp_path: Path) -> None:
    originals = [message_from_bytes(path.read_bytes())["Date"] for path in sorted(SAMPLE.rglob("*.eml"))]
    write_corpus(tmp_path, 3 * len(originals))
    dates = [parsedate_to_datetime(message_from_bytes(mail)["Date"]) for mail in read(tmp_path)]
    rounds = [dates[start : start + len(originals)] for start in range(0, len(dates), len(originals))]
    assert rounds[2] == list(map(parsedate_to_datetime, originals))
    assert all(
        later - earlier == timedelta(days=20)
        for before, after in pairwise(rounds)
        for earlier, later in zip(before, after, strict=True)
    )


def test_other_people_write_after_some_rounds(tmp_path: Path) -> None:
    rounds = len(list(SAMPLE.rglob("*.eml")))
    write_corpus(tmp_path, 11 * rounds)
    mails = [message_from_bytes(mail) for mail in read(tmp_path)]
    first, last = (
        {getaddresses(one.get_all("from", []))[0][1] for one in some} for some in (mails[:rounds], mails[-rounds:])
    )
    assert len(first) == len(last) > 20
    assert not first & last
    assert {one.rpartition("@")[2] for one in first} == {one.rpartition("@")[2] for one in last}


def test_recombined_messages_are_the_same_each_time_and_answer_each_other() -> None:
    texts = [_recombined.Paragraph(f"The {word} was repaired on Monday, as we said.", "en") for word in "abcdef"]
    made, again = (list(_recombined.messages("one", 200, texts, seed=7)) for _ in range(2))
    assert [one.index.places for one in made] == [one.index.places for one in again]
    assert len({one.words_sha256 for one in made}) == 200
    assert all(one.spans for one in made)
    known = {one.link.own for one in made}
    answers = [one for one in made if one.link.chain]
    assert len(answers) > 50
    assert all(one.link.chain[0] in known and one.parsed.body.regions for one in answers)


def test_questions_name_all_messages_that_answer_them() -> None:
    row = (
        '{"id": "q1", "question": "When?", "paraphrase": "On what day?", "answerable": true, '
        '"gold": [{"message_id": "<a@x>", "quote": "on Monday"}], "alt_message_ids": ["<b@x>"]}'
    )
    asked = search_quality.questions([row, row.replace("true", "false")])
    assert [(one.text, one.kind) for one in asked] == [("When?", "question"), ("On what day?", "paraphrase")]
    assert {one.gold for one in asked} == {frozenset({"a@x", "b@x"})}


def test_questions_across_languages_have_the_answers_of_their_originals() -> None:
    asked = search_quality.read(Path(__file__).resolve().parents[1] / "sample" / "questions.jsonl")
    by_gold = {one.gold: one.language for one in asked if one.kind == "question"}
    across = [one for one in asked if one.kind == "across"]
    assert len(across) > 40
    assert {one.language for one in across} == {"en", "de", "fr"}
    assert all(one.gold and one.language != by_gold[one.gold] for one in across)
