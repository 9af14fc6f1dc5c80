"""Mail for benchmarks that is never parsed: paragraphs of real mail recombined, with words as rare as words are.

Beside its paragraphs every message holds invented words drawn by Zipf's law, so that a term may be rare, medium or
common at any size. The same seed gives the same messages.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mailsearch.hits import Authentication, Block, Region
from mailsearch.ingest import drafts
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.parsed import ParsedAddress, ParsedMessage, ParsedText
from mailsearch.ingest.sources.raw import RawMail

START = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS = 700
_INVENTED = 60_000
_INVENTED_A_MESSAGE = 8
_FOLDERS = ("INBOX", "INBOX", "INBOX", "Sent", "Archive/2024")
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "wo", "ki", "zu", "ra")
_REPLIES = 0.4
_NOBODY = Authentication()


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph that somebody wrote, and its language."""

    text: str
    language: str


def invented(rank: int) -> str:
    """The invented word of this rank; the first occurs in most messages, the last in one of 70,000."""
    word, rest = "x", rank
    for _ in range(4):
        rest, syllable = divmod(rest, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word


def messages(name: str, count: int, paragraphs: Sequence[Paragraph], seed: int) -> Iterator[Draft]:
    """*count* messages as the load path takes them, oldest first. *name* sets them apart from those of others."""
    draw = random.Random(f"{name} {seed}")
    by_language: dict[str, list[str]] = {}
    for one in paragraphs:
        by_language.setdefault(one.language, []).append(one.text)
    languages, weights = list(by_language), [len(texts) for texts in by_language.values()]
    before: list[tuple[str, str, str]] = []
    now = datetime.now(UTC)
    for number in range(count):
        (language,) = draw.choices(languages, weights)
        own = f"{number}@{name}.bench.example"
        answered = draw.choice(before) if before and draw.random() < _REPLIES else None
        parsed = _message(draw, own, language, by_language[language], answered, number)
        before = [*before[-40:], (own, parsed.subject, parsed.body.text[:400])]
        moment = START + timedelta(days=_DAYS * number / count)
        mail = RawMail(b"", own, folder=draw.choice(_FOLDERS), flags=("\\Seen",), received_at=moment)
        yield drafts.draft(mail, parsed, hashlib.sha256(own.encode()).digest(), now)


def _message(
    draw: random.Random,
    own: str,
    language: str,
    texts: Sequence[str],
    answered: tuple[str, str, str] | None,
    number: int,
) -> ParsedMessage:
    words = [invented(int(_INVENTED ** draw.random())) for _ in range(_INVENTED_A_MESSAGE)]
    pieces = [*(draw.choice(texts) for _ in range(draw.randint(2, 4))), " ".join(words) + f" {number}."]
    regions: tuple[Region, ...] = ()
    if answered is not None:
        start = sum(map(len, pieces)) + 2 * len(pieces)
        pieces.append(answered[2])
        regions = (Region(start, start + len(answered[2]), "quoted"),)
    subject = answered[1] if answered else " ".join(draw.choice(texts).split()[:6])
    return ParsedMessage(
        rfc_message_id=own,
        in_reply_to=(answered[0],) if answered else (),
        references=(answered[0],) if answered else (),
        subject=f"Re: {subject.removeprefix('Re: ')}" if answered else subject,
        addresses=(_person(draw, "from"), _person(draw, "to")),
        sent_at=None,
        received_at=None,
        body=ParsedText("\n\n".join(pieces), _blocks(pieces), regions),
        language=language,
        authentication=_NOBODY,
        attachments=(),
        defects=(),
    )


def _blocks(pieces: Sequence[str]) -> tuple[Block, ...]:
    blocks, at = [], 0
    for piece in pieces:
        blocks.append(Block(at, at + len(piece)))
        at += len(piece) + 2
    return tuple(blocks)


def _person(draw: random.Random, role: str) -> ParsedAddress:
    """One of three hundred, a few of whom write most of the mail."""
    word = invented(int(300 * draw.random() ** 3) * 7)
    return ParsedAddress(role, f"{word[1:5].title()} {word[5:].title()}", f"{word}@people.example")
