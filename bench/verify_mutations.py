"""True quotations of real mail, spelled anew and forged: how many of each the verifier keeps."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.verify import SourceCache, verify
from mailsearch.hits import Address, MessageHead, MessageText, PartText
from mailsearch.ingest import mime
from tests.core.test_verify_mutations import FORGED_QUOTES, HARMLESS_QUOTES

# Sentences of plain words: what is changed in them is then what the mutation says.
PLAIN = re.compile(r"[A-Z][A-Za-z0-9', ]{28,240}[.!?]$")


def read(file: Path) -> MessageText | None:
    """The message in *file*, without its attachments."""
    parsed = mime.parse(file.read_bytes(), read_attachments=False)
    if not parsed.body.text.strip():
        return None
    head = MessageHead(
        message_id=file.name,
        thread_id="thread",
        rfc_message_id=parsed.rfc_message_id,
        mailbox="bench",
        folder="INBOX",
        subject=parsed.subject,
        sender=Address("", ""),
        to=(),
        cc=(),
        sent_at=None,
        received_at=datetime(2026, 1, 1, tzinfo=UTC),
        language=parsed.language,
    )
    body = PartText("body", parsed.body.text, parsed.body.blocks, parsed.body.regions)
    return MessageText(head, (PartText("subject", parsed.subject), body), parsed.body.hidden_text)


def sentences(message: MessageText, cache: SourceCache) -> Iterator[str]:
    """The plain sentences that the writer himself wrote."""
    index = cache.of(message).parts[1]
    own = [piece for piece in index.pieces if not piece.borrowed and piece.kind != "code"]
    for start, end in (span for piece in own for span in index.sentences(piece)):
        text = " ".join(index.part.text[start:end].split())
        if PLAIN.match(text) and len(text.split()) > 5:
            yield text.rstrip(".!?")


def run(folder: Path = Path("sample"), each: int = 6) -> Mapping[str, object]:
    """How many true spellings and forgeries of at most *each* sentences of every message were kept and removed."""
    rng, kept = random.Random(4), Counter[str]()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 200_000):
        message = read(file)
        if message is None:
            continue
        cache = SourceCache()
        found = list(sentences(message, cache))
        for quote in rng.sample(found, min(each, len(found))):
            kept.update(_verdicts(quote, message, cache))
    return dict(sorted(kept.items()))


def _verdicts(quote: str, message: MessageText, cache: SourceCache) -> Iterator[str]:
    """What became of *quote* in each spelling and each forgery; one that changes nothing (no letter e) is none."""
    for change in HARMLESS_QUOTES.values():
        yield f"true_{_stands(change(quote), message, cache)}"
    for changed in (change(quote) for change in FORGED_QUOTES.values()):
        if changed != quote:
            yield f"forged_{_stands(changed, message, cache)}"


def _stands(quote: str, message: MessageText, cache: SourceCache) -> str:
    sentence = DraftSentence("This is stated.", ("m1",), (DraftQuote("m1", quote),))
    return "kept" if verify(Draft(sentences=(sentence,)), {"m1": message}, cache=cache).kept else "removed"
