"""Cuts a draft into the units that are each checked by themselves: sentences, list items, lines, rows, code blocks."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from agentic.core.verify import form, markers, segments
from agentic.core.verify.facts.dates import opens_with_day
from agentic.core.verify.quotes import Quoted, scan
from agentic.core.verify.words import language_of

# `rest` is what lies beyond the caps of a draft.
UnitKind = Literal["sentence", "item", "heading", "header", "rule", "row", "code", "quote", "rest"]

_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)")
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_BREAK = re.compile(r"^\s*(?:[-*_=] ?){3,}\s*$")
# What can begin an item of a list: a sign, a number or a letter.
BULLET = (
    r"[-*+\u2022\u25e6\u25aa\u2023\u00b7]|[0-9]{1,3}[.)]|[0-9]{1,2}(?:\.[0-9]{1,2}){1,2}[.)]|\([0-9a-z]{1,2}\)"
    r"|[a-zA-Z][.)]|[ivx]{1,4}[.)]|[IVX]{2,5}[.)]"  # Roman numbers last
)
_LEAD = re.compile(rf"^\s*(?:{BULLET}|#{{1,6}})\s+(?:\[[ xX]\]\s+)?")
_ITEM = re.compile(rf"^(?P<indent>\s*)(?P<bullet>(?:{BULLET})[ \t]+(?:\[[ xX]\][ \t]+)?)(?=\S)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")
_BLOCKQUOTE = re.compile(r"^\s{0,3}>")
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"\u201c\u201d\u00ab\u00bb\u3002\uff0c]+"
    r"|(?<![^\s@<>\"(),;:\[\]])[^\s@<>\"(),;:\[\]]{1,64}@[^\s@<>\"(),;:\[\]]+\.[a-z]{2,}",
    re.IGNORECASE,
)
_STOPS = ".!?\u2026\u3002\uff01\uff1f\u0964\u0965\u061f\u06d4"
_MARK = "\ue000"
_BLANKS = re.compile("[\t\v\f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit as drafted, trimmed. `table` numbers the table that a row belongs to, -1 outside of tables."""

    text: str
    kind: UnitKind
    table: int = -1


@dataclass(frozen=True, slots=True)
class _Group:
    start: int
    end: int
    kind: UnitKind
    table: int = -1


def without_bullet(text: str) -> str:
    """*text* without the sign of its list item or heading; "3. Mai" begins with a day, not with a number of a list."""
    return text if opens_with_day(text.lstrip().casefold()) else _LEAD.sub("", text)


def split(text: str, known: Collection[str] = ()) -> list[Unit]:
    """The units of *text* in order; *known* are labels that make a bracket a marker. Linear in the length."""
    found: list[Unit] = []
    end_of_last = 0
    plain = form.blanked(text)
    for group in _groups(plain):
        for start, end, kind in _cut(plain, group, known):
            piece = text[start:end].strip()
            if not piece:
                continue
            adjacent = text[end_of_last:start].count("\n") <= 1
            if found and adjacent and _only_markers(piece, known) and found[-1].kind not in ("header", "rule", "row"):
                found[-1] = Unit(found[-1].text + text[end_of_last:start] + piece, found[-1].kind, found[-1].table)
            else:
                found.append(Unit(piece, kind, group.table))
            end_of_last = start + len(text[start:end].rstrip())
    return found


def is_one(text: str, known: Collection[str] = ()) -> bool:
    """Whether *text* is one unit; most lines are seen to be without being cut."""
    plain = "|" not in text and "] " not in text and (text[:1].isalnum() or text[:1] in _OPENING)
    return (plain and segments.ends_nowhere(text)) or len(split(text, known)) == 1


_OPENING = ('"', "\u201c", "\u201e", "\u00ab")


def _only_markers(piece: str, known: Collection[str]) -> bool:
    if piece[0].isalnum():
        return False
    rest = markers.without(piece, known)
    return rest != piece and not rest.strip(" .,;:!?()\u2026")


def _groups(text: str) -> Iterator[_Group]:
    """Stretches that sentences do not cross: paragraphs, items, headings, quotations, rows and code blocks."""
    lines = _lines(text)
    at, table = 0, -1
    while at < len(lines):
        start, end = lines[at]
        line = text[start:end]
        fence = _FENCE.match(line)
        if not line.strip() or (_BREAK.match(line) and not _is_rule(text, lines, at)):
            at += 1
        elif fence:
            stop = _fence_end(text, lines, at, fence.group(1))
            yield _Group(start, lines[stop][1], "code")
            at = stop + 1
        elif _starts_table(text, lines, at):
            table += 1
            rows = _table(text, lines, at, table)
            yield from rows
            at += len(rows)
        else:
            kind, stop = _plain(text, lines, at)
            yield _Group(start, lines[stop - 1][1], kind)
            at = stop


def _lines(text: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for line in text.splitlines(keepends=True):
        spans.append((position, position + len(line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))))
        position += len(line)
    return spans


def _is_rule(text: str, lines: list[tuple[int, int]], at: int) -> bool:
    return at > 0 and "|" in text[slice(*lines[at - 1])] and _RULE.match(text[slice(*lines[at])]) is not None


def _fence_end(text: str, lines: list[tuple[int, int]], at: int, fence: str) -> int:
    for stop in range(at + 1, len(lines)):
        if text[slice(*lines[stop])].strip().startswith(fence):
            return stop
    return len(lines) - 1


def _starts_table(text: str, lines: list[tuple[int, int]], at: int) -> bool:
    line = text[slice(*lines[at])]
    if "|" not in line:
        return False
    ruled = (
        at + 1 < len(lines)
        and _RULE.match(text[slice(*lines[at + 1])]) is not None
        and "|" in text[slice(*lines[at + 1])]
    )
    return ruled or (line.strip().startswith("|") and line.strip().count("|") >= 2)


def _table(text: str, lines: list[tuple[int, int]], at: int, table: int) -> list[_Group]:
    """The rows of the table that begins at line *at*."""
    ruled = at + 1 < len(lines) and _RULE.match(text[slice(*lines[at + 1])]) is not None
    rows: list[_Group] = []
    while at < len(lines) and "|" in text[slice(*lines[at])]:
        start, end = lines[at]
        kind: UnitKind = "header" if ruled and not rows else "rule" if _RULE.match(text[start:end]) else "row"
        rows.append(_Group(start, end, kind, table))
        at += 1
    return rows


def _plain(text: str, lines: list[tuple[int, int]], at: int) -> tuple[UnitKind, int]:
    """Kind of the group that begins at line *at*, and the line after its last."""
    line = text[slice(*lines[at])]
    if _HEADING.match(line):
        return "heading", at + 1
    if _BLOCKQUOTE.match(line):
        stop = at + 1
        while (
            stop < len(lines)
            and _BLOCKQUOTE.match(text[slice(*lines[stop])])
            and not text[slice(*lines[stop - 1])].rstrip().endswith("]")
        ):
            stop += 1
        return "quote", stop
    kind: UnitKind = "item" if _ITEM.match(line) else "sentence"
    stop = at + 1
    while stop < len(lines) and _goes_on(text, lines, stop):
        stop += 1
    return kind, stop


def _goes_on(text: str, lines: list[tuple[int, int]], at: int) -> bool:
    line = text[slice(*lines[at])]
    begins = (
        _HEADING.match(line) or _BLOCKQUOTE.match(line) or _ITEM.match(line) or _FENCE.match(line) or _BREAK.match(line)
    )
    return bool(line.strip()) and not begins and not _starts_table(text, lines, at)


def _cut(text: str, group: _Group, known: Collection[str]) -> Iterator[tuple[int, int, UnitKind]]:
    """Units of one group, as spans of *text*."""
    if group.kind in ("header", "rule", "row", "code", "quote", "heading"):
        yield group.start, group.end, group.kind
        return
    body = text[group.start : group.end]
    quoted = scan(body, tuple((marker.start, marker.end) for marker in markers.find(body, known))).quotes
    masked = _mask(body, quoted, known)
    language = language_of(body)
    position = 0
    for line in re.split(r"(?<=\n)", masked):
        for start, end in segments.split(line, language):
            yield group.start + position + start, group.start + position + end, group.kind
        position += len(line)


def _mask(body: str, quoted: tuple[Quoted, ...], known: Collection[str]) -> str:
    """*body* with quotations, markers and addresses made into letters, of the same length.

    A stop that stands before a marker, or last in a quotation with a new sentence behind it, moves to the end of both:
    there the sentence ends.
    """
    characters = list(_BLANKS.sub(" ", body))
    addressed = "@" in body or "://" in body or "www." in body.lower()
    for match in _URL.finditer(body) if addressed else ():
        end = match.start() + len(match.group().rstrip(".,;:!?)'\""))
        characters[match.start() : end] = "x" * (end - match.start())
    item = _ITEM.match(body)
    if item:
        characters[item.start("bullet") : item.end("bullet") - 1] = "x" * (
            item.end("bullet") - 1 - item.start("bullet")
        )
    for quote in quoted:
        _mask_quote(body, characters, quote, known)
    starts = [quote.start for quote in quoted]
    said, position = False, 0
    for marker in markers.find(body, known):
        before = bisect_left(starts, marker.start) - 1
        if before >= 0 and marker.start < quoted[before].end:
            continue
        said = said or bool("".join(characters[position : marker.start]).strip(" " + _MARK))
        position = marker.end
        characters[marker.start : marker.end] = _MARK * (marker.end - marker.start)
        _move_stop(characters, marker.start, marker.end)
        if said:
            _stop_before_opener(body, characters, marker.end)
    return "".join(characters)


def _mask_quote(body: str, characters: list[str], quote: Quoted, known: Collection[str]) -> None:
    last = body[quote.inner_start : quote.inner_end].rstrip(" \u00a0\\")[-1:]
    characters[quote.start : quote.end] = "x" * (quote.end - quote.start)
    if body[quote.inner_start : quote.inner_end].lstrip()[:1].isupper() and body[: quote.start].rstrip()[-1:] in _STOPS:
        # It may begin a sentence, as a capital letter would.
        characters[quote.start] = "X"
    if last not in _STOPS or not last:
        return
    rest = body[quote.end : quote.end + 200]
    after = markers.find(rest, known)
    following, position, marked = rest, 0, False
    for marker in after:
        if rest[position : marker.start].strip():
            break
        position, marked = marker.end, True
        following = rest[position:]
    following = following.lstrip()
    if not following or _begins_sentence(following, marked):
        characters[quote.end - 1] = last


def _begins_sentence(following: str, marked: bool) -> bool:
    first = following[0]
    if first.isalpha() and not first.islower() and not first.isupper():
        # Scripts without case: only a marker tells that the sentence is over.
        return marked
    return first.isupper() or first.isdigit() or (first in "\"\u201c\u201e\u00ab\u2018'([-\u2022*" and marked)


def _move_stop(characters: list[str], start: int, end: int) -> None:
    """ "broken.[m1]": the sentence ends behind the marker. A quotation's own stop moves too."""
    at = start - 1
    while at >= 0 and characters[at] in " \u00a0":
        at -= 1
    if at < 0 or characters[at] not in _STOPS:
        return
    stop = characters[at]
    for position in range(at, end):
        characters[position] = _MARK
    characters[end - 1] = stop


def _stop_before_opener(body: str, characters: list[str], end: int) -> None:
    """A marker, no stop, and a word that only begins sentences: the stop was forgotten."""
    if characters[end - 1] == _MARK and body[end : end + 1] == " " and segments.opens(body[end + 1 : end + 40]):
        characters[end - 1] = "."
