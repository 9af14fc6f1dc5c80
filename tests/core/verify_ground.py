"""Sentences of the sample mail that the verifier's mutations work on, each with what lies around it."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.verify import SourceCache, verify
from mailsearch.hits import Address, MessageHead, MessageText, PartText
from mailsearch.ingest import mime

SAMPLE = Path(__file__).parents[2] / "sample" / "mail"
# Shaped as a run's labels are.
LABEL, FOREIGN = "k7d2qa", "w3h8zt"
# Sentences of plain words: what is changed in them is then what the mutation says.
_PLAIN = re.compile(r"[A-Z\u00c0-\u00dc][\w', ]{28,240}[.!?]$")
# Sentences that may hold facts, but nothing that marks a quotation, a link or a cell.
_FACTUAL = re.compile(r"[A-Z\u00c0-\u00dc][^\"\u201c\u201d\u201e\u00ab\u00bb<>\[\]`*_|\n\u2026]{20,240}[.!?]$")


@dataclass(frozen=True, slots=True)
class Ground:
    """One sentence without its full stop, the message it stands in, another of that message, one of another message.

    `plain` says that it is of words alone. `numbers` are all that its message says anywhere, in digits or words.
    """

    quote: str
    end: str
    plain: bool
    message: MessageText
    neighbour: str
    foreign: MessageText
    foreign_quote: str
    words: frozenset[str]
    numbers: frozenset[int]

    @property
    def language(self) -> str:
        return self.message.head.language

    def draw(self, kind: str) -> random.Random:
        """What chance decides for the mutation *kind*: the same in every run."""
        return random.Random(f"{kind} {self.message.head.message_id} {self.quote}")

    @property
    def sources(self) -> dict[str, MessageText]:
        return {LABEL: self.message}


@dataclass(frozen=True, slots=True)
class Trial:
    """A draft and what it may cite."""

    draft: Draft
    sources: dict[str, MessageText]


def stands(trial: Trial, cache: SourceCache) -> bool:
    """Whether every unit of the draft is kept."""
    found = verify(trial.draft, trial.sources, cache=cache)
    return bool(found.kept) and not found.removed


def quoted(ground: Ground, words: str, label: str = LABEL) -> Trial:
    """*words* as a quotation of the ground's message, in the draft's own field."""
    draft = Draft(sentences=(DraftSentence("This is stated.", (label,), (DraftQuote(label, words),)),))
    return Trial(draft, ground.sources)


def stated(ground: Ground, text: str) -> Trial:
    """*text* as a statement in own words that cites the ground's message."""
    return Trial(Draft(sentences=(DraftSentence(text, (LABEL,)),)), ground.sources)


def prose(ground: Ground, text: str) -> Trial:
    """*text* as an answer with markers of its own."""
    return Trial(Draft(text=text), ground.sources)


def read(file: Path) -> MessageText | None:
    """The message in *file*, without its attachments."""
    parsed = mime.parse(file.read_bytes(), read_attachments=False)
    if not parsed.body.text.strip():
        return None
    people = {
        role: tuple(Address(one.name, one.address) for one in parsed.addresses if one.role == role)
        for role in ("from", "to", "cc")
    }
    head = MessageHead(
        message_id=file.name,
        thread_id="thread",
        rfc_message_id=parsed.rfc_message_id,
        mailbox="bench",
        folder="INBOX",
        subject=parsed.subject,
        sender=(*people["from"], Address("", ""))[0],
        to=people["to"],
        cc=people["cc"],
        sent_at=parsed.sent_at,
        received_at=parsed.received_at or parsed.sent_at or datetime(2026, 1, 1, tzinfo=UTC),
        language=parsed.language,
    )
    body = PartText("body", parsed.body.text, parsed.body.blocks, parsed.body.regions)
    return MessageText(head, (PartText("subject", parsed.subject), body), parsed.body.hidden_text)


def sentences(message: MessageText, cache: SourceCache) -> Iterator[str]:
    """The sentences that the writer himself wrote and that may hold facts."""
    index = cache.of(message).parts[1]
    own = [piece for piece in index.pieces if not piece.borrowed and piece.kind in ("paragraph", "item")]
    for start, end in (span for piece in own for span in index.sentences(piece)):
        text = " ".join(index.part.text[start:end].split())
        if _FACTUAL.match(text) and len(text.split()) > 5:
            yield text


def grounds(folder: Path = SAMPLE, each: int = 6, messages: int | None = None) -> Iterator[list[Ground]]:
    """For every message of *folder* (or *messages* of them, evenly drawn) at most *each* of its sentences."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 200_000)
    cache = SourceCache()
    before: tuple[MessageText, list[str]] | None = None
    for file in files[:: max(1, len(files) // messages)] if messages else files:
        message = read(file)
        found = list(dict.fromkeys(sentences(message, cache))) if message else []
        if message is None or len(found) < 2:
            continue
        if before is not None:
            yield list(_drawn(message, found, before, each))
        before = message, found


def _drawn(
    message: MessageText, found: Sequence[str], before: tuple[MessageText, list[str]], each: int
) -> Iterator[Ground]:
    rng = random.Random(f"{message.head.message_id} {found[0]}")
    plain = [one for one in found if _PLAIN.match(one)]
    numbered = [one for one in found if re.search(r"[0-9]", one)]
    chosen = [*rng.sample(plain, min(each // 2, len(plain))), *rng.sample(numbered, min(each // 2, len(numbered)))]
    text = _everything(message)
    words = frozenset(re.findall(r"\w+", text))
    for sentence in dict.fromkeys(chosen):
        neighbour = rng.choice([one for one in found if one != sentence])
        yield Ground(
            quote=sentence.rstrip(".!?"),
            end=sentence[len(sentence.rstrip(".!?")) :],
            plain=_PLAIN.match(sentence) is not None,
            message=message,
            neighbour=neighbour.rstrip(".!?"),
            foreign=before[0],
            foreign_quote=rng.choice(before[1]).rstrip(".!?"),
            words=words,
            numbers=_numbers(text, words),
        )


def _everything(message: MessageText) -> str:
    """All that a statement about the message could rest on."""
    head = message.head
    people = " ".join(f"{one.name} {one.address}" for one in (head.sender, *head.to, *head.cc))
    moments = " ".join(f"{one.isoformat()} {one:%B %A}" for one in (head.sent_at, head.received_at) if one)
    return " ".join([*(part.text for part in message.parts), people, moments]).casefold()


_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve",
    "eins zwei drei vier f\u00fcnf sechs sieben acht neun zehn elf zw\u00f6lf",
    "un deux trois quatre cinq six sept huit neuf dix onze douze",
)


def _numbers(text: str, words: frozenset[str]) -> frozenset[int]:
    runs = {int(run) for run in re.findall(r"[0-9]+", text)}
    spoken = {at for line in _WORDS for at, word in enumerate(line.split(), 1) if word in words}
    return frozenset(runs | spoken)
