"""Marking what of a text its sender did not write now: quoted and forwarded mail, and signatures.

One pass over the lines. Each line has a quote depth (its `>` marks, and the HTML quotes around it). An attribution
("On … Ann wrote:") names the speaker of the next deeper level; a divider or a block of headers opens a stretch that
runs to the end of its level.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from mailsearch.hits import Block, Region, RegionKind
from mailsearch.ingest import attribution

_PREFIX = re.compile(r"[ \t]{0,3}(?:[>»][ \t]?)+")
_RULE = re.compile(r"^\s*[-_=*]{5,}\s*$")
_SENT_FROM = re.compile(
    r"^\W*(?:sent (?:from|via|with) (?:my |the )?\S|get outlook for|von meinem .{1,40} gesendet|gesendet (?:von|mit) "
    r"|diese nachricht wurde von .{1,40} gesendet|envoyé (?:de|depuis|avec) |enviado (?:desde|de|do|con|a partir) "
    r"|inviato (?:da|dal|con) |verzonden (?:vanaf|met|vanuit) |wysłane? z |odesláno z |odoslané z |sendt fra "
    r"|skickat från |lähetetty |küldve |trimis de pe |gönderildi |отправлено (?:с|из) |надіслано з |发自我的"
    r"|從我的 .{1,20}傳送|\w{1,20}から送信|나의 .{1,20}에서 보냄|내 .{1,20}에서 보냄"
    r"|.{1,30}['’]?\w{0,2}(?:dan|den) gönderildi"
    r"|outlook (?:für|for|pour|para|per|voor|til|för) .{1,20}(?:beziehen|herunterladen|obtenir|downloaden)"
    r"|(?:obtenir|obtener|obtenha|ottieni|scarica|download|hent|hämta|pobierz|получить|获取|获取适用于) outlook"
    r"|נשלח מה|أرسلت من|đã gửi từ |dikirim dari |küldve az |trimis de |odoslané z |enviat des )",
    re.IGNORECASE,
)
_LINK = re.compile(r"<?https?://\S+")
_FIGURE = re.compile("[0-9]")
_DATED = re.compile(r"[0-9]{4}|[0-9]{1,2}[:.h][0-9]{2}|[0-9]{1,2}[./][0-9]{1,2}")
_OF_A_LIST = re.compile(r"(?i)mailing list|unsubscribe|listinfo|https?://")
# A line that stands for words left out of a quote: "[...]", "<snip>", "(gekürzt)", "8<------".
_LEFT_OUT = re.compile(
    r"[\[<({*].{1,30}[\])>}*]|[.…]{2,}|…|\W{0,6}(?:snip(?:ped)?|cut)\W{0,6}|[-~=_ ]*(?:8<|>8|✂)[-~=_ 8<>]*",
    re.IGNORECASE,
)
_LEFT_OUT_AT_MOST = 3
_MARKED_WITHIN = 2_000
# How some programs mark quotes instead of by ">": "--]", "| ", "AB> ", ": ".
_MARK = re.compile(r"[A-Z]{1,3}>|[^\w\s>\"'“„«(\[<*#@$/.,…¡¿-]{1,2}(?=\s)|[-=]{1,3}[\]>)}|](?=\s|\S)")
# What an attribution announces begins within so many lines, also behind each line that stands for words left out.
_AS_NEAR = 4
_LOOKED_AT_AT_MOST = (_LEFT_OUT_AT_MOST + 1) * (_AS_NEAR + 1)
_CONTACTS_LINES = 6
# Marks of writing direction around a line, and blanks.
_DIRECTIONS = "\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069 \t"
_COLONS = (":", "：")
_LONGEST_SIGNATURE = 25


@dataclass(slots=True)
class _Line:
    start: int
    end: int
    depth: int
    content: str
    # An attribution ends in one.
    colon: bool


class _Label(NamedTuple):
    kind: RegionKind
    said_by: str = ""


class _Opening(NamedTuple):
    """What a marker opens: `lines` are the marker's own; `deeper` says that only deeper lines belong to it."""

    lines: int
    label: _Label
    deeper: bool = False


def mark(
    text: str, blocks: Sequence[Block] = (), *, quoted: Sequence[tuple[int, int]] = (), forwards: bool = False
) -> tuple[Region, ...]:
    """The regions of *text*, in order and apart from each other.

    *quoted* are spans that the mail's own structure marks as quotes (they may nest); *forwards* says that the message
    calls itself a forwarded one, so that a block of headers opens forwarded text. *blocks* keep signatures whole.
    """
    lines = _lines(text, quoted)
    labels = _label_quotes(lines, forwards)
    _label_signatures(lines, labels)
    return _merge(lines, labels)


def _lines(text: str, quoted: Sequence[tuple[int, int]]) -> list[_Line]:
    changes = sorted([(start, 1) for start, _ in quoted] + [(end, -1) for _, end in quoted])
    lines: list[_Line] = []
    marked, plain = ">" in text or "»" in text, text.isascii()
    position = depth = index = own = 0
    for raw in text.split("\n"):
        end = position + len(raw)
        while index < len(changes) and changes[index][0] <= position:
            depth += changes[index][1]
            index += 1
        content = raw.strip()
        if marked:
            match = _PREFIX.match(raw) if ">" in raw[:4] or "»" in raw[:4] else None
            own = match[0].count(">") + match[0].count("»") if match else 0
            content = raw[match.end() :].strip() if match else content
        if not plain and not content.isascii():
            content = content.strip(_DIRECTIONS)
        lines.append(_Line(position, end, own + depth, content, content.endswith(_COLONS)))
        position = end + 1
    return lines


def _label_quotes(lines: list[_Line], forwards: bool) -> list[_Label | None]:
    labels: list[_Label | None] = [None] * len(lines)
    speakers: dict[int, str] = {}
    section: tuple[int, _Label] | None = None
    near = _near_colons(lines)
    index = 0
    while index < len(lines):
        line = lines[index]
        if section and line.content and line.depth < section[0]:
            section = None
        near_colon, opening = near[index], None
        if _may_open(line.content, near_colon=near_colon):
            opening = _opening(lines, index, forwards, near_colon=near_colon)
        if opening is None:
            labels[index] = _label_of(line, section, speakers) if section or line.depth else None
            index += 1
            continue
        label = opening.label
        if section and section[1].kind == "forwarded":
            label = _Label("forwarded", label.said_by)
        speakers = {depth: name for depth, name in speakers.items() if depth <= line.depth}
        own = _label_of(line, section, speakers)
        if opening.deeper:
            speakers[line.depth + 1] = label.said_by
        else:
            section = (line.depth, label)
        for number in range(index, index + opening.lines):
            labels[number] = own if own and opening.deeper else label
        index += opening.lines
    return labels


def _label_of(line: _Line, section: tuple[int, _Label] | None, speakers: dict[int, str]) -> _Label | None:
    if section is None:
        return _Label("quoted", speakers.get(line.depth, "")) if line.depth else None
    if line.depth > section[0]:
        return _Label(section[1].kind, speakers.get(line.depth, ""))
    return section[1]


def _near_colons(lines: Sequence[_Line]) -> list[bool]:
    """For each of *lines* whether it ends in a colon or one of the two below it does."""
    ends = [line.colon for line in lines]
    if True not in ends:
        return ends
    return [one or second or third for one, second, third in zip_longest(ends, ends[1:], ends[2:], fillvalue=False)]


def _may_open(content: str, *, near_colon: bool) -> bool:
    """Whether a line may be a marker. Most lines are prose, and are not looked at closer."""
    if not content:
        return False
    return near_colon or not content[0].isalnum() or ":" in content[:40] or "：" in content[:40]


def _opening(lines: list[_Line], index: int, forwards: bool, *, near_colon: bool) -> _Opening | None:
    content = lines[index].content
    if not content[0].isalnum() or content[-1] in _COLONS:
        opening = _divider(lines, index, forwards)
        if opening is not None:
            return opening
    if ":" in content[:40] or "：" in content[:40]:
        said_by, count = _header_block(lines, index)
        if count:
            return _Opening(count, _Label("forwarded" if forwards else "quoted", said_by))
    return _attribution(lines, index) if near_colon else None


def _divider(lines: list[_Line], index: int, forwards: bool) -> _Opening | None:
    content = lines[index].content
    is_forward, is_original = attribution.is_forward(content), attribution.is_original(content)
    if not (is_forward or is_original or _RULE.match(content)):
        return None
    said_by, count = _headers_after(lines, index + 1)
    if not count and not is_forward and not is_original:
        return None
    return _Opening(1 + count, _Label("forwarded" if is_forward or forwards else "quoted", said_by))


def _headers_after(lines: list[_Line], index: int) -> tuple[str, int]:
    """The block of headers that follows a divider, and how many lines it and the empty lines before it take."""
    first = index
    while index < len(lines) and index < first + 3 and not lines[index].content:
        index += 1
    said_by, count = _header_block(lines, index, after_divider=True)
    return said_by, (index - first + count if count else 0)


def _header_block(lines: list[_Line], index: int, *, after_divider: bool = False) -> tuple[str, int]:
    """Sender and number of lines of the block of headers at *index*; ("", 0) if none stands there."""
    said_by: str | None = None
    others = count = 0
    depth = lines[index].depth if index < len(lines) else 0
    for line in lines[index : index + 12]:
        if line.depth != depth or not line.content:
            break
        found = attribution.from_line(line.content) if said_by is None else None
        is_other = found is None and attribution.is_header_line(line.content)
        if found is None and not is_other and not (others and _continues(line)):
            break
        said_by = found if found is not None else said_by
        others += is_other
        count += 1
        if said_by is None and not after_divider:
            break
    if said_by is None or others < (1 if after_divider else 2):
        return "", 0
    return said_by, count


def _continues(line: _Line) -> bool:
    """A wrapped list of recipients."""
    return "@" in line.content or line.content.endswith(";")


def _attribution(lines: list[_Line], index: int) -> _Opening | None:
    """An attribution on one to three lines."""
    depth = lines[index].depth
    joined = ""
    for count, line in enumerate(lines[index : index + 3], 1):
        if line.depth != depth or not line.content or len(joined) > 400:
            return None
        joined = f"{joined} {line.content}".strip()
        said_by = attribution.speaker(joined) if joined[-1] in _COLONS else None
        wordless = attribution.named_and_dated(joined) if said_by is None and joined[-1] in _COLONS else None
        if said_by is None and wordless is None:
            continue
        following = _first_quoted(lines[index + count : index + count + _LOOKED_AT_AT_MOST])
        if following is not None and following.depth == depth:
            _deepen_marked(following, lines[index + count : index + count + _MARKED_WITHIN])
        if following is not None and following.depth > depth:
            return _Opening(count, _Label("quoted", said_by or wordless or ""), deeper=True)
        if said_by is not None and following is not None and attribution.is_certain(joined) and _is_dated(joined):
            return _Opening(count, _Label("quoted", said_by))
        return None
    return None


def _first_quoted(lines: Sequence[_Line]) -> _Line | None:
    """The line with which the words begin that an attribution announces; the sender's "[...]" above it is none.

    Who trims what they answer to and says so has a program that marks quotes, so nothing unmarked belongs to them.
    """
    near, left_out = _AS_NEAR, 0
    for number, line in enumerate(lines):
        if not line.content:
            continue
        if number >= near:
            return None
        if left_out == _LEFT_OUT_AT_MOST or not _LEFT_OUT.fullmatch(line.content):
            return line
        near, left_out = number + 1 + _AS_NEAR, left_out + 1
    return None


def _deepen_marked(first: _Line, lines: Sequence[_Line]) -> None:
    """Count a mark of the program's own as a `>`, where *first* and another of *lines* begin with it."""
    # A row of a table begins and ends with its mark.
    mark = None if first.content.endswith("|") else _MARK.match(first.content)
    marked = [line for line in lines if mark and line.depth == first.depth and line.content.startswith(mark[0])]
    for line in marked if len(marked) > 1 else ():
        line.depth += 1


def _is_dated(joined: str) -> bool:
    return _DATED.search(joined) is not None


def _label_signatures(lines: list[_Line], labels: list[_Label | None]) -> None:
    """Signatures end a stretch that the sender wrote; each stretch has at most one."""
    end = len(lines)
    while end > 0:
        if labels[end - 1] is not None:
            end -= 1
            continue
        start = end
        while start > 0 and labels[start - 1] is None:
            start -= 1
        begin = _signature_start(lines, start, end)
        for number in range(begin, end):
            labels[number] = _Label("signature")
        end = start


def _signature_start(lines: list[_Line], start: int, end: int) -> int:
    """Where the signature of the lines from *start* to *end* begins; *end* where there is none."""
    begin = end
    said = 0
    for number in range(end - 1, max(start, end - _LONGEST_SIGNATURE) - 1, -1):
        content = lines[number].content
        if not content:
            continue
        if (
            content == "--"
            or (content[:5] == "_____" and number > start and _is_list_footer(lines, number, end))
            or (said < _CONTACTS_LINES and _closes(lines, number, begin))
        ):
            begin, said = number, 0
        else:
            said += 1
    return begin


def _closes(lines: list[_Line], number: int, begin: int) -> bool:
    """Whether the line takes leave ("Best regards") or tells of the device, with little more than a name below it."""
    content = lines[number].content
    if len(content) > 120:
        return False
    if attribution.is_closing(content):
        return _is_short(lines[number + 1 : begin], 4)
    if _SENT_FROM.match(content) is None or _FIGURE.search(_LINK.sub("", content)):
        return False
    return _is_short(lines[number + 1 : begin], 2)


def _is_list_footer(lines: list[_Line], number: int, end: int) -> bool:
    rest = " ".join(line.content for line in lines[number + 1 : end])
    return _OF_A_LIST.search(rest) is not None and len(rest) < 1_000


def _is_short(lines: list[_Line], most: int) -> bool:
    """Whether only a name and the like follows: few short lines without figures, which might be an answer."""
    said = [line.content for line in lines if line.content]
    return len(said) <= most and all(len(content) < 60 and not _FIGURE.search(content) for content in said)


def _merge(lines: list[_Line], labels: list[_Label | None]) -> tuple[Region, ...]:
    """Neighbouring lines with one label as one region; empty lines between them belong to it."""
    if not any(labels):
        return ()
    regions: list[Region] = []
    current: _Label | None = None
    depth = -1
    for line, label in zip(lines, labels, strict=True):
        if not line.content:
            continue
        if label is not None and label == current and (regions and line.depth == depth):
            last = regions[-1]
            regions[-1] = Region(last.start, line.end, last.kind, last.said_by)
        elif label is not None:
            regions.append(Region(line.start, line.end, label.kind, label.said_by))
        current, depth = label, line.depth
    return tuple(regions)
