"""The MIME tree of a message as slices of its bytes (RFC 2045, RFC 2046).

Written for mail as it is: line ends of all kinds, boundaries that never close, header blocks without an end, and
nesting that would exhaust a recursive parser. Each level takes time linear in its size; none is entered by recursion.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mailsearch.ingest import headers

DEEPEST = 100
MOST_PARTS = 5_000
_BREAK = re.compile(rb"\r*\n|\r")
# A carriage return before others and a line feed is part of one break: some gateways write CR CR LF.
_BLANK_LINE = re.compile(rb"(?:\r*\n|\r(?!\r*\n))(?:\r*\n|\r)")
_LOGICAL_LINE = re.compile(rb"[^\r\n]+(?:(?:\r*\n|\r)[ \t][^\r\n]*)*")
_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:(.*)", re.DOTALL)
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
_FIELD_OF_MAIL = re.compile(
    rb"(?i)(?:from|to|cc|subject|date|message-id|mime-version|content-[a-z-]+|received|reply-to|x-[\w-]+)[ \t]*:"
)
_BEFORE_FIELDS = re.compile(rb"[\r\n]*(?:>?From [^\r\n]*[\r\n]+)*")
_BEHIND_BOUNDARY = re.compile(rb"(--)?[ \t]*(?=[\r\n]|\Z)")
_LARGEST_HEADER = 2_000_000
# All fields of a block at once, where every line of it ends alike.
_FIELDS = {
    end: re.compile(rb"(?m)^([!-9;-~]{1,200})[ \t]*:([^\r\n]*(?:" + end + rb"[ \t][^\r\n]*)*)")
    for end in (b"\n", b"\r\n")
}


@dataclass(slots=True)
class Entity:
    """One node of the tree. `path` is like "1.2"; `body` is still encoded."""

    raw: bytes = field(repr=False)
    path: str
    depth: int
    fields: list[tuple[str, bytes]]
    start: int
    end: int
    content_type: str = "text/plain"
    parameters: dict[str, str] = field(default_factory=dict)
    children: list["Entity"] = field(default_factory=list)
    # (code, explanation) of what was wrong with the structure here.
    problems: list[tuple[str, str]] = field(default_factory=list)
    # The first field of each name.
    firsts: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Of one name the last in the dictionary, so the first of the message, stays.
        self.firsts = dict(reversed(self.fields))

    @property
    def body(self) -> bytes:
        """The bytes below the headers, still encoded."""
        return self.raw[self.start : self.end]

    def header(self, name: str) -> bytes:
        """The first field called *name* (lower case), or b""."""
        return self.firsts.get(name, b"")


def read(raw: bytes) -> Entity:
    """The tree of one whole message. Never raises."""
    start = _first_field(raw, 0, len(raw))
    root = _entity(raw, start, len(raw), "1", 0)
    pending = [root]
    count = 1
    while pending:
        entity = pending.pop()
        for child in _children(raw, entity):
            if count >= MOST_PARTS:
                entity.problems.append(("too-many-parts", f"Only {MOST_PARTS} parts were read."))
                return root
            count += 1
            entity.children.append(child)
            pending.append(child)
    return root


def is_message(entity: Entity) -> bool:
    """Whether the entity holds another message."""
    return entity.content_type in ("message/rfc822", "message/global", "message/news")


def _first_field(raw: bytes, start: int, end: int) -> int:
    """Where the headers of a message begin: empty lines and From_ lines before them are passed over."""
    match = _BEFORE_FIELDS.match(raw, start, end)
    if match is None or match.end() == start:
        return start
    line = _LOGICAL_LINE.match(raw, match.end(), end)
    return match.end() if line is not None and _FIELD.match(line[0]) else start


def _entity(raw: bytes, start: int, end: int, path: str, depth: int) -> Entity:
    fields, body, problems = _read_fields(raw, start, end)
    entity = Entity(raw, path, depth, fields, body, end, problems=problems)
    value = entity.header("content-type")
    if value:
        kind, entity.parameters = headers.parameters(value)
        entity.content_type = _kind(kind)
    return entity


def _kind(stated: str) -> str:
    """The media type; a broken one by its first half (RFC 2045 §5.2 makes the rest text/plain)."""
    if _MEDIA_TYPE.fullmatch(stated):
        return stated
    first, _, second = stated.partition("/")
    if first == "multipart":
        return "multipart/mixed"
    return "text/html" if "html" in (first, second.strip()) else "text/plain"


def _read_fields(raw: bytes, start: int, end: int) -> tuple[list[tuple[str, bytes]], int, list[tuple[str, str]]]:
    """The header fields from *start* on, where the body begins, and what was wrong."""
    empty = _BREAK.match(raw, start, end)
    if empty is not None:
        return [], empty.end(), []
    usual = _usual_fields(raw, start, end)
    if usual is not None:
        return *usual, []
    blank = _BLANK_LINE.search(raw, start, end)
    block_end, body = (blank.start(), blank.end()) if blank else (end, end)
    fields: list[tuple[str, bytes]] = []
    problems: list[tuple[str, str]] = []
    for line in _LOGICAL_LINE.finditer(raw, start, min(block_end, start + _LARGEST_HEADER)):
        match = _FIELD.match(line[0])
        if match is not None:
            fields.append((match[1].decode("latin-1").lower(), match[2]))
        elif not line[0].strip():
            continue
        elif _FIELD_OF_MAIL.match(raw, _after_line(raw, line.end(), end)):
            problems.append(("malformed-header", "A line among the headers is none; it was passed over."))
        else:
            problems.append(("malformed-header", "The headers end without a blank line."))
            body = line.start()
            break
    if fields and b"\n" not in raw[start:body]:
        problems.append(("line-ends", "Line ends are lone carriage returns."))
    return fields, body, problems


def _usual_fields(raw: bytes, start: int, end: int) -> tuple[list[tuple[str, bytes]], int] | None:
    """The same of a block that is as it should be, at a quarter of the cost; None for any other."""
    line_end = b"\r\n" if raw[raw.find(b"\n", start, end) - 1 : end][:1] == b"\r" else b"\n"
    stop = raw.find(line_end * 2, start, end)
    if not 0 <= stop - start < _LARGEST_HEADER:
        return None
    block = raw[start:stop]
    breaks = block.count(line_end)
    if block.count(b"\n") != breaks or block.count(b"\r") != (breaks if len(line_end) == 2 else 0):
        return None
    found = _FIELDS[line_end].findall(block)
    continued = block.count(b"\n ") + block.count(b"\n\t")
    if len(found) + continued != breaks + 1:
        return None
    return [(name.lower().decode("ascii"), value) for name, value in found], stop + 2 * len(line_end)


def _children(raw: bytes, entity: Entity) -> list[Entity]:
    nests = entity.content_type.startswith("multipart/") or is_message(entity)
    if not nests:
        return []
    if entity.depth >= DEEPEST:
        entity.problems.append(("nesting-depth", f"Parts nest deeper than {DEEPEST}; the rest was read as one text."))
        entity.content_type = "text/plain"
        entity.parameters = {}
        return []
    if is_message(entity):
        return _message(raw, entity)
    spans = _delimited(raw, entity)
    children = [
        _entity(raw, start, end, f"{entity.path}.{number}", entity.depth + 1)
        for number, (start, end) in enumerate(spans[:MOST_PARTS], 1)
    ]
    if entity.content_type == "multipart/digest":
        # In a digest a part without a type is a message (RFC 2046 §5.1.5).
        for child in children:
            child.content_type = child.content_type if child.header("content-type") else "message/rfc822"
    return children


def _message(raw: bytes, entity: Entity) -> list[Entity]:
    encoding = entity.header("content-transfer-encoding").strip().lower()
    if encoding in (b"base64", b"quoted-printable"):
        # Against RFC 2046 but common; the bytes are read as a message of their own after decoding.
        return []
    start = _first_field(raw, entity.start, entity.end)
    return [_entity(raw, start, entity.end, f"{entity.path}.1", entity.depth + 1)]


def _delimited(raw: bytes, entity: Entity) -> list[tuple[int, int]]:
    """Where the parts of a multipart start and end."""
    boundary = entity.parameters.get("boundary", "").rstrip() or _guess_boundary(raw, entity)
    spans, closed = _between(raw, entity, boundary) if boundary else ([], True)
    if not spans and (guessed := _guess_boundary(raw, entity)) and guessed != boundary:
        spans, closed = _between(raw, entity, guessed)
        entity.problems.append(("missing-boundary", "The boundary never occurs; parts were told by another line."))
    if not closed:
        entity.problems.append(("missing-closing-boundary", "The closing boundary is missing; the last part was kept."))
    elif not spans:
        said = "boundary never occurs" if boundary else "multipart names no boundary"
        entity.problems.append(("missing-boundary", f"The {said}; it was read as one text."))
        entity.content_type = "text/plain"
    return spans


def _between(raw: bytes, entity: Entity, boundary: str) -> tuple[list[tuple[int, int]], bool]:
    """The stretches between lines of *boundary*, and whether the last of these lines closes."""
    spans: list[tuple[int, int]] = []
    marker = b"--" + boundary.encode("utf-8", "surrogateescape")[:300]
    opened = -1
    for start, after in _lines_of(marker, raw, entity):
        if opened >= 0:
            spans.append((opened, max(_before_break(raw, start), opened)))
        if after[1]:
            return spans, True
        opened = _after_line(raw, after.end(), entity.end)
    if opened < 0:
        return spans, True
    return [*spans, (opened, entity.end)], False


def _lines_of(marker: bytes, raw: bytes, entity: Entity) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Where *marker* begins a line of *entity* that holds nothing else, and what stands behind it there."""
    # Each mail has boundaries of its own: an expression for each would take longer to make than to use.
    start = raw.find(marker, entity.start, entity.end)
    while start >= 0:
        after = _BEHIND_BOUNDARY.match(raw, start + len(marker), entity.end)
        if after is not None and (start == entity.start or raw[start - 1] in b"\r\n"):
            yield start, after
        start = raw.find(marker, start + 1 if after is None else after.end(), entity.end)


def _guess_boundary(raw: bytes, entity: Entity) -> str:
    match = re.compile(rb"(?:\A|[\r\n])--([^\s-][^\r\n]{0,70})\r*\n[Cc]ontent-").search(raw, entity.start, entity.end)
    return match[1].rstrip().decode("latin-1") if match else ""


def _after_line(raw: bytes, position: int, end: int) -> int:
    match = _BREAK.match(raw, position, end)
    return match.end() if match else position


def _before_break(raw: bytes, position: int) -> int:
    """Where the line before *position* ends: its line break belongs to the boundary (RFC 2046 §5.1.1)."""
    if raw[position - 1 : position] == b"\n":
        position -= 1
    if raw[position - 1 : position] == b"\r":
        position -= 1
    return position
