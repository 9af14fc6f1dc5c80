"""Putting visible text together from blocks, so that every block knows where it stands in the text."""

from dataclasses import dataclass, field, replace

from mailsearch.hits import Block, BlockKind
from mailsearch.ingest.parsed import ParsedText

# The most text that is kept of one part, in characters.
MOST_TEXT = 5_000_000

# What stands between two blocks of the same kind; between different kinds there is an empty line.
_TIGHT = {"row", "item"}


@dataclass(slots=True)
class TextBuilder:
    """Collects blocks in reading order and what is hidden apart from them."""

    pieces: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    page_starts: list[int] = field(default_factory=list)
    length: int = 0
    truncated: bool = False
    hidden_length: int = 0

    def add(self, text: str, kind: BlockKind = "paragraph") -> Block | None:
        """Append one block; blank text is none."""
        text = text.strip("\n") if kind == "code" else text.strip()
        if not text or self.truncated:
            return None
        if self.length + len(text) > MOST_TEXT:
            text = text[: max(MOST_TEXT - self.length, 0)].rstrip()
            self.truncated = True
            if not text:
                return None
        if self.blocks:
            tight = kind in _TIGHT and self.blocks[-1].kind == kind
            self._append("\n" if tight else "\n\n")
        block = Block(self.length, self.length + len(text), kind)
        self._append(text)
        self.blocks.append(block)
        return block

    def hide(self, text: str) -> None:
        """Keep *text* apart: a reader of the mail would not have seen it."""
        text = " ".join(text.split())
        if text and self.hidden_length < MOST_TEXT // 5:
            self.hidden.append(text)
            self.hidden_length += len(text)

    def begin_page(self) -> None:
        """The next block starts a new page."""
        if self.blocks:
            self.page_starts.append(self.length + 2)
        else:
            self.page_starts.append(0)

    def parsed(self) -> ParsedText:
        """Everything so far."""
        starts = tuple(min(start, self.length) for start in self.page_starts)
        return ParsedText("".join(self.pieces), tuple(self.blocks), (), starts, "\n".join(self.hidden))

    def _append(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)


def cut(text: ParsedText) -> ParsedText:
    """*text* cut to MOST_TEXT characters, with the blocks and regions that are left of it."""
    blocks = tuple(replace(one, end=min(one.end, MOST_TEXT)) for one in text.blocks if one.start < MOST_TEXT)
    regions = tuple(replace(one, end=min(one.end, MOST_TEXT)) for one in text.regions if one.start < MOST_TEXT)
    kept = tuple(replace(one, start=min(one.start, MOST_TEXT), end=min(one.end, MOST_TEXT)) for one in text.links.kept)
    links = replace(text.links, kept=kept)
    return replace(text, text=text.text[:MOST_TEXT], blocks=blocks, regions=regions, links=links)
