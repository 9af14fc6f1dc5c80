"""Any string is a query, and what people write in one is understood."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailsearch.search.dates import interval
from mailsearch.search.query import ParsedQuery, parse, zone

NOW = datetime(2026, 3, 20, 22, 30, tzinfo=UTC)


def words(parsed: ParsedQuery) -> list[list[str]]:
    return [[one.text for one in term.alternatives] for term in parsed.terms]


@given(st.text(max_size=300))
def test_any_string_is_a_query(text: str) -> None:
    parsed = parse(text, NOW)
    assert parsed.as_json() is not None
    assert len(parsed.terms) <= 48


@given(st.lists(st.sampled_from(["from:", "a", '"', "-", "OR", "|", ":", " ", "after:", "2026-13-40", "x:y", "in:"])))
def test_pieces_of_the_language_in_any_order_are_a_query(pieces: list[str]) -> None:
    for text in ("".join(pieces), " ".join(pieces)):
        assert len(parse(text, NOW).terms) <= len(pieces)


def test_words_phrases_and_exclusions_are_told_apart() -> None:
    parsed = parse('golf "claim form" -quote -"old car"', NOW)
    assert words(parsed) == [["golf"], ["claim form"]]
    assert [term.required for term in parsed.terms] == [False, True]
    assert [one.text for one in parsed.exclusions] == ["quote", "old car"]


def test_typographic_quotation_marks_make_phrases_too() -> None:
    assert parse("“claim form”", NOW).terms[0].alternatives[0].phrase


def test_or_joins_its_neighbours() -> None:
    assert words(parse("golf policy OR contract OR treaty 2026", NOW)) == [
        ["golf"],
        ["policy", "contract", "treaty"],
        ["2026"],
    ]


@pytest.mark.parametrize("text", ["OR", "OR OR", "a OR", "OR a", "| |"])
def test_an_or_without_neighbours_is_harmless(text: str) -> None:
    assert all(len(term.alternatives) == 1 for term in parse(text, NOW).terms)


def test_operators_become_filters() -> None:
    parsed = parse(
        'from:ann@abel.example to:"Bob B" cc:c subject:offer filename:x.pdf in:INBOX has:attachment is:unread larger:2M'
        " thread:thr_1 id:msg_1 golf",
        NOW,
    )
    filters = parsed.filters
    assert (filters.senders, filters.recipients, filters.copied) == (("ann@abel.example",), ("Bob B",), ("c",))
    assert (filters.subjects, filters.filenames, filters.folders) == (("offer",), ("x.pdf",), ("INBOX",))
    assert (filters.has_attachment, filters.unread, filters.larger) == (True, True, 2 * 1024**2)
    assert (filters.threads, filters.messages) == (("thr_1",), ("msg_1",))
    assert words(parsed) == [["golf"]]


@pytest.mark.parametrize("text", ["https://abel.example/x", "Re:claim", "note:this", "12:30", "from: nobody"])
def test_unknown_operators_are_words(text: str) -> None:
    parsed = parse(text, NOW)
    assert parsed.filters == type(parsed.filters)()
    assert parsed.terms
    assert not parsed.refused


@pytest.mark.parametrize(
    "text", ["after:soon", "larger:huge", "has:wings", "is:funny", "on:2026-02-30", "before:99999"]
)
def test_a_filter_that_says_nothing_is_refused_not_dropped(text: str) -> None:
    parsed = parse(f"golf {text}", NOW)
    assert parsed.refused == (text,)


def test_a_negated_operator_names_what_is_unwanted() -> None:
    parsed = parse('golf -from:ann -subject:"old offer" -in:Archive -larger:2k -larger:1k -thread:thr_1', NOW)
    assert words(parsed) == [["golf"]]
    assert parsed.filters == type(parsed.filters)()
    unwanted = parsed.unwanted
    assert (unwanted.senders, unwanted.subjects, unwanted.folders) == (("ann",), ("old offer",), ("Archive",))
    assert (unwanted.larger, unwanted.threads) == (1024, ("thr_1",))
    assert parsed.as_json()["not"] == {
        "from": ["ann"], "subject": ["old offer"], "in": ["Archive"], "thread": ["thr_1"], "larger": 1024,
    }  # fmt: skip


def test_the_negation_of_a_fact_or_a_time_is_its_opposite() -> None:
    filters = parse("-has:attachment -is:unread -after:2026-02 -before:2026-01", NOW).filters
    assert (filters.has_attachment, filters.unread) == (False, False)
    assert filters.before == datetime(2026, 2, 1, tzinfo=UTC)
    assert filters.after == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("-on:2026-01-01", "-on:2026-01-01"),
        ("-larger:huge", "-larger:huge"),
        ("is:read is:unread", "is:unread"),
        ("has:attachment -has:attachment", "-has:attachment"),
    ],
)
def test_what_can_not_be_left_out_or_holds_of_nothing_is_refused(text: str, refused: str) -> None:
    assert parse(f"golf {text}", NOW).refused == (refused,)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("golf claim", False),
        ("invoice 2024-001 nordlicht", False),
        ("what did the insurer say", True),
        ("golf claim accepted?", True),
        ("Wann kommt die Rechnung", True),
        ("find the invoice for the new winter tyres", True),
        ("from:ann golf", False),
    ],
)
def test_questions_are_told_from_a_few_words(text: str, asks: bool) -> None:
    assert parse(text, NOW).is_question is asks


def test_days_begin_at_midnight_where_the_caller_is() -> None:
    # In Tokyo it is the 21st already.
    tokyo = zone("Asia/Tokyo")
    parsed = parse("on:yesterday", NOW, tokyo)
    assert parsed.filters.after == datetime(2026, 3, 20, tzinfo=tokyo)
    assert parsed.filters.before == datetime(2026, 3, 21, tzinfo=tokyo)


def test_several_dates_narrow_together() -> None:
    parsed = parse("after:2026-01 after:2026-02-10 before:2026-03 before:2026-02-20", NOW)
    assert parsed.filters.after == datetime(2026, 2, 10, tzinfo=UTC)
    assert parsed.filters.before == datetime(2026, 2, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2026/3/4", "2026-03-04", "2026-03-05"),
        ("4.3.2026", "2026-03-04", "2026-03-05"),
        ("today", "2026-03-20", "2026-03-21"),
        ("7d", "2026-03-13", "2026-03-14"),
        ("2 weeks ago", "2026-03-06", "2026-03-07"),
        ("1m", "2026-02-20", "2026-02-21"),
        ("last week", "2026-03-09", "2026-03-16"),
        ("this_month", "2026-03-01", "2026-04-01"),
        ("last-year", "2025-01-01", "2026-01-01"),
    ],
)
def test_dates_name_stretches_of_time(text: str, start: str, end: str) -> None:
    utc = ZoneInfo("UTC")
    assert interval(text, NOW, utc) == (
        datetime.fromisoformat(start).replace(tzinfo=utc),
        datetime.fromisoformat(end).replace(tzinfo=utc),
    )


@given(st.text(max_size=20))
def test_what_is_no_date_names_nothing_and_breaks_nothing(text: str) -> None:
    named = interval(text, NOW, UTC)
    assert named is None or named[0] <= named[1]


def test_an_unknown_zone_is_utc() -> None:
    assert zone("Nowhere/Atlantis") is UTC
    assert zone("../etc/passwd") is UTC
