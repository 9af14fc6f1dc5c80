"""From scored sentences to the ones that are given as the answer, or to none."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.llm.extractive import patterns, weights
from agentic.llm.extractive.contacts import contact_lines
from agentic.llm.extractive.kinds import CONTACT, STRICT
from agentic.llm.extractive.people import find_people
from agentic.llm.extractive.question import Ask, Question
from agentic.llm.extractive.reading import Reading
from agentic.llm.extractive.scoring import Candidate, Corpus, Embed, Features, Scorer, gather

PER_ASK = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found for one ask: the sentences to give, best first; empty where none is sure enough."""

    ask: Ask
    chosen: tuple[Candidate, ...]
    # Everything that was looked at, best first.
    considered: tuple[Candidate, ...]


def choose(question: Question, readings: list[Reading], embed: Embed | None) -> list[Choice]:
    """Choose for each ask of *question* among the sentences of *readings*."""
    corpus = gather(readings, find_people(question, readings))
    choices = [_choose_for(question, ask, corpus, embed) for ask in question.asks]
    sure = {candidate.reading.head.thread_id for choice in choices for candidate in choice.chosen[:1]}
    return [choice if choice.chosen else _beside(choice, sure) for choice in choices]


def _choose_for(question: Question, ask: Ask, corpus: Corpus, embed: Embed | None) -> Choice:
    contacts = _contacts(question, ask, corpus)
    if contacts is not None:
        return Choice(ask, tuple(contacts[:1]), tuple(contacts))
    candidates = Scorer(question, ask, corpus).candidates(embed)
    for candidate in candidates:
        candidate.score = weights.score(candidate.features)
    candidates.sort(key=lambda one: (-one.score, one.reading.head.message_id, one.index))
    at_least = weights.ANSWERS if len(question.asks) == 1 else weights.ANSWERS_EACH
    return Choice(ask, _sure_ones(ask, candidates, at_least), tuple(candidates))


def _beside(choice: Choice, threads: set[str]) -> Choice:
    """The same ask with less asked of it, in a thread that surely answers another ask of the same question."""
    there = [one for one in choice.considered if one.reading.head.thread_id in threads]
    return Choice(choice.ask, _sure_ones(choice.ask, there, weights.ANSWERS_BESIDE), choice.considered)


def _contacts(question: Question, ask: Ask, corpus: Corpus) -> list[Candidate] | None:
    """Lines that give the contact of whoever is named; None where the question is of no such kind."""
    kind = ask.expectation.kind
    # "What is her number, and in which city is her office?": the same lines tell both.
    beside = kind == "place" and any(other.expectation.kind in CONTACT for other in question.asks)
    if not corpus.people or not (kind in CONTACT or beside):
        return None
    own = [person for person in corpus.people if person.role in ("owner", "agent")] or list(corpus.people)
    lines = contact_lines(kind, question.text, own[0], corpus.readings)
    return [Candidate(reading, index, Features(), weights.CONTACT_SCORE) for reading, index in lines]


def _sure_ones(ask: Ask, candidates: Sequence[Candidate], at_least: float) -> tuple[Candidate, ...]:
    # Words that somebody passed on are taken from the mail that wrote them, where that is at hand.
    first_hand = {_bare(one) for one in candidates if not one.sentence.forwarded}
    candidates = [one for one in candidates if not (one.sentence.forwarded and _bare(one) in first_hand)]
    # Where somebody is asked about, mail in which they have no part says nothing.
    candidates = [one for one in candidates if one.features.speaker > weights.NO_PART]
    passing = [one for one in candidates if not _is_vetoed(ask, one)]
    if not passing or passing[0].score < at_least or passing[0] is not candidates[0]:
        return ()
    first = passing[0]
    lowest = max(weights.FOLLOWS, first.score - weights.BELOW_FIRST)
    others = [one for one in passing[1:] if one.sentence.text != first.sentence.text]
    later = [one for one in others if _corrects(one, first)] if ask.expectation.kind in STRICT else []
    later.sort(key=lambda one: -one.reading.head.received_at.timestamp())
    more = [one for one in others if one.score >= lowest and one not in later[:1]]
    return tuple([*later[:1], first, *more][:PER_ASK])


def _bare(candidate: Candidate) -> str:
    return " ".join(candidate.sentence.text.split())


def _is_vetoed(ask: Ask, candidate: Candidate) -> bool:
    features = candidate.features
    if features.missing > weights.MISSING_AT_MOST or features.proper_missing > 0.5:
        return True
    return bool(ask.head) and features.head < weights.HEAD_AT_LEAST


def _corrects(candidate: Candidate, first: Candidate) -> bool:
    """Whether a later mail of the first one's thread says it anew: in about the same words, or in words of change."""
    head, before = candidate.reading.head, first.reading.head
    if head.thread_id != before.thread_id or head.received_at <= before.received_at:
        return False
    if patterns.line("correction").search(_bare(candidate)):
        return candidate.score >= weights.CHANGES_AT_LEAST
    as_near = candidate.features.around >= first.features.around - weights.AS_MUCH_AROUND
    return as_near and candidate.score >= first.score - weights.CORRECTS_BELOW
