"""What the model drafts, and what of it code lets stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Support = Literal["quote", "reference"]
Policy = Literal["standard", "strict"]


@dataclass(frozen=True, slots=True)
class DraftQuote:
    """Words that the model gives as verbatim from the message with this label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """One statement of a draft with what it cites. `text` may hold `[label]` markers of its own."""

    text: str
    citations: tuple[str, ...] = ()
    quotes: tuple[DraftQuote, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before verification, or a declared insufficiency.

    Either `sentences` (a final tool call) or `text` (prose with `[label]` markers) is given.
    """

    sentences: tuple[DraftSentence, ...] = ()
    text: str = ""
    insufficient: bool = False
    # The model's own words on what is missing; shown guarded, never part of an answer.
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a kept sentence is grounded. Offsets are code points into the stored text of `part`.

    `quote` is the store's text between them, `context` the whole stored sentence around it. A citation of a
    sentence without a verified quote (support `reference`) has `part` "body" and no span.
    """

    label: str
    message_id: str
    part: str
    start: int | None
    end: int | None
    quote: str
    context: str
    page: int | None = None
    # Address of who passed the words on, and the name that the forwarding claims wrote them.
    relayed_by: str = ""
    said_by: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One unit of the draft after verification: kept, or removed with a reason of DESIGN.md's list."""

    position: int
    # As drafted, with markers; and what a reader sees, without them.
    drafted: str
    text: str
    kept: bool
    support: Support | None = None
    reason: str = ""
    # For example {"fact": "1,450 EUR", "source": "1,540 EUR"}; may hold words of mail.
    detail: Mapping[str, str] = field(default_factory=dict)
    citations: tuple[Citation, ...] = ()
    # A hedge stands before a quote in its stored sentence, or it was cut from a question; `context` has it whole.
    qualified: bool = False
    translated: bool = False
    # Header rows and rules of a table: neither claim nor kept on their own.
    structural: bool = False
    # Public id of a later message of the thread with the same kind of fact and another value.
    later_message: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """Every unit of one draft in order, and the version of the rules that decided."""

    sentences: tuple[Sentence, ...]
    version: str

    @property
    def kept(self) -> tuple[Sentence, ...]:
        return tuple(sentence for sentence in self.sentences if sentence.kept and not sentence.structural)

    @property
    def removed(self) -> tuple[Sentence, ...]:
        return tuple(sentence for sentence in self.sentences if not sentence.kept)
