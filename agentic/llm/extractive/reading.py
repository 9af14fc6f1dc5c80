"""Messages as the reader reads them: sentences in their writers' own words, with what stands around each."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from agentic.core.ports import ShownMessage
from agentic.llm.extractive.words import Word, words_of
from mailsearch.hits import Block, MessageHead, PartText

# Of a longer part only the neighbourhood of its excerpts is read.
PART_AT_MOST = 20_000
_AROUND_EXCERPT = 2_000
LONGEST = 380
_SHORT_LINE = 46
_END = re.compile(
    # A full stop and the like, with what closes behind it, before a word that does not begin small.
    r"(?<=[.!?…。！？])[\"'”’)\]»]*\s+(?=[\"'“„«(\[*_-]*[^\W_a-zà-öø-ÿ])"
    # An empty line, or a line that begins an item of a list.
    r"|(?<=[。！？])|\n[ \t]*\n|\n(?=\s*(?:[-*•·#+]|\(?\d{1,2}[.)])\s)"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|vs|etc|e\.g|i\.e|z\.B|d\.h|u\.a|bzw|ca|Tel|Str|Abs|Art|Jan|Feb|Mar|Apr|Jun|Jul|"
    r"Aug|Sep|Sept|Oct|Nov|Dec|Okt|Dez|Inc|Ltd|Co|Corp|approx|resp|evtl|inkl|exkl|zzgl|usw|env|av|M|Mme|Mlle|\d{1,2})\.$"
)


@dataclass(slots=True)
class Sentence:
    """A stretch of one part that can be quoted; offsets are code points into the part's text."""

    part: str
    start: int
    end: int
    text: str
    kind: str
    words: tuple[Word, ...]
    stems: frozenset[str] = frozenset()
    # Words of the earlier mail that it answers to, where those stand just above it.
    answers_to: frozenset[str] = frozenset()

    @property
    def in_signature(self) -> bool:
        return self.kind == "signature"

    @property
    def forwarded(self) -> bool:
        return self.kind == "forwarded"


@dataclass(slots=True)
class Reading:
    """One message as read: its quotable sentences, and the stems of all that is visible in it."""

    label: str
    head: MessageHead
    sentences: tuple[Sentence, ...]
    own: frozenset[str]
    visible: frozenset[str]
    subject: frozenset[str]
    people: frozenset[str]
    by_part: dict[str, list[int]] = field(default_factory=dict)

    def neighbours(self, index: int, distance: int) -> Iterator[Sentence]:
        """Sentences of the same part within *distance* places, without the one at *index*."""
        for other in range(max(0, index - distance), min(len(self.sentences), index + distance + 1)):
            if other != index and self.sentences[other].part == self.sentences[index].part:
                yield self.sentences[other]


def read_message(shown: ShownMessage) -> Reading:
    """Read one message: bodies and attachments by sentences, leaving out what is quoted from elsewhere."""
    sentences: list[Sentence] = []
    visible: set[str] = set()
    subject: frozenset[str] = frozenset()
    for part in shown.message.parts:
        if part.name == "subject":
            subject = frozenset(word.stem for word in words_of(part.text))
            continue
        windows = _windows(part, shown)
        for start, end in windows:
            visible.update(word.stem for word in words_of(part.text, start, end))
            sentences.extend(_sentences(part, start, end))
        visible.update(word.stem for word in words_of(part.filename))
    head = shown.message.head
    people = frozenset(
        word.stem
        for person in (head.sender, *head.to, *head.cc)
        for word in words_of(f"{person.name} {person.address}")
    )
    own = frozenset(stem for sentence in sentences for stem in sentence.stems)
    return Reading(shown.label, head, tuple(sentences), own, frozenset(visible) | subject, subject, people)


def _windows(part: PartText, shown: ShownMessage) -> list[tuple[int, int]]:
    if len(part.text) <= PART_AT_MOST:
        return [(0, len(part.text))]
    wanted = sorted(
        (max(0, excerpt.start - _AROUND_EXCERPT), min(len(part.text), excerpt.end + _AROUND_EXCERPT))
        for excerpt in shown.excerpts
        if excerpt.part == part.name
    ) or [(0, PART_AT_MOST)]
    merged: list[tuple[int, int]] = []
    for start, end in wanted:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _sentences(part: PartText, start: int, end: int) -> Iterator[Sentence]:
    blocks = part.blocks or (Block(0, len(part.text)),)
    above: frozenset[str] = frozenset()
    for piece_start, piece_end, kind, block in _pieces(part, blocks, start, end):
        if kind == "quoted":
            above = frozenset(word.stem for word in words_of(part.text, piece_start, piece_end))
            continue
        spans = _spans(part.text, piece_start, piece_end, block if kind != "signature" else "row")
        for sentence_start, sentence_end in spans:
            words = tuple(words_of(part.text, sentence_start, sentence_end))
            if words:
                text = part.text[sentence_start:sentence_end]
                stems = frozenset(word.stem for word in words)
                yield Sentence(part.name, sentence_start, sentence_end, text, kind, words, stems, above)


def _pieces(part: PartText, blocks: tuple[Block, ...], start: int, end: int) -> Iterator[tuple[int, int, str, str]]:
    """Blocks cut at the borders of regions, each piece with the kind of region it lies in ("own" for none)."""
    regions = sorted(part.regions, key=lambda region: region.start)
    borders = sorted({edge for region in regions for edge in (region.start, region.end)})
    for block in blocks:
        low, high = max(block.start, start), min(block.end, end)
        edges = [low, *(edge for edge in borders if low < edge < high), high]
        for piece_start, piece_end in pairwise(edges):
            if piece_end > piece_start:
                inside = [region.kind for region in regions if region.start <= piece_start and piece_end <= region.end]
                kind = next((name for name in ("quoted", "forwarded", "signature") if name in inside), "own")
                yield piece_start, piece_end, kind, block.kind


def _spans(text: str, start: int, end: int, block: str) -> Iterable[tuple[int, int]]:
    if block in ("row", "code") or _is_list_of_lines(text[start:end]):
        cuts = [match.span() for match in re.finditer(r"\n", text[start:end])]
    else:
        cuts = [
            match.span()
            for match in _END.finditer(text[start:end])
            if not _ABBREVIATED.search(text[start : start + match.start()][-12:])
        ]
    position = start
    for cut_start, cut_end in [*cuts, (end - start, end - start)]:
        low, high = _trimmed(text, position, start + cut_start)
        # What closes the sentence (a quotation mark, a bracket) belongs to it.
        while high < start + cut_end and text[high] in "\"'”’)]»":
            high += 1
        if high > low:
            yield low, high
        position = max(position, start + cut_end)


def _is_list_of_lines(text: str) -> bool:
    """Whether lines were broken by the writer and not by the width of a page: short ones without an end mark."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    short = sum(len(line) <= _SHORT_LINE and line[-1] not in ".,;?!" for line in lines[:-1])
    return short >= 0.7 * (len(lines) - 1)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in ">|*"):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
