"""Text of Word documents (OOXML, ISO 29500), with hidden and deleted runs kept apart."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.hits import BlockKind
from mailsearch.ingest import html
from mailsearch.ingest.attachments.packages import Package, attribute, local
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean, decode
from mailsearch.ingest.parsed import ParsedText

_DELETED = frozenset(("del", "moveFrom"))
# A fallback repeats what the choice before it says; properties and field codes are no text.
_SKIPPED = frozenset(
    ("Fallback", "instrText", "delInstrText", "pPr", "sectPr", "tblPr", "trPr", "tcPr", "rPrChange", "rt")
)
_OFF = frozenset(("0", "false", "off", "none"))


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a .docx file: body, then notes, comments, headers and footers."""
    with Package(content) as package:
        document = _main_part(package)
        reader = _Reader(package, _hidden_styles(package))
        root = package.tree(document)
        if root is None:
            return "corrupt", ParsedText("")
        reader.container(root, document)
        folder = posixpath.dirname(document)
        for name in _further_parts(package, folder):
            further = package.tree(name)
            if further is not None:
                reader.container(further, name)
        parsed = reader.builder.parsed()
        state = "truncated" if reader.builder.truncated else "ok" if parsed.text else "empty"
        return state, parsed


def _main_part(package: Package) -> str:
    if "word/document.xml" in package:
        return "word/document.xml"
    candidates = (name for name in package.names if name.startswith("word/document") and name.endswith(".xml"))
    return next(candidates, "word/document.xml")


def _further_parts(package: Package, folder: str) -> list[str]:
    wanted = ("footnotes", "endnotes", "comments", "header", "footer")
    names = [name for name in package.names if posixpath.dirname(name) == folder and name.endswith(".xml")]
    bases = {name: posixpath.basename(name)[:-4].rstrip("0123456789") for name in names}
    return [name for base in wanted for name in sorted(names) if bases[name] == base]


def _hidden_styles(package: Package) -> frozenset[str]:
    root = package.tree("word/styles.xml")
    if root is None:
        return frozenset()
    found: set[str] = set()
    for style in root:
        if local(style) == "style" and any(local(one) == "vanish" and _is_on(one) for one in style.iter()):
            found.add(attribute(style, "styleId"))
    return frozenset(found)


def _is_on(element: etree._Element) -> bool:
    return attribute(element, "val").lower() not in _OFF


@dataclass(slots=True)
class _Paragraph:
    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    package: Package
    hidden_styles: frozenset[str]
    builder: TextBuilder = field(default_factory=TextBuilder)

    def container(self, element: etree._Element, part: str) -> None:
        """Everything that stands in a body, a cell, a note: paragraphs, tables, and what wraps them."""
        for child in element:
            name = local(child)
            if name == "p":
                self.paragraph(child)
            elif name == "tbl":
                self.table(child, part)
            elif name == "altChunk":
                self._inserted(attribute(child, "id"), part)
            elif name not in _SKIPPED and name not in _DELETED:
                self.container(child, part)

    def paragraph(self, element: etree._Element) -> None:
        kind: BlockKind = "paragraph"
        style = next((attribute(one, "val") for one in element.iter() if local(one) == "pStyle"), "")
        if style.lower().startswith(("heading", "title", "berschrift", "überschrift", "titre", "titolo")):
            kind = "heading"
        elif any(local(one) == "numPr" for one in element.iter()):
            kind = "item"
        collected = self._collect(element, style in self.hidden_styles)
        for text in clean("".join(collected.shown)).split("\n\n"):
            self.builder.add(text, kind)
        self.builder.hide(clean("".join(collected.hidden)))

    def table(self, element: etree._Element, part: str) -> None:
        for row in element:
            if local(row) != "tr":
                continue
            cells: list[str] = []
            for cell in row.iter():
                if local(cell) == "tc":
                    paragraphs = [self._collect(one, False) for one in cell.iter() if local(one) == "p"]
                    cells.append(" ".join("".join(one.shown).strip() for one in paragraphs).replace("\n", " ").strip())
                    self.builder.hide(clean(" ".join("".join(one.hidden) for one in paragraphs)))
            text = clean(" | ".join(cells))
            self.builder.add(text if any(cells) else "", "row")

    def _collect(self, element: etree._Element, hidden: bool) -> _Paragraph:
        """The text of a paragraph in order. Text boxes in it become paragraphs of their own."""
        collected = _Paragraph()
        for child, unseen in self._runs(element, hidden):
            name = local(child)
            target = collected.hidden if unseen else collected.shown
            if name in ("t", "delText"):
                target.append(child.text or "")
            elif name == "tab":
                target.append("\t")
            elif name in ("br", "cr"):
                target.append("\n")
            elif name == "noBreakHyphen":
                target.append("-")
            elif name == "txbxContent":
                self.container(child, "")
        return collected

    def _runs(self, element: etree._Element, hidden: bool) -> Iterator[tuple[etree._Element, bool]]:
        """All text elements below *element* and whether a reader doesn't see them."""
        stack = [(child, hidden) for child in reversed(element)]
        while stack:
            child, unseen = stack.pop()
            name = local(child)
            if name in _SKIPPED or name == "rPr":
                continue
            if name in ("t", "delText", "tab", "br", "cr", "noBreakHyphen", "txbxContent"):
                yield child, unseen or name == "delText"
                continue
            unseen = unseen or name in _DELETED or (name == "r" and self._is_hidden(child))
            stack += [(inner, unseen) for inner in reversed(child)]

    def _is_hidden(self, run: etree._Element) -> bool:
        properties = next((one for one in run if local(one) == "rPr"), None)
        if properties is None:
            return False
        stated = {local(one): one for one in properties}
        if "vanish" in stated or "webHidden" in stated:
            return _is_on(stated.get("vanish", properties))
        if "rStyle" in stated and attribute(stated["rStyle"], "val") in self.hidden_styles:
            return True
        size = attribute(stated["sz"], "val") if "sz" in stated else ""
        if size.isdigit() and int(size) <= 4:
            return True
        white = "color" in stated and attribute(stated["color"], "val").upper() == "FFFFFF"
        return white and "shd" not in stated and "highlight" not in stated

    def _inserted(self, relation: str, part: str) -> None:
        """HTML or text that the document pulls in from a part of its own (altChunk)."""
        folder, base = posixpath.split(part)
        relations = self.package.tree(f"{folder}/_rels/{base}.rels")
        for one in relations if relations is not None else ():
            target = posixpath.normpath(posixpath.join(folder, attribute(one, "Target"))).lstrip("/")
            if attribute(one, "Id") == relation and target in self.package:
                text = html.visible_text(decode(self.package.read(target)).text)
                for block in text.blocks:
                    self.builder.add(text.text[block.start : block.end], block.kind)
                self.builder.hide(text.hidden_text)
