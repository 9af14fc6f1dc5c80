"""Text of spreadsheets: one block a row, cells separated by bars; hidden sheets, rows and columns are kept apart."""

import datetime
import io
from collections.abc import Mapping, Sequence, Set

import python_calamine
from python_calamine import CalamineWorkbook, SheetVisibleEnum

from mailsearch.ingest.attachments import sheet_looks
from mailsearch.ingest.attachments.linking import LinkedBuilder
from mailsearch.ingest.attachments.packages import Package, TooLargeError
from mailsearch.ingest.attachments.sheet_looks import SheetPart
from mailsearch.ingest.charset import clean
from mailsearch.ingest.links import Span
from mailsearch.ingest.parsed import ParsedText

Cell = int | float | str | bool | datetime.time | datetime.date | datetime.datetime | datetime.timedelta

_MOST_ROWS = 100_000
_MOST_CELLS = 2_000_000


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of .xlsx, .xlsb, .xls or .ods."""
    _check_unpacked(content)
    # Before the library, which reads on for ever where the XML of an .ods is broken.
    parts = _parts(content)
    try:
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
    except python_calamine.PasswordError:
        return "encrypted", ParsedText("")
    builder = LinkedBuilder()
    cut = False
    for meta in workbook.sheets_metadata:
        try:
            sheet = workbook.get_sheet_by_name(meta.name)
        except python_calamine.CalamineError:
            continue
        visible = meta.visible == SheetVisibleEnum.Visible
        part = parts.get(meta.name, SheetPart())
        cut |= _read_sheet(sheet, visible, part, builder)
        for text in part.beside:
            if visible:
                builder.add(clean(text))
            else:
                builder.hide(clean(text))
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
    part: SheetPart,
    builder: LinkedBuilder,
) -> bool:
    """Add one sheet; whether it was cut."""
    start = sheet.start
    if start is None:
        return False
    if sheet.height * sheet.width > 50 * _MOST_CELLS:
        raise TooLargeError("cells")
    if visible:
        builder.add(clean(sheet.name), "heading")
    top, left = start
    unseen = part.unseen
    single: dict[int, set[int]] = {}
    for line, column in unseen.cells:
        single.setdefault(line, set()).add(column)
    for number, row in enumerate(sheet.iter_rows(), top):
        if number >= _MOST_ROWS + top or builder.truncated:
            return True
        hidden = unseen.columns | single.get(number, set())
        shown = visible and number not in unseen.rows
        _add_row(row, left, hidden, part.links.get(number, {}), builder, shown=shown)
    return False


def _add_row(
    row: Sequence[Cell],
    first: int,
    hidden: Set[int],
    links: Mapping[int, str],
    builder: LinkedBuilder,
    *,
    shown: bool,
) -> None:
    cells = [_spoken(cell) for cell in row]
    if not any(cells):
        return
    if not shown:
        builder.hide(" | ".join(filter(None, cells)))
        return
    unseen = [cell for number, cell in enumerate(cells, first) if number in hidden and cell]
    if unseen:
        builder.hide(" | ".join(unseen))
    seen = [(number, cell) for number, cell in enumerate(cells, first) if number not in hidden]
    while seen and not seen[-1][1]:
        seen.pop()
    text = " | ".join(cell for _, cell in seen)
    builder.put([text], "row", _linked(seen, links, builder) if links else ())


def _linked(seen: Sequence[tuple[int, str]], links: Mapping[int, str], builder: LinkedBuilder) -> tuple[Span, ...]:
    """The links of a row of cells, each with the number of its column."""
    inline: list[str] = []
    for number, cell in seen:
        inline += ["|"] if inline else []
        builder.links.enter(links.get(number, ""), len(inline), shows=True)
        inline.append(cell)
        builder.links.leave(len(inline))
    return builder.taken(inline)


def _spoken(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return cell.strftime("%Y-%m-%d" if cell.time() == datetime.time() else "%Y-%m-%d %H:%M:%S")
    return " ".join(clean(str(cell)).split())


def _parts(content: bytes) -> dict[str, SheetPart]:
    """What the package of an .xlsx or .ods says of its sheets beyond their values."""
    if not content.startswith(b"PK"):
        return {}
    with Package(content) as package:
        return sheet_looks.sheets(package)
