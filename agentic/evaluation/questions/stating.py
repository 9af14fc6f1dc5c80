"""Whether a text says what answers a question: its gold words, or the facts of its answer among words of its topic.

Meant to find too much rather than too little, since it decides what a deletion twin lacks and proves that nothing was
left. A paragraph is looked at by itself, so that a number here and a topic there make no answer.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentic.core.verify.facts.extract import extract
from agentic.core.verify.facts.match import supports
from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import every_stop_word
from agentic.evaluation.questions.cases import Case, plain, unquoted

# So much of a gold quote in one stretch counts as the quote, if it is long enough to be no phrase of everyday.
_STRETCH, _STRETCH_LETTERS = 0.5, 40
# Shares of the words of a gold quote, or of the question, beside the answer's facts; and without any facts.
_OF_QUOTE, _OF_QUESTION, _WITHOUT_FACTS, _WORDS = 0.5, 0.4, 0.8, 4
_LANGUAGES = ("en", "de", "fr", "es", "it", "nl")
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")
_WORD = re.compile(r"\w{2,}")


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """A text as it is looked at: whole, by paragraphs, and its words."""

    whole: str
    each: tuple[str, ...]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Paragraphs":
        each = tuple(filter(None, map(plain, _PARAGRAPHS.split(unquoted(text)))))
        return cls(plain(text), each, _words(" ".join(each)))


@dataclass(frozen=True, slots=True)
class _Statement:
    """One gold quote: its stretches, the facts of the answer in it, its other words, and those of the question."""

    quote: str
    stretches: tuple[str, ...]
    facts: tuple[Fact, ...]
    words: frozenset[str]
    topic: frozenset[str]


class Stating:
    """What says again what answers *case*."""

    def __init__(self, case: Case) -> None:
        answers = [fact for text in case.answers for fact in extract(plain(text), _LANGUAGES)]
        topic = _beside(plain(case.question), extract(plain(case.question), _LANGUAGES))
        self._statements = [_statement(plain(gold.quote), answers if case.answers else None, topic)
                            for gold in case.gold]  # fmt: skip

    def among(self, texts: Iterable[Paragraphs]) -> bool:
        """Whether one of the *texts* says it."""
        return any(_says(statement, text) for text in texts for statement in self._statements)


def _statement(quote: str, answers: Sequence[Fact] | None, topic: frozenset[str]) -> _Statement:
    found = extract(quote, _LANGUAGES, claims=True)
    # Of an answer that is not told by itself every fact of the quote may be the one.
    facts = [one for one in found if answers is None or any(supports(one, answer, 0) for answer in answers)]
    length = max(_STRETCH_LETTERS, round(len(quote) * _STRETCH))
    stretches = tuple(quote[at : at + length] for at in range(len(quote) - length + 1))
    return _Statement(quote, stretches, tuple(facts), _beside(quote, found), topic)


def _says(statement: _Statement, text: Paragraphs) -> bool:
    if statement.quote in text.whole or any(stretch in text.whole for stretch in statement.stretches):
        return True
    if not _on_topic(statement, text.words):
        return False
    return any(_on_topic(statement, _words(one)) and _facts_in(statement, one) for one in text.each)


def _on_topic(statement: _Statement, words: frozenset[str]) -> bool:
    if not statement.facts:
        return len(statement.words) >= _WORDS and _share(statement.words, words) >= _WITHOUT_FACTS
    return _share(statement.words, words) >= _OF_QUOTE or _share(statement.topic, words) >= _OF_QUESTION


def _facts_in(statement: _Statement, paragraph: str) -> bool:
    found = extract(paragraph, _LANGUAGES) if statement.facts else []
    return all(any(supports(wanted, one, 0) for one in found) for wanted in statement.facts)


def _share(wanted: frozenset[str], words: frozenset[str]) -> float:
    return len(wanted & words) / len(wanted) if wanted else 0.0


def _beside(text: str, facts: Iterable[Fact]) -> frozenset[str]:
    """The words of *text* that belong to none of its *facts*."""
    return _words("".join(_without(text, facts)))


def _without(text: str, facts: Iterable[Fact]) -> Iterator[str]:
    at = 0
    for fact in facts:
        yield text[at : fact.start] + " "
        at = max(at, fact.end)
    yield text[at:]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text)) - every_stop_word()
