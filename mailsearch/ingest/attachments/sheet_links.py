"""Where the links of a spreadsheet's cells lead: hyperlinks of the sheet, and formulas that make one."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

from lxml import etree

from mailsearch.ingest import links
from mailsearch.ingest.attachments.packages import attribute, local

_LINK = re.compile(rb"<(?:\w+:)?hyperlink\b([^>]*)>")
_ATTRIBUTE = re.compile(rb"\b(ref|id|location)=[\"']([^\"']*)[\"']")
_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b[^>]*>\s*HYPERLINK\(\s*(?:\"|&quot;)((?:[^\"<&]|&(?!quot;))*)",
    re.IGNORECASE,
)
_NAME = re.compile(rb"\br=[\"']([A-Z0-9]{1,10})[\"']")
_PLACE = re.compile(rb"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_MOST_CELLS = 10 * links.MOST_LINKS
_MOST_REPEATS = 1_000_000

Places = Mapping[int, Mapping[int, str]]


def of_sheet(sheet: bytes, targets: Mapping[str, str]) -> Places:
    """Targets by row and column (from 0) of an .xlsx sheet, whose relations lead to *targets*."""
    found: dict[int, dict[int, str]] = {}
    for match in _FORMULA.finditer(sheet) if b"HYPERLINK(" in sheet else ():
        name = _NAME.search(match[1])
        cell = place(name[1]) if name else None
        if cell:
            found.setdefault(cell[0], {})[cell[1]] = unescape(match[2].decode("utf-8", "replace"))
    for match in _LINK.finditer(sheet) if targets else ():
        stated = {key.decode(): value.decode("utf-8", "replace") for key, value in _ATTRIBUTE.findall(match[1])}
        target = targets.get(unescape(stated.get("id", "")), "")
        if target and stated.get("location"):
            target = f"{target}#{unescape(stated['location'])}"
        for row, column in _cells(stated.get("ref", "")) if target else ():
            found.setdefault(row, {})[column] = target
    return found


def of_table(table: etree._Element) -> Places:
    """Targets by row and column (from 0) of a table in an .ods file."""
    found: dict[int, dict[int, str]] = {}
    if next(table.iter("{*}a"), None) is None:
        return found
    row = 0
    for line in table.iter():
        if local(line) != "table-row":
            continue
        column = 0
        for cell in line:
            if not local(cell).endswith("table-cell"):
                continue
            link = next((one for one in cell.iter() if local(one) == "a"), None)
            if link is not None:
                found.setdefault(row, {})[column] = attribute(link, "href")
            column += _repeats(cell, "number-columns-repeated")
        row += _repeats(line, "number-rows-repeated")
    return found


def place(name: bytes) -> tuple[int, int] | None:
    """The row and column (from 0) of the cell of this *name*, as in B7."""
    match = _PLACE.fullmatch(name)
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + letter - 64
    return int(match[2]) - 1, column - 1


def _cells(ref: str) -> Iterator[tuple[int, int]]:
    """The cells of B7, or of B7:C9."""
    first, _, last = ref.encode("ascii", "replace").partition(b":")
    start, end = place(first), place(last or first)
    if start is None or end is None:
        return
    count = 0
    for row in range(start[0], end[0] + 1):
        for column in range(start[1], end[1] + 1):
            count += 1
            if count > _MOST_CELLS:
                return
            yield row, column


def _repeats(element: etree._Element, name: str) -> int:
    stated = attribute(element, name)
    return min(int(stated), _MOST_REPEATS) if stated.isdigit() else 1
