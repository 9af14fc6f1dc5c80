"""Which text a style hides: the few CSS properties that decide whether a reader sees anything."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from mailsearch.ingest import colours
from mailsearch.ingest.colours import Colour

Declarations = Mapping[str, tuple[str, bool]]

_RELEVANT = frozenset(
    re.findall(
        r"[\w-]+",
        "display visibility opacity font-size font color background background-color background-image position left"
        " right top bottom text-indent margin-left margin-top height max-height width max-width overflow overflow-x"
        " overflow-y clip clip-path transform filter content-visibility zoom -webkit-text-fill-color inset scale"
        " translate rotate mso-hide margin letter-spacing",
    )
)
# Those that hide nothing unless they are below nothing.
_BELOW_NOTHING = frozenset(("margin", "letter-spacing"))
_SAME = {"-webkit-clip-path": "clip-path", "-webkit-transform": "transform", "-ms-transform": "transform"}
_DECLARATION = re.compile(r"([a-z-]{2,40})\s*:\s*((?:[^;\"'(]|\"[^\"]*\"|'[^']*'|\([^)]*\)?)+)")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))")
_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,60})\s*(?:,([^()]{0,100}))?\)")
_SET = re.compile(r"(--[\w-]{1,60})\s*:\s*([^;{}\"'<>]{1,100})")
_FEATURE = re.compile(r"\(\s*(min|max)-(?:device-)?width\s*:\s*([0-9.]+)\s*([a-z]*)\s*\)")
# The same as a range, and what the screens of today are.
_RANGE = re.compile(r"\(\s*(?:device-)?width\s*([<>])=?\s*([0-9.]+[a-z]*)\s*\)")
_HELD = re.compile(
    r"\(\s*(?:(?:-webkit-)?min-device-pixel-ratio\s*:\s*[01](?:\.0*)?|min-resolution\s*:[^)]*|color)\s*\)"
)
_AMONG = re.compile(r"(min|max|clamp)\(([^()]*)\)")
_LENGTH = re.compile(r"^\s*(?:calc\(\s*)?([+-]?[0-9]*\.?[0-9]+)\s*([a-z%]*)")
_IMAGE = re.compile(r"url\(\s*[\"']?\s*[^)\"'\s]|gradient\(")
_SIZES = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
}
_PIXELS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 3.78,
    "cm": 37.8,
    "in": 96.0,
    "vw": 8.0,
    "vh": 6.0,
    "q": 0.945,
}
_SMALLEST = 3.0
# Positions, in pixels, beyond which no mail is shown: before its edges, to the right, and far down.
_FAR_BY = -1_000.0
_FAR, _FAR_ACROSS, _FAR_ALONG = -200.0, 1_500.0, 50_000.0
_MOST_RULES = 2_000
# The width of a screen on which mail is read, in pixels.
_SCREEN = 1_200
_CLIPPED = re.compile(
    r"rect\(\s*(?:[01](?:px)?[\s,]+){3}[01](?:px)?\s*\)|inset\(\s*(?:[5-9][0-9]|100)(?:\.[0-9]+)?%"
    r"|inset\((?:(?!round)[^)])*\b100%|(?:circle|ellipse)\(\s*0"
    r"|polygon\(\s*(?:0(?:px|%)?[\s,]*)+\)"
)
_FADED = re.compile(r"opacity\s*[(=]\s*0*\.?0*\s*%?\s*\)")
_SHRUNK = re.compile(
    r"(?:scale(?:x|y|3d)?|matrix(?:3d)?)\(\s*0*\.?0*\s*[,)]|translate(?:x|y|3d)?\(\s*(?:0[a-z]*\s*,\s*)?-?\s*[0-9]{4,}"
    r"|rotate[xy]\(\s*-?(?:90|270)deg"
)


@dataclass(frozen=True, slots=True)
class Look:
    """How text would be painted. `background` is None under an image, where every colour may be legible."""

    gone: bool = False
    invisible: bool = False
    colour: Colour = colours.BLACK
    background: Colour | None = colours.WHITE
    size: float = 16.0

    @property
    def shows(self) -> bool:
        """Whether a reader sees the text."""
        if self.gone or self.invisible or self.size < _SMALLEST:
            return False
        return self.colour[3] > 0.05 and (self.background is None or _legible(self.colour, self.background))


@lru_cache(maxsize=4096)
def _legible(colour: Colour, background: Colour) -> bool:
    return colours.legible(colour, background)


@lru_cache(maxsize=4096)
def declarations(style: str) -> Declarations:
    """The relevant declarations of a style attribute: property to value and whether it is important."""
    found: dict[str, tuple[str, bool]] = {}
    style = _COMMENT.sub("", style[:20_000].lower())
    for match in _DECLARATION.finditer(_ESCAPED.sub(_unescaped, style) if "\\" in style else style):
        name = _SAME.get(match[1], match[1])
        if name in _RELEVANT and (name not in _BELOW_NOTHING or "-" in match[2]):
            value, important, _ = match[2].partition("!important")
            if important or not found.get(name, ("", False))[1]:
                found[name] = (value.strip(), bool(important))
    return found


def _unescaped(match: re.Match[str]) -> str:
    if match[2] is not None:
        return match[2]
    code = int(match[1], 16)
    return chr(code).lower() if 0 < code < 0xD800 else ""


def variables(html: str) -> Mapping[str, str]:
    """The custom properties that *html* sets anywhere, the last of each name; empty where it uses none."""
    return dict(_SET.findall(html[:1_000_000].lower())) if "var(" in html else {}


def filled_in(style: str, named: Mapping[str, str]) -> str:
    """*style* with the values of *named* custom properties where it uses them."""
    for _ in range(3 if "var(" in style.lower() else 0):
        style = _VARIABLE.sub(lambda match: named.get(match[1], match[2] or ""), style.lower())
    return style


def cascade(rules: Declarations, inline: Declarations) -> dict[str, str]:
    """What holds for an element: its own style over the rules, important ones over others."""
    merged = dict(rules)
    _state(merged, inline)
    return {name: value for name, (value, _) in merged.items()}


def look(parent: Look, style: Mapping[str, str]) -> Look:
    """How an element with *style* looks inside one that looks like *parent*."""
    size = _size(style, parent.size)
    background = _background(style, parent.background)
    colour = colours.read(style.get("-webkit-text-fill-color", style.get("color", "")))
    visibility = style.get("visibility", "")
    invisible = parent.invisible if visibility not in ("hidden", "collapse", "visible") else visibility != "visible"
    gone = parent.gone or _is_gone(style, size)
    return Look(gone, invisible, colour or parent.colour, background, size)


def sheets(tree: LexborHTMLParser) -> list[str]:
    """The style sheets of *tree* that hold on a wide screen."""
    nodes = tree.css("style")[:200]
    return [node.text() for node in nodes if _holds(f"@media {node.attributes.get('media') or 'all'}".lower())]


def rules(
    tree: LexborHTMLParser, sheets: list[str], named: Mapping[str, str]
) -> dict[int, dict[str, tuple[str, bool]]]:
    """The declarations that *sheets* give to elements of *tree*, by the element's memory id.

    *named* are the values of custom properties.
    """
    found: dict[int, dict[str, tuple[str, bool]]] = {}
    for selector, stated in _ranked(sheets, named)[-_MOST_RULES:]:
        for identity in _matching(tree, selector):
            _state(found.setdefault(identity, {}), stated)
    return found


def _state(own: dict[str, tuple[str, bool]], stated: Declarations) -> None:
    """Let *stated* hold over *own*, but not over what is important there."""
    for name, (value, important) in stated.items():
        if important or not own.get(name, ("", False))[1]:
            own[name] = (value, important)


def _ranked(sheets: list[str], named: Mapping[str, str]) -> list[tuple[str, Declarations]]:
    """Selectors with what they state, the stronger ones later."""
    ranked: list[tuple[tuple[int, int, int], int, str, Declarations]] = []
    for sheet in sheets:
        for selectors, body in _rules(_COMMENT.sub("", sheet)):
            stated = declarations(filled_in(body, named))
            for selector in selectors.split(",") if stated else ():
                ranked.append((_specificity(selector), len(ranked), selector.strip(), stated))
    ranked.sort(key=lambda rule: rule[:2])
    return [(selector, stated) for _weight, _order, selector, stated in ranked]


def _matching(tree: LexborHTMLParser, selector: str) -> list[int]:
    if not selector or "::" in selector or len(selector) > 300:
        return []
    try:
        return [node.mem_id for node in tree.css(selector)]
    except SelectolaxError:
        return []


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and bodies of the rules that hold on a wide screen."""
    sheet = sheet.replace("<!--", "").replace("-->", "")
    position = 0
    while (opened := sheet.find("{", position)) >= 0:
        # Before a rule may stand statements (@import) and the end of a block that was entered.
        prelude = re.split(r"[;}]", sheet[position:opened])[-1].strip()
        if not prelude.startswith("@"):
            closed = sheet.find("}", opened)
            closed = closed if closed >= 0 else len(sheet)
            yield prelude, sheet[opened + 1 : closed]
            position = closed + 1
        elif _holds(prelude.lower()):
            position = opened + 1
        else:
            position = _block_end(sheet, opened)


def _holds(prelude: str) -> bool:
    """Whether an @media block applies on a wide screen, whatever else the device can do."""
    if not prelude.startswith("@media"):
        return re.match(r"@(?:layer|supports)", prelude) is not None
    return any(_query_holds(query.strip()) for query in prelude[len("@media") :].split(","))


def _query_holds(query: str) -> bool:
    query = _RANGE.sub(lambda match: f"({'min' if match[1] == '>' else 'max'}-width:{match[2]})", query)
    for feature in _FEATURE.findall(query):
        width = _pixels(f"{feature[1]}{feature[2]}", 16.0) or 0.0
        if (width > _SCREEN) if feature[0] == "min" else (width < _SCREEN):
            return False
    plain = _HELD.sub("", _FEATURE.sub("", query)).split()
    plain = [word for word in plain if word != "and"]
    return plain in ([], ["screen"], ["all"], ["only", "screen"], ["only", "all"], ["not", "print"], ["not", "speech"])


def _block_end(sheet: str, opened: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(sheet, opened):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(sheet)


def _specificity(selector: str) -> tuple[int, int, int]:
    return (
        selector.count("#"),
        selector.count(".") + selector.count("[") + selector.count(":"),
        len(re.findall(r"(?:^|[\s>+~])[a-zA-Z]", selector)),
    )


def _pixels(value: str | None, base: float) -> float | None:
    if value and (among := _AMONG.match(value)):
        return _of_several(among[1], among[2].split(","), base)
    match = _LENGTH.match(value or "")
    if match is None:
        return None
    number = float(match[1])
    if match[2] in ("em", "rem", "ex", "ch"):
        return number * (16.0 if match[2] == "rem" else base)
    if match[2] == "%":
        return number * base / 100
    return number * _PIXELS.get(match[2], 1.0)


def _of_several(function: str, values: list[str], base: float) -> float | None:
    found = [length for value in values if (length := _pixels(value, base)) is not None]
    if len(found) != len(values):
        return None
    if function == "clamp" and len(found) == 3:
        return max(found[0], min(found[1], found[2]))
    return min(found) if function == "min" else max(found)


def _size(style: Mapping[str, str], base: float) -> float:
    value = style.get("font-size")
    if value is None and "font" in style:
        match = re.search(r"(?:^|\s)(0|[0-9.]+(?:px|pt|em|rem|%))(?=[/\s]|$)", style["font"])
        value = match[1] if match else None
    if value is None:
        return base
    named = _SIZES.get(value)
    size = named if named is not None else _pixels(value, base)
    return base if size is None else size


def _background(style: Mapping[str, str], inherited: Colour | None) -> Colour | None:
    if _IMAGE.search(style.get("background-image", "") + style.get("background", "")):
        return None
    for value in (style.get("background-color", ""), style.get("background", "")):
        for word in re.findall(r"(?:rgb|hsl)a?\([^)]*\)|[#\w-]+", value):
            colour = colours.read(word)
            if colour is not None and colour[3] > 0:
                return colours.over(colour, inherited or colours.WHITE) if inherited or colour[3] >= 1 else None
    return inherited


def _is_gone(style: Mapping[str, str], size: float) -> bool:
    if not style:
        return False
    if (
        style.get("display") == "none"
        or style.get("mso-hide") == "all"
        or style.get("content-visibility") == "hidden"
        or style.get("zoom") == "0"
    ):
        return True
    opacity = _pixels(style.get("opacity"), 1.0)
    if opacity is not None and opacity < 0.05:
        return True
    return _is_away(style, size) or _is_cut(style, size)


def _is_away(style: Mapping[str, str], size: float) -> bool:
    """Placed where no screen is."""
    placed = style.get("position") in ("absolute", "fixed", "relative")
    across = ("text-indent", "margin-left", *(("left", "right") if placed else ()))
    along = ("margin-top", *(("top", "bottom") if placed else ()))
    inset = style.get("inset", "").split() if placed else []
    moved = style.get("translate", "").split()
    if any((_pixels(one, size) or 0) <= _FAR_BY for one in (*inset, *moved)):
        return True
    if "margin" in style and any((_pixels(one, size) or 0) <= _FAR_BY for one in style["margin"].split()):
        return True
    if "letter-spacing" in style and _is_heaped(style, size):
        return True
    far = any(not _FAR < (_pixels(style.get(place), size) or 0) < _FAR_ACROSS for place in across)
    far = far or any(not _FAR < (_pixels(style.get(place), size) or 0) < _FAR_ALONG for place in along)
    # A line pushed out of its own box by all its width.
    pushed = re.match(r"-\s*[1-9][0-9]{2,}(?:\.[0-9]*)?%", style.get("text-indent", "")) is not None
    shrunk = _SHRUNK.search(style.get("transform", "")) or re.match(r"0*\.?0*(?:\s|$)", style.get("scale", "1"))
    return far or pushed or shrunk is not None or re.search(r"[xy]\s+90deg", style.get("rotate", "")) is not None


def _is_heaped(style: Mapping[str, str], size: float) -> bool:
    """Whether letters stand one upon the other."""
    between = _pixels(style.get("letter-spacing"), size)
    return between is not None and between <= -0.7 * size


def _is_cut(style: Mapping[str, str], size: float) -> bool:
    """Clipped to nothing."""
    if _CLIPPED.search(style.get("clip", "") + style.get("clip-path", "")) or _FADED.search(style.get("filter", "")):
        return True
    hides = any(
        "hidden" in style.get(name, "") or "clip" in style.get(name, "")
        for name in ("overflow", "overflow-x", "overflow-y")
    )
    if not hides:
        return False
    extents = (_pixels(style.get(name), size) for name in ("height", "max-height", "width", "max-width"))
    return any(extent is not None and extent <= 1 for extent in extents)
