"""Excerpts are true to the source, show what matched, and prefer a message's own words."""

import re

from hypothesis import given
from hypothesis import strategies as st

from mailsearch.hits import Block, PartText, Region
from mailsearch.search.excerpts import LENGTH, Span, Words, excerpts

LONG = "Nothing to see in this sentence. " * 40


def body(text: str, *regions: Region) -> PartText:
    return PartText("body", text, (Block(0, len(text)),), regions)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=1500),
    st.lists(st.sampled_from(["harbour", "har", "a", "請求", "é"]), max_size=3),
    st.integers(0, 1500),
)
def test_any_excerpt_of_any_text_is_true_to_it(text: str, lexemes: list[str], at: int) -> None:
    part = body(text)
    for one in excerpts([part], Words(dict.fromkeys(lexemes, 1.0)), Span("body", min(at, len(text)), len(text))):
        assert text[one.start : one.end] == one.text
        assert len(one.text) <= LENGTH
        assert all(0 <= start < end <= len(one.text) for start, end in one.marks)


@given(
    st.lists(
        st.sampled_from(
            [
                "harbour",
                "Harbours",
                "Hárbour",
                "hÁrbour",
                "„",
                "é",
                "\u0130",
                "plain text of ASCII",
                "har",
                "unharbour",
                "_harbour",
                "請求書",
                "ﬁle",
                "file",
                "²",
                "\n",
                "-",
            ]
        )
        | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5),
        max_size=30,
    ),
    st.lists(st.sampled_from(["harbour", "har", "harb", "file", "請求", "a", "fil", "2", "é"]), max_size=4),
    st.sampled_from(["", " "]),
)
def test_what_is_looked_for_is_found_as_if_every_word_were_looked_at(
    pieces: list[str], lexemes: list[str], between: str
) -> None:
    text, words = between.join(pieces), Words(dict.fromkeys(lexemes, 1.0))
    apart = [(word.start(), words.matches(word[0])) for word in re.finditer(r"[^\W_]+", text)]
    assert words.matches(text) == [
        one._replace(start=start + one.start, end=start + one.end) for start, found in apart for one in found
    ]


def test_a_word_is_found_by_letters_that_fold_to_others_wherever_it_stands() -> None:
    text = "„Über“ – über, ÜBER; drüber und «ubér»"
    for padded in (text, text + " plain" * 20):
        found = Words({"uber": 1.0}).matches(padded)
        assert [padded[one.start : one.end] for one in found] == ["Über", "über", "ÜBER", "ubér"]


def test_the_place_that_matches_is_shown() -> None:
    (one,) = excerpts([body(LONG + "The harbours open in May. " + LONG)], Words({"harbour": 2.0}))
    assert "The harbours open in May." in one.text
    assert [one.text[start:end] for start, end in one.marks] == ["harbours"]


def test_rare_words_go_before_common_ones() -> None:
    text = "A plan and a plan. " + LONG + "The zeppelin."
    first = excerpts([body(text)], Words({"plan": 0.5, "zeppelin": 5.0}))[0]
    assert "zeppelin" in first.text


def test_own_words_go_before_quoted_ones() -> None:
    quoted = "the harbour opens in May"
    text = quoted + ". " + LONG + "My own harbour."
    first = excerpts([body(text, Region(0, len(quoted), "quoted"))], Words({"harbour": 1.0}))[0]
    assert "My own harbour." in first.text


def test_the_nearest_passage_is_shown_beside_what_matches() -> None:
    text = "The harbour. " + LONG + "Boats may come in then."
    shown = excerpts([body(text)], Words({"harbour": 1.0}), Span("body", len(text) - 23, len(text)))
    assert [one.text for one in shown][-1] == "Boats may come in then."


def test_without_any_match_the_beginning_of_the_body_is_shown() -> None:
    (one,) = excerpts([PartText("subject", "Hello"), body("Dear Ann,\n" + LONG)], Words({"zeppelin": 1.0}))
    assert one.text.startswith("Dear Ann,")
    assert one.marks == ()


def test_empty_messages_have_no_excerpt() -> None:
    assert excerpts([PartText("subject", ""), body("")], Words({"a": 1.0})) == ()


def test_whole_sentences_stand_around_a_match_in_a_long_text() -> None:
    text = "Nothing. " * 200 + "The zeppelin lands. " + "Nothing. " * 200
    one = excerpts([body(text)], Words({"zeppelin": 1.0}))[0]
    assert one.text.startswith("The zeppelin lands. Nothing. ")
    assert one.text.endswith("Nothing.")
    assert LENGTH - len("Nothing. ") <= len(one.text) <= LENGTH


def test_sentences_before_a_match_are_shown_where_none_follow() -> None:
    text = "Nothing. " * 200 + "The zeppelin lands."
    one = excerpts([body(text)], Words({"zeppelin": 1.0}))[0]
    assert one.text.startswith("Nothing. ")
    assert one.text.endswith("The zeppelin lands.")
    assert LENGTH - len("Nothing. ") <= len(one.text) <= LENGTH


def test_a_sentence_that_is_longer_than_an_excerpt_is_cut_around_the_match() -> None:
    one = excerpts([body("word " * 400 + "zeppelin" + " word" * 400)], Words({"zeppelin": 1.0}))[0]
    assert "zeppelin" in one.text
    assert len(one.text) <= LENGTH
