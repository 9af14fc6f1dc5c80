"""Text of Word documents (OOXML, ISO 29500), with hidden and deleted runs kept apart."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.hits import BlockKind
from mailsearch.ingest import colours, html
from mailsearch.ingest.attachments import word_links, word_looks
from mailsearch.ingest.attachments.linking import LinkedBuilder, forget, joined, outward
from mailsearch.ingest.attachments.packages import Package, attribute, local, relations
from mailsearch.ingest.attachments.word_links import WordLinks
from mailsearch.ingest.charset import clean, decode
from mailsearch.ingest.colours import Colour
from mailsearch.ingest.links import Span
from mailsearch.ingest.parsed import ParsedText

_TEXTS = frozenset(("t", "delText"))
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_LINKING = frozenset(("fldChar", "instrText", "hlinkClick"))
_DELETED = frozenset(("del", "moveFrom"))
# A fallback repeats what the choice before it says; properties and field codes are no text.
_SKIPPED = frozenset(("Fallback", "delInstrText", "pPr", "sectPr", "tblPr", "trPr", "tcPr", "rPrChange", "rt"))


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a .docx file: body, then notes, comments, headers and footers."""
    with Package(content) as package:
        document = _main_part(package)
        reader = _Reader(package, word_looks.styles(package.tree("word/styles.xml")))
        root = package.tree(document)
        if root is None:
            return "corrupt", ParsedText("")
        painted = next((attribute(one, "color") for one in root if local(one) == "background"), "FFFFFF")
        reader.part(root, document, colours.read(painted))
        folder = posixpath.dirname(document)
        for name in _further_parts(package, folder):
            further = package.tree(name)
            if further is not None:
                reader.part(further, name)
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
    links: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.shown).strip()


@dataclass(slots=True)
class _Reader:
    package: Package
    styles: word_looks.Styles
    builder: LinkedBuilder = field(default_factory=LinkedBuilder)
    links: WordLinks = field(init=False)

    def part(self, root: etree._Element, name: str, background: Colour | None = colours.WHITE) -> None:
        """Everything in a part of the package."""
        self.links = WordLinks(self.builder.links, outward(self.package, name))
        self.container(root, name, background)

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
        self.builder.put(clean("".join(collected.shown)).split("\n\n"), kind, collected.links)
        self.builder.hide(clean("".join(collected.hidden)))

    def table(self, element: etree._Element, part: str, background: Colour | None) -> None:
        named = next((attribute(one, "val") for one in element.iter() if local(one) == "tblStyle"), "")
        background = None if named in self.styles.painted else word_looks.behind(element, "tblPr", background)
        for row in element:
            if local(row) != "tr":
                continue
            cells: list[tuple[str, tuple[Span, ...]]] = []
            for cell in row.iter():
                if local(cell) == "tc":
                    own = word_looks.behind(cell, "tcPr", background)
                    paragraphs = [self._collect(one, own) for one in cell.iter() if local(one) == "p"]
                    text = " ".join(one.text for one in paragraphs).replace("\n", " ").strip()
                    cells.append((text, joined((one.text, one.links) for one in paragraphs)))
                    self.builder.hide(clean(" ".join("".join(one.hidden) for one in paragraphs)))
            text = clean(" | ".join(text for text, _ in cells)) if any(text for text, _ in cells) else ""
            spans = joined(cells, bars=True)
            if _is_gone(row):
                self.builder.hide(text)
                forget(spans)
            else:
                self.builder.put([text], "row", spans)

    def _collect(self, element: etree._Element, background: Colour | None) -> _Paragraph:
        """The text of a paragraph in order. Text boxes in it become paragraphs of their own."""
        collected = _Paragraph()
        background = word_looks.behind(element, "pPr", background)
        for child, unseen in self._runs(element, self.styles.of(_style(element)), background):
            target = collected.hidden if unseen else collected.shown
            name = "" if child is None else local(child)
            if child is None or name in _LINKING or name in word_links.AROUND:
                self.links.meet(child, len(collected.shown), shows=not unseen)
            elif name in _TEXTS:
                target.append(clean(child.text or ""))
            elif name in _SIGNS:
                target.append(_SIGNS[name])
            else:
                # What the shape of a text box is filled with is not looked at.
                with self.links.apart():
                    self.container(child, "", None)
        collected.links = self.builder.taken(collected.shown)
        return collected

    def _runs(
        self, element: etree._Element, inherited: word_looks.Properties, background: Colour | None
    ) -> Iterator[tuple[etree._Element | None, bool]]:
        """All text elements below *element* and whether a reader doesn't see them; None where a link ends."""
        outside = word_looks.is_hidden(inherited, background)
        stack: list[tuple[etree._Element | None, bool]] = [(child, False) for child in reversed(element)]
        while stack:
            child, unseen = stack.pop()
            name = "" if child is None else local(child)
            if name in _SKIPPED or name == "rPr":
                continue
            if child is None or name in _TEXTS or name in _SIGNS or name in _LINKING or name == "txbxContent":
                yield child, unseen or name == "delText"
                continue
            if name in word_links.AROUND:
                yield child, unseen
                stack.append((None, unseen))
            if name == "r":
                own = word_looks.run_properties(child)
                hides = word_looks.is_hidden({**inherited, **self.styles.of(own.get("style", "")), **own}, background)
                unseen = unseen or (hides if own else outside)
            unseen = unseen or name in _DELETED
            stack += [(inner, unseen) for inner in reversed(child)]

    def _inserted(self, relation: str, part: str) -> None:
        """HTML or text that the document pulls in from a part of its own (altChunk)."""
        folder = posixpath.dirname(part)
        for one in relations(self.package, part):
            target = posixpath.normpath(posixpath.join(folder, attribute(one, "Target"))).lstrip("/")
            if attribute(one, "Id") == relation and target in self.package:
                text = html.visible_text(decode(self.package.read(target)).text)
                for block in text.blocks:
                    self.builder.add(text.text[block.start : block.end], block.kind)
                self.builder.hide(text.hidden_text)
