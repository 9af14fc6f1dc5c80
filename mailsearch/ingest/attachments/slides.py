"""Text of presentations (OOXML), slide by slide as pages; hidden slides and speaker notes are kept apart."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.ingest.attachments import slide_looks
from mailsearch.ingest.attachments.linking import LinkedBuilder, joined, outward
from mailsearch.ingest.attachments.packages import Package, attribute, local, relations
from mailsearch.ingest.charset import clean
from mailsearch.ingest.links import Links, Span
from mailsearch.ingest.parsed import ParsedText

_SHAPES = frozenset(("sp", "pic", "cxnSp", "graphicFrame"))
_SLIDE = re.compile(r"^ppt/slides/slide(\d{1,6})\.xml$")


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a .pptx file."""
    builder = LinkedBuilder()
    with Package(content) as package:
        slides = _slides(package)
        page = slide_looks.Page.of(package.tree("ppt/presentation.xml"))
        for name in slides:
            root = package.tree(name)
            if root is None:
                continue
            if attribute(root, "show") in ("0", "false"):
                builder.hide("\n".join(text for text, _, _ in _Texts().read(root)))
                continue
            builder.begin_page()
            related = _related(package, name)
            background = slide_looks.background(root, _masters(package, related))
            for text in slide_looks.take_hidden(root, page, background):
                builder.hide(clean(text))
            for text, spans, is_row in _Texts(builder.links, outward(package, name)).read(root):
                builder.put([text], "row" if is_row else "paragraph", spans)
            for relation in related:
                _read_related(package, relation, builder)
    parsed = builder.parsed()
    if not slides:
        return "corrupt", parsed
    return ("truncated" if builder.truncated else "ok" if parsed.text else "empty"), parsed


def _slides(package: Package) -> list[str]:
    """Slides in the order of the presentation; in the order of their numbers where it names none."""
    targets = {
        attribute(one, "Id"): _target("ppt/presentation.xml", one) for one in relations(package, "ppt/presentation.xml")
    }
    root = package.tree("ppt/presentation.xml")
    listed: list[str] = []
    for one in root.iter() if root is not None else ():
        if local(one) == "sldId":
            identity = next((str(value) for key, value in one.attrib.items() if str(key).endswith("}id")), "")
            listed.append(targets.get(identity, ""))
    found = [name for name in listed if name in package]
    numbered = sorted((int(match[1]), name) for name in package.names if (match := _SLIDE.match(name)))
    return found or [name for _, name in numbered]


def _masters(package: Package, related: Sequence[tuple[str, str]]) -> list[etree._Element]:
    """The layout of a slide and the master of that."""
    found: list[etree._Element] = []
    for kind, name in related:
        if kind not in ("slideLayout", "slideMaster"):
            continue
        root = package.tree(name)
        if root is not None:
            found.append(root)
        if kind == "slideLayout":
            found += _masters(package, [one for one in _related(package, name) if one[0] == "slideMaster"])
    return found


def _target(part: str, relation: etree._Element) -> str:
    target = attribute(relation, "Target")
    return (
        target.lstrip("/")
        if target.startswith("/")
        else posixpath.normpath(posixpath.join(posixpath.dirname(part), target))
    )


def _related(package: Package, slide: str) -> list[tuple[str, str]]:
    found = [(attribute(one, "Type").rpartition("/")[2], _target(slide, one)) for one in relations(package, slide)]
    return [(kind, name) for kind, name in found if name in package]


def _read_related(package: Package, relation: tuple[str, str], builder: LinkedBuilder) -> None:
    kind, name = relation
    if kind not in ("notesSlide", "comments", "diagramData", "chart"):
        return
    root = package.tree(name)
    if root is None:
        return
    for text, _, is_row in _Texts().read(root):
        if kind == "notesSlide":
            builder.hide(text)
        else:
            builder.add(text, "row" if is_row else "paragraph")


@dataclass(slots=True)
class _Texts:
    """Reads the text of a part. *targets* are where its relations lead."""

    links: Links = field(default_factory=Links)
    targets: Mapping[str, str] = field(default_factory=dict)

    def read(self, root: etree._Element) -> Iterator[tuple[str, tuple[Span, ...], bool]]:
        """Paragraphs and table rows in document order, each with its links; the third value says which are rows."""
        stack: list[etree._Element | None] = [root]
        while stack:
            element = stack.pop()
            name = "" if element is None else local(element)
            if element is None:
                self.links.leave(0)
            elif name == "tr":
                cells = [self._cell(cell) for cell in element]
                yield clean(" | ".join(text for text, _ in cells)), joined(cells, bars=True), True
            elif name == "p":
                yield *self._paragraph(element), False
            elif name == "text" and element.text:
                yield clean(element.text), (), False
            elif name != "Fallback":
                if name in _SHAPES:
                    self._enter(_click(element), 0, is_picture=name == "pic")
                    stack.append(None)
                stack += reversed(element)

    def _cell(self, cell: etree._Element) -> tuple[str, tuple[Span, ...]]:
        paragraphs = [self._paragraph(one) for one in cell.iter() if local(one) == "p"]
        return " ".join(text for text, _ in paragraphs), joined(paragraphs)

    def _paragraph(self, element: etree._Element) -> tuple[str, tuple[Span, ...]]:
        pieces: list[str] = []
        # The relation of the link that is open; runs that lead to the same place are one link.
        opened = ""
        for one in element.iter():
            name = local(one)
            if name in ("r", "fld") and (relation := _click(one)) != opened:
                if opened:
                    self.links.leave(len(pieces))
                opened = relation
                if opened:
                    self._enter(opened, len(pieces))
            elif name == "t":
                pieces.append(clean(one.text or ""))
            elif name == "br":
                pieces.append("\n")
        if opened:
            self.links.leave(len(pieces))
        text = "".join(pieces).strip()
        has_links = self.links.marks or self.links.waiting
        return text, self.links.take(pieces, blank=not text) if has_links else ()

    def _enter(self, relation: str, at: int, *, is_picture: bool = False) -> None:
        self.links.enter(self.targets.get(relation, ""), at, shows=True)
        if is_picture:
            self.links.picture()


def _click(element: etree._Element) -> str:
    """The relation that a click on a run or a shape leads to."""
    for properties in element:
        if local(properties) == "rPr":
            return next((attribute(one, "id") for one in properties if local(one) == "hlinkClick"), "")
        if local(properties).startswith("nv"):
            return next((attribute(one, "id") for one in properties.iter() if local(one) == "hlinkClick"), "")
    return ""
