"""Messages as the reader reads them: sentences in their writers' own words, with what stands around each."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from agentic.core.ports import ShownMessage
from agentic.llm.extractive.words import Word, month_stems, words_of
from mailsearch.hits import Block, MessageHead, PartText

# Of a longer part only the neighbourhood of its excerpts is read.
PART_AT_MOST = 20_000
_AROUND_EXCERPT = 2_000
LONGEST = 380
# A writer who breaks a line has left room for the next word, and a little more.
_ROOM = 10
_APART = 3
# "Total amount: EUR 12.00": a line of a form.
_FIELD = re.compile(r"[A-ZÀ-Þ][\w &/().%,-]{1,60}:[ \t]\S")
_BULLETS = '-*•·#+("“'
# A line that ends so goes on in the next one.
_GOES_ON = re.compile(
    r"[,;&]$|\b(?:and|or|the|a|an|of|to|in|on|at|by|for|with|from|und|oder|der|die|das|von|mit|et|ou|de|la|le|les)$",
    re.I,
)
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
    # Where its block begins: sentences of one block may be quoted together.
    block: int
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
    # The text of each part that has sentences.
    texts: dict[str, str] = field(default_factory=dict)

    def with_context(self, index: int, before: bool, limit: int) -> tuple[int, int]:
        """Offsets of the sentence at *index* with the next one of its paragraph, or with *before* the one that leads to
        it, as far as *limit* characters allow."""
        start, end = self.sentences[index].start, self.sentences[index].end
        for other in (index - 1, index + 1) if before else (index + 1,):
            if not 0 <= other < len(self.sentences) or not self._touches(index, other):
                continue
            low, high = min(start, self.sentences[other].start), max(end, self.sentences[other].end)
            if high - low <= limit:
                start, end = low, high
        return start, end

    def _touches(self, index: int, other: int) -> bool:
        one, two = (self.sentences[at] for at in sorted((index, other)))
        apart = two.start - one.end
        return one.part == two.part and one.kind == two.kind and one.block == two.block and 0 <= apart <= _APART

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
    # Mail seldom names the month and the year in which it was written.
    visible.update(month_stems(head.received_at.month), (str(head.received_at.year),))
    people = frozenset(
        word.stem
        for person in (head.sender, *head.to, *head.cc)
        for word in words_of(f"{person.name} {person.address}")
    )
    own = frozenset(stem for sentence in sentences for stem in sentence.stems)
    texts = {part.name: part.text for part in shown.message.parts}
    return Reading(shown.label, head, tuple(sentences), own, frozenset(visible) | subject, subject, people, texts)


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
                yield Sentence(part.name, sentence_start, sentence_end, text, kind, piece_start, words, stems, above)


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
    piece = text[start:end]
    if block in ("row", "code"):
        cuts = [match.span() for match in re.finditer(r"\n", piece)]
    else:
        ends = (match.span() for match in _END.finditer(piece) if not _ABBREVIATED.search(piece[: match.start()][-12:]))
        cuts = sorted({*ends, *_chosen_breaks(piece)})
    position = start
    for cut_start, cut_end in [*cuts, (end - start, end - start)]:
        low, high = _trimmed(text, position, start + cut_start)
        # What closes the sentence (a quotation mark, a bracket) belongs to it.
        while high < start + cut_end and text[high] in "\"'”’)]»":
            high += 1
        if high > low:
            yield low, high
        position = max(position, start + cut_end)


def _chosen_breaks(text: str) -> Iterator[tuple[int, int]]:
    """Line ends that the writer chose: the next line's first word would have fitted, and it begins anew."""
    lines = list(re.finditer(r"[^\n]+", text))
    width = max((len(line.group().rstrip()) for line in lines), default=0)
    for line, following in pairwise(lines):
        this, after = line.group().rstrip(), following.group().lstrip()
        word = after.split(maxsplit=1)[0] if after else ""
        begins_anew = word[:1].isupper() or word[:1].isdigit() or word[:1] in _BULLETS
        had_room = len(this) + len(word) + _ROOM <= width
        if _FIELD.match(after) or (word and begins_anew and had_room and not _GOES_ON.search(this)):
            yield line.end(), following.start()


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in ">|*"):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
