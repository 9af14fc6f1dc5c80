"""The outcome guard and later mail: what a question names exactly, and what a thread goes on to say."""

from typing import Any

import pytest

from agentic.core.answer import Draft
from agentic.core.verify import missing_from, verify
from tests.core.verify_setup import messages, verdicts

SHED = {
    "text": (
        "Thanks for the plan, ref. AB-1234. We will build the shed for 1,450 EUR by 4 May. Account 0401776233, IBAN"
        " DE89 3704 0044 0532 0130 00. Ann says \"mind the roots\". Order no. 4021377. We paid half, 725.00 euros."
        " The price was $12.50 per m\u00b2. He is in room 4b. The boards cost 80 euros."
    ),
    "from": "Ann <ann@mail.example>",
    "to": ["Bo Lund <bo@mail.example>"],
    "subject": "Shed KX9-200",
    "date": "2026-03-01",
}  # fmt: skip
THREAD = {
    "text": "Fine.\n\n> Old quote: invoice R-7781 of 99.90 EUR",
    "date": "2026-03-02",
    "attachments": {"offer-5512.txt": "Sum: 3.333,00 EUR for Q-88-12"},
}


@pytest.mark.parametrize(
    ("question", "covered"),
    [
        ("What is ab-1234?", True),
        ("What is AB-1235?", False),
        ("And offer KX9-200?", True),
        ("And offer KX9-201?", False),
        ("Is account 0401776233 ours?", True),
        ("Is account 0401776234 ours?", False),
        ("Is account 401776233 ours?", False),
        ("Whose is DE89370400440532013000?", True),
        ("Whose is DE89370400440532013001?", False),
        ("Who ordered 4021377?", True),
        ("Is order 4021377 paid?", True),
        ("Is order 4021378 paid?", False),
        ("Who paid 725 \u20ac?", True),
        ("Who paid $725?", False),
        ("Who paid 725.50 EUR?", False),
        ("Wer zahlt 1.450,00 Euro?", True),
        ("Was kosten die Bretter, achtzig Euro?", True),
        ("Was kosten die Bretter, neunzig Euro?", False),
        ("What was 12,50 $ for?", True),
        ("Did he pay 1,450 EUR or 1,500 EUR?", False),
        ("Did Bo@Mail.example reply?", True),
        ("Did carl@mail.example reply?", False),
        ("Who says \u201cMind the Roots\u201d?", True),
        ("Wer sagt \u201emind the root\u201c?", False),
        ("Is room 4b free?", True),
        ("Is room 4c free?", False),
        # Of the thread: quoted words, an attachment, and its name.
        ("What about invoice R-7781 and its 99.90 EUR?", True),
        ("What about Q-88-12 for 3,333 EUR?", True),
        ("What is in offer-5512.txt?", True),
        # Not exactly named: years, counts, months, people.
        ("What happened in 2031, in those 12 months, with Carl?", True),
    ],
)
def test_a_question_is_covered_by_what_is_cited_and_its_thread(question: str, covered: bool) -> None:
    sources = messages({"m1": SHED})
    thread = {"thread": list(messages({"m2": THREAD}).values())}
    verification = verify(Draft(text="The shed costs 1,450 EUR [m1]."), sources)
    assert (missing_from(question, verification, sources, thread) == ()) is covered


FIRST = "The shed costs 1,450 EUR and comes on 4 May at 10:00, in 3 weeks, with 4 chairs at 5 % off."


@pytest.mark.parametrize(
    ("answer", "later", "marked"),
    [
        ("The shed costs 1,450 EUR", "Sorry: 1,540 EUR.", True),
        ("The shed costs 1,450 EUR", "Yes, 1.450,00 EUR.", False),
        ("The shed costs 1,450 EUR", "It was 1,450 EUR, now it is 1,540 EUR.", True),
        ("The shed costs 1,450 EUR", "Yes, 1,450 EUR. The oven is 20 EUR.", False),
        ("The shed costs 1,450 EUR", "Fine.\n\n> The shed costs 1,540 EUR", False),
        ("The shed comes on 4 May", "We must move it to 11 May.", True),
        ("The shed comes on 4 May", "We come on 11 May, not on 4 May.", True),
        ("The shed comes on 4 May", "2026-05-04 is fine.", False),
        ("The shed comes on 4 May", "It costs 20 EUR.", False),
        ("The shed comes at 10:00", "Make it 11:00.", True),
        ("The shed comes at 10:00", "10 am is fine.", False),
        ("It comes in 3 weeks", "Rather in 5 weeks.", True),
        ("It comes in 3 weeks", "Three weeks it is.", False),
        ("There are 4 chairs", "There will be 6 chairs.", True),
        ("There are 4 chairs", "There will be 6 tables.", False),
        ("There are 4 chairs", "Four chairs are enough.", False),
        ("They grant 5 % off", "We can do 7 %.", True),
        ("They grant 5 % off", "Thank you!", False),
    ],
)
def test_later_mail_of_the_thread_with_another_value_is_named(answer: str, later: str, marked: bool) -> None:
    sources = messages({"m1": {"text": FIRST, "date": "2026-03-01"}})
    thread = [*sources.values(), *messages({"m2": {"text": later, "date": "2026-03-05"}}).values()]
    (sentence,) = verify(Draft(text=f"{answer} [m1]."), sources, thread_messages={"thread": thread}).sentences
    assert sentence.kept
    assert sentence.later_message == ("m2" if marked else "")


def test_the_latest_of_several_is_named_and_none_that_came_before() -> None:
    sources = messages({"m1": {"text": FIRST, "date": "2026-03-03"}})
    texts = {"m0": "1,300 EUR", "m2": "1,500 EUR", "m3": "1,540 EUR", "m4": "Fine."}
    days = {"m0": "2026-03-01", "m2": "2026-03-04", "m3": "2026-03-05", "m4": "2026-03-06"}
    others = messages({label: {"text": text, "date": days[label]} for label, text in texts.items()})

    def named(*labels: str) -> str:
        thread = [others[label] for label in labels]
        draft = Draft(text="The shed costs 1,450 EUR [m1].")
        return verify(draft, sources, thread_messages={"thread": thread}).sentences[0].later_message

    assert named("m3", "m0", "m2", "m4") == "m3"
    assert named("m0", "m4") == ""


@pytest.mark.parametrize(
    ("answer", "source", "expected"),
    [
        ("Order 4021377 belongs to Ann [m1].", "Order no. 4021377.", "K"),
        ("Order 4021378 belongs to Ann [m1].", "Order no. 4021377.", "-"),
        ("Account 0401776233 belongs to Ann [m1].", "Account: 0401776233.", "K"),
        ("Account 401776233 belongs to Ann [m1].", "Account: 0401776233.", "-"),
        ("Ann has account 0401776233 [m1].", "Account 0401776233 belongs to Ann.", "K"),
        ("Ann has account 401776233 [m1].", "Account 0401776233 belongs to Ann.", "-"),
        ("It is 40213 km [m1].", "Order no. 40213.", "-"),
    ],
)
def test_a_number_of_nothing_but_digits_is_the_same_name_whatever_follows(
    answer: str, source: Any, expected: str
) -> None:
    assert verdicts(answer, source) == expected
