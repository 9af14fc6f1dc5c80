"""From scored sentences to the ones that are given as the answer, or to none."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentic.llm.extractive import weights
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
    return [_choose_for(question, ask, corpus, embed) for ask in question.asks]


def _choose_for(question: Question, ask: Ask, corpus: Corpus, embed: Embed | None) -> Choice:
    contacts = _contacts(question, ask, corpus)
    if contacts is not None:
        return Choice(ask, tuple(contacts[:1]), tuple(contacts))
    candidates = Scorer(question, ask, corpus).candidates(embed)
    for candidate in candidates:
        candidate.score = weights.score(candidate.features)
    candidates.sort(key=lambda one: (-one.score, one.reading.head.message_id, one.index))
    return Choice(ask, _sure_ones(ask, candidates), tuple(candidates))


def _contacts(question: Question, ask: Ask, corpus: Corpus) -> list[Candidate] | None:
    """Lines that give the contact of whoever is named; None where the question is of no such kind."""
    kind = ask.expectation.kind
    if kind not in CONTACT or not corpus.people:
        return None
    own = [person for person in corpus.people if person.role in ("owner", "agent")] or list(corpus.people)
    lines = contact_lines(kind, question.text, own[0], corpus.readings)
    return [Candidate(reading, index, Features(), weights.CONTACT_SCORE) for reading, index in lines]


def _sure_ones(ask: Ask, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    passing = [one for one in candidates if not _is_vetoed(ask, one)]
    if not passing or passing[0].score < weights.ANSWERS or passing[0] is not candidates[0]:
        return ()
    first = passing[0]
    lowest = max(weights.FOLLOWS, first.score - weights.BELOW_FIRST)
    more = [one for one in passing[1:] if one.score >= lowest and one.sentence.text != first.sentence.text]
    chosen = [first, *more[: PER_ASK - 1]]
    if ask.expectation.kind in STRICT:
        chosen.sort(key=lambda one: _newer_in_thread(one, first))
    return tuple(chosen)


def _is_vetoed(ask: Ask, candidate: Candidate) -> bool:
    features = candidate.features
    if features.missing > weights.MISSING_AT_MOST or features.proper_missing > 0.5 or features.speaker <= -0.5:
        return True
    return bool(ask.head) and features.head < weights.HEAD_AT_LEAST


def _newer_in_thread(candidate: Candidate, first: Candidate) -> tuple[int, float]:
    """Sorts later mails of the first one's thread to the front: what they say counts."""
    same = candidate.reading.head.thread_id == first.reading.head.thread_id
    return (0, -candidate.reading.head.received_at.timestamp()) if same else (1, -candidate.score)
