"""Bytes whose label is missing, unknown or wrong become the text that was meant."""

import pytest

from mailsearch.ingest import addresses, charset, headers
from mailsearch.ingest.attachments import read_text

RUSSIAN = "Встреча завтра в три часа дня в офисе компании"
CHINESE = "会议改到星期三下午三点，请准时参加。"
JAPANESE = "打ち合わせは水曜日の午後三時からです。"


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("win1251", "cp1251", RUSSIAN),
        ('"cp-1251"', "cp1251", RUSSIAN),
        ("utf-8 (plain text)", "utf-8", RUSSIAN),
        ("x-euc-jp", "euc_jp", JAPANESE),
        ("MS936", "gbk", CHINESE),
        ("ISO_8859-2:1987", "iso8859-2", "Zażółć gęślą"),
        ("latin9", "iso8859-15", "5 €"),
        ("65001", "utf-8", "crème"),
    ],
)
def test_labels_that_mean_well_are_understood(label: str, codec: str, text: str) -> None:
    assert charset.decode(text.encode(codec), label).text == text


@pytest.mark.parametrize("label", ["utf-7", "idna", "rot13", "base64", "unicode_escape", "punycode", "undefined", ""])
def test_labels_of_what_is_no_charset_are_unknown(label: str) -> None:
    assert charset.lookup(label) == ""


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("iso-8859-1", "cp1251", RUSSIAN),
        ("koi8-r", "cp1251", RUSSIAN),
        ("windows-1251", "koi8-r", RUSSIAN),
        ("", "koi8-r", "Расписание автобусов"),
        ("iso-8859-1", "gb18030", CHINESE),
        ("big5", "gb18030", CHINESE),
        ("gb2312", "big5", "會議改到星期三下午三點，請準時參加。"),
        ("iso-8859-1", "shift_jis", JAPANESE),
        ("utf-8", "iso2022_jp", JAPANESE),
        ("shift_jis", "utf-8", JAPANESE),
        ("iso-8859-1", "iso8859-7", "Η συνάντηση είναι την Τετάρτη"),
        ("iso-8859-1", "cp1250", "Zażółć gęślą jaźń, proszę o łódź"),
        ("utf-8", "cp1250", "Proszę o kontakt w sprawie spotkania. Dziękuję, Łukasz"),
        ("utf-8", "latin-1", "Où êtes-vous allés cet été, à Genève?"),
        ("us-ascii", "utf-16-le", "The ferry sails at nine, señor."),
        ("utf-16", "ascii", "The ferry sails at nine."),
        ("utf-16", "utf-8", "Встреча в среду"),
        ("windows-1251", "utf-8", "Café"),
        ("iso-8859-7", "utf-8", "It’s here"),
        ("iso-8859-5", "cp1251", "«Встреча» – в среду"),
        ("iso-8859-7", "cp1253", "“Συνάντηση” – Ά"),
        ("tis-620", "cp874", "“การประชุม”"),
        ("big5", "cp950", "會議€改"),
    ],
)
def test_text_under_the_label_of_another_charset_is_read(label: str, codec: str, text: str) -> None:
    assert charset.decode(text.encode(codec), label).text == text


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("iso-8859-1", "Größe der Räume in Köln, naïf, Übermaß"),
        ("iso-8859-1", "5 m³ und 3 m² für ½ Jahr · · · ····"),
        ("windows-1251", "Рё"),
        ("gb2312", "QQ群"),
        ("windows-1251", "ПРИНЕСИТЕ ДОКУМЕНТЫ В ОФИС КОМПАНИИ ДО ПЯТНИЦЫ"),
        ("koi8-r", "ПРИНЕСИТЕ ДОКУМЕНТЫ В ОФИС КОМПАНИИ ДО ПЯТНИЦЫ"),
        ("windows-1250", "Děkuji za zprávu, příští týden přijedu"),
        ("big5", "會議改到星期三下午三點，請準時參加。"),
        ("gb2312", CHINESE),
    ],
)
def test_a_label_that_fits_is_believed(label: str, text: str) -> None:
    decoded = charset.decode(text.encode(charset.lookup(label)), label)
    assert (decoded.text, decoded.step) == (text, "declared")


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("gb2312", CHINESE.encode("gb18030")[:-3], CHINESE[:-2] + "\ufffd"),
        ("euc-kr", "회의는 수요일 ".encode("euc_kr") + b"\xff", "회의는 수요일 \ufffd"),
        ("utf-8", b"party \xed\xa0\xbd\xed\xb8\x80 at the caf\xc3\xa9", "party 😀 at the café"),
        ("utf-8", "Größe der Räume, ".encode() + b"Fu\xdfnote", "Größe der Räume, Fußnote"),
        ("iso-2022-jp", b"\x1b$B-!\x1b(B \x1b$B2q5D\x1b(B", "① 会議"),
        ("utf-8", b"Gr\xc3\xbc\xc3\x9fe \xff\xfe and \xe2\x82 end", "Grüße \ufffd\ufffd and \ufffd end"),
        ("utf-8", b"zebra" + bytes(500), "zebra" + "\0" * 500),
        ("iso-8859-15", b"it\x92s 5 \xa4", "it’s 5 €"),
        ("iso-8859-1", b"it\x92s 5\x81", "it’s 5\ufffd"),
    ],
)
def test_a_few_broken_bytes_cost_only_themselves(label: str, data: bytes, text: str) -> None:
    assert charset.decode(data, label).text == text


def test_a_mark_of_utf8_at_the_beginning_is_no_text_and_says_more_than_a_label() -> None:
    assert charset.decode("\ufeffGrüße".encode(), "utf-8") == ("Grüße", "utf-8", "declared")
    assert charset.decode("\ufeffж".encode(), "windows-1251") == ("ж", "utf-8", "utf-8")


def test_raw_japanese_in_a_header_is_read_before_its_commas_are_looked_for() -> None:
    raw = "山田太郎".encode("iso2022_jp")
    assert headers.text(raw).value == "山田太郎"
    found, _ = addresses.read(raw + b" <y@a.example>", "from")
    assert [(one.name, one.address) for one in found] == [("山田太郎", "y@a.example")]


@pytest.mark.parametrize(
    "value",
    [b"=?utf-8?B?R3Jvw5?= =?utf-8?B?9lciBVbXp1Zw==?=", b"=?utf-8?B?R3Jvw58?= =?utf-8?B?ZXIgVW16dWc?="],
)
def test_groups_of_base64_may_be_cut_between_words_or_not(value: bytes) -> None:
    assert headers.text(value).value == "Großer Umzug"


def test_an_encoded_word_may_be_long() -> None:
    assert headers.text(b"=?utf-8?Q?" + b"=C3=BC_" * 3_000 + b"end?=").value == "ü " * 3_000 + "end"


def test_a_table_with_a_stray_zero_is_still_text() -> None:
    assert read_text(b"city,\x00pop\nOslo,7\n", "text/csv", "a.csv")[1].text == "city,pop\nOslo,7"
