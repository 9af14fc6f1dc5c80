"""Links in documents: where they lead stands apart from the text, with the place of their words in it."""

import pytest

from mailsearch import hosts
from mailsearch.ingest.attachments import read_text
from mailsearch.ingest.links import MOST_LINKS
from tests.mailsearch.test_parse_attachments import (
    DRAW,
    OFFICE,
    RELS,
    SHEET,
    SLIDE,
    WORD,
    R,
    docx,
    packed,
    packed_again,
    pdf,
)

BANK, THIEF, MAIL = "https://www.bank.example/a?b=1&c=2", "http://thief.example/pay", "mailto:bob@b.example"
OPEN = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
)


def told(content: bytes, name: str) -> list[tuple[str, str]]:
    """The words of each link of a file, and its target."""
    state, text = read_text(content, "", name)
    assert state in ("ok", "empty")
    assert not any(one.target in text.text for one in text.links.kept)
    return [(text.text[one.start : one.end], one.target) for one in text.links.kept]


def relations(*targets: str) -> str:
    escaped = (target.replace("&", "&amp;") for target in targets)
    listed = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/hyperlink" Target="{target}" TargetMode="External"/>'
        for number, target in enumerate(escaped, 1)
    )
    return f'<Relationships {RELS}>{listed}<Relationship Id="i" Type="{OFFICE}/image" Target="a.png"/></Relationships>'


def run(text: str, properties: str = "") -> str:
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def code(address: str, words: str) -> str:
    sign = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    instruction = f'<w:r><w:instrText xml:space="preserve"> HYPERLINK {address} </w:instrText></w:r>'
    return sign.format("begin") + instruction + sign.format("separate") + words + sign.format("end")


TIPPED, LOCAL = rf"\o &quot;tip&quot; &quot;{THIEF}&quot;", r"\l &quot;place&quot;"
HERE = f'<w:hyperlink {R} r:id="r1">{run("here ")}{run("or there")}</w:hyperlink>'
SECRET = f'<w:hyperlink {R} r:id="r1">{run("SECRET", "<w:rPr><w:vanish/></w:rPr>")}</w:hyperlink>'
IMAGE = f'<w:r><w:drawing><wp:docPr xmlns:wp="w" {DRAW}><a:hlinkClick {R} r:id="r1"/></wp:docPr></w:drawing></w:r>'
CELL = "<w:tc><w:p>{}</w:p></w:tc>"
BOX = f"<w:r><w:pict><w:txbxContent><w:p>{run('Box')}</w:p></w:txbxContent></w:pict></w:r>"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"<w:p>{run('here, ')}{HERE}{run('.')}</w:p>", [("here or there", THIEF)]),
        (f"<w:p>{run('A ')}{code(f'&quot;{THIEF}&quot;', run('B'))}{run(' C')}</w:p>", [("B", THIEF)]),
        (f"<w:p>{code(TIPPED, run('B'))}</w:p>", [("B", THIEF)]),
        (f"<w:p>{code(LOCAL, run('B'))}</w:p>", []),
        (f'<w:p><w:fldSimple w:instr=" HYPERLINK {THIEF} ">{run("B")}</w:fldSimple></w:p>', [("B", THIEF)]),
        (f"<w:p>{run('A')}{SECRET}</w:p>", []),
        (f'<w:p><w:hyperlink w:anchor="x">{run("A")}</w:hyperlink></w:p>', []),
        (f'<w:p><w:hyperlink {R} r:id="r3" w:anchor="x">{run("A")}</w:hyperlink></w:p>', [("A", f"{BANK}#x")]),
        (f"<w:p>{run('A')}{IMAGE}{run('B')}</w:p>", [("", THIEF)]),
        (
            f"<w:tbl><w:tr>{CELL.format('')}{CELL.format(run('a | b'))}{CELL.format(run('c ') + HERE)}</w:tr></w:tbl>",
            [("here or there", THIEF)],
        ),
        (f"<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr>{CELL.format(HERE)}</w:tr></w:tbl><w:p>{run('A')}</w:p>", []),
        (f"<w:p>{HERE[: -len('</w:hyperlink>')]}{BOX}</w:hyperlink>{run(' end')}</w:p>", [("here or there", THIEF)]),
        (f"<w:p>{code(THIEF, run('One') + '</w:p><w:p>' + run('Two'))}</w:p>", [("One\n\nTwo", THIEF)]),
    ],
)
def test_links_of_a_text_document_stand_at_their_words(body: str, found: list[tuple[str, str]]) -> None:
    content = packed_again(docx(body), {"word/_rels/document.xml.rels": relations(THIEF, MAIL, BANK)})
    assert told(content, "x.docx") == found


def test_links_of_notes_are_of_their_own_relations() -> None:
    notes = f"<w:footnotes {WORD}><w:footnote><w:p>{HERE}</w:p></w:footnote></w:footnotes>"
    files = {
        "word/document.xml": f"<w:document {WORD}><w:body><w:p>{run('Text ')}{HERE}</w:p></w:body></w:document>",
        "word/_rels/document.xml.rels": relations(BANK),
        "word/footnotes.xml": notes,
        "word/_rels/footnotes.xml.rels": relations("javascript:x"),
    }
    assert told(packed({"[Content_Types].xml": "<Types/>", **files}), "x.docx") == [("here or there", BANK)]


def slide_run(text: str, relation: str = "", more: str = "") -> str:
    click = f'<a:hlinkClick {R} r:id="{relation}"/>' if relation else ""
    return f"<a:r><a:rPr>{more}{click}</a:rPr><a:t>{text}</a:t></a:r>"


def shape(paragraph: str, click: str = "", kind: str = "sp") -> str:
    relation = f'<a:hlinkClick {R} r:id="{click}"/>' if click else ""
    names = f'<p:nvSpPr><p:cNvPr id="1" name="n">{relation}</p:cNvPr></p:nvSpPr>'
    body = f"<p:txBody><a:p>{paragraph}</a:p></p:txBody>" if paragraph else ""
    return f"<p:{kind}>{names}<p:spPr/>{body}</p:{kind}>"


TINY = slide_run("SECRET", "r2").replace("<a:rPr>", '<a:rPr sz="100">')
GRID = "<a:tbl><a:tr>{}</a:tr></a:tbl>"


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        (
            shape(slide_run("Go ") + slide_run("www.bank", "r2") + slide_run(".example", "r2") + slide_run("!")),
            ["www.bank.example"],
        ),
        (shape(slide_run("Seen") + TINY), []),
        (shape(slide_run("All of it"), "r2"), ["All of it"]),
        (shape("", "r2", "pic"), [""]),
        (
            GRID.format(f"<a:tc><a:p>{slide_run('a')}</a:p></a:tc><a:tc><a:p>{slide_run('b', 'r2')}</a:p></a:tc>"),
            ["b"],
        ),
    ],
)
def test_links_of_a_slide_stand_at_their_words(shapes: str, found: list[str]) -> None:
    slide = f"<p:sld {SLIDE} {DRAW}><p:cSld>{shapes}</p:cSld></p:sld>"
    files = {"ppt/slides/slide1.xml": slide, "ppt/slides/_rels/slide1.xml.rels": relations(BANK, THIEF)}
    content = packed({"[Content_Types].xml": "<Types/>", **files})
    assert told(content, "x.pptx") == [(words, THIEF) for words in found]


def test_links_of_a_sheet_stand_in_their_cells() -> None:
    def cell(name: str, text: str, formula: str = "") -> str:
        return f'<c r="{name}" t="str">{formula}<v>{text}</v></c>'

    made = f'<f>HYPERLINK("{BANK.replace("&", "&amp;")}","Bank")</f>'
    rows = (
        f'<row r="1">{cell("A1", "b")}{cell("B1", "Bank", made)}</row>'
        f'<row r="3">{cell("A3", "x")}{cell("B3", "x")}</row>'
        f'<row r="4" hidden="1">{cell("A4", "SECRET")}</row><row r="5">{cell("A5", "B")}{cell("B5", "C")}</row>'
    )
    refs = "".join(
        f'<hyperlink ref="{ref}" r:id="{relation}"/>' for ref, relation in (("B3", "r1"), ("A4", "r2"), ("A5:B5", "r2"))
    )
    files = {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
            'PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.'
            'sheet.main+xml"/></Types>'
        ),
        "_rels/.rels": (
            f'<Relationships {RELS}><Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>"
        ),
        "xl/workbook.xml": f'<workbook {SHEET} {R}><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships {RELS}><Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>"
        ),
        "xl/worksheets/sheet1.xml": (
            f"<worksheet {SHEET} {R}><sheetData>{rows}</sheetData><hyperlinks>{refs}</hyperlinks></worksheet>"
        ),
        "xl/worksheets/_rels/sheet1.xml.rels": relations(THIEF, MAIL),
    }
    assert told(packed(files), "x.xlsx") == [("Bank", BANK), ("x", THIEF), ("B", MAIL), ("C", MAIL)]
    _, text = read_text(packed(files), "", "x.xlsx")
    assert text.text[text.links.kept[1].start - 4 : text.links.kept[1].end] == "x | x"


def open_document(kind: str, body: str, styles: str = "") -> bytes:
    content = f"<office:document {OPEN}>{styles}<office:body>{body}</office:body></office:document>"
    files = {"META-INF/manifest.xml": "<manifest/>", "content.xml": content}
    return packed({"mimetype": f"application/vnd.oasis.opendocument.{kind}", **files})


ANCHOR = f'<text:a xlink:href="{THIEF}">www.<text:span>bank</text:span>.example</text:a>'
HIDING = (
    '<office:automatic-styles><style:style style:name="H" style:family="text"><style:text-properties '
    'text:display="none"/></style:style></office:automatic-styles>'
)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"<text:p>Go to{ANCHOR}, now</text:p>", [("www.bank.example", THIEF)]),
        (f"<text:p>A<text:span text:style-name='H'>{ANCHOR}</text:span></text:p>", []),
        (f"<text:p text:style-name='H'>{ANCHOR}</text:p><text:p>A</text:p>", []),
        (
            f"<text:p>A<draw:a xlink:href='{THIEF}'><draw:frame><draw:image/></draw:frame></draw:a></text:p>",
            [("", THIEF)],
        ),
        (
            f"<draw:a xlink:href='{THIEF}'><draw:frame><draw:image/></draw:frame></draw:a><text:p>A</text:p>",
            [("", THIEF)],
        ),
        (
            "<table:table><table:table-row><table:table-cell/><table:table-cell><text:p>a</text:p></table:table-cell>"
            f"<table:table-cell><text:p>{ANCHOR}</text:p></table:table-cell></table:table-row></table:table>",
            [("www.bank.example", THIEF)],
        ),
    ],
)
def test_links_of_an_open_document_stand_at_their_words(body: str, found: list[tuple[str, str]]) -> None:
    assert told(open_document("text", f"<office:text>{body}</office:text>", HIDING), "x.odt") == found


def test_what_a_click_on_a_shape_leads_to_is_a_link_of_its_words() -> None:
    listen = (
        '<office:event-listeners><presentation:event-listener xmlns:presentation="urn:oasis:names:tc:opendocument:'
        'xmlns:presentation:1.0" presentation:action="show" xlink:href="{}"/></office:event-listeners>'
    ).format
    shape = "<draw:custom-shape>{}<text:p>{}</text:p></draw:custom-shape>".format
    body = shape(listen(THIEF), "Press") + shape(listen("#page2"), "Next") + shape("", "Words")
    page = f"<office:presentation><draw:page>{body}</draw:page></office:presentation>"
    assert told(open_document("presentation", page), "x.odp") == [("Press", THIEF)]


def test_links_of_an_open_sheet_stand_in_their_cells() -> None:
    cell = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
    twice = cell.format(' table:number-columns-repeated="2"', "x")
    rows = (
        f"<table:table-row>{twice}{cell.format('', 'x')}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="2">{cell.format("", "y")}</table:table-row>'
        f"<table:table-row>{cell.format('', 'z')}{cell.format('', ANCHOR)}</table:table-row>"
    )
    body = f'<office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet>'
    assert told(open_document("spreadsheet", body), "x.ods") == [("www.bank.example", THIEF)]


def annotated(content: bytes, *annotations: tuple[str, str, str]) -> bytes:
    """A PDF of one page with links: a rectangle, a target, and further entries."""
    listed = "".join(
        f"<</Type/Annot/Subtype/Link/Rect[{box}]{more}/A<</S/URI/URI({target})>>>>" for box, target, more in annotations
    )
    # Read without its table of places, which the library then makes anew.
    return pdf(content).replace(b"/MediaBox", b"/Annots[" + listed.encode() + b"]/MediaBox").partition(b"xref\n")[0] + (
        b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"
    )


def line(height: int, text: str) -> bytes:
    return b"BT /F1 12 Tf 50 %d Td (%s) Tj ET " % (height, text.encode())


def test_links_of_a_page_stand_at_their_words() -> None:
    content = line(700, "Click here and") + line(680, "now click here or www.bank.example please.") + line(640, "End")
    found = annotated(
        content,
        ("104 676 130 692", BANK, ""),
        ("145 676 246 692", THIEF, ""),
        ("300 400 340 440", MAIL, ""),
        ("50 696 78 712", "file:///etc/passwd", ""),
        ("50 696 78 712", BANK, "/F 2"),
    )
    assert told(found, "x.pdf") == [("here", BANK), ("www.bank.example", THIEF), ("", MAIL)]
    _, text = read_text(found, "", "x.pdf")
    assert text.text[: text.links.kept[0].start].endswith("now click ")
    seen = [hosts.leads_elsewhere(text.text[one.start : one.end], one.target) for one in text.links.kept]
    assert seen == [False, True, False]


def test_links_of_a_page_beyond_the_most_are_counted() -> None:
    many = [("50 696 78 712", f"http://x.example/{number}", "") for number in range(MOST_LINKS + 5)]
    _, text = read_text(annotated(line(700, "Click here"), *many), "", "x.pdf")
    assert (len(text.links.kept), text.links.more) == (MOST_LINKS, 5)
