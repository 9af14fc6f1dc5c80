"""How text is cut into what the index holds."""

import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailsearch.terms import fold, index_tokens, positioned_tokens


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " \t\n", max_size=80))
def test_a_word_is_cut_alike_in_plain_text_and_beside_other_scripts(text: str) -> None:
    assert index_tokens(text) == index_tokens(f"{text} \u0436")[:-1]


def test_a_character_is_folded_alike_among_letters_of_ascii_and_among_others() -> None:
    plain, other = " " + "a" * 200, " " + "\u0436" * 200
    for character in map(chr, range(0x80, 0x20000)):
        if unicodedata.decomposition(character) or unicodedata.combining(character) or character.isupper():
            word = f"Ae{character}`o"
            assert fold(word + plain).removesuffix(plain) == fold(word + other).removesuffix(other), character


@pytest.mark.parametrize(
    ("text", "lexemes"),
    [
        ("w Łodzi", [("w", 1), ("łodzi", 2), ("lodzi", 2)]),
        ("được đi", [("đuoc", 1), ("duoc", 1), ("đi", 2), ("di", 2)]),
        ("Ærø cœur", [("ærø", 1), ("aero", 1), ("cœur", 2), ("coeur", 2)]),
        ("œ-1 ab", [("œ-1", 1), ("oe-1", 1), ("œ1", 1), ("oe1", 1), ("œ", 1), ("oe", 1), ("1", 2), ("ab", 3)]),
    ],
)
def test_letters_that_keyboards_lack_are_found_by_what_others_write(text: str, lexemes: list[tuple[str, int]]) -> None:
    assert list(positioned_tokens(text)) == lexemes
