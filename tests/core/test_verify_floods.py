"""Floods of units and of numbers: what is beyond a cap is not looked into, says so, and never stands."""

from agentic.core.answer import Draft, DraftSentence
from agentic.core.verify import verify
from agentic.core.verify.decide import MAX_UNITS
from agentic.core.verify.facts.extract import MAX_FACTS, extract
from tests.core.verify_setup import messages

OVEN = messages("The oven is warm. It costs 12 EUR.")


def test_units_beyond_the_cap_are_one_unit_that_is_too_long() -> None:
    verdict = verify(Draft(text="The oven is warm [m1].\n" * (MAX_UNITS + 5)), OVEN)
    assert len(verdict.kept) == MAX_UNITS
    (last,) = verdict.removed
    assert last.reason == "too_long"
    assert last.drafted.count("The oven is warm") == 5


def test_structured_sentences_beyond_the_cap_are_too_long_as_well() -> None:
    sentences = (DraftSentence("The oven is warm.", ("m1",)),) * (MAX_UNITS + 2)
    verdict = verify(Draft(sentences=sentences), OVEN)
    assert [sentence.reason for sentence in verdict.removed] == ["too_long"]


def test_a_flood_of_numbers_is_read_up_to_the_cap() -> None:
    facts = extract("12 eur for the pump; " + "1, " * MAX_FACTS + "and 88 eur for the valve")
    assert len(facts) == MAX_FACTS
    assert facts[0].unit == "eur"
    assert all(fact.unit != "eur" for fact in facts[1:])


def test_numbers_too_long_to_be_kept_exactly_are_compared_as_written() -> None:
    sources = messages("The key is 1234567890123456789012345678901,5 units.")
    for digits, kept in (("1234567890123456789012345678901,5", True), ("1234567890123456789012345678902,5", False)):
        assert bool(verify(Draft(text=f"The key is {digits} units [m1]."), sources).kept) is kept
