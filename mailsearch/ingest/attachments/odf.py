"""Text of OpenDocument files (ISO 26300): writer, impress and, through the spreadsheet reader, calc."""

import re

from lxml import etree

from mailsearch.hits import BlockKind
from mailsearch.ingest import colours
from mailsearch.ingest.attachments import spreadsheets
from mailsearch.ingest.attachments.linking import LinkedBuilder, forget, joined
from mailsearch.ingest.attachments.packages import Package, attribute, local
from mailsearch.ingest.charset import clean
from mailsearch.ingest.links import Span
from mailsearch.ingest.parsed import ParsedText

# Points.
_SMALLEST = 2.0
_OF_WORDS = ("text-properties", "paragraph-properties")
_SIGNS = {"tab": "\t", "line-break": "\n"}
_APART = ("p", "h", "note")
_LINKING = ("a", "image")
_SKIPPED = frozenset(("tracked-changes", "deletion", "sequence-decls", "forms", "annotation-end", "ruby-text"))


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of .odt, .odp or .ods."""
    with Package(content) as package:
        if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
            return "encrypted", ParsedText("")
        if b"spreadsheet" in package.read("mimetype"):
            return spreadsheets.read(content)
        root = package.tree("content.xml")
        further = package.tree("styles.xml")
    if root is None:
        return "corrupt", ParsedText("")
    reader = _Reader(_hidden_styles(root, further), _hidden_pages(root))
    body = next((one for one in root.iter() if local(one) == "body"), root)
    reader.container(body, "paragraph")
    # Headers and footers of the pages stand among the styles.
    for master in further.iter() if further is not None else ():
        if local(master) in ("header", "footer"):
            reader.container(master, "paragraph")
    parsed = reader.builder.parsed()
    return ("truncated" if reader.builder.truncated else "ok" if parsed.text else "empty"), parsed


def _hidden_styles(*roots: etree._Element | None) -> frozenset[str]:
    """Styles of words that nobody sees."""
    styles = [one for root in roots if root is not None for one in root.iter() if local(one) == "style"]
    # What stands in a coloured cell or shape, or on a coloured page, is not looked at.
    painted = any(_is_painted(one) for root in roots if root is not None for one in root.iter())
    own = {attribute(style, "name"): _is_hidden(style, painted=painted) for style in styles}
    bases = {attribute(style, "name"): attribute(style, "parent-style-name") for style in styles}
    return frozenset(name for name, hidden in own.items() if hidden or own.get(bases[name]))


def _is_painted(properties: etree._Element) -> bool:
    if not local(properties).endswith("-properties") or local(properties) in _OF_WORDS:
        return False
    stated = attribute(properties, "fill-color") or attribute(properties, "background-color")
    image = attribute(properties, "fill") not in ("", "none", "solid")
    return image or (stated not in ("", "transparent") and stated.lower() != "#ffffff")


def _is_hidden(style: etree._Element, *, painted: bool) -> bool:
    stated: dict[str, str] = {}
    for one in style:
        if local(one) == "text-properties":
            stated = {str(key).rpartition("}")[2]: str(value) for key, value in one.attrib.items()}
        if local(one) == "paragraph-properties" and attribute(one, "background-color"):
            stated.setdefault("background-color", attribute(one, "background-color"))
    size = re.fullmatch(r"([0-9.]+)pt", stated.get("font-size", ""))
    if stated.get("display") == "none" or (size and float(size[1]) <= _SMALLEST):
        return True
    if painted and "background-color" not in stated:
        return False
    colour, ground = colours.read(stated.get("color", "")), colours.read(stated.get("background-color", "white"))
    if ground is not None and ground[3] < 1:
        ground = colours.WHITE
    return colour is not None and ground is not None and not colours.legible(colour, ground)


def _hidden_pages(root: etree._Element) -> frozenset[str]:
    styles = (one for one in root.iter() if local(one) == "style")
    return frozenset(
        attribute(style, "name") for style in styles if any(attribute(one, "visibility") == "hidden" for one in style)
    )


def _action(shape: etree._Element) -> str:
    """Where a click on *shape* leads out of the slides."""
    listeners = next((one for one in shape if local(one) == "event-listeners"), ())
    targets = (attribute(one, "href") for one in listeners)
    return next((one for one in targets if one and not one.startswith("#")), "")


class _Reader:
    def __init__(self, hidden_styles: frozenset[str], hidden_pages: frozenset[str]) -> None:
        self.builder = LinkedBuilder()
        self._hidden_styles = hidden_styles
        self._hidden_pages = hidden_pages

    def container(self, element: etree._Element, kind: BlockKind) -> None:
        """Paragraphs, headings, lists, tables and pages below *element*."""
        for child in element:
            name = local(child)
            if name == "tracked-changes" or (name == "section" and attribute(child, "display") == "none"):
                self.builder.hide(clean(" ".join(str(text) for text in child.itertext())))
            elif name in _SKIPPED or not name:
                continue
            elif name == "page":
                self._page(child)
            elif name in ("notes", "annotation") and local(element) == "page":
                self.builder.hide(self._unlinked(child, []))
            elif name in ("p", "h"):
                self._paragraph(child, "heading" if name == "h" else kind)
            elif name == "table-row":
                self._row(child)
            else:
                self._within(child, name, kind)

    def _within(self, element: etree._Element, name: str, kind: BlockKind) -> None:
        """What stands in an element between paragraphs, which may be a link or an image."""
        target = attribute(element, "href") if name == "a" else _action(element)
        if name == "a" or target:
            self.builder.links.enter(target, 0, shows=True)
        elif name == "image":
            self.builder.links.picture()
        self.container(element, "item" if name in ("list-item", "list") else kind)
        if name == "a" or target:
            self.builder.links.leave(0)

    def _page(self, page: etree._Element) -> None:
        if attribute(page, "style-name") in self._hidden_pages:
            self.builder.hide(self._unlinked(page, []))
            return
        self.builder.begin_page()
        self.container(page, "paragraph")

    def _paragraph(self, element: etree._Element, kind: BlockKind) -> None:
        hidden: list[str] = []
        text, spans = self._text(element, hidden)
        if attribute(element, "style-name") in self._hidden_styles:
            forget(spans)
            hidden, text, spans = [text], "", ()
        self.builder.put(clean(text).split("\n\n"), kind, spans)
        self.builder.hide(clean(" ".join(hidden)))

    def _row(self, row: etree._Element) -> None:
        hidden: list[str] = []
        cells = [self._text(cell, hidden) for cell in row if local(cell).endswith("table-cell")]
        shown = [" ".join(text.split()) for text, _ in cells]
        text = clean(" | ".join(shown)) if any(shown) else ""
        spans = joined(cells, bars=True)
        if attribute(row, "visibility") in ("collapse", "filter"):
            self.builder.hide(text)
            forget(spans)
        else:
            self.builder.put([text], "row", spans)
        self.builder.hide(clean(" ".join(hidden)))

    def _text(self, element: etree._Element, hidden: list[str]) -> tuple[str, tuple[Span, ...]]:
        """The text of *element*, with its links."""
        pieces: list[str] = []
        self._collect(element, pieces, hidden, linked=True)
        return "".join(pieces), self.builder.taken(pieces)

    def _unlinked(self, element: etree._Element, hidden: list[str]) -> str:
        """The text of *element*, which nobody sees."""
        pieces: list[str] = []
        self._collect(element, pieces, hidden, linked=False)
        return "".join(pieces)

    def _collect(self, element: etree._Element, pieces: list[str], hidden: list[str], *, linked: bool) -> None:
        pieces.append(clean(element.text or ""))
        for child in element:
            name = local(child)
            if name in _SKIPPED:
                pass
            elif attribute(child, "style-name") in self._hidden_styles and name == "span":
                hidden.append(self._unlinked(child, hidden))
            elif name in ("hidden-text", "hidden-paragraph"):
                hidden.append("".join(str(text) for text in child.itertext()))
            elif name == "s":
                pieces.append(" " * min(int(attribute(child, "c") or 1), 100))
            elif name in _SIGNS:
                pieces.append(_SIGNS[name])
            else:
                self._around(child, name, pieces, hidden, linked=linked)
            pieces.append(clean(child.tail or ""))

    def _around(
        self, element: etree._Element, name: str, pieces: list[str], hidden: list[str], *, linked: bool
    ) -> None:
        """What stands in an element within a paragraph, which may be a link, an image or a note."""
        if name in _APART:
            pieces.append("\n")
        links = self.builder.links if linked and name in _LINKING else None
        if links is not None and name == "a":
            links.enter(attribute(element, "href"), len(pieces), shows=True)
        elif links is not None:
            links.picture()
        self._collect(element, pieces, hidden, linked=linked)
        if links is not None and name == "a":
            links.leave(len(pieces))
        if name in _APART:
            pieces.append("\n")
