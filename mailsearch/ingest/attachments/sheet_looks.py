"""Which rows, columns and cells of a spreadsheet a reader does not see, and what is written beside the cells."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from mailsearch.ingest import colours
from mailsearch.ingest.attachments import sheet_links
from mailsearch.ingest.attachments.linking import outward
from mailsearch.ingest.attachments.packages import Package, attribute, local, parse_xml, relations

_SHEET_DATA = re.compile(rb"<(?:\w+:)?sheetData[ >]")
_ROW = re.compile(rb"<(?:\w+:)?row\b([^>]*)>")
_CELL = re.compile(rb"<(?:\w+:)?c\b([^>]*)>")
_COLUMNS = re.compile(rb"<((?:\w+:)?)cols>.*?</(?:\w+:)?cols>", re.DOTALL)
_ATTRIBUTE = re.compile(rb"\b(r|s|ht|hidden)=[\"']([^\"']{0,20})[\"']")
_ON = (b"1", b"true")
_WHITE_INDEXES = ("1", "9")
_MOST_COLUMNS = 16_384
_MOST_REPEATS = 1_000_000
_BESIDE = ("comments", "threadedComment", "drawing")


@dataclass(frozen=True, slots=True)
class Unseen:
    """Rows, columns and single cells (row, column) of a sheet that are not seen, all counted from 0."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    cells: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class SheetPart:
    """What the package says of a sheet beyond its values. `beside` are comments and text boxes.

    `links` are targets by row and column.
    """

    unseen: Unseen = field(default_factory=Unseen)
    beside: tuple[str, ...] = ()
    links: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


def sheets(package: Package) -> dict[str, SheetPart]:
    """The sheets of an .xlsx or .ods package by name."""
    if "content.xml" in package:
        return _of_open_document(package.tree("content.xml"))
    root = package.tree("xl/workbook.xml")
    if root is None:
        return {}
    targets = {identity: target for identity, _, target in _relations(package, "xl/workbook.xml")}
    hiding = _hiding_styles(package.tree("xl/styles.xml"))
    found: dict[str, SheetPart] = {}
    for sheet in (one for one in root.iter() if local(one) == "sheet"):
        identity = next((str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")), "")
        name = targets.get(identity, "")
        if name in package:
            beside = tuple(text for part in _parts_beside(package, name) for text in _texts(_tree(package, part)))
            content = package.read(name)
            links = sheet_links.of_sheet(content, outward(package, name))
            found[attribute(sheet, "name")] = SheetPart(_unseen(content, hiding), beside, links)
    return found


def _relations(package: Package, part: str) -> list[tuple[str, str, str]]:
    """Id, kind and target of what *part* refers to."""
    folder = posixpath.dirname(part)
    found: list[tuple[str, str, str]] = []
    for one in relations(package, part):
        target = attribute(one, "Target")
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        found.append((attribute(one, "Id"), attribute(one, "Type").rpartition("/")[2], path))
    return found


def _parts_beside(package: Package, sheet: str) -> list[str]:
    parts = [(kind, target) for _, kind, target in _relations(package, sheet) if kind in _BESIDE and target in package]
    # A comment that began a conversation stands in both.
    threaded = any(kind == "threadedComment" for kind, _ in parts)
    return [target for kind, target in parts if not (threaded and kind == "comments")]


def _tree(package: Package, part: str) -> etree._Element | None:
    """A part without which the sheet can still be read."""
    try:
        return package.tree(part)
    except etree.XMLSyntaxError:
        return None


def _texts(root: etree._Element | None) -> Iterator[str]:
    """The paragraphs of a drawing, or each comment as one."""
    for one in root.iter() if root is not None else ():
        name = local(one)
        if name in ("comment", "threadedComment") or (name == "p" and "drawingml" in str(one.tag)):
            said = "text" if name == "threadedComment" else "t"
            yield "".join(part.text or "" for part in one.iter() if local(part) == said)


def _unseen(sheet: bytes, hiding: frozenset[bytes]) -> Unseen:
    rows: set[int] = set()
    number = 0
    for match in _ROW.finditer(sheet):
        stated = dict(_ATTRIBUTE.findall(match[1]))
        number = int(stated[b"r"]) if stated.get(b"r", b"").isdigit() else number + 1
        if stated.get(b"hidden") in _ON or re.fullmatch(rb"0(?:\.0*)?", stated.get(b"ht", b"")):
            rows.add(number - 1)
    cells: set[tuple[int, int]] = set()
    for match in _CELL.finditer(sheet) if hiding else ():
        stated = dict(_ATTRIBUTE.findall(match[1]))
        if stated.get(b"s") in hiding and (place := sheet_links.place(stated.get(b"r", b""))):
            cells.add(place)
    return Unseen(frozenset(rows), _unseen_columns(sheet), frozenset(cells))


def _unseen_columns(sheet: bytes) -> frozenset[int]:
    data = _SHEET_DATA.search(sheet)
    match = _COLUMNS.search(sheet[: data.start()] if data else b"")
    if match is None:
        return frozenset()
    columns: set[int] = set()
    prefix = match[1].rstrip(b":")
    wrapped = b"<x%s>%s</x>" % (b' xmlns:%s="x"' % prefix if prefix else b"", match[0])
    for column in parse_xml(wrapped).iter():
        if local(column) != "col":
            continue
        if attribute(column, "hidden") in ("1", "true") or re.fullmatch(r"0(?:\.0*)?", attribute(column, "width")):
            first, last = int(attribute(column, "min") or 1), int(attribute(column, "max") or 1)
            columns.update(range(first - 1, min(last, _MOST_COLUMNS)))
    return frozenset(columns)


def _hiding_styles(root: etree._Element | None) -> frozenset[bytes]:
    """Numbers of the cell styles that show nothing: a format without places, or letters as white as the sheet."""
    if root is None:
        return frozenset()
    lists = {local(child): list(child) for child in root}
    blank = {attribute(one, "numFmtId") for one in lists.get("numFmts", ()) if _is_blank(attribute(one, "formatCode"))}
    white = {str(number) for number, font in enumerate(lists.get("fonts", ())) if _is_white(font)}
    painted = {str(number) for number, fill in enumerate(lists.get("fills", ())) if _paints(fill)}
    return frozenset(
        str(number).encode()
        for number, one in enumerate(lists.get("cellXfs", ()))
        if attribute(one, "numFmtId") in blank
        or (attribute(one, "fontId") in white and attribute(one, "fillId") not in painted)
    )


def _is_blank(code: str) -> bool:
    return re.fullmatch(r"\s*(?:\"\"|\s)*;\s*(?:\"\"|\s)*;\s*(?:\"\"|\s)*;?\s*(?:\"\"|\s)*", code) is not None


def _is_white(font: etree._Element) -> bool:
    for one in font:
        if local(one) == "color":
            stated = colours.read(attribute(one, "rgb")[-6:]) if attribute(one, "rgb") else None
            plain = attribute(one, "theme") == "0" and not attribute(one, "tint")
            white = stated is not None and not colours.legible(stated, colours.WHITE)
            return white or plain or attribute(one, "indexed") in _WHITE_INDEXES
    return False


def _paints(fill: etree._Element) -> bool:
    """Whether a fill gives cells another colour than white."""
    for one in fill:
        if local(one) != "patternFill":
            return True
        front = next((attribute(colour, "rgb") for colour in one if local(colour) == "fgColor"), "")
        if attribute(one, "patternType") not in ("", "none") and front[-6:].upper() != "FFFFFF":
            return True
    return False


def _of_open_document(root: etree._Element | None) -> dict[str, SheetPart]:
    found: dict[str, SheetPart] = {}
    for table in root.iter() if root is not None else ():
        if local(table) == "table":
            rows = _hidden_of(table, "table-row", "number-rows-repeated")
            columns = _hidden_of(table, "table-column", "number-columns-repeated")
            found[attribute(table, "name")] = SheetPart(Unseen(rows, columns), (), sheet_links.of_table(table))
    return found


def _hidden_of(table: etree._Element, kind: str, repeated: str) -> frozenset[int]:
    hidden: set[int] = set()
    number = 0
    for one in table.iter():
        if local(one) == kind:
            count = min(int(attribute(one, repeated) or 1), _MOST_REPEATS)
            if attribute(one, "visibility") in ("collapse", "filter"):
                hidden.update(range(number, number + count))
            number += count
    return frozenset(hidden)
