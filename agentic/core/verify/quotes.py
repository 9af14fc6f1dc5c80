"""Finds what a text puts between quotation marks, in every style that people and models use.

Apostrophes, inches, feet and Hebrew gershayim are no quotation marks. A mark that opens and is never closed, or closes
what was never opened, is reported apart: whoever reads the text can't tell what is claimed to be verbatim.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache

# What may close a quotation that this mark opened. Where a mark opens in one country and closes in another, the
# innermost open quotation decides.
CLOSERS = {
    '"': '"\u201d',
    "\uff02": "\uff02",
    "\u201c": '\u201d\u201c"',
    "\u201d": "\u201d",
    "\u201e": '\u201c\u201d"\u201e',
    "\u201f": "\u201d",
    "\u00ab": "\u00bb",
    "\u00bb": "\u00ab\u00bb",
    "\u2039": "\u203a",
    "\u203a": "\u2039\u203a",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "\ufe41": "\ufe42",
    "\ufe43": "\ufe44",
    "\u301d": "\u301e\u301f",
    "`": "`",
}
_ALWAYS_OPEN = "\u201c\u201e\u201f\u00ab\u2039\u300c\u300e\ufe41\ufe43\u301d"
_ALWAYS_CLOSE = "\u300d\u300f\ufe42\ufe44\u301e\u301f"
_EITHER = '"\uff02\u201d\u00bb\u203a`'
_SINGLE = re.compile("['\u2018\u201a\u201b\u2019]")
# A mark of its own, or one of those that make one when doubled.
_INTERESTING = re.compile(
    '["\uff02\u201c-\u201f\u00ab\u00bb\u2039\u203a\u300c-\u300f\ufe41-\ufe44\u301d-\u301f`]'
    r"|([<>,'\u2018\u2019])(?=\1)"
)
_ELISIONS = re.compile(r"(?:tis|twas|twere|em|cause|bout|til|till|n|s|t|k|round|[0-9]{2}s?)(?![^\W_])", re.IGNORECASE)
_DECADE = re.compile(r".[0-9]0s(?![^\W_])")  # the '80s
_TERMINATED = re.compile(
    r"[\s.,;:!?\u2026)\]}\u3002\uff0c\uff01\uff1f\u060c\u061f\u0964\u2013\u2014\-\"\u201c\u201d\u00bb\u00ab]"
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """One outermost quotation, `start` to `end` with its marks and `inner_` without. `code`: in backticks."""

    start: int
    end: int
    inner_start: int
    inner_end: int
    code: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """All outermost quotations of a text in order, and the positions of marks that have no partner."""

    quotes: tuple[Quoted, ...]
    unbalanced: tuple[int, ...]


_NOTHING = Scan((), ())


@dataclass(slots=True)
class _Open:
    mark: str
    position: int
    width: int


@lru_cache(maxsize=1024)
def scan(text: str, skip: tuple[tuple[int, int], ...] = ()) -> Scan:
    """Find the quotations of *text*, which should be one paragraph; spans in *skip* hold no marks. Linear."""
    if not _SINGLE.search(text) and not _INTERESTING.search(text):
        return _NOTHING
    found: list[Quoted] = []
    unbalanced: list[int] = []
    stack: list[_Open] = []
    skips = dict(skip)
    position = 0
    while match := _INTERESTING.search(text, position):
        at = match.start()
        before = bisect_right(skip, (at, len(text))) - 1
        inside = skip[before][1] if before >= 0 and at < skip[before][1] else 0
        position = inside or _step(text, at, stack, found, unbalanced)
    unbalanced.extend(opened.position for opened in stack)
    singles = _singles(text, tuple(found), skips, unbalanced)
    quotes = _outermost([*found, *singles])
    starts = [quote.start for quote in quotes]
    stray = sorted({at for at in unbalanced if not _is_inside(at, quotes, starts)})
    return Scan(quotes, tuple(stray))


def _is_inside(at: int, quotes: tuple[Quoted, ...], starts: list[int]) -> bool:
    before = bisect_left(starts, at) - 1
    return before >= 0 and at < quotes[before].end


def _step(text: str, at: int, stack: list[_Open], found: list[Quoted], unbalanced: list[int]) -> int:
    """Read one character; return where to go on."""
    mark = text[at]
    doubled = text[at : at + 2]
    if doubled in ("''", "``", "\u2018\u2018", "\u2019\u2019", "<<", ">>", ",,") and _is_doubled(text, at):
        mark, width = _DOUBLED[doubled], 2
        if mark == '"' and stack and stack[-1].mark == "\u201c":
            mark = "\u201d"
    else:
        width = 1
        if mark not in CLOSERS and mark not in _ALWAYS_CLOSE:
            return at + 1
    if mark == "`" and width == 1:
        return _code(text, at, found, stack, unbalanced)
    if width == 1 and mark in '"\u201d' and (_is_gershayim(text, at) or _is_inner(text, at, stack)):
        return at + 1
    if stack and mark in CLOSERS[stack[-1].mark] and not _reopens(text, at, width, mark, stack[-1]):
        opened = stack.pop()
        # Inner pairs are kept too: should the outer one never close, they are what is quoted.
        found.append(Quoted(opened.position, at + width, opened.position + opened.width, at))
        return at + width
    return _open(text, at, width, mark, stack, unbalanced)


_DOUBLED = {
    "''": '"',
    "``": "\u201c",
    "\u2018\u2018": "\u201c",
    "\u2019\u2019": "\u201d",
    "<<": "\u00ab",
    ">>": "\u00bb",
    ",,": "\u201e",
}


def _is_doubled(text: str, at: int) -> bool:
    """Two single marks stand for a double one: not three, and not an empty pair."""
    return text[at + 2 : at + 3] != text[at] and (at == 0 or text[at - 1] != text[at])


def _open(text: str, at: int, width: int, mark: str, stack: list[_Open], unbalanced: list[int]) -> int:
    if mark in _ALWAYS_CLOSE:
        unbalanced.append(at)
        return at + width
    if mark in '"\uff02\u201d' and width == 1 and not stack and _is_inch(text, at):
        return at + width
    if stack and stack[-1].mark == mark and mark not in _ALWAYS_OPEN:
        # The same mark opens again: what it opened before was never closed.
        unbalanced.append(stack.pop().position)
    elif not stack and mark in _EITHER and _only_closes(text, at, width):
        unbalanced.append(at)
        return at + width
    stack.append(_Open(mark, at, width))
    return at + width


def _only_closes(text: str, at: int, width: int) -> bool:
    """A word before it and no word after it: this mark can't open anything."""
    before, after = text[at - 1 : at] if at else " ", text[at + width : at + width + 1] or " "
    return not before.isspace() and before.isalnum() and bool(_TERMINATED.match(after)) and after != '"'


def _reopens(text: str, at: int, width: int, mark: str, opened: _Open) -> bool:
    """A mark that could close, but leans on the word after it."""
    if opened.mark != mark or at == opened.position + opened.width:
        return opened.mark != mark and mark in _ALWAYS_OPEN + '"' and _leans_right(text, at, width)
    return _leans_right(text, at, width)


def _leans_right(text: str, at: int, width: int) -> bool:
    before, after = text[at - 1 : at] if at else " ", text[at + width : at + width + 1]
    return (before.isspace() or before in "([{") and (
        after.isalnum() or after in ("[", "\u2026") or text.startswith("..", at + width)
    )


def _is_inch(text: str, at: int) -> bool:
    return (
        at > 0
        and text[at - 1] in "0123456789\u00bd\u00bc\u00be"
        and (at + 1 == len(text) or not text[at + 1].isalnum())
    )


def _is_inner(text: str, at: int, stack: list[_Open]) -> bool:
    """Inside a quotation: a mark escaped as in JSON, or inches where the quotation's own mark still comes."""
    if not stack or text[at] != '"':
        return False
    opened = stack[-1]
    if opened.mark == '"':
        return text[at - 1] == "\\" and text[opened.position - 1 : opened.position] != "\\"
    closers = [mark for mark in CLOSERS[opened.mark] if mark not in ('"', opened.mark)]
    near = min((where for mark in closers if (where := text.find(mark, at, at + 400)) > 0), default=0)
    return _is_inch(text, at) and near > 0 and text.find(opened.mark, at, near) < 0


def _is_gershayim(text: str, at: int) -> bool:
    """Before the last letter of a Hebrew word the mark is a sign of abbreviation."""
    before, after, beyond = text[at - 1 : at] if at else "", text[at + 1 : at + 2], text[at + 2 : at + 3]
    hebrew = "\u05d0" <= before <= "\u05ea" and "\u05d0" <= after <= "\u05ea"
    return hebrew and not ("\u05d0" <= beyond <= "\u05ea")


def _code(text: str, at: int, found: list[Quoted], stack: list[_Open], unbalanced: list[int]) -> int:
    """Inline code runs to the next backtick of the same line."""
    end = text.find("`", at + 1)
    line = text.find("\n", at)
    if end == -1 or -1 < line < end:
        if 0 < at < len(text) - 1 and text[at - 1].isalnum() and text[at + 1].isalnum():
            return at + 1
        unbalanced.append(at)
        return at + 1
    if not stack:
        found.append(Quoted(at, end + 1, at + 1, end, code=True))
    return end + 1


def _singles(text: str, doubles: tuple[Quoted, ...], skips: dict[int, int], unbalanced: list[int]) -> list[Quoted]:
    """Quotations in single marks outside those already found."""
    taken = sorted([*skips.items(), *((quote.start, quote.end) for quote in doubles)])
    found: list[Quoted] = []
    position = 0
    for start, end in [*taken, (len(text), len(text))]:
        if start > position:
            position = _singles_between(text, position, len(text), taken, found, unbalanced, start)
        position = max(position, end)
    return found


def _singles_between(
    text: str,
    position: int,
    limit: int,
    taken: list[tuple[int, int]],
    found: list[Quoted],
    unbalanced: list[int],
    stop: int,
) -> int:
    while opening := _SINGLE.search(text, position, stop):
        position = opening.start()
        if _DECADE.match(text, position) or not _opens_single(text, position):
            position += 1
            continue
        end = _single_end(text, position, limit)
        if end is not None and not _is_elision(text, position, end):
            found.append(Quoted(position, end + 1, position + 1, end))
            position = end + 1
            continue
        if not _ELISIONS.match(text, position + 1) and text[position] != "\u2019":
            unbalanced.append(position)
        position += 1
    return max(position, stop)


def _is_elision(text: str, start: int, end: int) -> bool:
    """As in rock 'n' roll."""
    return end - start <= 2 and _ELISIONS.match(text, start + 1) is not None


def _opens_single(text: str, at: int) -> bool:
    before, after = text[at - 1 : at] if at else " ", text[at + 1 : at + 2]
    free = (
        before.isspace()
        or before in '([{\u2014\u2013-:/"\u201c\u201e\u00ab'
        or (ord(before) > 0x2E7F and text[at] == "\u2018")
    )
    if after.isspace():
        # Set apart by spaces, as French does; a foot mark stands behind its number.
        return free and text[at] != "\u2019" and not text[:at].rstrip()[-1:].isdigit()
    return free and bool(after) and after not in ".,;:!?)]}'"


def _single_end(text: str, at: int, limit: int) -> int | None:
    """Where the single quotation that opens at *at* closes.

    The first closing mark, but one after an s may be a possessive: then a later one counts, so that no words slip out
    of the quotation unchecked.
    """
    # Single quotations are short, and end with their paragraph or where another one opens.
    stop = min(
        [limit, at + 600, *(where for mark in _SINGLE_STOPS[text[at]] if (where := text.find(mark, at + 1)) > 0)]
    )
    apart = text[at + 1].isspace()
    last: int | None = None
    for match in _SINGLE_CLOSERS[text[at]].finditer(text, at + 1, stop):
        position = match.start()
        if text[position - 1].isspace() != apart or not _closes_single(text, position):
            continue
        if last is not None and re.search(r"[.!?]", text[last:position]):
            return last
        last = position
        if text[position - 1] not in "sS":
            return position
    return last


_SINGLE_CLOSERS = {
    "'": re.compile("'"),
    "\u2018": re.compile("[\u2019']"),
    "\u201a": re.compile("[\u2018\u2019']"),
    "\u201b": re.compile("\u2019"),
    "\u2019": re.compile("\u2019"),
}
_SINGLE_STOPS = {
    "'": ("\n\n",),
    "\u2018": ("\n\n", "\u2018"),
    "\u201a": ("\n\n",),
    "\u201b": ("\n\n",),
    "\u2019": ("\n\n",),
}


def _closes_single(text: str, at: int) -> bool:
    after = text[at + 1 : at + 2] or " "
    return bool(_TERMINATED.match(after)) or ord(after) > 0x2E7F


def _outermost(quotes: list[Quoted]) -> tuple[Quoted, ...]:
    kept: list[Quoted] = []
    for quote in sorted(quotes, key=lambda quote: (quote.start, -quote.end)):
        if not kept or quote.start >= kept[-1].end:
            kept.append(quote)
    return tuple(kept)
