"""Words that turn or report what follows and words that only look so; facts in more scripts and styles."""

from typing import Any

import pytest

from tests.core.verify_setup import verdicts

CASES: list[tuple[str, Any, str]] = [
    ('It says "we accept the offer" [m1].', "Regarding your claims, we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "No problem, we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "Ann claims that we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "He claims we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "As stated, we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "Not only that, we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "Please do not hesitate to call, we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "You provided photos and we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "Provided that you pay, we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "Under no circumstances do we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "Your report states that we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "We never said that we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "I do not think we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "It is false that we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "He denies that we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "Suppose we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "We hope we accept the offer.", "K"),
    ('It says "we accept the offer" [m1].', "You wrote: we accept the offer.", "-"),
    ('It says "we accept the offer" [m1].', "I told you we accept the offer.", "K"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Kein Problem, wir nehmen das Angebot an.", "K"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Sie schreiben, wir nehmen das Angebot an.", "-"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Laut Bob gilt: wir nehmen das Angebot an.", "-"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Keinesfalls gilt, wir nehmen das Angebot an.", "-"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Nicht nur das, wir nehmen das Angebot an.", "K"),
    ('Es heißt "wir nehmen das Angebot an" [m1].', "Vielleicht gilt: wir nehmen das Angebot an.", "K"),
    (
        'In it we will say "we ship" [m1].',
        {"m1": {"text": "we ship", "from": "Bo <bo@x.example>", "to": ["Will Smith <will@x.example>"]}},
        "K",
    ),
    ('He wrote "boxes came\nin one piece" [m1].', "The boxes came in one piece.", "K"),
    (
        'The attachment a.pdf says "risk passes here" [m1].',
        {"m1": {"text": "x", "attachments": {"a.pdf": "risk passes here"}}},
        "K",
    ),
    (
        'The attachment b.pdf says "risk passes here" [m1].',
        {"m1": {"text": "x", "attachments": {"a.pdf": "risk passes here"}}},
        "-",
    ),
    ("The mail is from eva@x.example [m1].", {"m1": {"text": "x", "from": "Eva <eva@x.example>"}}, "K"),
    ("The mail is from evi@x.example [m1].", {"m1": {"text": "x", "from": "Eva <eva@x.example>"}}, "-"),
    ("Sent on 5 March 2026 [m1].", {"m1": {"text": "x", "date": "2026-03-05T10:00:00+01:00"}}, "K"),
    ("Sent on 6 March 2026 [m1].", {"m1": {"text": "x", "date": "2026-03-05T10:00:00+01:00"}}, "-"),
    ("السعر ٥٠٠ يورو [m1].", "السعر 500 يورو.", "K"),
    ("السعر ٦٠٠ يورو [m1].", "السعر 500 يورو.", "-"),
    ("कीमत ५०० रुपये है [m1]।", "कीमत 500 रुपये है।", "K"),
    ("कीमत ६०० रुपये है [m1]।", "कीमत 500 रुपये है।", "-"),
    ("価格は５００円です[m1]。", "価格は500円です。", "K"),
    ('The box [m1] is 12" deep and weighs 3 kg [m1].', 'The box is 12" deep and weighs 3 kg.', "K"),
    ('The box is 13" deep [m1].', 'The box is 12" deep.', "-"),
    (
        'Ann wrote on 5 May: "we ship" [m1].',
        {"m1": {"text": "we ship", "from": "Ann <a@x.example>", "date": "2026-05-05"}},
        "K",
    ),
    ("The fee is EUR 20.– [m1].", "Fee: EUR 20.–", "K"),
    ("The fee is CHF 20.-- [m1].", "Fee: CHF 20.--", "K"),
    ("The ratio rose from 1.5 to 2.5 percent [m1].", "It rose from 1.5 % to 2.5 %.", "K"),
    ("We need 2-3 more people [m1].", "We need 2 to 3 more people.", "K"),
    ("Between 2 and 4 p.m. [m1].", "Between 2 pm and 4 pm.", "K"),
    ("Room 4.12 is free [m1].", "Room 4.12 is free.", "K"),
    ("Section 3.1.2 applies [m1].", "Section 3.1.2 applies.", "K"),
    ("Section 3.1.3 applies [m1].", "Section 3.1.2 applies.", "-"),
    ("The 2025/26 season [m1].", "The 2025/26 season starts.", "K"),
    ("Tracking 1Z 999 AA1 01 2345 6784 [m1].", "Tracking 1Z 999 AA1 01 2345 6784.", "K"),
    ("Tracking 1Z999AA10123456784 [m1].", "Tracking 1Z999AA10123456784", "K"),
    ("Card ending 1234 [m1].", "Card ending in 1234.", "K"),
    ("Size XL, 42 pieces [m1].", "Size XL: 42 Stück", "K"),
    ("Postcode 10115 Berlin [m1].", "10115 Berlin", "K"),
    ("Postcode 10116 Berlin [m1].", "10115 Berlin", "-"),
    ("Half of the 10,000 EUR [m1].", "Half of the 10.000 EUR", "K"),
    ("About 10k visitors [m1].", "About 10,000 EUR 10 000 visitors", "K"),
    ("Price: 1 234,50 € [m1].", "Prix : 1\u202f234,50 €", "K"),
    ("Price: 1234,50 € [m1].", "Prix : 1\xa0234,50 €", "K"),
    ("The 5 members agree [m1].", "Five members agreed: A, B, C, D, E.", "K"),
    ("Le 1er mai [m1].", "On 1 May.", "K"),
    ("Le 2 mai [m1].", "On 1 May.", "-"),
    ("Dauer: 2 Wochen [m1].", "It takes two weeks.", "K"),
    ("Dauer: 3 Wochen [m1].", "It takes two weeks.", "-"),
    ('We do not think "the plan works" [m1].', "We do not think the plan works.", "K"),
    ('We think "the plan works" [m1].', "We do not think the plan works.", "-"),
    ('Not "the plan works" [m1].', "We do not think the plan works.", "-"),
    ("开票17%和3%[m1]。", "可代开发票，17%专用，3%普通。", "K"),
    ("开票18%[m1]。", "可代开发票，17%专用，3%普通。", "-"),
    ("他说“优惠所开 发票”[m1]。", "优惠所开\n发票", "K"),
    ("Offer no.5 [m1].", "Offer no. 5", "K"),
    ("It weighs .5 kg [m1].", "It weighs 5 kg", "-"),
    ("It weighs 5 kg [m1].", "It weighs .5 kg", "-"),
    ("It weighs .5 kg [m1].", "It weighs .5 kg", "K"),
    ("It weighs 0.5 kg [m1].", "It weighs .5 kg", "K"),
    # A cue of two words whose second begins the quotation; a cue of a language that so short a text does not tell.
    ('Er staat "het dak is nieuw" [m1].', "Als het dak is nieuw, betalen we.", "-"),
    ('Er staat "het dak is nieuw" [m1].', "We bevestigen: het dak is nieuw.", "K"),
    ('Jest "dach nowy" [m1].', "Jeśli dach nowy, płacimy.", "-"),
    ('Jest "dach nowy" [m1].', "Potwierdzamy: dach nowy.", "K"),
    ('It says "the roof is new" [m1].', "No, the roof is new.", "K"),
    ('It says "the roof is new" [m1].', "No roofer said the roof is new.", "-"),
    ('It says "the roof is new" [m1].', "We were told the roof is new.", "-"),
    ('It says "the roof is new" [m1].', "We write to say that the roof is new.", "K"),
    # Cut off before the word that denies it; but a pause, or a word that goes with something else, denies nothing.
    ('It says "the others do" [m1].', "The north wall carries it, the others do not.", "-"),
    ('It says "we will pay" [m1].', "Be sure that we will pay nothing.", "-"),
    ('It says "this is" [m1].', "We agree that this is no solution.", "-"),
    ('Es heißt "wir kommen am Montag" [m1].', "Wir kommen am Montag nicht.", "-"),
    ('Es heißt "wir haben" [m1].', "Die anderen haben Balkone, wir haben\nkeinen.", "-"),
    ('On lit "un camion ne tourne" [m1].', "La cour est étroite, un camion ne tourne pas.", "-"),
    ('Er staat "wij komen" [m1].', "Let op, wij komen niet.", "-"),
    ('It says "we deliver on Friday" [m1].', "We deliver on Friday not Monday.", "K"),
    ('It says "we deliver on Friday" [m1].', "We deliver on Friday, never on Monday.", "K"),
    ('It says "the others do" [m1].', "The others do.\n\nNot all is lost.", "K"),
    ('Es heißt "wir liefern Bretter" [m1].', "Wir liefern Bretter nicht nur in Eiche.", "K"),
    ("One third is due now [m1].", "One third is due now, one third at delivery.", "K"),
    ("A third meeting takes place [m1].", "A third meeting takes place on Friday.", "K"),
    ("A third of the sum is due [m1].", "A fourth of the sum is due.", "-"),
    ("Nous ne pouvons pas livrer le 5 novembre [m1].", "Nous ne pouvons pas livrer le 5 novembre.", "K"),
    ("Nous ne pouvons pas dire quand elle arrive [m1].", "Elle arrive.", "-"),
    ("This is so vbscript:x [m1].", "This is so.", "-"),
]
_COLUMNS = """The oven leaves on      We accept liability for
Friday by lorry and     the damage to the Golf
is paid for already.    and close the file."""
_DATA = """Name          Amount        Due
Ann Berg      1,200 EUR     4 March 2026
Bo Lund       900 EUR       5 March 2026"""


@pytest.mark.parametrize(
    ("quotation", "source", "expected"),
    [
        ("The oven leaves on We accept liability for", _COLUMNS, "-"),
        ("The oven leaves on \u2026 liability for", _COLUMNS, "-"),
        ("by lorry and the damage", _COLUMNS.replace("   ", "\t"), "-"),
        ("The oven leaves on", _COLUMNS, "K"),
        ("Ann Berg 1,200 EUR 4 March 2026", _DATA, "K"),
        (
            "Elm Town Library three oak shelves",
            "Elm Town Library\tThree oak shelves\nElm Old School\tFour oak desks",
            "K",
        ),
    ],
)
def test_a_row_of_data_is_read_across_and_columns_of_prose_are_not(quotation: str, source: str, expected: str) -> None:
    assert verdicts(f'It says "{quotation}" [m1].', source) == expected


@pytest.mark.parametrize(("answer", "sources", "expected"), CASES)
def test_what_stands_around_decides(answer: str, sources: Any, expected: str) -> None:
    assert verdicts(answer, sources) == expected
