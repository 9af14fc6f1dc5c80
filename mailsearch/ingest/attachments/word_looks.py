"""Which runs of a Word document a reader does not see: hidden, tiny, or in the colour of what is behind them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.ingest import colours
from mailsearch.ingest.attachments.packages import attribute, local
from mailsearch.ingest.colours import Colour

_OFF = frozenset(("0", "false", "off", "none"))
_HIDING = frozenset(("vanish", "specVanish", "webHidden"))
# Half points; nobody reads two points.
_SMALLEST = 4
_DEEPEST = 20

Properties = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Styles:
    """What the styles of a document say of runs, those that they are based on included."""

    own: Mapping[str, Properties] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    # Styles of tables that paint something behind the text.
    painted: frozenset[str] = frozenset()

    def of(self, name: str) -> Properties:
        """The properties of the style *name*."""
        chain: list[Properties] = []
        for _ in range(_DEEPEST):
            if name not in self.own:
                break
            chain.append(self.own[name])
            name = self.bases.get(name, "")
        merged: dict[str, str] = {}
        for properties in reversed(chain):
            merged |= properties
        return merged


def styles(root: etree._Element | None) -> Styles:
    """The styles of a document from its part of that name."""
    own: dict[str, Properties] = {}
    bases: dict[str, str] = {}
    painted: set[str] = set()
    for style in root if root is not None else ():
        name = attribute(style, "styleId")
        if local(style) != "style" or not name:
            continue
        own[name] = run_properties(style)
        bases[name] = next((attribute(one, "val") for one in style if local(one) == "basedOn"), "")
        if any(fill(one) is not None for one in style.iter() if local(one) == "shd"):
            painted.add(name)
    return Styles(own, bases, frozenset(painted))


def run_properties(element: etree._Element) -> dict[str, str]:
    """What the `rPr` right below *element* states that matters here."""
    found: dict[str, str] = {}
    for one in next((child for child in element if local(child) == "rPr"), ()):
        name = local(one)
        if name in _HIDING:
            found[name] = "" if attribute(one, "val").lower() in _OFF else "on"
        elif name == "color":
            found["color"] = _colour(one)
        elif name == "sz":
            found["size"] = attribute(one, "val")
        elif name == "rStyle":
            found["style"] = attribute(one, "val")
        elif name == "highlight" or (name == "shd" and fill(one) is not None):
            found["behind"] = attribute(one, "val") if name == "highlight" else attribute(one, "fill")
    return found


def is_hidden(properties: Properties, background: Colour | None) -> bool:
    """Whether a run with *properties* is not seen on *background* (None: one that is not known)."""
    if any(properties.get(name) for name in _HIDING):
        return True
    size = properties.get("size", "")
    if size.isdigit() and int(size) <= _SMALLEST:
        return True
    colour = colours.read(properties.get("color", ""))
    if "behind" in properties:
        background = colours.read(properties["behind"])
    return colour is not None and background is not None and not colours.legible(colour, background)


def behind(element: etree._Element, properties: str, background: Colour | None) -> Colour | None:
    """What is painted behind the text of *element*, whose *properties* (`pPr`, `tcPr` or `tblPr`) may shade it."""
    for one in _shades(element, properties):
        shade = fill(one)
        if shade is not None:
            return colours.read(shade)
    return background


def fill(shade: etree._Element) -> str | None:
    """The colour that an `shd` paints, or None where it paints none."""
    stated = attribute(shade, "fill")
    if attribute(shade, "val") == "solid":
        stated = attribute(shade, "color")
    if stated.lower() in ("", "auto"):
        return "unknown" if attribute(shade, "themeFill") else None
    return stated


def _shades(element: etree._Element, properties: str) -> Iterator[etree._Element]:
    for child in element:
        if local(child) == properties:
            yield from (one for one in child if local(one) == "shd")


def _colour(element: etree._Element) -> str:
    stated = attribute(element, "val")
    if stated.lower() in ("", "auto"):
        return "FFFFFF" if attribute(element, "themeColor") in ("background1", "light1") else ""
    return stated
