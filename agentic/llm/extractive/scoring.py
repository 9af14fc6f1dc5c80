"""How well each sentence of the mail shown answers what is asked, as features for weights set on known answers."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.llm.extractive import patterns
from agentic.llm.extractive.alignment import Aligned, Alignment, Vectors
from agentic.llm.extractive.counting import counts
from agentic.llm.extractive.eligible import Footers, is_eligible
from agentic.llm.extractive.kinds import STRICT, holds
from agentic.llm.extractive.people import Person
from agentic.llm.extractive.question import Ask, Question, Term
from agentic.llm.extractive.reading import Reading, Sentence
from agentic.llm.extractive.words import Word, fold, similarity, stop_words, words_of

# How far a word counts that stands not in the sentence itself but near it, in its mail, or in its thread.
_NEXT, _NEAR, _ANSWERED, _SUBJECT, _MAIL, _THREAD = 0.8, 0.6, 0.6, 0.6, 0.4, 0.25
_EMBEDDED_AT_MOST = 24
_EMBEDDED_CHARACTERS = 300
_NEAR_FORM = 0.75
# Words lent by another part of the question count less, and are never missed.
_SHARED = 0.5
# "Total amount:" or the first cell of a row: what a line says that it gives.
_LABEL = re.compile(r"^[^:|]{2,80}?(?=\s*[:|]\s)")

# A first order, a message, the place of a sentence in it, and how far it covers the question.
_Rough = tuple[float, Reading, int, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Features:
    """What is known of one sentence as an answer to one ask; all between -1 and 1."""

    inside: float = 0.0
    around: float = 0.0
    missing: float = 0.0
    context: float = 0.0
    alike: float = 0.0
    speaker: float = 0.0
    kind: float = 0.0
    asking: float = 0.0
    fresh: float = 0.0
    length: float = 0.0
    signature: float = 0.0
    proper_missing: float = 0.0
    head: float = 0.0
    worst: float = 0.0
    # How early the mail came among all that was found.
    rank: float = 0.0
    # How much of a line's own label is asked for.
    label: float = 0.0
    # How alike the whole question is to the sentence, where `alike` is of the part that is asked.
    whole: float = 0.0
    # The share of the sentence's words that are the question's.
    precise: float = 0.0
    # How far the question's words are met by words of the same meaning: beside the sentence, in its mail, and the one
    # that is met worst.
    aligned: float = 0.0
    borne: float = 0.0
    weakest: float = 0.0

    def row(self) -> list[float]:
        return [getattr(self, name) for name in self.__slots__]


@dataclass(slots=True)
class Candidate:
    """A sentence considered as an answer."""

    reading: Reading
    index: int
    features: Features
    score: float = 0.0

    @property
    def sentence(self) -> Sentence:
        return self.reading.sentences[self.index]


@dataclass(slots=True)
class Corpus:
    """All messages shown, with what is needed to weigh a word."""

    readings: list[Reading]
    people: tuple[Person, ...]
    frequency: dict[str, int]
    sentences: int
    # Thread id to the stems of everything visible in it, people included.
    threads: dict[str, frozenset[str]]
    footers: Footers
    # Label to how early its message came among those shown, 1 for the first search's first. A mail that was read for
    # its thread has half of what its thread has.
    ranks: dict[str, float]


def gather(readings: list[Reading], people: tuple[Person, ...]) -> Corpus:
    """Count words over *readings*."""
    frequency: dict[str, int] = {}
    threads: dict[str, set[str]] = {}
    for reading in readings:
        for sentence in reading.sentences:
            for stem in sentence.stems:
                frequency[stem] = frequency.get(stem, 0) + 1
        threads.setdefault(reading.head.thread_id, set()).update(reading.visible, reading.people)
    total = sum(len(reading.sentences) for reading in readings)
    return Corpus(
        readings,
        people,
        frequency,
        total,
        {name: frozenset(stems) for name, stems in threads.items()},
        Footers(readings),
        _ranks(readings),
    )


def _ranks(readings: Sequence[Reading]) -> dict[str, float]:
    best: dict[str, float] = {}
    for place, reading in enumerate(readings):
        best.setdefault(reading.head.thread_id, 1 / (1 + place))
    return {
        reading.label: max(1 / (1 + place), best[reading.head.thread_id] / 2) for place, reading in enumerate(readings)
    }


class Scorer:
    """Scores the sentences of one corpus against one ask."""

    def __init__(self, question: Question, ask: Ask, corpus: Corpus) -> None:
        self.question = question
        self.ask = ask
        self.corpus = corpus
        named = {stem for person in corpus.people for stem in person.named_by}
        self.terms = [term for term in ask.terms if term.stem not in named]
        self.context = [term for term in ask.context if term.stem not in named]
        self._wishes = patterns.line("wishes").search(ask.text) is not None
        self._whether = ask.whether
        self.people = [person for person in corpus.people if person.named_by & {term.stem for term in ask.own_terms}]
        self.others = [person for person in corpus.people if person not in self.people]
        vocabulary = set(corpus.frequency) | {stem for stems in corpus.threads.values() for stem in stems}
        self._forms = {term.stem: _forms(term.stem, vocabulary) for term in {*self.terms, *self.context}}
        self._weights = {term: self._weight(term) for term in {*self.terms, *self.context}}
        named_by = {word.stem for word in words_of(ask.expectation.named_by)}
        self._asked = {term.stem for term in (*ask.terms, *ask.context)} | named_by
        near = {form for forms in self._forms.values() for form, match in forms.items() if match >= _NEAR_FORM}
        self._asked_nearly = self._asked | near

    def _weight(self, term: Term) -> float:
        found = max(
            (
                self.corpus.frequency.get(form, 0)
                for form, match in self._forms[term.stem].items()
                if match >= _NEAR_FORM
            ),
            default=0,
        )
        weight = math.log(1 + (self.corpus.sentences + 50) / (1 + found))
        weight *= 0.3 if term.weak else 1.3 if term.proper and not term.shared else 1.0
        return weight * (_SHARED if term.shared else 1.0)

    def match(self, term: Term, stems: frozenset[str]) -> float:
        """How well *term* is found among *stems*, 0 to 1."""
        forms = self._forms[term.stem]
        if len(forms) < len(stems):
            return max((match for form, match in forms.items() if form in stems), default=0.0)
        return max((forms[stem] for stem in stems if stem in forms), default=0.0)

    def candidates(self, vectors: Vectors) -> list[Candidate]:
        """The sentences most worth a closer look, with their features. Raises EmbeddingUnavailable."""
        rough: list[_Rough] = []
        for reading in self.corpus.readings:
            background = self._background(reading)
            for index, sentence in enumerate(reading.sentences):
                if not self._may_answer(reading, index):
                    continue
                found = self._coverage(reading, index, background)
                order = found[0] + found[1] + 0.4 * self._speaker(reading, sentence) + 0.5 * self._kind(reading, index)
                rough.append((order, reading, index, found))
        rough.sort(key=lambda entry: (-entry[0], entry[1].head.message_id, entry[2]))
        chosen = list(_distinct(rough))[:_EMBEDDED_AT_MOST]
        places = [(reading, index) for _, reading, index, _ in chosen]
        alignment = Alignment({term: self._weights[term] for term in self.terms}, self.match, vectors)
        alignment.prepare(places)
        candidates = []
        for (_, reading, index, found), near in zip(chosen, self._alike(places, vectors), strict=True):
            aligned = alignment.of(reading, index, self._background(reading))
            candidates.append(Candidate(reading, index, self._features(reading, index, found, near, aligned)))
        return candidates

    def _may_answer(self, reading: Reading, index: int) -> bool:
        sentence = reading.sentences[index]
        kind = self.ask.expectation.kind
        if not is_eligible(sentence, kind, wishes=self._wishes) or sentence in self.corpus.footers:
            return False
        if kind == "count" and self.ask.head and not self._counts(sentence):
            return False
        if not (self._whether or self._fresh(sentence)):
            return False
        return kind not in STRICT or holds(kind, sentence.text, self.question.text)

    def _counts(self, sentence: Sentence) -> bool:
        """Whether a number stands just before (or behind) the word for what is counted."""
        head = self.ask.head[-1]
        places = [
            at for at, word in enumerate(sentence.words) if self.match(head, frozenset((word.stem,))) >= _NEAR_FORM
        ]
        return counts(sentence, places, self.question.text)

    def _head(self, reading: Reading, index: int) -> float:
        """How near the thing stands that was asked for by "which" or "what": 1 in the sentence, 0 nowhere."""
        if not self.ask.head:
            return 0.5
        sentence = reading.sentences[index]
        near = frozenset(stem for other in reading.neighbours(index, 2) for stem in other.stems)
        found = [
            max(
                self.match(term, sentence.stems),
                0.7 * self.match(term, near),
                0.6 * self.match(term, sentence.answers_to),
                0.5 * self.match(term, reading.subject),
                0.2 * self.match(term, reading.visible),
            )
            for term in self.ask.head
            if term.stem in self._forms
        ]
        return sum(found) / len(found) if found else 0.5

    def _background(self, reading: Reading) -> dict[Term, float]:
        """For each term how far the mail around a sentence covers it."""
        thread = self.corpus.threads[reading.head.thread_id]
        return {
            term: max(
                _SUBJECT * self.match(term, reading.subject),
                _MAIL * self.match(term, reading.visible | reading.people),
                _THREAD * self.match(term, thread),
            )
            for term in (*self.terms, *self.context)
        }

    def _coverage(self, reading: Reading, index: int, background: dict[Term, float]) -> tuple[float, ...]:
        sentence = reading.sentences[index]
        near = [
            (other.stems, _NEXT if distance == 1 else _NEAR)
            for distance in (1, 2)
            for other in reading.neighbours(index, distance)
        ]
        inside = around = missing = total = proper = proper_missing = worst = heaviest = 0.0
        for term in self.terms:
            weight = self._weights[term]
            here = self.match(term, sentence.stems)
            best = max(here, background[term], _ANSWERED * self.match(term, sentence.answers_to))
            if best < _NEXT:
                best = max(best, *(far * self.match(term, stems) for stems, far in near)) if near else best
            total += weight
            inside += weight * here
            around += weight * best
            worst = max(worst, weight * (1 - min(1.0, best / _NEAR)))
            heaviest = max(heaviest, weight)
            missing += weight * (best < _THREAD / 2 and not term.shared)
            proper += weight * (term.proper and not term.shared)
            proper_missing += weight * (term.proper and not term.shared and best < _THREAD / 2)
        total = total or 1.0
        weights = sum(self._weights[term] for term in self.context) or 1.0
        context = sum(self._weights[term] * min(1.0, background[term] * 2) for term in self.context) / weights
        context = context if self.context else 0.5
        if not self.terms:
            inside = around = total
        return (
            inside / total,
            around / total,
            missing / total,
            context,
            proper_missing / (proper or 1.0),
            worst / (heaviest or 1.0),
        )

    def _speaker(self, reading: Reading, sentence: Sentence) -> float:
        """1 where who is asked about speaks, less where they are mentioned, below 0 where they have no part in it."""
        if not self.people:
            return self._other_speaker(reading)
        spoken = any(person.role == "agent" and person.wrote(reading.head.sender) for person in self.people)
        return min(self._part(person, reading, sentence, spoken=spoken) for person in self.people)

    def _part(self, person: Person, reading: Reading, sentence: Sentence, *, spoken: bool) -> float:
        """The part that *person* has in *sentence*; *spoken* where somebody wrote it of whom that is asked."""
        if person.wrote(reading.head.sender):
            return {"agent": 1.0, "owner": 1.0, "topic": 0.5, "recipient": -0.5}[person.role]
        if not person.named_by <= self.corpus.threads[reading.head.thread_id]:
            return -1.0
        if spoken:
            # To whom it was written, or about whose words, the thread tells.
            return 1.0
        if person.named_by <= sentence.stems:
            return 0.5
        if person.named_by <= reading.own:
            return 0.2
        return 0.0 if person.role in ("topic", "recipient") else -0.5

    def _other_speaker(self, reading: Reading) -> float:
        if not self.others:
            return 0.0
        thread = self.corpus.threads[reading.head.thread_id]
        return 0.2 if all(person.named_by <= thread for person in self.others) else -0.7

    def _kind(self, reading: Reading, index: int) -> float:
        kind = self.ask.expectation.kind
        if not kind:
            return 0.0
        sentence = reading.sentences[index]
        if holds(kind, sentence.text, self.question.text):
            return 1.0
        return -1.0 if kind in STRICT else -0.3

    def _alike(self, places: list[tuple[Reading, int]], vectors: Vectors) -> list[tuple[float, float]]:
        """How alike as embeddings each sentence is to the part that is asked, and to the whole question."""
        if not (vectors.there and places):
            return [(0.0, 0.0)] * len(places)
        texts = [reading.sentences[index].text[:_EMBEDDED_CHARACTERS] for reading, index in places]
        rows = vectors.of([self.ask.text, self.question.text, *texts])
        return [(float(part), float(whole)) for part, whole in rows[2:] @ rows[:2].T]

    def _features(
        self, reading: Reading, index: int, found: tuple[float, ...], near: tuple[float, float], aligned: Aligned
    ) -> Features:
        sentence = reading.sentences[index]
        count = len(sentence.words)
        return Features(
            inside=found[0],
            around=found[1],
            missing=found[2],
            context=found[3],
            alike=near[0],
            speaker=self._speaker(reading, sentence),
            kind=self._kind(reading, index),
            asking=float(not self._wishes and sentence.text.rstrip("\"' )").endswith("?")),
            fresh=min(1.0, len(self._fresh(sentence)) / 4),
            length=min(1.0, count / 25),
            signature=float(sentence.in_signature),
            proper_missing=found[4],
            head=self._head(reading, index),
            worst=found[5],
            rank=self.corpus.ranks[reading.label],
            label=self._label(sentence),
            whole=near[1],
            precise=self._precise(sentence.words),
            aligned=aligned.near,
            borne=aligned.anywhere,
            weakest=aligned.worst,
        )

    def _fresh(self, sentence: Sentence) -> set[str]:
        """Stems of what *sentence* says and the question does not: without any it tells nothing."""
        return {
            word.stem for word in sentence.words if word.stem not in self._asked and fold(word.raw) not in stop_words()
        }

    def _label(self, sentence: Sentence) -> float:
        match = _LABEL.match(sentence.text)
        return self._precise(words_of(match.group())) if match else 0.0

    def _precise(self, words: Sequence[Word]) -> float:
        """The share of *words* that are the question's, figures apart."""
        telling = {word.stem for word in words if word.raw.isalpha() and fold(word.raw) not in stop_words()}
        return len(telling & self._asked_nearly) / len(telling) if telling else 0.0


def _distinct(rough: Iterable[_Rough]) -> Iterable[_Rough]:
    """One mail may lie in several mailboxes: each of its sentences once, the best placed."""
    seen: set[tuple[str, str]] = set()
    for entry in rough:
        _, reading, index, _ = entry
        key = (reading.head.rfc_message_id or reading.label, reading.sentences[index].text)
        if key not in seen:
            seen.add(key)
            yield entry


def _forms(wanted: str, vocabulary: set[str]) -> dict[str, float]:
    forms = {wanted: 1.0}
    for stem in vocabulary:
        match = similarity(wanted, stem)
        if match:
            forms[stem] = match
    return forms
