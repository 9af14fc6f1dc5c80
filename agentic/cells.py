"""Values as cells of a table that spreadsheet programs open: none of them may become a formula there.

A cell that such a program could take for one gets an apostrophe in front, which it shows as text: those that begin,
after white space and signs that are not seen, with `=`, `+`, `-` or `@`, with their full-width or small forms, or with
a tab or carriage return (OWASP, CSV injection). Every cell stands in quotation marks, so none can begin another one;
and since programs in some countries part cells at semicolons or tabs and then end the quotation early, the same goes
for what follows one of those inside of a cell.
"""

import csv
import json
import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import pairwise

_DANGEROUS = frozenset("=+-@\t\r|%")
# White space, control and format characters, and marks that stand on nothing.
_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Mn"})

# Where a program could begin another cell.
_PARTS = re.compile(r"[;\t\r\n]+")


def line(values: Sequence[object]) -> str:
    """One record of CSV (RFC 4180) with its line end."""
    written = StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerow([cell(value) for value in values])
    return written.getvalue()


def cell(value: object) -> str:
    """*value* as text that stays text. Numbers stay numbers; lists and objects become JSON."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return str(value)
        case str():
            return harmless(value)
        case _:
            return harmless(
                str(plain(value)) if isinstance(value, datetime) else json.dumps(plain(value), ensure_ascii=False)
            )


def harmless(text: str) -> str:
    """*text* with an apostrophe before whatever in it could begin a formula."""
    cuts = [0, *(found.end() for found in _PARTS.finditer(text)), len(text)]
    first, *more = [text[start:end] for start, end in pairwise(cuts)]
    made = [f"'{first}" if _could_be_formula(text) else first]
    return "".join([*made, *(f"'{one}" if _could_be_formula(one) else one for one in more)])


def plain(value: object) -> object:
    """*value* as JSON has it."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case list() | tuple():
            return [plain(one) for one in value]
        case dict():
            return {str(name): plain(one) for name, one in value.items()}
        case bytes() | memoryview():
            return bytes(value).hex()
        case _:
            return value


def _could_be_formula(text: str) -> bool:
    if text[:1] in ("\t", "\r", "\n"):
        return True
    seen = next((sign for sign in text if unicodedata.category(sign) not in _UNSEEN), "")
    # Full-width, small and superscript forms are what they look like; so are other dashes of a minus' shape.
    return bool(seen) and (unicodedata.normalize("NFKC", seen)[:1] in _DANGEROUS or seen == "\u2212")
