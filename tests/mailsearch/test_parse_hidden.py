"""What pages, slides and texts in documents hide is kept apart, and what they show is not."""

import pytest

from mailsearch.ingest.attachments import read_text
from tests.mailsearch.test_parse_attachments import DRAW, SLIDE, packed, pdf

SEEN = b"BT /F1 12 Tf 50 700 Td (Seen) Tj ET "
SECRET = b"BT 0 g /F1 12 Tf 50 650 Td (SECRET) Tj ET "
AROUND = b"40 640 300 30 re f "


@pytest.mark.parametrize(
    "content",
    [
        SECRET + b"1 g " + AROUND,
        b"0 g " + AROUND + SECRET,
        b"1 g " + AROUND + SECRET.replace(b"0 g", b"1 g"),
        b"q 0 0 1 1 re W n " + SECRET + b"Q",
        SECRET.replace(b"50 650", b"-500 650"),
        SECRET.replace(b"50 650", b"50 -300"),
        b"q 0.01 0 0 0.01 50 650 cm " + SECRET.replace(b"50 650", b"0 0") + b"Q",
    ],
)
def test_text_that_a_page_does_not_show_is_kept_apart(content: bytes) -> None:
    _, text = read_text(pdf(SEEN + content), "", "x.pdf")
    assert (text.text, text.hidden_text) == ("Seen", "SECRET")


@pytest.mark.parametrize(
    "content",
    [
        b"0 0 1 rg " + AROUND + SECRET.replace(b"0 g", b"1 g"),
        b"0.9 g " + AROUND + SECRET,
        b"q 0 600 600 100 re W n " + SECRET + b"Q",
        SECRET + b"1 g 40 500 300 30 re f",
    ],
)
def test_text_that_a_page_shows_stays(content: bytes) -> None:
    _, text = read_text(pdf(SEEN + content), "", "x.pdf")
    assert (text.text.split(), text.hidden_text) == (["Seen", "SECRET"], "")


def slide(*shapes: str, head: str = "") -> bytes:
    content = f"<p:sld {SLIDE} {DRAW}><p:cSld>{head}{''.join(shapes)}</p:cSld></p:sld>"
    return packed({"[Content_Types].xml": "<Types/>", "ppt/slides/slide1.xml": content})


def shape(text: str, run: str = "<a:rPr/>", named: str = "", placed: str = "") -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="n"{named}/></p:nvSpPr><p:spPr>{placed}</p:spPr><p:txBody>'
        f"<a:p><a:r>{run}<a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


WHITE = '<a:rPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:rPr>'
FAINT = '<a:rPr><a:solidFill><a:srgbClr val="000000"><a:alpha val="0"/></a:srgbClr></a:solidFill></a:rPr>'


@pytest.mark.parametrize(
    "hidden",
    [
        shape("SECRET", named=' hidden="1"'),
        shape("SECRET", placed='<a:xfrm><a:off x="-9000" y="0"/><a:ext cx="900" cy="900"/></a:xfrm>'),
        shape("SECRET", WHITE),
        shape("SECRET", FAINT),
        shape("SECRET", '<a:rPr sz="100"/>'),
        shape("SECRET", "<a:rPr><a:noFill/></a:rPr>"),
    ],
)
def test_words_that_a_slide_does_not_show_are_kept_apart(hidden: str) -> None:
    _, text = read_text(slide(shape("Seen"), hidden), "", "x.pptx")
    assert (text.text, text.hidden_text) == ("Seen", "SECRET")


def test_white_words_on_a_dark_slide_are_seen() -> None:
    dark = '<p:bg><p:bgPr><a:solidFill><a:srgbClr val="101040"/></a:solidFill></p:bgPr></p:bg>'
    filled = '<a:solidFill><a:srgbClr val="101040"/></a:solidFill>'
    assert read_text(slide(shape("SHOWN", WHITE), head=dark), "", "x.pptx")[1].text == "SHOWN"
    assert read_text(slide(shape("SHOWN", WHITE, placed=filled)), "", "x.pptx")[1].text == "SHOWN"


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        (rb"{\cf1 SECRET}", "Seen too"),
        (rb"{\fs2 SECRET}", "Seen too"),
        (rb"{\deleted SECRET}", "Seen too"),
        (rb"{\cf1\highlight2 blue }", "Seen blue too"),
        (rb"{\cf2 blue }", "Seen blue too"),
    ],
)
def test_runs_of_rtf_are_told_by_their_look(group: bytes, shown: str) -> None:
    colours = rb"{\colortbl;\red255\green255\blue255;\red0\green0\blue160;}"
    _, text = read_text(rb"{\rtf1\ansi" + colours + b"Seen " + group + b"too}", "", "x.rtf")
    assert text.text == shown
    assert ("SECRET" in text.hidden_text) is (b"SECRET" in group)


def open_document(body: str, properties: str = "") -> bytes:
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
        for short, long in (("office", "office"), ("text", "text"), ("style", "style"), ("fo", "xsl-fo-compatible"))
    )
    style = f'<style:style style:name="H"><style:text-properties {properties}/></style:style>'
    content = f"<office:document {names}>{style}<office:body>{body}</office:body></office:document>"
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


@pytest.mark.parametrize("properties", ['fo:color="#ffffff"', 'fo:font-size="1pt"', 'text:display="none"'])
def test_spans_of_an_open_document_are_told_by_their_style(properties: str) -> None:
    body = '<text:p>Seen<text:span text:style-name="H">SECRET</text:span></text:p>'
    _, text = read_text(open_document(body, properties), "", "x.odt")
    assert (text.text, text.hidden_text) == ("Seen", "SECRET")


def test_hidden_sections_and_deleted_text_of_an_open_document_are_kept_apart() -> None:
    body = '<text:p>Seen</text:p><text:section text:display="none"><text:p>SECRET</text:p></text:section>'
    deleted = "<text:tracked-changes><text:deletion><text:p>GONE</text:p></text:deletion></text:tracked-changes>"
    _, text = read_text(open_document(deleted + body), "", "x.odt")
    assert (text.text, text.hidden_text) == ("Seen", "GONE\nSECRET")
