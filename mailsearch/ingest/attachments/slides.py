"""Text of presentations (OOXML), slide by slide as pages; hidden slides and speaker notes are kept apart."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from lxml import etree

from mailsearch.ingest.attachments import slide_looks
from mailsearch.ingest.attachments.packages import Package, attribute, local
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean
from mailsearch.ingest.parsed import ParsedText

_SLIDE = re.compile(r"^ppt/slides/slide(\d{1,6})\.xml$")


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a .pptx file."""
    builder = TextBuilder()
    with Package(content) as package:
        slides = _slides(package)
        page = slide_looks.Page.of(package.tree("ppt/presentation.xml"))
        for name in slides:
            root = package.tree(name)
            if root is None:
                continue
            if attribute(root, "show") in ("0", "false"):
                builder.hide("\n".join(text for text, _ in _texts(root)))
                continue
            builder.begin_page()
            related = _related(package, name)
            background = slide_looks.background(root, _masters(package, related))
            for text in slide_looks.take_hidden(root, page, background):
                builder.hide(clean(text))
            for text, is_row in _texts(root):
                builder.add(text, "row" if is_row else "paragraph")
            for relation in related:
                _read_related(package, relation, builder)
    parsed = builder.parsed()
    if not slides:
        return "corrupt", parsed
    return ("truncated" if builder.truncated else "ok" if parsed.text else "empty"), parsed


def _slides(package: Package) -> list[str]:
    """Slides in the order of the presentation; in the order of their numbers where it names none."""
    targets = {
        attribute(one, "Id"): _target("ppt/presentation.xml", one)
        for one in _relations(package, "ppt/presentation.xml")
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


def _relations(package: Package, part: str) -> list[etree._Element]:
    folder, base = posixpath.split(part)
    root = package.tree(f"{folder}/_rels/{base}.rels")
    return list(root) if root is not None else []


def _target(part: str, relation: etree._Element) -> str:
    target = attribute(relation, "Target")
    return (
        target.lstrip("/")
        if target.startswith("/")
        else posixpath.normpath(posixpath.join(posixpath.dirname(part), target))
    )


def _related(package: Package, slide: str) -> list[tuple[str, str]]:
    found = [(attribute(one, "Type").rpartition("/")[2], _target(slide, one)) for one in _relations(package, slide)]
    return [(kind, name) for kind, name in found if name in package]


def _read_related(package: Package, relation: tuple[str, str], builder: TextBuilder) -> None:
    kind, name = relation
    if kind not in ("notesSlide", "comments", "diagramData", "chart"):
        return
    root = package.tree(name)
    if root is None:
        return
    for text, is_row in _texts(root):
        if kind == "notesSlide":
            builder.hide(text)
        else:
            builder.add(text, "row" if is_row else "paragraph")


def _texts(root: etree._Element) -> Iterator[tuple[str, bool]]:
    """Paragraphs and table rows in document order; the second value says which are rows."""
    stack = [root]
    while stack:
        element = stack.pop()
        name = local(element)
        if name == "tr":
            yield (
                clean(
                    " | ".join(
                        " ".join(_paragraph(one) for one in cell.iter() if local(one) == "p") for cell in element
                    )
                ),
                True,
            )
        elif name == "p":
            yield clean(_paragraph(element)), False
        elif name == "text" and element.text:
            yield clean(element.text), False
        elif name != "Fallback":
            stack += reversed(element)


def _paragraph(element: etree._Element) -> str:
    pieces: list[str] = []
    for one in element.iter():
        if local(one) == "t":
            pieces.append(one.text or "")
        elif local(one) == "br":
            pieces.append("\n")
    return "".join(pieces).strip()
