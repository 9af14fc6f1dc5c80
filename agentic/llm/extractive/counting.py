"""Whether a sentence gives a number of the things that are asked for, and not of others."""

from collections.abc import Iterable

from agentic.llm.extractive.kinds import holds
from agentic.llm.extractive.reading import Sentence
from agentic.llm.extractive.words import fold, stop_words

# A number stands so many words before what it counts, or so many behind it.
_BEFORE, _BEHIND = (1, 2, 3), (1, 2)


def counts(sentence: Sentence, places: Iterable[int], question: str) -> bool:
    """Whether a number that *question* does not have counts one of the words at *places* of *sentence*."""
    places = list(places)
    before = {at - step for at in places for step in _BEFORE}
    behind = {at + step for at in places for step in _BEHIND} - before
    return any(
        holds("count", sentence.words[at].raw, question)
        and not _is_mark(sentence, at)
        and not (at in behind and _counts_another(sentence, at))
        for at in before | behind
        if 0 <= at < len(sentence.words)
    )


def _is_mark(sentence: Sentence, at: int) -> bool:
    """Whether the figure at *at* counts nothing: a time of day, where a range begins, or an item's number in a list."""
    word = sentence.words[at]
    behind = sentence.text[word.end - sentence.start :][:1]
    return ":" in word.raw or behind in ("-", "–") or (at == 0 and word.raw.isdigit() and behind in (")", "."))


def _counts_another(sentence: Sentence, at: int) -> bool:
    """Whether the figure at *at* stands straight before a word that it counts: "a folder (10000 msgs)"."""
    if at + 1 == len(sentence.words):
        return False
    word, following = sentence.words[at], sentence.words[at + 1]
    between = sentence.text[word.end - sentence.start : following.start - sentence.start]
    return between == " " and following.raw.isalpha() and fold(following.raw) not in stop_words()
