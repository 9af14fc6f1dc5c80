"""Facts told in words and in scripts without Latin letters; and what says that mail is silent without naming mail."""

# ruff: noqa: E501
import pytest

from tests.core.verify_setup import verdicts

MEETING = {
    "m1": {
        "text": "The meeting is on Wednesday 4 March 2026 at 10:30. The price of 1.250,00 EUR is final. The "
        "deposit is not mentioned in the contract. 我们周三开会。会议室在三楼。押金是三千元。회의는 수요일입니다. 会議は水曜日です。 "
        "الاجتماع يوم الأربعاء. बैठक बुधवार को है। ประชุมวันพุธ Встреча в среду. Η συνάντηση είναι την Τετάρτη. "
        "הפגישה ביום רביעי.",
        "from": "Ann Berg <ann@mail.example>",
        "date": "2026-03-02",
    },
    "m2": {"text": "The roof is fine.", "from": "Bo Lund <bo@mail.example>", "date": "2026-03-03"},
}  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        "The meeting is at half past ten", "Das Treffen ist um halb elf", "Das Treffen ist am vierten März",
        "La réunion est le quatre mars", "The meeting is on the fourth of March", "The meeting is on March fourth",
        "La reunión es el cuatro de marzo", "La riunione è il quattro marzo", "De vergadering is op vier maart",
        "De vergadering is om half elf", "Spotkanie jest czwartego marca", "La réunion est à dix heures et demie",
        "Le prix est de mille deux cent cinquante euros", "El precio es de mil doscientos cincuenta euros",
        "会议在星期三", "会議は水曜日です", "会議は三月四日です", "회의는 수요일입니다",
        "الاجتماع يوم الأربعاء", "बैठक बुधवार को है",
        "ประชุมวันพุธ", "Встреча в среду", "Η συνάντηση είναι την Τετάρτη",
        "הפגישה ביום רביעי", "会议室在三楼", "押金是三千元",
        "The deposit is not mentioned in the contract",
    ],
)  # fmt: skip
def test_what_the_mail_says_in_other_words_is_kept(said: str) -> None:
    assert verdicts(f"{said} [m1].", MEETING) == "K"


@pytest.mark.parametrize(
    "said",
    [
        "The meeting is at half past nine", "The meeting is at quarter past ten",
        "The meeting is at a quarter to eleven",
        "Das Treffen ist um halb zehn", "Das Treffen ist um Viertel nach zehn", "Das Treffen ist am fünften März",
        "Das Treffen ist am einundzwanzigsten März", "La réunion est le cinq mars", "La réunion est le premier mars",
        "La réunion est à dix heures et quart", "La reunión es el cinco de marzo", "La reunión es a las diez y cuarto",
        "La riunione è il cinque marzo", "The meeting is on the fifth of March", "The meeting is on March fifth", "The meeting is on March twenty-first",
        "De vergadering is om half tien", "De vergadering is op vijf maart", "A reunião é em cinco de março",
        "Spotkanie jest piątego marca", "Le prix est de mille trois cent cinquante euros", "会议在星期四",
        "会議は木曜日です",
        "会議は五月六日です", "회의는 목요일입니다", "الاجتماع يوم الخميس", "बैठक गुरुवार को है", "ประชุมวันพฤหัสบดี",
        "Встреча в четверг", "Η συνάντηση είναι την Πέμπτη", "הפגישה ביום חמישי", "会议室在五楼", "押金是五千元",
    ],
)  # fmt: skip
def test_what_the_mail_says_otherwise_is_removed(said: str) -> None:
    assert verdicts(f"{said} [m1].", MEETING) == "-"


@pytest.mark.parametrize(
    "said",
    [
        "A fee isn't mentioned anywhere", "It is not stated whether a fee is due", "Nothing was said about a fee",
        "The provided context does not specify a fee", "Eine Gebühr wird nirgends erwähnt", "Keine Gebühr wird erwähnt",
        "Dazu habe ich nichts gefunden", "Les frais ne sont mentionnés nulle part", "Aucun prix n'est mentionné",
        "No se menciona ninguna fianza", "Non viene menzionata alcuna cauzione", "Er wordt nergens een borg genoemd",
        "Nenhuma caução é mencionada", "Nie wspomniano o kaucji",
    ],
)  # fmt: skip
def test_what_says_that_mail_is_silent_is_no_sentence(said: str) -> None:
    assert verdicts(f"{said} [m2].", MEETING) == "-"


@pytest.mark.parametrize("named", ['Ann\'s words were "{}"', '"{}", so Ann', 'In Ann\'s last mail: "{}"'])
def test_words_that_are_called_somebody_elses_are_removed(named: str) -> None:
    assert verdicts(named.format("The roof is fine") + " [m2].", MEETING) == "-"
    assert verdicts(named.replace("Ann", "Bo").format("The roof is fine") + " [m2].", MEETING) == "K"


@pytest.mark.parametrize(
    ("mail", "said", "otherwise"),
    [
        ("Servono duemilacinquecento viti.", "Servono 2500 viti", "Servono 2005 viti"),
        ("Er zijn tweeduizend vijfhonderd schroeven.", "Er zijn 2500 schroeven", "Er zijn 500 schroeven"),
        ("Mamy sto dwadzieścia śrub.", "Mają 120 śrub", "Mają 20 śrub"),
        ("Die Fahrt dauert zweieinhalb Stunden.", "Die Fahrt dauert 2,5 Stunden", "Die Fahrt dauert 3,5 Stunden"),
        ("Half a dozen screws.", "There are 6 screws", "There are 12 screws"),
        ("50 % of the rent is due.", "Half of the rent is due", "Three quarters of the rent is due"),
        ("Version 2.10 runs.", "Version 2.10 runs", "Version 2.1 runs"),
        ("Annex IV holds the list.", "Annex 4 holds the list", "Annex VI holds the list"),
        ("Between 1.000 and 1.500 EUR.", "It costs 1,000 to 1,500 EUR", "It costs 1,000 to 1,600 EUR"),
    ],
)
def test_numbers_of_several_words_or_signs_are_one_value(mail: str, said: str, otherwise: str) -> None:
    assert verdicts(f"{said} [m1].\n{otherwise} [m1].", mail) == "K-"


def test_a_single_letter_is_no_roman_numeral() -> None:
    assert verdicts("The rule holds for part V [m1].", "The rule holds for every part.") == "K"
