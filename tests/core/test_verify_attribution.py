"""Borrowed words, speakers, what the mail does not say, facts that stand apart, and hidden text."""

# ruff: noqa: E501 (a table of cases reads better unbroken)

from typing import Any

import pytest

from tests.core.verify_setup import verdicts

CASES: list[tuple[str, Any, str]] = [
    (
        'Ann wrote "I take the offer of 500 EUR" [m1].',
        {
            "m1": {
                "text": "FYI\n\n---------- Forwarded message ---------\nFrom: Ann Berg <ann@x.example>\nDate: Mon, 2 Mar 2026\nSubject: Price\nTo: Bo\n\nI take the offer of 500 EUR for the lot.\nRegards\n",
                "from": "Bo <bo@x.example>",
            }
        },
        "K",
    ),
    (
        'Bo wrote "I take the offer of 500 EUR" [m1].',
        {
            "m1": {
                "text": "FYI\n\n---------- Forwarded message ---------\nFrom: Ann Berg <ann@x.example>\nDate: Mon, 2 Mar 2026\nSubject: Price\nTo: Bo\n\nI take the offer of 500 EUR for the lot.\nRegards\n",
                "from": "Bo <bo@x.example>",
            }
        },
        "-",
    ),
    (
        'Ann wrote "I take the offer of 500 EUR" [m1].',
        {
            "m1": {
                "text": "FYI\n\n---------- Forwarded message ---------\nFrom: Ann Berg <ann@x.example>\nDate: Mon, 2 Mar 2026\nSubject: Price\nTo: Bo\n\nI take the offer of 500 EUR for the lot.\nRegards\n",
                "from": "Bo <bo@x.example>",
            },
            "m2": {"text": "I take the offer of 500 EUR for the lot.", "from": "Ann <ann@x.example>"},
        },
        "-",
    ),
    (
        'Ann wrote "I take the offer of 500 EUR" [m1][m2].',
        {
            "m1": {
                "text": "FYI\n\n---------- Forwarded message ---------\nFrom: Ann Berg <ann@x.example>\nDate: Mon, 2 Mar 2026\nSubject: Price\nTo: Bo\n\nI take the offer of 500 EUR for the lot.\nRegards\n",
                "from": "Bo <bo@x.example>",
            },
            "m2": {"text": "I take the offer of 500 EUR for the lot.", "from": "Ann <ann@x.example>"},
        },
        "K",
    ),
    (
        "The price is 500 EUR [m1].",
        {
            "m1": {
                "text": "FYI\n\n---------- Forwarded message ---------\nFrom: Ann Berg <ann@x.example>\nDate: Mon, 2 Mar 2026\nSubject: Price\nTo: Bo\n\nI take the offer of 500 EUR for the lot.\nRegards\n",
                "from": "Bo <bo@x.example>",
            }
        },
        "K",
    ),
    ("The price is 500 EUR [m1].", "No way.\n\nOn 7 June Ann wrote:\n> I take the offer of 500 EUR.", "-"),
    ('The subject says "final notice" [m1].', {"m1": {"subject": "Re: Final notice", "text": "x"}}, "-"),
    ('The subject says "final notice" [m1].', {"m1": {"subject": "AW: Final notice", "text": "x"}}, "-"),
    ('The subject says "final notice" [m1].', {"m1": {"subject": "Final notice", "text": "x"}}, "K"),
    ("The amount is 45 EUR [m1].", {"m1": {"subject": "Re: 45 EUR", "text": "x"}}, "-"),
    ("The amount is 45 EUR [m1].", {"m1": {"subject": "Invoice 45 EUR", "text": "x"}}, "K"),
    (
        'Ann wrote "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Bo wrote "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Berg said: "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        '"I decline the offer", wrote Ann [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        '"I decline the offer," said Bo [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        '"I decline the offer", Ann wrote [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Ann Berg: "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'According to Ann, "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Laut Ann gilt "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Gestern schrieb Ann: "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Bo wrote to Ann: "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Ann wrote to Bo: "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Bo told Ann "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Ann\'s mail says "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'Ann wrote "I take the offer" [m1] and Bo "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Ann wrote "I take the offer" and Bo wrote "I decline the offer" [m1][m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Bo wrote "I take the offer" and Ann wrote "I decline the offer" [m1][m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    (
        'To Ann, Bo wrote "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'In the reply to Ann the writer says "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'Carl wrote "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "K",
    ),
    (
        'A message sent by Ann says "I decline the offer" [m2].',
        {
            "m1": {"text": "I take the offer.", "from": "Ann Berg <ann@x.example>"},
            "m2": {"text": "I decline the offer.", "from": "Bo Lund <bo@x.example>"},
        },
        "-",
    ),
    ("The mails do not say when it starts [m1].", "The fee is low. date price", "-"),
    ("No message mentions the fee [m1].", "The fee is low. date price", "-"),
    ("I could not find a date [m1].", "The fee is low. date price", "-"),
    ("There is no information about that [m1].", "The fee is low. date price", "-"),
    ("None of the emails state the price [m1].", "The fee is low. date price", "-"),
    ("Die E-Mails nennen kein Datum [m1].", "The fee is low. date price", "-"),
    ("In keiner Nachricht wird der Preis genannt [m1].", "The fee is low. date price", "-"),
    ("Ich konnte nichts dazu finden [m1].", "The fee is low. date price", "-"),
    ("Aucun message ne mentionne le prix [m1].", "The fee is low. date price", "-"),
    ("Les mails ne précisent pas la date [m1].", "The fee is low. date price", "-"),
    ("Je n'ai pas trouvé de date [m1].", "The fee is low. date price", "-"),
    ("Ningún correo menciona el precio [m1].", "The fee is low. date price", "-"),
    ("The price is not mentioned in the emails [m1].", "The fee is low. date price", "-"),
    ("Geen enkele e-mail noemt de prijs [m1].", "The fee is low. date price", "-"),
    ("The contract does not mention a fee [m1].", "The contract does not mention a fee.", "K"),
    ('The mail says "we could not find the file" [m1].', "Sadly we could not find the file.", "K"),
    ("Ann has not replied to the message [m1].", "Ann has not replied to the message.", "K"),
    ("Sie hat die E-Mail nicht erhalten [m1].", "Sie hat die E-Mail nicht erhalten.", "K"),
    (
        "The rent is 450 EUR and the deposit 900 EUR [m1].",
        "The rent is 450 EUR for the flat.\n\nFiller text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. \n\nThe deposit of 900 EUR is due.",
        "-",
    ),
    (
        'It says "The rent is 450 EUR for the flat" and a deposit of 900 EUR [m1].',
        "The rent is 450 EUR for the flat.\n\nFiller text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. Filler text about other things goes here. \n\nThe deposit of 900 EUR is due.",
        "-",
    ),
    (
        "The rent is 450 EUR and the deposit 900 EUR [m1][m2].",
        {"m1": "The rent is 450 EUR.", "m2": "The deposit of 900 EUR is due."},
        "K",
    ),
    ("Pump 2 pieces 30 EUR [m1].", "Item | Qty | Price EUR\nPump | 2 | 30\nHose | 3 | 40", "K"),
    ("Pump 2 pieces 40 EUR [m1].", "Item | Qty | Price EUR\nPump | 2 | 30\nHose | 3 | 40", "-"),
    ('It says "Shut until Easter" [m1].', {"m1": {"text": "Open", "hidden_text": "Shut until Easter."}}, "-"),
    ("It costs 99 EUR [m1].", {"m1": {"text": "Open", "hidden_text": "It costs 99 EUR."}}, "-"),
    (
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx [m1].",
        "y",
        "-",
    ),
    (
        "One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three One two three  [m1].",
        "y",
        "-",
    ),
    ("The pump [m1][m2][m3][m4][m5].", {"m1": "pump", "m2": "pump", "m3": "pump", "m4": "pump", "m5": "pump"}, "-"),
]


@pytest.mark.parametrize(("answer", "sources", "expected"), CASES)
def test_words_belong_to_who_wrote_them(answer: str, sources: Any, expected: str) -> None:
    assert verdicts(answer, sources) == expected
