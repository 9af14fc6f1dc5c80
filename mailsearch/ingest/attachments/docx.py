"""Text of Word documents (OOXML, ISO 29500), with hidden and deleted runs kept apart."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.hits import BlockKind
from mailsearch.ingest import colours, html
from mailsearch.ingest.attachments import word_looks
from mailsearch.ingest.attachments.packages import Package, attribute, local
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean, decode
from mailsearch.ingest.colours import Colour
from mailsearch.ingest.parsed import ParsedText

_DELETED = frozenset(("del", "moveFrom"))
# A fallback repeats what the choice before it says; properties and field codes are no text.
_SKIPPED = frozenset(
    ("Fallback", "instrText", "delInstrText", "pPr", "sectPr", "tblPr", "trPr", "tcPr", "rPrChange", "rt")
)


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a .docx file: body, then notes, comments, headers and footers."""
    with Package(content) as package:
        document = _main_part(package)
        reader = _Reader(package, word_looks.styles(package.tree("word/styles.xml")))
        root = package.tree(document)
        if root is None:
            return "corrupt", ParsedText("")
        painted = next((attribute(one, "color") for one in root if local(one) == "background"), "FFFFFF")
        reader.container(root, document, colours.read(painted))
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


def _style(paragraph: etree._Element) -> str:
    return next((attribute(one, "val") for one in paragraph.iter() if local(one) == "pStyle"), "")


def _is_gone(row: etree._Element) -> bool:
    """Whether a row of a table is hidden or was deleted."""
    stated = next((one for one in row if local(one) == "trPr"), None)
    return stated is not None and any(local(one) in ("hidden", "del") for one in stated)


@dataclass(slots=True)
class _Paragraph:
    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    package: Package
    styles: word_looks.Styles
    builder: TextBuilder = field(default_factory=TextBuilder)

    def container(self, element: etree._Element, part: str, background: Colour | None = colours.WHITE) -> None:
        """Everything that stands in a body, a cell, a note: paragraphs, tables, and what wraps them."""
        for child in element:
            name = local(child)
            if name == "p":
                self.paragraph(child, background)
            elif name == "tbl":
                self.table(child, part, background)
            elif name == "altChunk":
                self._inserted(attribute(child, "id"), part)
            elif name not in _SKIPPED and name not in _DELETED:
                self.container(child, part, background)

    def paragraph(self, element: etree._Element, background: Colour | None) -> None:
        kind: BlockKind = "paragraph"
        style = _style(element)
        if style.lower().startswith(("heading", "title", "berschrift", "überschrift", "titre", "titolo")):
            kind = "heading"
        elif any(local(one) == "numPr" for one in element.iter()):
            kind = "item"
        collected = self._collect(element, background)
        for text in clean("".join(collected.shown)).split("\n\n"):
            self.builder.add(text, kind)
        self.builder.hide(clean("".join(collected.hidden)))

    def table(self, element: etree._Element, part: str, background: Colour | None) -> None:
        named = next((attribute(one, "val") for one in element.iter() if local(one) == "tblStyle"), "")
        background = None if named in self.styles.painted else word_looks.behind(element, "tblPr", background)
        for row in element:
            if local(row) != "tr":
                continue
            cells: list[str] = []
            for cell in row.iter():
                if local(cell) == "tc":
                    own = word_looks.behind(cell, "tcPr", background)
                    paragraphs = [self._collect(one, own) for one in cell.iter() if local(one) == "p"]
                    cells.append(" ".join("".join(one.shown).strip() for one in paragraphs).replace("\n", " ").strip())
                    self.builder.hide(clean(" ".join("".join(one.hidden) for one in paragraphs)))
            text = clean(" | ".join(cells)) if any(cells) else ""
            if _is_gone(row):
                self.builder.hide(text)
            else:
                self.builder.add(text, "row")

    def _collect(self, element: etree._Element, background: Colour | None) -> _Paragraph:
        """The text of a paragraph in order. Text boxes in it become paragraphs of their own."""
        collected = _Paragraph()
        background = word_looks.behind(element, "pPr", background)
        for child, unseen in self._runs(element, self.styles.of(_style(element)), background):
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
                # What its shape is filled with is not looked at.
                self.container(child, "", None)
        return collected

    def _runs(
        self, element: etree._Element, inherited: word_looks.Properties, background: Colour | None
    ) -> Iterator[tuple[etree._Element, bool]]:
        """All text elements below *element* and whether a reader doesn't see them."""
        outside = word_looks.is_hidden(inherited, background)
        stack = [(child, False) for child in reversed(element)]
        while stack:
            child, unseen = stack.pop()
            name = local(child)
            if name in _SKIPPED or name == "rPr":
                continue
            if name in ("t", "delText", "tab", "br", "cr", "noBreakHyphen", "txbxContent"):
                yield child, unseen or name == "delText"
                continue
            if name == "r":
                own = word_looks.run_properties(child)
                hides = word_looks.is_hidden({**inherited, **self.styles.of(own.get("style", "")), **own}, background)
                unseen = unseen or (hides if own else outside)
            unseen = unseen or name in _DELETED
            stack += [(inner, unseen) for inner in reversed(child)]

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
