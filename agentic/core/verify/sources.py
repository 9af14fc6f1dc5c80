"""The messages that may be cited, made ready for looking things up in them, each once.

Every part is cut into *pieces*: its blocks, cut again where a quoted, forwarded or signature region begins or ends.
A quotation lies in one piece, so it never runs over a paragraph, a table row or somebody else's words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from agentic.core.verify import normalise as normal
from agentic.core.verify import segments
from agentic.core.verify.normalise import Normalised
from agentic.core.verify.quotes import scan
from agentic.core.verify.words import language_of
from mailsearch.hits import Block, MessageText, PartText, Region

REPLY_PREFIX = re.compile(
    r"\s*(?:\[[^\]]{0,40}\]\s*)?(?:re|aw|fw|fwd|wg|sv|vs|tr|rif|r|antw|odp|res|enc|rv|vb|ynt|ilt|doorst|pd|vl|i|ant|fs|ref|"
    r"r[ée][pf]|odg|atb|bls|v[áa]|továbbítás|απ|σχετ|πρθ|отв|ответ|пересл|השב|תשובה|הועבר|رد|إعادة توجيه|"
    r"답장|전달|返信|転送|"
    r"\u56de\u590d|\u7b54\u590d|\u8f6c\u53d1|\u56de\u8986|\u8f49\u5bc4)(?:\[[0-9]{1,3}\]|\^[0-9]{1,3}|\([0-9]{1,3}\))?\s*[:\uff1a]",
    re.IGNORECASE,
)
_SEPARATOR = "\n"
_BLANK = re.compile(r"\n[ \t]*(?:\r?\n[ \t]*)+|\f")
_OWN_LINE = re.compile(r"\s*(?:[-*+\u2022\u25e6\u25aa\u2023\u00b7\u2013]|[0-9]{1,3}[.)]|[a-zA-Z][.)])\s+\S")
# A line with cells: set apart by bars, tabs, or three blanks and more between words.
# Possessive, so that a long run of tabs is gone over once.
_COLUMNS = re.compile(r"^.*\S(?: *+\t[ \t]*+| \| | {3,}+)\S.*$|^[ \t]*+\|.*\|[ \t]*$", re.MULTILINE)
_RANK = {"quoted": 3, "forwarded": 2, "signature": 1}
# Stands in the copy that sentences are found in for a character that must end none.
MASK = "\ue000"
_URL = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]+|(?<![^\s@<>\"(),;:])[^\s@<>\"(),;:]{1,64}@[^\s@<>\"(),;:]+\.[a-z]{2,}",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Piece:
    """One block, or the part of it that one region covers. Offsets are those of the part's stored text."""

    start: int
    end: int
    kind: str
    region: Region | None
    normalised: Normalised
    # Where the piece's normal form begins in the part's.
    base: int = 0
    _sentences: list[tuple[int, int]] | None = None

    @property
    def borrowed(self) -> str:
        """`quoted` or `forwarded` where somebody else's words stand here, else empty."""
        return self.region.kind if self.region is not None and self.region.kind != "signature" else ""


@dataclass(slots=True)
class PartIndex:
    """One part with its pieces and their normal forms joined by line ends, which no normal form holds."""

    part: PartText
    language: str
    pieces: tuple[Piece, ...]
    text: str
    bases: tuple[int, ...] = field(default=())

    def piece_at(self, position: int) -> Piece:
        """The piece that holds *position* of the joined normal form."""
        return self.pieces[bisect_right(self.bases, position) - 1]

    def piece_of(self, offset: int) -> Piece | None:
        """The piece that holds *offset* of the stored text."""
        return next((piece for piece in self.pieces if piece.start <= offset < piece.end), None)

    def sentences(self, piece: Piece) -> list[tuple[int, int]]:
        """Spans of the stored sentences of *piece*, in the part's stored text."""
        if piece._sentences is None:
            text = self.part.text[piece.start : piece.end]
            if piece.kind in ("row", "code", "heading") or self.part.name == "subject":
                piece._sentences = [(piece.start, piece.end)]
            else:
                spans = segments.split(_masked(text), self.language or language_of(text))
                piece._sentences = [(piece.start + start, piece.start + end) for start, end in spans]
        return piece._sentences

    def sentence_around(self, piece: Piece, start: int, end: int) -> tuple[int, int]:
        """The stored sentence or sentences that the span touches."""
        touched = [span for span in self.sentences(piece) if span[0] < end and span[1] > start]
        return (min(touched)[0], max(touched)[1]) if touched else (start, end)


def _masked(text: str) -> str:
    """*text* on one line, with what must not end a sentence replaced, length unchanged."""
    characters = list(re.sub(r"[\r\n\t\f]", " ", text))
    spans = [match.span() for match in _URL.finditer(text)]
    if len(text) < 20_000:
        spans += [(quote.start, quote.end - 2) for quote in scan(text).quotes if quote.end - quote.start < 400]
    for start, end in spans:
        for at in range(start, max(start, end - 1)):
            if not characters[at].isspace():
                characters[at] = "x"
    return "".join(characters)


@dataclass(slots=True)
class MessageIndex:
    """One message ready for lookups."""

    message: MessageText
    parts: tuple[PartIndex, ...]
    hidden: str
    memo: dict[str, object] = field(default_factory=dict)


def index(message: MessageText) -> MessageIndex:
    """Normalise and cut all parts of *message*. Linear in its text."""
    parts = tuple(_index_part(part, message.head.language) for part in message.parts)
    return MessageIndex(message, parts, normal.normalise(message.hidden_text).text)


def _index_part(part: PartText, language: str) -> PartIndex:
    pieces, texts, base = [], [], 0
    for start, end, kind, region in _cut(part):
        normalised = normal.normalise(part.text, start, end)
        pieces.append(Piece(start, end, kind, region, normalised, base))
        texts.append(normalised.text)
        base += len(normalised.text) + 1
    _inherit_names(pieces)
    guessed = language or language_of(part.text[:4000])
    return PartIndex(part, guessed, tuple(pieces), _SEPARATOR.join(texts), tuple(piece.base for piece in pieces))


def _inherit_names(pieces: list[Piece]) -> None:
    """Borrowed text goes on under the name that its beginning gave, until words of another kind follow."""
    for before, piece in pairwise(pieces):
        region, last = piece.region, before.region
        if region is not None and last is not None and region.kind == last.kind and not region.said_by:
            piece.region = replace(region, said_by=last.said_by)


def _cut(part: PartText) -> Iterable[tuple[int, int, str, Region | None]]:
    regions = part.regions
    if part.name == "subject":
        prefixed = REPLY_PREFIX.match(part.text)
        regions = (Region(0, len(part.text), "quoted"),) if prefixed else regions
    blocks = part.blocks or tuple(_own_blocks(part.text))
    edges = sorted({edge for region in regions for edge in (region.start, region.end)})
    for block in sorted(_with_rows(part.text, blocks), key=lambda block: block.start):
        cuts = [block.start, *edges[bisect_right(edges, block.start) : _below(edges, block.end)], block.end]
        for start, end in pairwise(cuts):
            if end > start and not part.text[start:end].isspace():
                yield start, end, block.kind, _covering(regions, start, end)


def _with_rows(text: str, blocks: Iterable[Block]) -> Iterable[Block]:
    """*blocks*, with paragraphs whose lines are columns cut into rows."""
    for block in blocks:
        body = text[block.start : block.end]
        parted = block.kind == "paragraph" and ("|" in body or "\t" in body or "   " in body)
        if parted and len(_COLUMNS.findall(body)) >= 2:
            yield from _own_lines(text, block.start, block.end)
        else:
            yield block


def _below(edges: list[int], end: int) -> int:
    return bisect_right(edges, end - 1)


def _covering(regions: tuple[Region, ...], start: int, end: int) -> Region | None:
    """The region that says most about who wrote the span: quoted before forwarded before signature."""
    covering = [region for region in regions if region.start <= start and region.end >= end]
    return max(covering, key=lambda region: (_RANK[region.kind], region.start), default=None)


def _own_blocks(text: str) -> Iterable[Block]:
    """Blocks of text that came without any: paragraphs, and inside them list items and table rows line by line."""
    position = 0
    for match in [*_BLANK.finditer(text), None]:
        end = match.start() if match else len(text)
        if text[position:end].strip():
            yield from _own_lines(text, position, end)
        position = match.end() if match else end


def _own_lines(text: str, start: int, end: int) -> Iterable[Block]:
    opened, position = start, start
    for line in text[start:end].splitlines(keepends=True):
        row = _COLUMNS.match(line.rstrip("\r\n")) is not None
        if row or _OWN_LINE.match(line):
            if position > opened:
                yield Block(opened, position)
            yield Block(position, position + len(line), "row" if row else "item")
            opened = position + len(line)
        position += len(line)
    if position > opened:
        yield Block(opened, position)


class SourceCache:
    """Indexes of the messages of one run, so that a long answer reads each message once.

    Holds the messages alive, therefore also their identity. Give it up with the run.
    """

    def __init__(self) -> None:
        self._indexes: dict[int, MessageIndex] = {}

    def of(self, message: MessageText) -> MessageIndex:
        """The index of *message*, made at first use."""
        found = self._indexes.get(id(message))
        if found is None or found.message is not message:
            found = self._indexes[id(message)] = index(message)
        return found


@lru_cache(maxsize=4096)
def normal_text(text: str) -> str:
    """The normal form of a short *text*, without its map."""
    return normal.normalise(text).text
