"""Plain text: blocks, flowed lines, files in the text, and who wrote which part of it."""

from itertools import pairwise

import pytest

from mailsearch.hits import PartText
from mailsearch.ingest import passages, plain
from mailsearch.ingest.parsed import ParsedText


def marked(text: str, kind: str, **options: bool) -> list[tuple[str, str]]:
    parsed = plain.visible_text(text, **options)
    return [(parsed.text[one.start : one.end], one.said_by) for one in parsed.regions if one.kind == kind]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("On Mon, Mar 4, 2024 at 9:30 AM Ada Mond <ada@a.example> wrote:", "Ada Mond <ada@a.example>"),
        ("On 4 March 2024, at 09:30, Ada Mond wrote:", "Ada Mond"),
        ("Ada Mond wrote:", "Ada Mond"),
        ("Am 04.03.2024 um 09:30 schrieb Ada Mond:", "Ada Mond"),
        ("Am Mo., 4. März 2024 um 09:30 Uhr schrieb Ada Mond <ada@a.example>:", "Ada Mond <ada@a.example>"),
        ("Le lun. 4 mars 2024 à 09:30, Ada Mond <ada@a.example> a écrit :", "Ada Mond <ada@a.example>"),
        ("El lun, 4 mar 2024 a las 9:30, Ada Mond (<ada@a.example>) escribió:", "Ada Mond <ada@a.example>"),
        ("Il giorno lun 4 mar 2024 alle ore 09:30 Ada Mond <ada@a.example> ha scritto:", "Ada Mond <ada@a.example>"),
        ("Em seg., 4 de mar. de 2024 às 09:30, Ada Mond <ada@a.example> escreveu:", "Ada Mond <ada@a.example>"),
        ("Op ma 4 mrt 2024 om 09:30 schreef Ada Mond <ada@a.example>:", "Ada Mond <ada@a.example>"),
        ("W dniu 4.03.2024 o 09:30, Ada Mond pisze:", "Ada Mond"),
        ("Den mån 4 mars 2024 kl 09:30 skrev Ada Mond <ada@a.example>:", "Ada Mond <ada@a.example>"),
        ("Dne 4. 3. 2024 v 9:30 Ada Mond napsal(a):", "Ada Mond"),
        ("04.03.2024 09:30, Ada Mond пишет:", "Ada Mond"),
        ("2024年3月4日(月) 9:30 Ada Mond <ada@a.example>:", "Ada Mond <ada@a.example>"),
        ("Ada Mond <ada@a.example> 于2024年3月4日周一 09:30写道：", "Ada Mond <ada@a.example>"),
        ("On 2 May Ada Mond wrote:", "Ada Mond"),
        ("On 2nd May Ada wrote:", "Ada"),
        ("On 2 May May Lind wrote:", "May Lind"),
        ("On May 2 April Lind wrote:", "April Lind"),
        ("On 2 May 2024 June Lind wrote:", "June Lind"),
        ("On Monday June Lind wrote:", "June Lind"),
        ("On Thursday Ada Mond wrote:", "Ada Mond"),
        ("On Mon 4 Mar A. Mond wrote:", "A. Mond"),
        ("On 4 March at 9:30 PM CET Ada Mond wrote:", "Ada Mond"),
        ("On 2024-03-04 Mon 9:30, Ada Mond wrote:", "Ada Mond"),
        ("Ada Mond wrote on 2 May:", "Ada Mond"),
        ("Ada Mond wrote on Monday:", "Ada Mond"),
        ("Ada Mond (2 May 2024) wrote:", "Ada Mond"),
        ("Ada Mond wrote the following:", "Ada Mond"),
        ("On 2 May wrote:", ""),
        ("V. Mond wrote:", "V. Mond"),
        ("On Tue, 17 Nov 2009 13:15:25 -0800, Ada Mond <ada at a.example> wrote:", "Ada Mond"),
        ("At 3:25 PM -0400 on 10/8/02, Ned Mond wrote:", "Ned Mond"),
        ("Tuesday, October 1, 2002, 9:54:02 PM, you wrote:", ""),
        ("Mond, Ada <ada@a.example> wrote on 2 May:", "Ada <ada@a.example>"),
        ("Ada Mond schrieb am 2. Mai:", "Ada Mond"),
        ("Ada Mond schrieb am Dienstag um 9 Uhr:", "Ada Mond"),
        ("Am 2. Mai schrieb Ada Mond:", "Ada Mond"),
        ("Am Dienstag, den 2. Mai, schrieb Ada Mond folgendes:", "Ada Mond"),
        ("Am 2. Mai hat Ada Mond geschrieben:", "Ada Mond"),
        ("Le 2 mai Ada Mond a écrit :", "Ada Mond"),
        ("Le mardi 2 mai à 9 h Ada Mond a écrit :", "Ada Mond"),
        ("Le 2 mai 2024 Ada de la Tour a écrit :", "Ada de la Tour"),
        ("El 2 de mayo Ada Mond escribió:", "Ada Mond"),
        ("El 2 de mayo de 2024 de Haro Ada escribió:", "de Haro Ada"),
        ("Il 2 maggio Ada Mond ha scritto:", "Ada Mond"),
        ("Em 2 de maio de 2024 às 9h Ada do Carmo escreveu:", "Ada do Carmo"),
        ("Op 2 mei heeft Ada Mond het volgende geschreven:", "Ada Mond"),
        ("Op dinsdag 2 mei om 9 uur schreef Ada van Dijk:", "Ada van Dijk"),
        ("Pe 2 mai Ada Mond a scris:", "Ada Mond"),
        ("Dnia 2 maja Ada Mond napisała:", "Ada Mond"),
        ("Dne 2. května Ada Mond napsala:", "Ada Mond"),
        ("Dňa 2. mája o 9:30 Ada Mond napísala:", "Ada Mond"),
        ("Dana 2. svibnja Ada Mond je napisala:", "Ada Mond"),
        ("Den 2 maj skrev Ada Mond:", "Ada Mond"),
        ("Ada Mond skrev den 2 maj:", "Ada Mond"),
        ("tirsdag 2. mai skrev Ada Mond:", "Ada Mond"),
        ("2. toukokuuta Ada Mond kirjoitti:", "Ada Mond"),
        ("Ada Mond ezt írta (2. máj.):", "Ada Mond"),
        ("2 Mayıs Salı günü Ada Mond yazdı:", "Ada Mond"),
        ("2 мая Ада Монд пишет:", "Ада Монд"),
        ("Во вторник, 2 мая 2024 г. Ада Монд писал:", "Ада Монд"),
        ("2 травня Ада Монд пише:", "Ада Монд"),
        ("Στις 2 Μαΐου η Άντα Μοντ έγραψε:", "η Άντα Μοντ"),
        ("Pada 2 Mei Ada Mond menulis:", "Ada Mond"),
        ("Vào 2 tháng 5 Ada Mond đã viết:", "Ada Mond"),
        ("Ada Mond 于2024年3月4日周一写道：", "Ada Mond"),
        ("2024년 5월 2일 (목) 오전 9:30, Ada Mond님이 작성:", "Ada Mond"),
        ("út 2. 5. 2024 v 9:30 odesílatel Ada Mond napsal:", "Ada Mond"),
        ("На вт, 2.05.2024 г. в 9:30 Ada Mond написа:", "Ada Mond"),
        ("uto, 2. svi 2024. u 09:30 Ada Mond napisao je:", "Ada Mond"),
        ("вт, 2 мая 2024 г. в 09:30, Ada Mond <ada@a.example>:", "Ada Mond <ada@a.example>"),
        ("Missatge de Ada Mond <ada@a.example> del dia 2 de maig 2024 a les 9:30:", "Ada Mond <ada@a.example>"),
        ("\u202bבתאריך 2 במאי 2024 ב-9:30 מאת \u202aAda Mond\u202c <ada@a.example>:\u202c", "Ada Mond <ada@a.example>"),
        ("في 2 مايو 2024 في 9:30 ص تمت كتابة ما يلي بواسطة Ada <ada@a.example>:", "Ada <ada@a.example>"),
        ("ในวันที่ 2 พ.ค. 2024 เวลา 09:30 Ada <ada@a.example> เขียนว่า:", "Ada <ada@a.example>"),
    ],
)
def test_attributions_name_the_speaker_in_many_languages(line: str, name: str) -> None:
    found = marked(f"My answer.\n\n{line}\n\n> Her words.\n> And more.\n\nMy end.", "quoted")
    assert ("> Her words.\n> And more.", name) in found
    assert not any("My" in text for text, _ in found)


def test_a_dated_line_without_a_verb_announces_only_what_is_marked_as_quoted() -> None:
    assert marked("Meet 2 May 2024 at 9:30 with Ada <ada@a.example>:\n\nBring the keys.", "quoted") == []


def test_an_attribution_may_take_two_lines() -> None:
    found = marked("Yes.\n\nOn Mon, Mar 4, 2024 at 9:30 AM Ada Mond <ada@a.example>\nwrote:\n\n> Words.", "quoted")
    assert ("> Words.", "Ada Mond <ada@a.example>") in found


@pytest.mark.parametrize("left_out", ["[...]", "[…]", "<snip>", "*snip*", "[snip]\n\n[gekürzt]", "...", "--8<-----"])
def test_a_reply_that_trims_what_it_quotes_keeps_its_own_words(left_out: str) -> None:
    attribution = "On 4 March 2024, at 09:30, Ada Mond wrote:"
    found = marked(f"{attribution}\n{left_out}\n> Her words.\n\nMy answer.\n> More.\nMy end.", "quoted")
    assert found[0] == (attribution, "Ada Mond")
    assert found[1:] == [("> Her words.", "Ada Mond"), ("> More.", "Ada Mond")]


@pytest.mark.parametrize("mark", ["--]", "| ", "AM> ", ": ", "=> "])
def test_marks_of_a_programs_own_part_quotes_from_answers(mark: str) -> None:
    text = (
        f"On 4 March 2024, Ada Mond wrote:\n\n{mark}Her words.\n{mark}And more.\n\nMy answer.\n\n{mark}Last.\n\nMy end."
    )
    found = [words for words, _ in marked(text, "quoted")]
    assert [f"{mark}Her words.\n{mark}And more.", f"{mark}Last."] == [words for words in found if "wrote:" not in words]


def test_a_mark_that_stands_once_is_none() -> None:
    text = "On 4 March 2024, Ada Mond wrote:\n\n| Her words.\nAnd more."
    assert marked(text, "quoted")[-1][0].endswith("And more.")


def test_words_without_marks_below_a_dated_attribution_stay_quoted() -> None:
    found = marked("Yes.\n\nOn 4 March 2024, at 09:30, Ada Mond wrote:\n\n[...]\n\nHer words.\nAnd more.", "quoted")
    assert "".join(text for text, _ in found).endswith("And more.")


def test_each_level_of_quoting_has_its_own_speaker() -> None:
    text = "On 4 Mar 2024, Ada wrote:\n> On 3 Mar 2024, Ben wrote:\n>> first\n> second\nthird"
    found = marked(text, "quoted")
    assert (">> first", "Ben") in found
    assert ("> second", "Ada") in found
    assert not any("third" in words for words, _ in found)


def test_prose_that_speaks_of_writing_is_no_attribution() -> None:
    assert marked("As the manual said: press the button.\nHe wrote:\n\nnothing at all.", "quoted") == []


@pytest.mark.parametrize(
    ("first", "labels"),
    [
        ("-----Original Message-----", ("From", "Sent", "To", "Subject")),
        ("-----Ursprüngliche Nachricht-----", ("Von", "Gesendet", "An", "Betreff")),
        ("________________________________", ("De", "Envoyé", "À", "Objet")),
        ("-----Mensaje original-----", ("De", "Enviado el", "Para", "Asunto")),
        ("", ("From", "Date", "To", "Subject")),
        ("", ("Od", "Wysłane", "Do", "Temat")),
        ("", ("De", "Enviada em", "Para", "Assunto")),
        ("", ("Από", "Στάλθηκε", "Προς", "Θέμα")),
        ("", ("От", "Изпратено", "До", "Относно")),
        ("", ("من", "تم الإرسال", "إلى", "الموضوع")),
        ("", ("จาก", "ส่ง", "ถึง", "เรื่อง")),
        ("", ("Từ", "Đã gửi", "Tới", "Chủ đề")),
    ],
)
def test_a_block_of_headers_opens_a_quote_to_the_end(first: str, labels: tuple[str, ...]) -> None:
    values = ("Ada Mond <ada@a.example>", "Monday 4 March 2024", "ben@b.example", "Roof")
    block = "\n".join(f"{label}: {value}" for label, value in zip(labels, values, strict=True))
    found = marked(f"My words.\n\n{first}\n{block}\n\nHer words.", "quoted")
    assert len(found) == 1
    assert found[0][0].endswith("Her words.")
    assert found[0][1] == "Ada Mond <ada@a.example>"


@pytest.mark.parametrize(
    "divider",
    [
        "---------- Forwarded message ---------",
        "Begin forwarded message:",
        "-------- Weitergeleitete Nachricht --------",
        "-------- Message transféré --------",
        "---------- Mensaje reenviado ----------",
    ],
)
def test_forwarded_text_is_told_from_quoted(divider: str) -> None:
    block = "From: Ada <ada@a.example>\nDate: 4 Mar 2024\nSubject: Roof\nTo: b@b.example"
    text = f"See below.\n\n{divider}\n{block}\n\nWords."
    found = marked(text, "forwarded")
    assert found[0][0].endswith("Words.")
    assert found[0][1] == "Ada <ada@a.example>"
    assert marked(text, "quoted") == []


def test_a_message_that_calls_itself_forwarded_forwards_its_header_block() -> None:
    text = "FYI\n\nFrom: Ada <ada@a.example>\nSent: Monday\nTo: b@b.example\nSubject: Roof\n\nWords."
    assert marked(text, "forwarded", forwards=True)
    assert not marked(text, "forwarded")


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("Words.\n\n-- \nAda Mond\nPhone 123", "--\nAda Mond\nPhone 123"),
        ("Words.\n\nBest regards,\nAda", "Best regards,\nAda"),
        ("Words.\n\nMit freundlichen Grüßen\nAda Mond", "Mit freundlichen Grüßen\nAda Mond"),
        ("Words.\n\nSent from my phone", "Sent from my phone"),
        ("Words.\n\nÜdvözlettel:\nAda", "Üdvözlettel:\nAda"),
        ("Words.\n\nよろしくお願いいたします。\nAda", "よろしくお願いいたします。\nAda"),
        ("Words.\n\niPhone'umdan gönderildi", "iPhone'umdan gönderildi"),
        ("Words.\n\n나의 iPhone에서 보냄", "나의 iPhone에서 보냄"),
        ("Words.\n\nGet Outlook for iOS<https://aka.example/o0uk>", "Get Outlook for iOS<https://aka.example/o0uk>"),
        (
            "Words.\n_______________________________________________\nRoof mailing list\nhttps://lists.example/listinfo",
            "_______________________________________________\nRoof mailing list\nhttps://lists.example/listinfo",
        ),
    ],
)
def test_signatures_are_marked(text: str, signature: str) -> None:
    assert [words for words, _ in marked(text, "signature")] == [signature]


def test_a_number_below_a_greeting_stays_text() -> None:
    assert marked("Call me.\n\nThanks,\nAda\nThe code is 4711\nand the gate 12", "signature") == []


def test_blocks_keep_lines_of_one_paragraph_and_part_items_rows_and_quotes() -> None:
    parsed = plain.visible_text("One\ntwo.\n\n- a\n  more\n- b\n> c\n> d\nItem\tCost\nOak\t41\n")
    blocks = [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]
    assert blocks == [
        ("paragraph", "One\ntwo."),
        ("item", "- a\n  more"),
        ("item", "- b"),
        ("paragraph", "> c\n> d"),
        ("row", "Item\tCost"),
        ("row", "Oak\t41"),
    ]


def test_flowed_lines_are_joined_and_stuffing_goes() -> None:
    text = "One \ntwo.\n Three\n> quoted \n> on\n-- \nAda"
    assert plain.visible_text(text, flowed=True).text == "One two.\nThree\n> quoted on\n--\nAda"
    assert plain.visible_text("para \ngraph", flowed=True, delsp=True).text == "paragraph"


def test_a_uuencoded_file_is_taken_out_of_the_text() -> None:
    text, files = plain.take_files("Before\n\nbegin 644 a.txt\n#0V%T\n`\nend\n\nafter")
    assert "begin" not in text
    assert [(name, content, sound) for name, content, sound in files] == [("a.txt", b"Cat", True)]


def test_a_file_encoded_in_base64_is_taken_out_of_the_text() -> None:
    assert plain.take_files("x\nbegin-base64 644 a.txt\nQ2F0\n====\ny") == ("x\ny", (("a.txt", b"Cat", True),))


def test_prose_that_begins_is_no_file() -> None:
    assert plain.take_files("begin 644 words\nThis is prose.\nend")[1] == ()


def part(parsed: ParsedText) -> PartText:
    return PartText("body", parsed.text, parsed.blocks, parsed.regions)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        "word " * 2_000,
        "x" * 5_000,
        "\n\n".join("A sentence here. " * 9 for _ in range(30)),
        "日本語。" * 900,
    ],
)
def test_passages_cover_the_text_and_overlap_a_little(text: str) -> None:
    parsed = plain.visible_text(text)
    spans = passages.split(part(parsed))
    covered = {position for start, end in spans for position in range(start, end)}
    assert all(character.isspace() for at, character in enumerate(parsed.text) if at not in covered)
    assert all(0 < end - start <= passages.LENGTH for start, end in spans)
    for (_, before), (start, _) in pairwise(spans):
        assert start >= before - passages.OVERLAP
