"""From scored sentences to the ones that are given as the answer, or to none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

from agentic.llm.extractive import patterns, weights
from agentic.llm.extractive.alignment import Embed, Vectors
from agentic.llm.extractive.contacts import contact_lines
from agentic.llm.extractive.kinds import CONTACT, STRICT
from agentic.llm.extractive.people import find_people
from agentic.llm.extractive.question import Ask, Question
from agentic.llm.extractive.reading import Reading
from agentic.llm.extractive.rivals import leaves_open, tells_of_a_rival
from agentic.llm.extractive.scoring import Candidate, Corpus, Features, Scorer, gather

# Sentences given at most to a question, or to each part of a question in parts.
PER_ASK = 4
# So many of the best sentences of each part are tried against those of the other parts.
_TRIED = 4


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found for one ask: the sentences to give, best first; empty where none is sure enough."""

    ask: Ask
    chosen: tuple[Candidate, ...]
    # Everything that was looked at, best first.
    considered: tuple[Candidate, ...]
    # The one that the others only go with.
    surest: Candidate | None = None


def choose(question: Question, readings: list[Reading], embed: Embed | None) -> list[Choice]:
    """Choose for each ask of *question* among the sentences of *readings*. Raises EmbeddingUnavailable."""
    corpus = gather(readings, find_people(question, readings))
    vectors = Vectors(embed)
    found = [_considered(question, ask, corpus, vectors) for ask in question.asks]
    passing = [_passing(ask, candidates) for ask, candidates in zip(question.asks, found, strict=True)]
    firsts = _firsts(question.asks, passing)
    if firsts is None:
        return [Choice(ask, (), tuple(one)) for ask, one in zip(question.asks, found, strict=True)]
    taken = {_bare(first) for first in firsts}
    choices = []
    for ask, first, there, considered in zip(question.asks, firsts, passing, found, strict=True):
        chosen = _with_others(first, there, taken)
        taken.update(_bare(one) for one in chosen)
        choices.append(Choice(ask, chosen, tuple(considered), first))
    return choices


def _considered(question: Question, ask: Ask, corpus: Corpus, vectors: Vectors) -> list[Candidate]:
    contacts = _contacts(question, ask, corpus)
    if contacts is not None:
        return contacts[:1]
    candidates = Scorer(question, ask, corpus).candidates(vectors)
    for candidate in candidates:
        candidate.score = weights.score(candidate.features)
    candidates.sort(key=lambda one: (-one.score, one.reading.head.message_id, one.index))
    return candidates


def _firsts(asks: Sequence[Ask], passing: Sequence[Sequence[Candidate]]) -> tuple[Candidate, ...] | None:
    """The surest sentence of each ask, another one for each; None where they are not sure enough together.

    What answers one part best often looks like an answer to the others as well; only with a sentence of its own is a
    part likely to be answered. One sentence may tell two things of different kinds, such as a date and an amount.
    """
    if len(asks) == 1:
        first = passing[0][:1]
        return tuple(first) if first and first[0].score >= weights.ANSWERS else None
    best: tuple[Candidate, ...] | None = None
    for firsts in product(*(one[:_TRIED] for one in passing)):
        if _distinct(asks, firsts) and (best is None or _sum(firsts) > _sum(best)):
            best = firsts
    if best is None or min(one.score for one in best) < weights.ANSWERS_EACH:
        return None
    told = any(ask.expectation.kind for ask in asks)
    least = weights.ANSWERS_TOGETHER if told else weights.OPEN_TOGETHER
    return best if _sum(best) / len(best) >= least else None


def _distinct(asks: Sequence[Ask], firsts: Sequence[Candidate]) -> bool:
    kinds: dict[str, list[str]] = {}
    for ask, first in zip(asks, firsts, strict=True):
        kinds.setdefault(_bare(first), []).append(ask.expectation.kind)
    return all(len(set(told) & STRICT) == len(told) for told in kinds.values() if len(told) > 1)


def _sum(firsts: Sequence[Candidate]) -> float:
    return sum(one.score for one in firsts)


def _contacts(question: Question, ask: Ask, corpus: Corpus) -> list[Candidate] | None:
    """Lines that give the contact of whoever is named; None where the question is of no such kind."""
    kind = ask.expectation.kind
    # "What is her number, and in which city is her office?": the same lines tell both.
    beside = kind == "place" and any(other.expectation.kind in CONTACT for other in question.asks)
    if not corpus.people or not (kind in CONTACT or beside):
        return None
    own = [person for person in corpus.people if person.role in ("owner", "agent")] or list(corpus.people)
    names = frozenset(term.stem for term in ask.own_terms if term.proper) - own[0].named_by
    lines = contact_lines(kind, question.text, own[0], corpus.readings, names)
    return [Candidate(reading, index, Features(), weights.CONTACT_SCORE) for reading, index in lines]


def _passing(ask: Ask, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those of *candidates* that may stand; none where the best of all may not."""
    # Words that somebody passed on are taken from the mail that wrote them, where that is at hand.
    first_hand = {_bare(one) for one in candidates if not one.sentence.forwarded}
    candidates = [one for one in candidates if not (one.sentence.forwarded and _bare(one) in first_hand)]
    # Where somebody is asked about, mail in which they have no part says nothing.
    candidates = [one for one in candidates if one.features.speaker > weights.NO_PART]
    passing = [one for one in candidates if not _is_vetoed(ask, one)]
    return passing if passing and passing[0] is candidates[0] else []


def _with_others(first: Candidate, passing: Sequence[Candidate], taken: Collection[str]) -> tuple[Candidate, ...]:
    """The *first* with a later correction before it and others behind it, none that is *taken*."""
    others = [one for one in passing if one is not first and _bare(one) not in taken]
    later = [one for one in others if _corrects(one, first)]
    later.sort(key=lambda one: -one.reading.head.received_at.timestamp())
    lowest = first.score - weights.BELOW_FIRST
    chosen = {_bare(one): one for one in (*later[:1], first)}
    for one in others:
        if one.score >= lowest and len(chosen) < PER_ASK:
            chosen.setdefault(_bare(one), one)
    return tuple(chosen.values())


def _bare(candidate: Candidate) -> str:
    return " ".join(candidate.sentence.text.split())


def _is_vetoed(ask: Ask, candidate: Candidate) -> bool:
    features = candidate.features
    if features.missing > weights.MISSING_AT_MOST and features.borne < weights.BORNE_ENOUGH:
        return True
    if features.proper_missing > weights.NAMES_MISSING_AT_MOST:
        return True
    if tells_of_a_rival(ask, candidate.reading, candidate.index) or leaves_open(ask, candidate.sentence):
        return True
    return bool(ask.head) and features.head < weights.HEAD_AT_LEAST


def _corrects(candidate: Candidate, first: Candidate) -> bool:
    """Whether a later mail of the first one's thread says it anew: in about the same words, or in words of change."""
    head, before = candidate.reading.head, first.reading.head
    if head.thread_id != before.thread_id or head.received_at <= before.received_at:
        return False
    if patterns.line("correction").search(_bare(candidate)):
        return candidate.score >= first.score - weights.CHANGES_BELOW
    as_near = candidate.features.around >= first.features.around - weights.AS_MUCH_AROUND
    return as_near and candidate.score >= first.score - weights.CORRECTS_BELOW
