"""What a verification means for the outcome: is the question's own matter covered, and what may be tried again?"""

import re
from collections.abc import Mapping, Sequence

from agentic.core.answer import Verification
from agentic.core.verify import check_facts, lookup
from agentic.core.verify.facts.extract import extract
from agentic.core.verify.facts.match import supports
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.quotes import scan
from agentic.core.verify.sources import MessageIndex, SourceCache, normal_text
from agentic.core.verify.words import language_of
from mailsearch.hits import MessageText


def missing_from(
    question: str,
    verification: Verification,
    sources: Mapping[str, MessageText],
    thread_messages: Mapping[str, Sequence[MessageText]] | None = None,
    *,
    cache: SourceCache | None = None,
) -> tuple[str, ...]:
    """What *question* names exactly and neither the cited messages nor their threads hold, in the question's words.

    Exactly named are identifiers (letters with digits, or five digits and more), amounts with a currency, addresses of
    mail, and quoted strings.
    """
    kept = cache or SourceCache()
    cited = {
        citation.label for sentence in verification.kept for citation in sentence.citations if citation.label in sources
    }
    messages = {id(sources[label]): sources[label] for label in sorted(cited)}
    for label in sorted(cited):
        for message in (thread_messages or {}).get(sources[label].head.thread_id, ()):
            messages[id(message)] = message
    indexes = [kept.of(message) for message in messages.values()]
    lacking = [fact.text for fact in _named(question) if not any(_has_fact(fact, index) for index in indexes)]
    lacking += [words for words in _quoted(question) if not any(_has_words(words, index) for index in indexes)]
    return tuple(dict.fromkeys(lacking))


def question_covered(
    question: str,
    verification: Verification,
    sources: Mapping[str, MessageText],
    thread_messages: Mapping[str, Sequence[MessageText]] | None = None,
    *,
    cache: SourceCache | None = None,
) -> bool:
    """Whether nothing that *question* names exactly is missing from what the answer cites."""
    return not missing_from(question, verification, sources, thread_messages, cache=cache)


def answered(verification: Verification) -> bool:
    """Whether a unit was kept that a quotation bears."""
    return any(sentence.support == "quote" for sentence in verification.kept)


def declares_absence(verification: Verification) -> bool:
    """Whether the draft says in prose that the mail does not hold the answer."""
    return any(sentence.reason == "absence_claim" for sentence in verification.sentences)


def repair_hints(verification: Verification) -> tuple[str, ...]:
    """One line for each removed unit: its place, the labels that it cited, the reason. Never a word of mail."""
    hints = []
    for sentence in verification.removed:
        if sentence.structural:
            continue
        labels = ", ".join(dict.fromkeys(citation.label for citation in sentence.citations)) or "none"
        hints.append(f"sentence {sentence.position}: {sentence.reason} (cited: {labels})")
    return tuple(hints)


def _named(question: str) -> list[Fact]:
    text = normal_text(question)
    return [
        fact
        for fact in extract(text, check_facts.languages_of(language_of(text)))
        if fact.kind in ("identifier", "email", "money")
        or (fact.kind == "number" and re.fullmatch(r"[0-9]{5,}", fact.text))
    ]


def _quoted(question: str) -> list[str]:
    return [question[quote.inner_start : quote.inner_end] for quote in scan(question).quotes if not quote.code]


def _has_fact(fact: Fact, index: MessageIndex) -> bool:
    for facts in (check_facts.facts_of(index), check_facts.borrowed_facts_of(index)):
        if facts.places(fact):
            return True
        pool = [place.fact for places in facts.by_kind.values() for place in places]
        if fact.kind == "identifier" and any(supports(other, fact, facts.year) for other in pool):
            return True
    return False


def _has_words(words: str, index: MessageIndex) -> bool:
    wanted = lookup.prepare(words)
    return not wanted.text or next(iter(lookup.find(wanted, index)), None) is not None
