"""Lines that a writer ended stand apart; lines that a program wrapped make one paragraph."""

import textwrap

import pytest

from mailsearch.ingest import plain

PROSE = (
    "The roof of the shed was covered again in March, after the storm had taken most of its northern side. "
    "Ada Mond brought the slate herself. Her brother carried it up, which took him the whole of a Saturday. "
    "What is left of the old slate lies behind the wall and may be taken by anybody who has a use for it."
)


def blocks(text: str, *, printed: bool = False) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in plain.mark_blocks(text, printed=printed)]


@pytest.mark.parametrize("printed", [False, True])
def test_an_invoice_falls_into_its_lines(printed: bool) -> None:
    lines = [
        "Mond Roofing: invoice MR-2211",
        "Date: 4 March 2024",
        "Slate, 40 pieces at EUR 12.50: EUR 500.00",
        "Work on the northern side of the roof, two people, nine hours: EUR 810.00",
        "Travel: EUR 35.00",
        "Total of invoice MR-2211 including VAT, payable within fourteen days: EUR 1,600.55",
        "1 / 1",
    ]
    assert blocks("\n".join(lines), printed=printed) == [("item", line) for line in lines]


@pytest.mark.parametrize("width", [40, 60, 72, 78, 100])
def test_wrapped_prose_stays_one_paragraph(width: int) -> None:
    text = textwrap.fill(PROSE, width)
    assert blocks(text) == [("paragraph", text)]
    assert blocks(text, printed=True) == [("paragraph", text)]


def test_paragraphs_without_an_empty_line_between_them_are_told_by_their_short_last_lines() -> None:
    pieces = [textwrap.fill(PROSE, 72), textwrap.fill(PROSE[PROSE.index("Her") :], 72), "The end of it."]
    found = blocks("Report on the roof\n" + "\n".join(pieces), printed=True)
    assert [text for _, text in found] == ["Report on the roof", *pieces]


def test_a_line_that_goes_on_is_joined_though_it_is_short() -> None:
    text = "The slate that I ordered\nhas come, and the rest of it, as the dealer says,\nwill be here on Friday."
    assert blocks(text) == [("paragraph", text)]
    text = "Dear Ada,\nThe slate has come and lies behind the wall of the shed."
    assert blocks(text) == [("paragraph", text)]


def test_columns_are_rows_and_prose_in_a_list_of_lines_is_a_paragraph() -> None:
    text = "Size | Price\n31 | 8 EUR\nNote: prices hold until May. They rise after that.\nAsk"
    assert blocks(text) == [
        ("row", "Size | Price"),
        ("row", "31 | 8 EUR"),
        ("paragraph", "Note: prices hold until May. They rise after that."),
        ("item", "Ask"),
    ]


def test_lines_of_a_quote_stand_apart_with_their_marks() -> None:
    assert blocks("> Slate: 40\n> Nails: 300\n> Wood: none") == [
        ("item", "> Slate: 40"),
        ("item", "> Nails: 300"),
        ("item", "> Wood: none"),
    ]
