"""Marks a kept unit whose thread goes on to say something else about the same kind of fact."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from agentic.core.answer import Sentence
from agentic.core.verify import check_facts
from agentic.core.verify.check_facts import Place
from agentic.core.verify.facts.extract import extract
from agentic.core.verify.facts.match import family, supports
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.sources import SourceCache, normal_text
from agentic.core.verify.words import language_of
from mailsearch.hits import MessageText

_KINDS = frozenset({"money", "percent", "date", "time", "weekday", "number"})
# What a number without a unit counts ("4 persons", "the third floor").
_COUNTED = re.compile(r"[ -]([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class _Said:
    """A fact that another message could state differently, and the word for what it counts."""

    fact: Fact
    counted: str = ""


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


def _claims(sentence: Sentence) -> list[_Said]:
    """Facts of the unit and of its quotations that another message could state differently."""
    found = []
    for text in (sentence.text, *(citation.quote for citation in sentence.citations)):
        plain = normal_text(text)
        facts = extract(plain, check_facts.languages_of(language_of(plain)), claims=True)
        found += [_Said(fact, _counted(fact, plain)) for fact in facts if fact.kind in _KINDS]
    return [one for one in found if one.fact.kind != "number" or one.fact.unit or one.counted]


def _counted(fact: Fact, text: str) -> str:
    """The word behind a number that counts; persons and person are one."""
    word = _COUNTED.match(text, fact.end) if fact.kind == "number" and fact.counts and not fact.unit else None
    return word.group(1).removesuffix("s") if word else ""


def _differs(claim: _Said, message: MessageText, cache: SourceCache) -> bool:
    """Whether *message* has facts of the claim's kind, in its own words, none of which says the same.

    Where one does, another in its sentence counts still: "not the 4th but the 11th".
    """
    facts = check_facts.facts_of(cache.of(message))
    alike = list(_alike(claim, facts.by_kind.get(claim.fact.kind, [])))
    same = [place for place in alike if supports(place.fact, claim.fact, facts.year)]
    if not same:
        return bool(alike)
    others = {_sentence(place) for place in alike if place not in same}
    return not others.isdisjoint(map(_sentence, same))


def _alike(claim: _Said, places: Iterable[Place]) -> Iterable[Place]:
    for place in places:
        if place.part is None or family(place.fact) != family(claim.fact):
            continue
        if not claim.counted or _counted(place.fact, place.part.text) == claim.counted:
            yield place


def _sentence(place: Place) -> tuple[str, int]:
    """Where the stored sentence of *place* begins, and in which part."""
    if place.part is None or place.piece is None:
        return "", -1
    return place.part.part.name, place.part.sentence_around(place.piece, place.start, place.end)[0]
