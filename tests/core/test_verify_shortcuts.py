"""Quick looks that spare the slow rules must never decide otherwise than these."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.verify import absence, segments, units
from agentic.core.verify.words import words_in

_BOUNDED = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
_PIECES = st.sampled_from(
    ["The oven is warm", "Ann", "paid", "z.B.", "3.5", "U.S.", "a.b", ".",
     "! ", "? ", ": ", "; ", " ", " ", ") ", '"',
     "\u201c", "\u201d ", " [m1]", "[m1] ", "]", "\ue000",
     "\u2026", "\u3002", "2. ", "e.g. ", "\u2013", "Dr. ", "5 ft. "]
)  # fmt: skip
_LINES = st.lists(_PIECES, min_size=1, max_size=12).map("".join)


@pytest.mark.parametrize("language", list(absence.tables()))
def test_whatever_says_that_the_mail_holds_nothing_has_a_word_that_is_looked_for_first(language: str) -> None:
    table = absence.tables()[language]
    needed = set(table["needs"].split())
    for pattern in table["patterns"]:

        @settings(_BOUNDED, max_examples=5)
        @given(st.from_regex(pattern.replace("MAIL", table["mail"])))
        def holds(text: str) -> None:
            assert needed & words_in(text)

        holds()


@_BOUNDED
@given(_LINES, st.sampled_from(["", "en", "de", "fr", "el", "zh"]))
def test_text_that_ends_nowhere_is_not_parted(text: str, language: str) -> None:
    if segments.ends_nowhere(text):
        # A line end switches the quick look off and parts nothing itself.
        assert len(segments.split(text + "\n", language)) <= 1


@_BOUNDED
@given(_LINES)
def test_what_is_seen_to_be_one_unit_is_one(text: str) -> None:
    assert units.is_one(text, {"m1"}) is (len(units.split(text, {"m1"})) == 1)
