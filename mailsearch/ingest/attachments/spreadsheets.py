"""Text of spreadsheets: one block a row, cells separated by bars; hidden sheets, rows and columns are kept apart."""

import datetime
import io
import posixpath
import re
from collections.abc import Sequence

import python_calamine
from python_calamine import CalamineWorkbook, SheetVisibleEnum

from mailsearch.ingest.attachments.packages import Package, TooLargeError, attribute, local, parse_xml
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean
from mailsearch.ingest.parsed import ParsedText

Cell = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta

_MOST_ROWS = 100_000
_MOST_CELLS = 2_000_000
_SHEET_DATA = re.compile(rb"<(?:\w+:)?sheetData[ >]")
_ROW_HIDDEN = re.compile(
    rb"<(?:\w+:)?row\s[^>]*?\br=\"(\d{1,7})\"[^>]*?\shidden=\"(?:1|true)\"|<(?:\w+:)?row\s[^>]*?\shidden=\"(?:1|true)\"[^>]*?\br=\"(\d{1,7})\""
)


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of .xlsx, .xlsb, .xls or .ods."""
    _check_unpacked(content)
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except python_calamine.PasswordError:
        return "encrypted", ParsedText("")
    hidden = _hidden_cells(content)
    builder = TextBuilder()
    cut = False
    for meta in workbook.sheets_metadata:
        try:
            sheet = workbook.get_sheet_by_name(meta.name)
        except python_calamine.CalamineError:
            continue
        visible = meta.visible == SheetVisibleEnum.Visible
        cut |= _read_sheet(sheet, visible, hidden.get(meta.name, (frozenset(), frozenset())), builder)
    parsed = builder.parsed()
    return ("truncated" if cut or builder.truncated else "ok" if parsed.text else "empty"), parsed


def _check_unpacked(content: bytes) -> None:
    """The library unpacks without a bound, so the bound is checked before it."""
    if not content.startswith(b"PK"):
        return
    with Package(content) as package:
        for name in package.names:
            if name.endswith((".xml", ".bin", ".rels")):
                package.read(name)


def _read_sheet(
    sheet: python_calamine.CalamineSheet,
    visible: bool,
    hidden: tuple[frozenset[int], frozenset[int]],
    builder: TextBuilder,
) -> bool:
    """Add one sheet; whether it was cut."""
    start = sheet.start
    if start is None:
        return False
    if sheet.height * sheet.width > 50 * _MOST_CELLS:
        raise TooLargeError("cells")
    if visible:
        builder.add(clean(sheet.name), "heading")
    hidden_rows, hidden_columns = hidden
    for number, row in enumerate(sheet.iter_rows()):
        if number >= _MOST_ROWS or builder.truncated:
            return True
        _add_row(row, start[1], hidden_columns, builder, shown=visible and number + start[0] not in hidden_rows)
    return False


def _add_row(row: Sequence[Cell], first: int, hidden: frozenset[int], builder: TextBuilder, *, shown: bool) -> None:
    cells = [_spoken(cell) for cell in row]
    if not any(cells):
        return
    if not shown:
        builder.hide(" | ".join(filter(None, cells)))
        return
    unseen = [cell for number, cell in enumerate(cells, first) if number in hidden and cell]
    if unseen:
        builder.hide(" | ".join(unseen))
    seen = [cell for number, cell in enumerate(cells, first) if number not in hidden]
    while seen and not seen[-1]:
        seen.pop()
    builder.add(" | ".join(seen), "row")


def _spoken(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return cell.strftime("%Y-%m-%d" if cell.time() == datetime.time() else "%Y-%m-%d %H:%M:%S")
    return " ".join(clean(str(cell)).split())


def _hidden_cells(content: bytes) -> dict[str, tuple[frozenset[int], frozenset[int]]]:
    """Rows and columns (from 0) that each sheet of an .xlsx hides."""
    if not content.startswith(b"PK"):
        return {}
    found: dict[str, tuple[frozenset[int], frozenset[int]]] = {}
    with Package(content) as package:
        root = package.tree("xl/workbook.xml")
        relations = package.tree("xl/_rels/workbook.xml.rels")
        if root is None or relations is None:
            return {}
        targets = {attribute(one, "Id"): attribute(one, "Target") for one in relations}
        for sheet in (one for one in root.iter() if local(one) == "sheet"):
            identity = next((str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id")), "")
            target = targets.get(identity, "")
            name = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join("xl", target))
            if name in package:
                found[attribute(sheet, "name")] = _hidden_in(package.read(name))
    return found


def _hidden_in(sheet: bytes) -> tuple[frozenset[int], frozenset[int]]:
    rows = {int(match[1] or match[2]) - 1 for match in _ROW_HIDDEN.finditer(sheet)}
    columns: set[int] = set()
    data = _SHEET_DATA.search(sheet)
    head = sheet[: data.start()] if data else b""
    match = re.search(rb"<((?:\w+:)?)cols>.*?</(?:\w+:)?cols>", head, re.DOTALL)
    if match:
        prefix = match[1].rstrip(b":")
        wrapped = b"<x%s>%s</x>" % (b' xmlns:%s="x"' % prefix if prefix else b"", match[0])
        for column in parse_xml(wrapped).iter():
            if local(column) == "col" and attribute(column, "hidden") in ("1", "true"):
                first, last = int(attribute(column, "min") or 1), int(attribute(column, "max") or 1)
                columns.update(range(first - 1, min(last, 16_384)))
    return frozenset(rows), frozenset(columns)
