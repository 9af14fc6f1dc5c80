"""Where the links on a PDF page lead, and which words of it stand under each."""

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from mailsearch.hits import Link
from mailsearch.ingest import links

_LONGEST_WORDS = 500
_MOST_QUADS = 50
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
# Characters, and words, that tell one place on a page from others.
_CONTEXT, _BEFORE = 60, 4

# Left, bottom, right, top.
Box = tuple[float, float, float, float]
# With the middle of its box.
_Letter = tuple[str, float, float]


@dataclass(frozen=True, slots=True)
class Marked:
    """A link on a page: the words under it, and those before them."""

    words: str
    before: str
    target: str


def marked(page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, most: int) -> tuple[list[Marked], int]:
    """The first *most* links of *page* from top to bottom, and how many more there are."""
    found = [(box, target) for link in _links(page) if (target := _target(page, link)) for box in [_boxes(link)] if box]
    found.sort(key=lambda one: (-round(one[0][0][3]), one[0][0][0]))
    letters = _letters(textpage) if found else []
    return [_marked(boxes, target, letters) for boxes, target in found[:most]], max(len(found) - most, 0)


def _marked(boxes: list[Box], target: str, letters: list[_Letter]) -> Marked:
    under = [
        number
        for number, (_, across, along) in enumerate(letters)
        if any(left <= across <= right and bottom <= along <= top for left, bottom, right, top in boxes)
    ]
    if not under:
        return Marked("", "", target)
    words = "".join(letters[number][0] for number in under[:_LONGEST_WORDS])
    before = "".join(letter for letter, _, _ in letters[max(under[0] - _CONTEXT, 0) : under[0]])
    return Marked(words, before, target)


def _letters(textpage: pypdfium2.PdfTextPage) -> list[_Letter]:
    found: list[_Letter] = []
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(textpage.count_chars()):
        code = pdfium.FPDFText_GetUnicode(textpage.raw, index)
        letter = chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else ""
        known = pdfium.FPDFText_GetCharBox(textpage.raw, index, left, right, bottom, top)
        across, along = (left.value + right.value) / 2, (bottom.value + top.value) / 2
        found.append((letter, across, along) if known else (letter, math.nan, math.nan))
    return found


def placed(several: list[Marked], text: str, base: int) -> Iterator[Link]:
    """*several* links in the *text* of their page, which begins at offset *base* of its part."""
    at = 0
    for one in several:
        start, end = _place(one, text, at)
        yield Link(base + start, base + end, one.target)
        at = end


def _place(one: Marked, text: str, at: int) -> tuple[int, int]:
    words = one.words.split()
    if not words:
        return at, at
    sought = "(" + r"\s+".join(map(re.escape, words)) + ")"
    # What stands before says which of several places is meant; its first word may be cut.
    before = [re.escape(word) for word in one.before.split()[-_BEFORE:]]
    apart = r"\s+" if one.before[-1:].isspace() else r"\s*"
    for pattern in (r"\s+".join(before) + apart + sought, sought):
        match = re.compile(pattern).search(text, at) or re.search(pattern, text)
        if match:
            return match.span(1)
    return at, at


def _links(page: pypdfium2.PdfPage) -> Iterator[object]:
    place, link = ctypes.c_int(0), pdfium.FPDF_LINK()
    while pdfium.FPDFLink_Enumerate(page.raw, place, link):
        annotation = pdfium.FPDFLink_GetAnnot(page.raw, link)
        hidden = bool(annotation) and pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN
        if annotation:
            pdfium.FPDFPage_CloseAnnot(annotation)
        if not hidden:
            yield link


def _target(page: pypdfium2.PdfPage, link: object) -> str:
    action = pdfium.FPDFLink_GetAction(link)
    if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
        return ""
    length = pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 1))
    pdfium.FPDFAction_GetURIPath(page.pdf.raw, action, buffer, length)
    target = buffer.raw.partition(b"\0")[0].decode("utf-8", "replace")
    return links.target_of(target) if target else ""


def _boxes(link: object) -> list[Box]:
    """What a link covers: a box, or one for each line that it goes over."""
    quads: list[Box] = []
    quad = pdfium.FS_QUADPOINTSF()
    for number in range(min(pdfium.FPDFLink_CountQuadPoints(link), _MOST_QUADS)):
        if pdfium.FPDFLink_GetQuadPoints(link, number, quad):
            across, along = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            quads.append((min(across), min(along), max(across), max(along)))
    box = pdfium.FS_RECTF()
    if len(quads) < 2 and pdfium.FPDFLink_GetAnnotRect(link, box):
        return [
            (min(box.left, box.right), min(box.bottom, box.top), max(box.left, box.right), max(box.bottom, box.top))
        ]
    return quads
