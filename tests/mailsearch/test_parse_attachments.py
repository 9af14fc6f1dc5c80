"""Attachments: their text by what their bytes are, hidden text apart, and a state for what can't be read."""

import io
import zipfile
from collections.abc import Mapping

import pytest

from mailsearch.ingest.attachments import packages, read_text
from mailsearch.ingest.parsed import ParsedText

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAW = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
SLIDE = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'


def packed(files: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def packed_again(content: bytes, further: dict[str, str]) -> bytes:
    """The container *content* with more files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return packed({**{name: archive.read(name) for name in archive.namelist()}, **further})


def docx(body: str, **further: str) -> bytes:
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
    }
    return packed(files | {name.replace("__", "/"): content for name, content in further.items()})


def pdf(*pages: bytes) -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, content in enumerate(pages):
        resources = b"/Resources<</Font<</F1 3 0 R>>>>"
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R%s>>" % (5 + 2 * number, resources)
        )
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        size,
        table,
        size,
        len(out),
    )


def test_a_pdf_has_pages_and_its_unseen_text_is_kept_apart() -> None:
    first = (
        b"BT /F1 12 Tf 50 700 Td (Rent is 770.) Tj ET "
        b"BT 3 Tr /F1 12 Tf 50 650 Td (invisible) Tj ET "
        b"BT 0 Tr 1 1 1 rg /F1 12 Tf 50 600 Td (white) Tj ET "
        b"0 0 1 rg 40 540 300 30 re f BT 1 1 1 rg /F1 12 Tf 50 550 Td (on blue) Tj ET "
        b"BT 0 g /F1 1 Tf 50 500 Td (tiny) Tj ET"
    )
    state, text = read_text(pdf(first, b"BT /F1 12 Tf 50 700 Td (Page two) Tj ET"), "application/pdf", "x.pdf")
    assert state == "ok"
    assert text.text == "Rent is 770.\n\non blue\n\nPage two"
    assert text.page_starts == (0, text.text.index("Page two"))
    assert text.hidden_text.split() == ["invisible", "white", "tiny"]


def test_word_runs_that_are_hidden_or_deleted_are_kept_apart() -> None:
    run = "<w:r>{}<w:t>{}</w:t></w:r>".format
    content = docx(
        "<w:p>"
        + run("", "Seen ")
        + run("<w:rPr><w:vanish/></w:rPr>", "vanished")
        + run('<w:rPr><w:color w:val="FFFFFF"/></w:rPr>', "white")
        + "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        + run("", "too.")
        + "</w:p><w:tbl><w:tr><w:tc><w:p>"
        + run("", "Oak")
        + "</w:p></w:tc><w:tc><w:p>"
        + run("", "41")
        + "</w:p></w:tc></w:tr></w:tbl>"
    )
    state, text = read_text(content, "", "x.docx")
    assert state == "ok"
    assert text.text == "Seen too.\n\nOak | 41"
    assert [block.kind for block in text.blocks] == ["paragraph", "row"]
    assert all(hidden in text.hidden_text for hidden in ("vanished", "white", "deleted"))


WHITE_RUN = '<w:r><w:rPr><w:color w:val="FFFFFF"/>{}</w:rPr><w:t>SECRET</w:t></w:r>'
STYLES = (
    f"<w:styles {WORD}>"
    '<w:style w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:styleId="Heir"><w:basedOn w:val="Gone"/></w:style>'
    '<w:style w:styleId="White"><w:rPr><w:color w:val="FFFFFF"/></w:rPr></w:style></w:styles>'
)


def word(body: str) -> ParsedText:
    files = {"[Content_Types].xml": "<Types/>", "word/styles.xml": STYLES}
    return read_text(
        packed(files | {"word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>"}), "", "x.docx"
    )[1]


@pytest.mark.parametrize(
    "body",
    [
        "<w:p><w:r><w:rPr><w:specVanish/></w:rPr><w:t>SECRET</w:t></w:r></w:p>",
        '<w:p><w:r><w:rPr><w:color w:val="FEFEFE"/></w:rPr><w:t>SECRET</w:t></w:r></w:p>',
        '<w:p><w:r><w:rPr><w:color w:val="auto" w:themeColor="background1"/></w:rPr><w:t>SECRET</w:t></w:r></w:p>',
        "<w:p>" + WHITE_RUN.format('<w:shd w:val="clear" w:fill="FFFFFF"/>') + "</w:p>",
        '<w:p><w:r><w:rPr><w:rStyle w:val="Heir"/></w:rPr><w:t>SECRET</w:t></w:r></w:p>',
        '<w:p><w:pPr><w:pStyle w:val="White"/></w:pPr><w:r><w:t>SECRET</w:t></w:r></w:p>',
        "<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc><w:p><w:r><w:t>SECRET</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
        '<w:tbl><w:tr><w:tc><w:p><w:pPr><w:pStyle w:val="Gone"/></w:pPr><w:r><w:t>SECRET</w:t></w:r></w:p></w:tc>'
        "</w:tr></w:tbl>",
    ],
)
def test_what_a_word_document_does_not_show_is_kept_apart(body: str) -> None:
    text = word(f"<w:p><w:r><w:t>Seen</w:t></w:r></w:p>{body}")
    assert (text.text, text.hidden_text) == ("Seen", "SECRET")


def test_white_words_on_a_dark_ground_are_seen() -> None:
    shade = '<w:{}><w:shd w:val="clear" w:fill="1F3864"/></w:{}>'.format
    paragraph = "<w:p>" + shade("pPr", "pPr") + WHITE_RUN.format("") + "</w:p>"
    cell = f"<w:tbl><w:tr><w:tc>{shade('tcPr', 'tcPr')}<w:p>{WHITE_RUN.format('')}</w:p></w:tc></w:tr></w:tbl>"
    assert word(paragraph + cell).text == "SECRET\n\nSECRET"


def workbook(**further: str) -> bytes:
    cell = '<c r="{}" t="inlineStr"><is><t>{}</t></is></c>'.format
    sheet = f"<worksheet {SHEET}>{{}}<sheetData>{{}}</sheetData></worksheet>".format
    rows = (
        f'<row r="1">{cell("A1", "Item")}{cell("B1", "Cost")}{cell("C1", "secret column")}</row>'
        f'<row r="2">{cell("A2", "Oak")}<c r="B2"><v>41</v></c></row>'
        f'<row r="3" hidden="1">{cell("A3", "secret row")}</row>'
    )
    return packed(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": f'<Relationships {RELS}><Relationship Id="r" Type="{OFFICE}/officeDocument" '
            f'Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook {SHEET} {R}><sheets><sheet name="Prices" sheetId="1" r:id="r1"/>'
            f'<sheet name="Back" sheetId="2" state="hidden" r:id="r2"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f"<Relationships {RELS}>"
            f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
            f'<Relationship Id="r2" Type="{OFFICE}/worksheet" Target="worksheets/sheet2.xml"/></Relationships>',
            "xl/worksheets/sheet1.xml": sheet('<cols><col min="3" max="3" hidden="1"/></cols>', rows),
            "xl/worksheets/sheet2.xml": sheet("", f'<row r="1">{cell("A1", "secret sheet")}</row>'),
        }
        | {name.replace("__", "/") + ".xml": content for name, content in further.items()}
    )


def test_rows_and_cells_that_are_hidden_in_other_ways_are_kept_apart() -> None:
    cell = '<c r="{}" s="{}" t="inlineStr"><is><t>{}</t></is></c>'.format
    rows = (
        f'<row r="1">{cell("A1", 0, "Oak")}{cell("B1", 1, "white")}{cell("C1", 2, "format")}'
        f"{cell('D1', 3, 'banner')}</row>"
        f'<row hidden="true" spans="1:4">{cell("A2", 0, "unnumbered")}</row>'
        f'<row r="3" ht="0">{cell("A3", 0, "flat")}</row>'
        f'<row r="4">{cell("A4", 0, "Elm")}{cell("E4", 0, "narrow")}</row>'
    )
    styles = (
        f'<styleSheet {SHEET}><fonts><font/><font><color rgb="FFFFFFFF"/></font></fonts><fills><fill/><fill>'
        '<patternFill patternType="solid"><fgColor rgb="FF000000"/></patternFill></fill></fills>'
        '<numFmts><numFmt numFmtId="170" formatCode=";;;"/></numFmts><cellXfs><xf fontId="0" fillId="0"/>'
        '<xf fontId="1" fillId="0"/><xf numFmtId="170" fontId="0" fillId="0"/><xf fontId="1" fillId="1"/></cellXfs>'
        "</styleSheet>"
    )
    sheet = (
        f'<worksheet {SHEET}><cols><col min="5" max="5" width="0" customWidth="1"/></cols>'
        f"<sheetData>{rows}</sheetData></worksheet>"
    )
    _, text = read_text(workbook(xl__styles=styles, xl__worksheets__sheet1=sheet), "", "x.xlsx")
    assert text.text == "Prices\n\nOak | banner\nElm"
    for hidden in ("white", "format", "unnumbered", "flat", "narrow"):
        assert hidden in text.hidden_text


def test_comments_of_a_sheet_are_read_where_the_sheet_is_seen() -> None:
    comment = f'<comments {SHEET}><commentList><comment ref="A1"><text><r><t>Ben: check</t></r></text></comment>'
    relation = f'<Relationships {RELS}><Relationship Id="c" Type="{OFFICE}/comments" Target="../{{}}"/></Relationships>'
    files = {f"xl__comments{number}": f"{comment}</commentList></comments>" for number in (1, 2)}
    content = packed_again(
        workbook(**files),
        {f"xl/worksheets/_rels/sheet{one}.xml.rels": relation.format(f"comments{one}.xml") for one in (1, 2)},
    )
    _, text = read_text(content, "", "x.xlsx")
    assert text.text.count("Ben: check") == 1
    assert text.hidden_text.count("Ben: check") == 1


def test_hidden_sheets_rows_and_columns_are_kept_apart() -> None:
    state, text = read_text(workbook(), "", "prices.xlsx")
    assert state == "ok"
    assert text.text == "Prices\n\nItem | Cost\nOak | 41"
    assert all(secret in text.hidden_text for secret in ("secret sheet", "secret row", "secret column"))


def test_hidden_slides_and_notes_are_kept_apart() -> None:
    slide = f"<p:sld {SLIDE} {DRAW}{{}}><a:p><a:r><a:t>{{}}</a:t></a:r></a:p></p:sld>".format
    content = packed(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/slides/slide1.xml": slide("", "First slide"),
            "ppt/slides/slide2.xml": slide(' show="0"', "hidden slide"),
            "ppt/slides/_rels/slide1.xml.rels": f'<Relationships {RELS}><Relationship Id="n" '
            f'Type="{OFFICE}/notesSlide" Target="../notesSlides/n1.xml"/></Relationships>',
            "ppt/notesSlides/n1.xml": slide("", "speaker notes"),
        }
    )
    state, text = read_text(content, "", "talk.pptx")
    assert (state, text.text) == ("ok", "First slide")
    assert "hidden slide" in text.hidden_text
    assert "speaker notes" in text.hidden_text


def test_an_open_document_is_read() -> None:
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    )
    body = (
        "<text:h>Title</text:h><text:p>One<text:s/>line.</text:p><text:list><text:list-item><text:p>item</text:p>"
        "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p>"
        "</table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    )
    content = packed(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document {names}><office:body>{body}</office:body></office:document>",
        }
    )
    state, text = read_text(content, "", "x.odt")
    assert state == "ok"
    assert [(one.kind, text.text[one.start : one.end]) for one in text.blocks] == [
        ("heading", "Title"),
        ("paragraph", "One line."),
        ("item", "item"),
        ("row", "a | b"),
    ]


def test_hidden_runs_of_rtf_are_kept_apart() -> None:
    state, text = read_text(rb"{\rtf1\ansi Seen {\v secret }caf\'e9\par Next}", "", "x.rtf")
    assert state == "ok"
    assert text.text.split() == ["Seen", "café", "Next"]
    assert "secret" in text.hidden_text


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"a,b\n1,2", "x.csv", "1,2"),
        ("Grüße".encode("utf-16"), "x.txt", "Grüße"),
        (b"# Title\n\ntext", "x.md", "Title"),
        (b"<html><body><p>Hi<script>no</script></body></html>", "x.dat", "Hi"),
        (
            b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ada Mond\r\nTEL:+49 30 12345\r\nEND:VCARD\r\n",
            "x.vcf",
            "Phone: +49 30 12345",
        ),
        (
            b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Roof\r\nDTSTART:20240304T093000Z\r\nEND:VEVENT\r\nEND:VCALENDAR",
            "x.bin",
            "Roof",
        ),
        (
            b"BEGIN:VCALENDAR\r\nVERSION:1.0\r\nBEGIN:VEVENT\r\nSUMMARY:Old roof\r\n"
            b"DTSTART:20240304T093000\r\nEND:VEVENT\r\nEND:VCALENDAR",
            "x.vcs",
            "Old roof",
        ),
        (
            b"BEGIN:VCALENDAR\r\nVERSION:1.0\r\nBEGIN:VEVENT\r\nSUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:F=C3=\r\n"
            b"=A4hre, old\r\nDTSTART:20240304T093000\r\nEND:VEVENT\r\nEND:VCALENDAR",
            "x.vcs",
            "Fähre, old",
        ),
        (b"From: ada@a.example\nSubject: Inner\n\nInner words.", "x.eml", "Inner words."),
        (packed({"a/one.txt": "words of one", "two.csv": "x,y"}), "x.zip", "words of one"),
    ],
)
def test_other_kinds_are_read(content: bytes, name: str, words: str) -> None:
    state, text = read_text(content, "application/octet-stream", name)
    assert state == "ok"
    assert words in text.text


def test_archives_inside_archives_stay_closed() -> None:
    inner = packed({"deep.txt": "deep words"})
    _, text = read_text(packed({"inner.zip": inner, "top.txt": "top words"}), "", "x.zip")
    assert "top words" in text.text
    assert "deep words" not in text.text


def test_what_a_file_is_called_does_not_decide() -> None:
    assert read_text(docx("<w:p><w:r><w:t>words</w:t></w:r></w:p>"), "image/png", "picture.png")[1].text == "words"


@pytest.mark.parametrize(
    ("content", "name", "state"),
    [
        (b"", "x.txt", "empty"),
        (b"\x89PNG\r\n\x1a\n", "x.png", "unsupported"),
        (b"%PDF-1.4\ngarbage", "x.pdf", "corrupt"),
        (docx("<w:p/>")[:-60], "x.docx", "corrupt"),
        (b"PK\x03\x04 and nothing else", "x.xlsx", "corrupt"),
        (b"\x78\x9f\x3e\x22\x01", "winmail.dat", "corrupt"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "x.doc", "unsupported"),
    ],
)
def test_what_cannot_be_read_has_a_state(content: bytes, name: str, state: str) -> None:
    assert read_text(content, "", name)[0] == state


def test_a_document_that_unpacks_without_end_is_too_large() -> None:
    bomb = packed({"[Content_Types].xml": "<Types/>", "word/document.xml": b" " * (packages.MOST_UNPACKED + 1)})
    assert len(bomb) < 1_000_000
    assert read_text(bomb, "", "x.docx")[0] == "too_large"


def test_a_broken_open_spreadsheet_ends() -> None:
    content = "<o:document xmlns:o='o'><o:body><o:spreadsheet><o:table><o:table-row>"
    broken = packed({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content})
    assert read_text(broken, "", "x.ods")[0] == "corrupt"


def test_entities_of_a_document_are_not_expanded() -> None:
    laughing = (
        f'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY f SYSTEM "file:///etc/passwd">]><w:document {WORD}><w:body><w:p><w:r>'
        "<w:t>one &a; &f;</w:t></w:r></w:p></w:body></w:document>"
    )
    _, text = read_text(packed({"[Content_Types].xml": "", "word/document.xml": laughing}), "", "x.docx")
    assert "root:" not in text.text
    assert "ha" not in text.text
