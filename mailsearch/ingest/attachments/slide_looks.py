"""Which words of a slide a reader does not see: hidden, off the page, tiny, or in the colour of what is behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lxml import etree

from mailsearch.ingest import colours
from mailsearch.ingest.attachments.packages import attribute, local
from mailsearch.ingest.colours import Colour

_SHAPES = frozenset(("sp", "graphicFrame", "grpSp", "cxnSp"))
_FILLS = frozenset(("solidFill", "gradFill", "blipFill", "pattFill"))
# Hundredths of a point; nobody reads three points.
_SMALLEST = 300
_INVISIBLE = 5_000


@dataclass(frozen=True, slots=True)
class Page:
    """The size of the slides, in English metric units."""

    width: int = 12_192_000
    height: int = 6_858_000

    @classmethod
    def of(cls, presentation: etree._Element | None) -> "Page":
        """The page of a presentation; the usual one where it states none."""
        for one in presentation.iter() if presentation is not None else ():
            if local(one) == "sldSz" and attribute(one, "cx").isdigit() and attribute(one, "cy").isdigit():
                return cls(int(attribute(one, "cx")), int(attribute(one, "cy")))
        return cls()


def background(slide: etree._Element, masters: Sequence[etree._Element]) -> Colour | None:
    """What is behind the words of *slide*: white, the plain colour that it states, or None where that is not known."""
    if any(local(one) in ("pic", "gradFill", "blipFill") for root in (slide, *masters) for one in root.iter()):
        return None
    for root in (slide, *masters):
        for one in root.iter():
            if local(one) == "clrMap" and attribute(one, "bg1") != "lt1":
                return None
            if local(one) == "bgPr":
                return _solid(one)
            if local(one) == "bgRef" and not any(attribute(colour, "val") == "bg1" for colour in one):
                return None
    return colours.WHITE


def take_hidden(slide: etree._Element, page: Page, behind: Colour | None) -> Iterator[str]:
    """Take out of *slide* what is not seen on *page* and give its text."""
    if any(local(one) == "spPr" and _is_filled(one) for one in slide.iter()):
        # A shape may be behind another.
        behind = None
    for shape in [one for one in slide.iter() if local(one) in _SHAPES]:
        if _is_hidden(shape, page):
            yield _text_of(shape)
            _remove(shape)
    for run in [one for one in slide.iter() if local(one) in ("r", "fld")]:
        if _is_unseen(run, behind):
            yield _text_of(run)
            _remove(run)


def _text_of(element: etree._Element) -> str:
    return " ".join(one.text or "" for one in element.iter() if local(one) == "t")


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _is_hidden(shape: etree._Element, page: Page) -> bool:
    named = next((one for one in shape.iter() if local(one) == "cNvPr"), None)
    if named is not None and attribute(named, "hidden") in ("1", "true"):
        return True
    parent = shape.getparent()
    if parent is not None and local(parent) == "grpSp":
        # Places inside of groups are counted otherwise.
        return False
    offset = next((one for one in shape.iter() if local(one) == "off"), None)
    extent = next((one for one in shape.iter() if local(one) == "ext" and attribute(one, "cx")), None)
    if offset is None or extent is None:
        return False
    left, top = _number(offset, "x"), _number(offset, "y")
    right, bottom = left + _number(extent, "cx"), top + _number(extent, "cy")
    return right <= 0 or bottom <= 0 or left >= page.width or top >= page.height


def _number(element: etree._Element, name: str) -> int:
    try:
        return int(attribute(element, name))
    except ValueError:
        return 0


def _is_unseen(run: etree._Element, behind: Colour | None) -> bool:
    properties = next((one for one in run if local(one) == "rPr"), None)
    if properties is None:
        return False
    size = attribute(properties, "sz")
    if (size.isdigit() and int(size) <= _SMALLEST) or any(local(one) == "noFill" for one in properties):
        return True
    if any(local(one) == "alpha" and _number(one, "val") <= _INVISIBLE for one in properties.iter()):
        return True
    if any(local(one) in ("highlight", "ln", "effectLst") for one in properties):
        return False
    colour = _solid(properties)
    return colour is not None and behind is not None and not colours.legible(colour, behind)


def _is_filled(properties: etree._Element) -> bool:
    return any(local(one) in _FILLS for one in properties)


def _solid(element: etree._Element) -> Colour | None:
    """The plain colour in the fill of *element*; None for all that depends on the theme."""
    for one in (colour for fill in element if local(fill) == "solidFill" for colour in fill):
        if local(one) == "srgbClr":
            return colours.read(attribute(one, "val"))
        if local(one) == "schemeClr" and attribute(one, "val") in ("bg1", "lt1") and len(one) == 0:
            return colours.WHITE
    return None
