"""Marks a kept unit whose thread goes on to say something else about the same kind of fact."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentic.core.answer import Sentence
from agentic.core.verify import check_facts
from agentic.core.verify.facts.extract import extract
from agentic.core.verify.facts.match import family, supports
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.sources import SourceCache, normal_text
from agentic.core.verify.words import language_of
from mailsearch.hits import MessageText

_KINDS = frozenset({"money", "percent", "date", "time", "weekday", "number"})


def mark(
    sentence: Sentence,
    sources: Mapping[str, MessageText],
    threads: Mapping[str, Sequence[MessageText]],
    cache: SourceCache,
) -> Sentence:
    """*sentence* with `later_message` set where a later message of a cited thread has another value of a fact of it."""
    if not sentence.kept or sentence.structural or not threads:
        return sentence
    claims = _claims(sentence)
    for citation in sentence.citations if claims else ():
        cited = sources[citation.label]
        later = sorted(
            (m for m in threads.get(cited.head.thread_id, ()) if m.head.received_at > cited.head.received_at),
            key=lambda m: (m.head.received_at, m.head.message_id),
        )
        for message in reversed(later):
            if any(_differs(claim, message, cache) for claim in claims):
                return replace(sentence, later_message=message.head.message_id)
    return sentence


def _claims(sentence: Sentence) -> list[Fact]:
    """Facts of the unit and of its quotations that another message could state differently."""
    texts = [sentence.text, *(citation.quote for citation in sentence.citations)]
    found = []
    for text in texts:
        plain = normal_text(text)
        found += [
            fact
            for fact in extract(plain, check_facts.languages_of(language_of(plain)), claims=True)
            if fact.kind in _KINDS
        ]
    return [fact for fact in found if fact.kind != "number" or fact.unit]


def _differs(claim: Fact, message: MessageText, cache: SourceCache) -> bool:
    """Whether *message* has facts of the claim's family, in its own words, none of which says the same."""
    facts = check_facts.facts_of(cache.of(message))
    others = [
        place.fact
        for place in facts.by_kind.get(claim.kind, [])
        if place.part is not None and family(place.fact) == family(claim)
    ]
    return bool(others) and not any(supports(other, claim, facts.year) for other in others)
