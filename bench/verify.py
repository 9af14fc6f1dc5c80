"""How fast the verifier is: units per second on 50 KB messages, unread and read before; and whether time is linear."""

import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from agentic.core.answer import Draft
from agentic.core.verify import MAX_ANSWER, SourceCache, verify
from mailsearch.hits import Address, Block, MessageHead, MessageText, PartText

# Share of the sentences that name an amount, a number and a date; the others are plain prose.
FACTS = 0.2
WHEN = datetime(2026, 3, 4, tzinfo=UTC)
SUBJECTS = ("pump", "valve", "lease", "deposit", "invoice", "crane", "meter", "roof", "tender", "permit")
DEEDS = ("was shipped", "was repaired", "is due", "was approved", "stays open", "went out", "came back", "was checked")


def message(label: str, size: int, rng: random.Random) -> MessageText:
    """A message of about *size* characters in paragraphs of wrapped lines, with amounts and dates."""
    blocks, pieces, position = [], [], 0
    while position < size:
        sentences = [_sentence(rng) for _ in range(5)]
        text = " ".join(sentences).replace(". The", ".\nThe", 2)
        blocks.append(Block(position, position + len(text)))
        pieces.append(text)
        position += len(text) + 2
    head = MessageHead(
        message_id=label,
        thread_id="thread",
        rfc_message_id=f"{label}@bench.example",
        mailbox="bench",
        folder="INBOX",
        subject="Site report",
        sender=Address("Ann Berg", "ann@bench.example"),
        to=(Address("Bo Lund", "bo@bench.example"),),
        cc=(),
        sent_at=WHEN,
        received_at=WHEN,
        language="en",
    )
    return MessageText(head, (PartText("subject", "Site report"), PartText("body", "\n\n".join(pieces), tuple(blocks))))


def _sentence(rng: random.Random) -> str:
    if rng.random() > FACTS:
        one, two = rng.sample(SUBJECTS, 2)
        return f"The {one} {rng.choice(DEEDS)} after the {two} {rng.choice(DEEDS)}, as we said in our talk."
    amount, day = rng.randrange(100, 9999), rng.randrange(1, 28)
    number = rng.randrange(10**6)
    return f"The {rng.choice(SUBJECTS)} number {number} {rng.choice(DEEDS)} for {amount},50 EUR on {day} March 2026."


def draft(source: MessageText, units: int, rng: random.Random) -> Draft:
    """An answer of so many true units about *source*, half of them with a quotation."""
    body = source.parts[1].text.replace("\n", " ")
    sentences = [sentence for sentence in body.split(". ") if sentence.startswith("The")]
    lines = []
    for number in range(units):
        words = rng.choice(sentences).rstrip(".")
        lines.append(f'Ann wrote "{words}" [m1].' if number % 2 else f"{words} [m1].")
    return Draft(text="\n".join(lines))


def rate(units: int, rounds: int, *, cached: bool) -> float:
    """Units per CPU second over *rounds* answers of *units* each."""
    rng = random.Random(7)
    cache = SourceCache()
    sources = {"m1": message("m1", 50_000, rng)}
    drafts = [draft(sources["m1"], units, rng) for _ in range(rounds)]
    if cached:
        verify(drafts[0], sources, cache=cache)
    started = time.process_time()
    for each in drafts:
        verdict = verify(each, sources, cache=cache if cached else SourceCache())
        assert not verdict.removed, verdict.removed[0]
    return units * rounds / (time.process_time() - started)


def growth(make: str) -> list[float]:
    """Seconds at a quarter, half and all of the answer's cap, for one kind of answer."""
    sources = {"m1": message("m1", 20_000, random.Random(3))}
    fills = {
        "prose": "The oven is warm [m1]. ",
        "open quotes": "\u201e",
        "straight quotes": '"',
        "single quotes": "'a ",
        "brackets": "[",
        "markers": "[m1]",
        "angles": "<a ",
        "bars": "| a ",
        "digits": "1,",
        "stops": "a. ",
        "fences": "```\n",
    }
    seconds = []
    for share in (4, 2, 1):
        text = (fills[make] * MAX_ANSWER)[: MAX_ANSWER // share]
        started = time.process_time()
        verify(Draft(text=text), sources, cache=SourceCache())
        seconds.append(round(time.process_time() - started, 4))
    return seconds


def run(rounds: int = 20) -> Mapping[str, object]:
    """Units per CPU second with and without the message in the cache, and how time grows up to the cap."""
    kinds = (
        "prose", "open quotes", "straight quotes", "single quotes", "brackets", "markers", "angles", "bars", "digits",
        "stops", "fences",
    )  # fmt: skip
    return {
        "units_per_second_uncached": round(rate(1, rounds, cached=False)),
        "units_per_second_cached": round(rate(100, rounds, cached=True)),
        "seconds_at_quarter_half_all_of_cap": {kind: growth(kind) for kind in kinds},
    }
