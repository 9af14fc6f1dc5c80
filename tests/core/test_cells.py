"""No cell of an export is a formula to a program that opens it."""

import csv
from io import StringIO

import pytest

from agentic.cells import cell, harmless, line

FORMULAS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\ttext", "\rtext", " =1", "\u00a0=1", "\u3000=1",
    "\u200b=1", "\ufeff=1", "＝1", "＋1", "－1", "＠x", "﹢1", "﹣1", "﹦1", "﹫x", " ＝cmd|x!A0", "\u2212" + "1",
    "|x", "%x", "\u202e=1", "\x00=1",
)  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_what_could_be_a_formula_becomes_text(text: str) -> None:
    made = harmless(text)
    assert made.startswith("'")
    assert made.replace("'", "") == text.replace("'", "")


@pytest.mark.parametrize("text", ["", "a=b", "Golf", "1 + 1", "14.03.2026", "(=1)", "'=1", "é", "日本", "…", "#1"])
def test_what_is_none_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("x;=1", "x;'=1"), ("Golf;  ＝1;b", "Golf;'  ＝1;b"), ("a\n=1\tb", "a\n'=1\tb"), ("a;\t@x", "a;\t'@x"),
        ("=a;=b", "'=a;'=b"), ("one; two\nthree", "one; two\nthree"), (";=1", ";'=1"), ("a;", "a;"),
    ],
)  # fmt: skip
def test_what_could_begin_a_formula_inside_of_a_cell_does_not(text: str, made: str) -> None:
    assert harmless(text) == made


def test_a_line_reads_back_as_its_cells() -> None:
    given = ['a "quoted", one', "two\nlines", "x;=1", 3, 1.5, True, None, ["=1"], {"=a": 1}]
    (read,) = csv.reader(StringIO(line(given)))
    assert read == ['a "quoted", one', "two\nlines", "x;'=1", "3", "1.5", "yes", "", '["=1"]', '{"=a": 1}']
    assert cell(-1) == "-1"
