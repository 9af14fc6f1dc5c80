"""The parts that pages are made of: differences, windows of text, intervals, filters."""

import pytest

from agentic.templatetags.mail_words import foldable, line, moment, plain
from agentic.web.pages.differences import compared, nearest
from agentic.web.pages.filters import back, day_of
from agentic.web.pages.message_text import WINDOW, Span, window
from agentic.web.pages.rates import wilson
from agentic.web.pages.results import pieces
from mailsearch.hits import PartText, Region


def _marked(found: tuple[tuple[str, bool], ...]) -> list[str]:
    return [text.strip() for text, differs in found if differs]


def test_only_words_that_differ_are_marked() -> None:
    found = compared("The repair was approved for 1.450 EUR.", "…the repair is approved for 1,540 EUR…")
    assert _marked(found.one) == ["was", "1.450"]
    assert _marked(found.other) == ["is", "1,540"]
    assert "".join(text for text, _ in found.one) == "The repair was approved for 1.450 EUR."


def test_the_nearest_sentence_is_the_one_that_shares_most_words() -> None:
    texts = ("We accept liability. The roses are cut.", "The repair of the Golf is approved for 1,540 EUR.")
    assert nearest("The repair was approved for 1,450 EUR", texts) == (texts[1], 1)
    assert nearest("Zebra", texts) == ("", -1)


# Figures of Newcombe (1998), table I, method 3.
@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 25.53, 36.62), (15, 148, 6.24, 16.05), (0, 20, 0.0, 16.11), (1, 29, 0.61, 17.18)],
)
def test_intervals_are_those_of_wilson(hits: int, n: int, low: float, high: float) -> None:
    assert list(wilson(hits, n)) == pytest.approx([low, high], abs=0.01)
    assert wilson(0, 0) == (0.0, 100.0)


def test_quoted_text_is_folded_unless_it_is_cited() -> None:
    text = "Yes.\n> Do you accept?\nRegards"
    part = PartText("body", text, regions=(Region(5, 21, "quoted", "Ann"),))
    folded = window(part, None, 0)
    assert [(one.kind, one.folded) for one in folded.segments] == [("own", False), ("quoted", True), ("own", False)]
    assert "".join(piece for one in folded.segments for piece, *_ in one.pieces) == text
    cited = window(part, Span(7, 20), 0)
    assert not cited.segments[1].folded
    assert [piece for one in cited.segments for piece, marked, _ in one.pieces if marked] == [text[7:20]]


def test_a_long_text_is_shown_around_its_citation_and_can_be_read_on() -> None:
    part = PartText("body", "x" * 1_000_000)
    found = window(part, Span(500_000, 500_010), 0)
    assert found.start < 500_000 < found.end
    assert sum(len(piece) for one in found.segments for piece, *_ in one.pieces) == WINDOW
    assert (found.earlier, found.later) == (found.start - WINDOW, found.end)
    assert window(part, None, 10**9).segments == ()


def test_a_span_over_the_edge_of_regions_is_marked_in_both() -> None:
    part = PartText("body", "abcdef", regions=(Region(3, 6, "signature"),))
    marked = [piece for one in window(part, Span(1, 5), 0).segments for piece, hit, _ in one.pieces if hit]
    assert marked == ["bc", "de"]


def test_pages_of_an_attachment_begin_where_they_begin() -> None:
    part = PartText("attachment:a", "onetwo", page_starts=(0, 3))
    assert [(one.page, one.pieces[0][0]) for one in window(part, None, 0).segments] == [(1, "one"), (2, "two")]


def test_marks_cut_an_excerpt_into_pieces() -> None:
    assert pieces("abcd", [[1, 2], [1, 3]]) == (("a", False), ("b", True), ("cd", False))


def test_signs_that_nobody_sees_are_not_shown() -> None:
    assert plain("a\u202ebc\u200b\x00d") == "abc d"
    assert line("a\n b\tc") == "a b c"
    assert moment("2026-03-14T09:12:00+01:00") == "14 Mar 2026, 09:12 +01:00"
    assert moment("never") == ""


@pytest.mark.parametrize("text", ["a\r\nSet-Cookie: x", "https://evil.example", "<b>", "//x"])
def test_a_way_back_is_the_end_of_an_address_and_nothing_else(text: str) -> None:
    assert back({"back": text}) == ""
    assert back({"back": "kind=all&reviewed=any"}) == "kind=all&reviewed=any"


def test_a_day_that_is_none_filters_nothing() -> None:
    assert day_of({"since": "yesterday"}, "since") is None
    assert day_of({"since": "2026-02-30"}, "since") is None


def test_very_long_words_may_be_broken_and_stay_text() -> None:
    assert foldable("<b>short</b> & words") == "&lt;b&gt;short&lt;/b&gt; &amp; words"
    folded = foldable(f"a {'<' * 200} b")
    assert folded == f"a {'&lt;' * 80}<wbr>{'&lt;' * 80}<wbr>{'&lt;' * 40} b"
    assert foldable("W" * 80) == "W" * 80
