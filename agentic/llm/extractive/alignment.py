"""How far the words around a sentence stand for the words of a question: the same words, or words alike as vectors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agentic.llm.extractive.question import Term
from agentic.llm.extractive.reading import Reading, Sentence
from agentic.llm.extractive.words import fold, stop_words, words_of

Embed = Callable[[Sequence[str]], "np.ndarray[Any, Any]"]
# How well a term is found among stems, 0 to 1.
Match = Callable[[Term, frozenset[str]], float]

# Any two words are this alike as vectors, and words for one thing so much more.
_STRANGERS, _KIN = 0.40, 0.45
# A word beside the sentence or in the subject counts less than one in it.
_BESIDE = 0.8


class Vectors:
    """Texts as vectors of length 1, each embedded once. Without *embed* there are none."""

    def __init__(self, embed: Embed | None) -> None:
        self._embed = embed
        self._rows: dict[str, np.ndarray[Any, Any]] = {}

    @property
    def there(self) -> bool:
        return self._embed is not None

    def of(self, texts: Sequence[str]) -> "np.ndarray[Any, Any]":
        """One row for each of *texts*. Raises EmbeddingUnavailable."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if missing and self._embed is not None:
            rows = np.asarray(self._embed(missing), dtype=np.float64)
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
            self._rows.update(zip(missing, rows, strict=True))
        return np.stack([self._rows[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Aligned:
    """How far the question's words are met, by their weight: in the sentence and beside it, and in its mail and thread
    too; and of the latter the word that is met worst. All from 0 to 1."""

    near: float = 0.5
    anywhere: float = 0.5
    worst: float = 0.5


class Alignment:
    """Meets the strong words of one ask with the words around sentences."""

    def __init__(self, weights: Mapping[Term, float], match: Match, vectors: Vectors) -> None:
        self._weights = {term: weight for term, weight in weights.items() if not term.weak}
        self._match = match
        self._vectors = vectors
        self._likeness: dict[tuple[str, str], float] = {}

    def prepare(self, places: Iterable[tuple[Reading, int]]) -> None:
        """Compare all words at once that `of` will need for *places*."""
        wanted = [word for word in dict.fromkeys(_lower(term) for term in self._weights) if _spells(word)]
        found: dict[str, None] = {}
        for reading, index in places:
            found.update(dict.fromkeys((*_content(reading.sentences[index]), *_beside(reading, index))))
        if not (self._vectors.there and wanted and found):
            return
        likeness = self._vectors.of(wanted) @ self._vectors.of(list(found)).T
        scaled = np.clip((likeness - _STRANGERS) / _KIN, 0.0, 1.0)
        for word, row in zip(wanted, scaled, strict=True):
            self._likeness.update({(word, other): float(value) for other, value in zip(found, row, strict=True)})

    def of(self, reading: Reading, index: int, background: Mapping[Term, float]) -> Aligned:
        """How well the sentence at *index* is met; *background* says how far its mail covers each term."""
        total = sum(self._weights.values())
        if not total:
            return Aligned()
        sentence = reading.sentences[index]
        inside, beside = _content(sentence), _beside(reading, index)
        stems = frozenset(stem for other in reading.neighbours(index, 1) for stem in other.stems) | reading.subject
        near = anywhere = 0.0
        worst = 1.0
        for term, weight in self._weights.items():
            here = max(self._match(term, sentence.stems), self._best(term, inside))
            here = max(here, _BESIDE * max(self._match(term, stems), self._best(term, beside)))
            there = max(here, background[term])
            near += weight * here
            anywhere += weight * there
            worst = min(worst, there)
        return Aligned(near / total, anywhere / total, worst)

    def _best(self, term: Term, words: Iterable[str]) -> float:
        wanted = _lower(term)
        return max((self._likeness.get((wanted, word), 0.0) for word in words), default=0.0)


def _lower(term: Term) -> str:
    return term.raw.lower()


def _spells(word: str) -> bool:
    return any(sign.isalpha() for sign in word)


def _content(sentence: Sentence) -> list[str]:
    return [word.raw.lower() for word in sentence.words if fold(word.raw) not in stop_words() and _spells(word.raw)]


def _beside(reading: Reading, index: int) -> list[str]:
    words = [word for other in reading.neighbours(index, 1) for word in _content(other)]
    subject = [word.raw.lower() for word in words_of(reading.head.subject)]
    return [*words, *(word for word in subject if fold(word) not in stop_words() and _spells(word))]
