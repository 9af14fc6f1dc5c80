"""Every unit of a draft against the messages that it may cite."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from agentic.core.answer import Draft, DraftSentence, Policy, Sentence, Verification
from agentic.core.verify import form, later, rebuild, speaker, units
from agentic.core.verify.check import Bench, Claim, check
from agentic.core.verify.quotes import scan
from agentic.core.verify.sources import SourceCache
from agentic.core.verify.units import Unit
from mailsearch.hits import MessageText

# Raised by one whenever a draft could be judged differently than before.
VERSION = "4"
# Characters of a draft, and units of it, that are checked: what is beyond is one last unit, which is too long.
MAX_ANSWER = 20_000
MAX_UNITS = 400
# Words that a cell of a header row may have: it names a column, it states nothing.
_HEADER_WORDS = 5


def verify(
    draft: Draft,
    sources: Mapping[str, MessageText],
    *,
    policy: Policy = "standard",
    marker: str = "",
    thread_messages: Mapping[str, Sequence[MessageText]] | None = None,
    all_evidence: Mapping[str, MessageText] | None = None,
    cache: SourceCache | None = None,
    max_units: int = MAX_UNITS,
    max_quotes: int | None = None,
) -> Verification:
    """Decide which units of *draft* stand, and where each one stands in the stored text.

    *sources* maps each label that may be cited to its message. *marker* is the fence's secret, which must not occur.
    *thread_messages* maps a thread's id to its in-scope messages: they show later facts and originals of forwarded
    words, as *all_evidence* does. *cache* keeps messages ready over several calls; without one each call reads anew.
    Deterministic, never raises for any draft. Time is linear in the draft (MAX_ANSWER characters and *max_units* units
    of it are checked, and of those as many as have *max_quotes* quotations) and in the text of the messages.
    """
    threads = thread_messages or {}
    others = [*(all_evidence or {}).values(), *(message for messages in threads.values() for message in messages)]
    bench = Bench(
        sources=sources,
        cache=cache or SourceCache(),
        policy=policy,
        marker=marker,
        people=speaker.people_of([*sources.values(), *others]),
        originals=tuple(others),
    )
    claims = _capped(_claims(draft, sources), max_units, max_quotes)
    sentences = [_decide(claim, position, bench) for position, claim in enumerate(claims, 1)]
    settled = _settle_tables(sentences, claims, bench)
    marked = [later.mark(sentence, sources, threads, bench.cache) for sentence in settled]
    if policy == "strict":
        marked = [_only_quoted(sentence, bench) for sentence in marked]
    return Verification(tuple(marked), VERSION)


def _decide(claim: Claim, position: int, bench: Bench) -> Sentence:
    if claim.unit.kind == "rest":
        return Sentence(
            position=position,
            drafted=claim.unit.text,
            text=form.visible(claim.unit.text),
            kept=False,
            reason="too_long",
        )
    if claim.unit.kind in ("header", "rule"):
        return Sentence(
            position=position, drafted=claim.unit.text, text=form.visible(claim.unit.text), kept=True, structural=True
        )
    sentence = check(claim, position, bench)
    if sentence.kept and not _stays_one(sentence, bench):
        return replace(sentence, kept=False, support=None, reason="no_citation", qualified=False, translated=False)
    return sentence


def _only_quoted(sentence: Sentence, bench: Bench) -> Sentence:
    """A kept unit in the mail's words alone: what a model puts around a true quote is its own, or an attacker's."""
    if not sentence.kept:
        return sentence
    quotes = [rebuild.quoted(citation.quote) for citation in sentence.citations if citation.quote]
    bare = replace(sentence, text=" \u2014 ".join(dict.fromkeys(quotes)))
    if quotes and not sentence.structural and _stays_one(bare, bench):
        return bare
    return replace(
        sentence, kept=False, support=None, reason="not_supported_strict", qualified=False, translated=False,
        later_message="",
    )  # fmt: skip


def _stays_one(sentence: Sentence, bench: Bench) -> bool:
    """Whether the unit, as the answer will show it, is still one unit: else a part of it would stand uncited."""
    return units.is_one(rebuild.line(sentence, bench.sources, cite="label"), bench.sources)


def _claims(draft: Draft, sources: Mapping[str, MessageText]) -> list[Claim]:
    """The draft's units with their citations. What lies beyond the cap is one last unit, which is too long."""
    claims: list[Claim] = []
    room = MAX_ANSWER
    for sentence in draft.sentences or (DraftSentence(draft.text),):
        text = sentence.text[:room]
        claims.extend(_claims_of(sentence, text, sources))
        room -= len(text)
        if len(sentence.text) > len(text):
            claims.append(Claim(_rest([sentence.text[len(text) :]]), sentence.citations))
            break
    return claims


def _capped(claims: list[Claim], max_units: int, max_quotes: int | None) -> list[Claim]:
    """*claims* as far as they are checked, and what is beyond as one last unit."""
    room = max_units
    if max_quotes is not None:
        counts = (len(claim.quotes) + len(scan(claim.unit.text).quotes) for claim in claims[:max_units])
        room = sum(1 for count in accumulate(counts) if count <= max_quotes)
    if len(claims) <= room:
        return claims
    beyond = _rest([claim.unit.text for claim in claims[room:]])
    return [*claims[:room], Claim(beyond, claims[room].citations)]


def _rest(texts: Sequence[str]) -> Unit:
    """What is not looked into any more, as one unit."""
    return Unit("\n".join(texts)[:MAX_ANSWER].strip() or "\u2026", "rest")


def _claims_of(sentence: DraftSentence, text: str, sources: Mapping[str, MessageText]) -> list[Claim]:
    found = units.split(text, sources)
    if not found and sentence.quotes:
        found = [Unit("", "sentence")]
    return [Claim(unit, sentence.citations, sentence.quotes) for unit in found]


def _settle_tables(sentences: list[Sentence], claims: list[Claim], bench: Bench) -> list[Sentence]:
    """Header and rule rows stay only while a body row of their table stays, and a header must name, not state."""
    alive = {
        claim.unit.table
        for sentence, claim in zip(sentences, claims, strict=True)
        if claim.unit.kind == "row" and sentence.kept
    }
    settled = []
    for sentence, claim in zip(sentences, claims, strict=True):
        if sentence.structural and (claim.unit.table not in alive or not _is_structure(claim.unit, bench)):
            sentence = Sentence(
                sentence.position, sentence.drafted, sentence.text, kept=False, reason="no_citation", structural=True
            )
        settled.append(sentence)
    return settled


def _is_structure(unit: Unit, bench: Bench) -> bool:
    if unit.kind == "rule":
        return True
    if form.active(unit.text) or form.links(unit.text) or re.search(r"[0-9]{3}|[\"\u201c\u201e\u00ab]", unit.text):
        return False
    if bench.marker and bench.marker in unit.text:
        return False
    return all(len(cell.split()) <= _HEADER_WORDS and len(cell) <= 60 for cell in unit.text.split("|"))
