"""How text is cut into what the index holds."""

import string

from hypothesis import given
from hypothesis import strategies as st

from mailsearch.terms import index_tokens


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " \t\n", max_size=80))
def test_a_word_is_cut_alike_in_plain_text_and_beside_other_scripts(text: str) -> None:
    assert index_tokens(text) == index_tokens(f"{text} \u0436")[:-1]
