"""A question becomes a run, the run becomes rows, and the rows become the response."""

import pytest

from tests.agentic.asking import asked, insurer_accepts
from tests.agentic.cast import house

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_question_is_answered_with_a_verified_quote() -> None:
    home = house()
    response = asked(home.jo.principal, insurer_accepts())
    assert (response["outcome"], response["status"], response["reason"]) == ("answered", "finished", None)
    (sentence,) = response["answer"]["sentences"]
    (citation,) = sentence["citations"]
    assert sentence["support"] == "quote"
    assert citation["message_id"] == home.golf.public_id
    assert citation["quote"] == "we accept liability for the damage to the Golf"
    assert home.golf.body_text[citation["start"] : citation["end"]] == citation["quote"]
