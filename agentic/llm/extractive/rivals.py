"""Which of several like things is meant: "the second floor" is not the first, "60 months" are not 36, and who says
"the train or the bus" has not chosen."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from agentic.llm.extractive import patterns
from agentic.llm.extractive.question import Ask
from agentic.llm.extractive.reading import Reading, Sentence
from agentic.llm.extractive.words import Word, fold, numbered_words, stop_words, words_of

# Who asks how many or how long names numbers that the answer changes.
_CHANGED = frozenset(("count", "quantity"))
_OR = frozenset(("or", "oder", "ou"))


def tells_of_a_rival(ask: Ask, reading: Reading, index: int) -> bool:
    """Whether the sentence at *index* gives a thing that *ask* numbers another number, and none beside it the same."""
    if ask.expectation.kind in _CHANGED:
        return False
    asked = _numbered_in(ask.text)
    told = _numbered(reading.sentences[index].words) if asked else {}
    for thing in asked.keys() & told.keys():
        near = [_numbered(other.words).get(thing, frozenset()) for other in reading.neighbours(index, 1)]
        if not asked[thing] & told[thing].union(*near):
            return True
    return False


def leaves_open(ask: Ask, sentence: Sentence) -> bool:
    """Whether *sentence* only names as alternatives what *ask* names so: "the train or the bus"."""
    asked = _alternatives_in(ask.text)
    return bool(asked) and any(
        (one in before and other in behind) or (other in before and one in behind)
        for one, other in asked
        for before, behind in _around_or(sentence.words)
    )


@lru_cache(maxsize=64)
def _alternatives_in(text: str) -> tuple[tuple[str, str], ...]:
    """What stands straight before and behind each "or" of a question."""
    found = _around_or(tuple(words_of(text)))
    return tuple((before[-1], behind[0]) for before, behind in found if before and behind)


def _around_or(words: Sequence[Word]) -> list[tuple[list[str], list[str]]]:
    """Stems of the telling words before and behind each "or"."""
    return [
        (_telling(words[:at]), _telling(words[at + 1 :])) for at, word in enumerate(words) if word.raw.lower() in _OR
    ]


def _telling(words: Sequence[Word]) -> list[str]:
    return [word.stem for word in words if fold(word.raw) not in stop_words()]


@lru_cache(maxsize=64)
def _numbered_in(text: str) -> dict[str, frozenset[int]]:
    return _numbered(words_of(text))


def _numbered(words: Sequence[Word]) -> dict[str, frozenset[int]]:
    """Stems of things with the numbers that stand before them; days of a month are dates and no such things."""
    found: dict[str, set[int]] = {}
    for word, thing in pairwise(words):
        number = _number(word.raw)
        named = thing.raw.isalpha() and fold(thing.raw) not in stop_words()
        if number is not None and named and not patterns.calendar().fullmatch(thing.raw):
            found.setdefault(thing.stem, set()).add(number)
    return {thing: frozenset(numbers) for thing, numbers in found.items()}


def _number(raw: str) -> int | None:
    digits = raw.rstrip("stndrhe") if raw[:1].isdigit() else raw
    if digits.isdecimal() and digits.isascii():
        return int(digits)
    return numbered_words().get(fold(raw))
