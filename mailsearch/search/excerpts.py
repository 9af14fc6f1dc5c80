"""Excerpts: the pieces of a message that show why it was found, with the matching words marked.

What a message says itself goes before what it quotes; sentences with rarer and more different words go first.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

from mailsearch.hits import Excerpt, Region
from mailsearch.terms import fold, is_dense

# Characters of one excerpt, about.
LENGTH = 320
# Characters of a part that are looked through for words.
_LOOKED_THROUGH = 300_000
_MOST_MATCHES = 3_000
# Of as many characters one at most is none of ASCII where words that hold such ones are looked for one by one.
_FEW = 8
_WORD = re.compile(r"[^\W_]+")
_OTHER_LETTERS = re.compile(r"[^\W\x00-\x7f]+")
# The end of a sentence with what parts it from the next one. All that it may begin with is one set, so that whatever
# else stands in a text is passed over three times as quickly as by several of them.
_SENTENCE = re.compile(r"[.!?…。！？\n](?:(?<=[.!?…])[\"'”’)\]]*\s+|(?<=\n)\n*|(?<=[。！？]))")
# What may part two sentences.
_SPACE = 40
# A word may be longer than the stem that found it by an ending of so many letters.
_ENDING = 3
_SHORTEST_STEM = 4
_WORTH = {"quoted": 0.4, "forwarded": 0.8, "signature": 0.3}


class Part(Protocol):
    """What excerpts need of a part of a message."""

    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def starts(self) -> list[int]: ...
    @property
    def regions(self) -> Sequence[Region]: ...
    def page_at(self, offset: int) -> int | None: ...


class Match(NamedTuple):
    """A word of the text that the query asked for. `lexeme` is what it was found by."""

    start: int
    end: int
    lexeme: str


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a part that is worth showing whatever words are in it: the nearest passage."""

    part: str
    start: int
    end: int


class _Sentence(NamedTuple):
    part: Part
    start: int
    end: int
    matches: Sequence[Match]
    lexemes: frozenset[str]
    worth: float
    # Where sentences of the part begin, as far as its matches reach and a little beyond.
    bounds: Sequence[int]


class Words:
    """What a query asked for, made ready once for all messages of a page.

    `weights` are the query's lexemes with their rarity.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        chosen = _shortest(weights)
        # What else there is begins words that hold other letters than those of ASCII, which are found anyway.
        self._plain = [one.encode() for one in chosen if one.isascii()]
        self._beginning = _beginning_of_word(weights)
        # How words begin whose first other letter comes before the lexeme ends, where that is all that can match.
        self._broken: set[bytes] | None = None
        if self._beginning is not None and len(self._plain) == len(chosen):
            self._broken = {one[:end] + b"?" for one in self._plain for end in range(1, len(one))}
            self._first = {chr(one[0]) for one in self._plain}
        self._known: dict[str, Sequence[Match]] = {}

    def matches(self, text: str) -> list[Match]:
        """The words of *text* that one of the lexemes finds, in order."""
        found: list[Match] = []
        if not self.weights:
            return found
        if len(text) > _LOOKED_THROUGH:
            text = text[:_LOOKED_THROUGH]
        for start in self._likely(text):
            word = _WORD.match(text, start)
            if word is None:
                continue
            inside = self._known.get(word[0])
            if inside is None:
                inside = self._known[word[0]] = tuple(_in_word(word[0], self.weights))
            found += [Match(start + one.start, start + one.end, one.lexeme) for one in inside]
            if len(found) > _MOST_MATCHES:
                break
        return found

    def _likely(self, text: str) -> Sequence[int]:
        """Where words of *text* begin that begin with one of the lexemes, or hold a letter that folds to others.

        No more can match. Far fewer than all words, which cost more to look at one by one than to look for what they
        may begin with.
        """
        # One byte for each character; what is none of ASCII is a question mark.
        lower = text.encode("ascii", "replace").lower()
        starts = _beginnings(text, lower, self._plain)
        others = lower.count(b"?")
        if others:
            few = self._broken is not None and others * _FEW < len(text)
            starts += self._folding(text, lower) if few else self._beyond_ascii(text)
        return sorted(set(starts)) if len(starts) > 1 else starts

    def _folding(self, text: str, lower: bytes) -> list[int]:
        """Where words begin as a lexeme does up to their first letter that is none of ASCII."""
        starts = _beginnings(text, lower, self._broken or ())
        at = lower.find(b"?")
        while at >= 0:
            if (not at or not text[at - 1].isalnum()) and _first_folded(text[at]) in self._first:
                starts.append(at)
            at = lower.find(b"?", at + 1)
        return starts

    def _beyond_ascii(self, text: str) -> Iterator[int]:
        """Where words begin that hold another letter than those of ASCII, as far as their first one lets them match."""
        if self._beginning is not None:
            for word in self._beginning.finditer(text):
                if not word[0].isascii():
                    yield word.start()
            return
        for found in _OTHER_LETTERS.finditer(text):
            yield _start_of_word(text, found.start())


def excerpts(
    parts: Sequence[Part], words: Words, nearest: Span | None = None, *, limit: int = 3
) -> tuple[Excerpt, ...]:
    """At most *limit* excerpts of *parts*, the most telling first.

    *nearest* is the passage that semantic search found. A message without any match shows how its body begins.
    """
    found = {part.name: words.matches(part.text) for part in parts}
    if nearest is None and not any(found.values()):
        return _beginning(parts)
    chosen: list[Excerpt] = []
    for sentence in _best(parts, found, words.weights, limit if nearest is None else limit - 1):
        if not _overlaps(chosen, sentence.part.name, sentence.start, sentence.end):
            chosen.append(_around(sentence, found[sentence.part.name]))
    near = _nearest(parts, nearest, found, words.weights) if nearest is not None else None
    if near is not None and not _overlaps(chosen, near.part, near.start, near.end):
        chosen.append(near)
    return tuple(chosen) or _beginning(parts)


def _beginnings(text: str, lower: bytes, beginnings: Iterable[bytes]) -> list[int]:
    """Where words of *text* begin with one of *beginnings*, as *lower* has them."""
    starts = []
    for beginning in beginnings:
        at = lower.find(beginning)
        while at >= 0:
            if not at or not text[at - 1].isalnum():
                starts.append(at)
            at = lower.find(beginning, at + 1)
    return starts


@lru_cache(10_000)
def _first_folded(letter: str) -> str:
    return fold(letter)[:1]


def _shortest(lexemes: Iterable[str]) -> list[str]:
    """Those that no other one begins: whatever begins with any of *lexemes* begins with one of these."""
    chosen: list[str] = []
    for lexeme in sorted(lexemes):
        if not chosen or not lexeme.startswith(chosen[-1]):
            chosen.append(lexeme)
    return chosen


def _beginning_of_word(lexemes: Iterable[str]) -> re.Pattern[str] | None:
    """The words that one of *lexemes* may find by their first letter, which is looked for first; None where a match may
    begin inside of a word, as pairs of characters do."""
    chosen = list(lexemes)
    if not all(len(one) > 2 for one in chosen):
        return None
    return _beginning_with(frozenset([letter for one in chosen for letter in (one[0], one[0].upper())]))


@lru_cache(1_000)
def _beginning_with(letters: frozenset[str]) -> re.Pattern[str]:
    # What a word can't begin with is named: a class of all beyond ASCII takes longer to compile than a page to make.
    others = "".join(re.escape(chr(code)) for code in range(128) if chr(code) not in letters)
    return re.compile(rf"[^{others}](?<![^\W_].)(?<=[^\W_])[^\W_]*", re.DOTALL)


def _start_of_word(text: str, at: int) -> int:
    while at and text[at - 1].isalnum():
        at -= 1
    return at


def _in_word(word: str, weights: Mapping[str, float]) -> Iterator[Match]:
    """The matches in one word, with offsets into it."""
    folded = fold(word)
    if not word.isascii() and len(folded) == len(word) and any(is_dense(character) for character in folded):
        yield from _in_dense(folded, weights)
        return
    if folded in weights:
        yield Match(0, len(word), folded)
        return
    for length in range(len(folded) - 1, max(_SHORTEST_STEM, len(folded) - _ENDING) - 1, -1):
        if folded[:length] in weights:
            yield Match(0, len(word), folded[:length])
            return


def _in_dense(folded: str, weights: Mapping[str, float]) -> Iterator[Match]:
    """Pairs of characters in a script without spaces; what overlaps or touches becomes one match."""
    begin, end, lexeme = 0, 0, ""
    for at in range(len(folded)):
        size = 2 if folded[at : at + 2] in weights else 1 if folded[at] in weights else 0
        if not size:
            continue
        if at > end and lexeme:
            yield Match(begin, end, lexeme)
            begin, lexeme = at, ""
        begin = at if not lexeme else begin
        lexeme = lexeme or folded[at : at + size]
        end = max(end, at + size)
    if lexeme:
        yield Match(begin, min(end, len(folded)), lexeme)


def _best(
    parts: Sequence[Part], found: Mapping[str, Sequence[Match]], weights: Mapping[str, float], limit: int
) -> list[_Sentence]:
    sentences = [sentence for part in parts if found[part.name] for sentence in _sentences(part, found[part.name])]
    if len(sentences) == 1 and limit > 0:
        return sentences
    chosen: list[_Sentence] = []
    shown: set[str] = set()
    while sentences and len(chosen) < limit:
        # A word that an earlier excerpt shows already counts for little in the next one.
        best = max(sentences, key=lambda one: _score(one, weights, shown))
        if chosen and _score(best, weights, shown) < 0.5 * _score(chosen[0], weights, set()):
            break
        chosen.append(best)
        shown |= best.lexemes
        sentences = [
            one
            for one in sentences
            if one.part.name != best.part.name or one.start >= best.start + LENGTH or one.end <= best.start - LENGTH
        ]
    return chosen


def _score(sentence: _Sentence, weights: Mapping[str, float], shown: set[str]) -> float:
    return sentence.worth * sum([weights[one] * (0.2 if one in shown else 1.0) for one in sentence.lexemes])


def _sentences(part: Part, found: Sequence[Match]) -> Iterator[_Sentence]:
    """The sentences of *part* in which something matches, where anything does."""
    # A subject is shown with the hit anyway, whatever stands in it.
    regions = () if part.name == "subject" else part.regions
    if len(found) == 1 and len(part.text) <= LENGTH:
        # All of it will be shown.
        yield _sentence(part, regions, 0, len(part.text), found, ())
        return
    bounds = _bounds(part, found[0].start, found[-1].end)
    groups: dict[int, list[Match]] = {}
    for match in found:
        groups.setdefault(bisect_right(bounds, match.start) - 1, []).append(match)
    for number, inside in groups.items():
        start, end = bounds[number], bounds[number + 1] if number + 1 < len(bounds) else len(part.text)
        yield _sentence(part, regions, start, end, inside, bounds)


def _sentence(
    part: Part, regions: Sequence[Region], start: int, end: int, inside: Sequence[Match], bounds: Sequence[int]
) -> _Sentence:
    worth = 0.5 if part.name == "subject" else _worth(regions, inside[0].start)
    return _Sentence(part, start, end, inside, frozenset([match.lexeme for match in inside]), worth, bounds)


def _bounds(part: Part, first: int, last: int) -> list[int]:
    """Where sentences, lines and blocks begin: all that can matter to an excerpt between the offsets."""
    # A sentence that begins before this, or ends after, is longer than any excerpt and is cut anyway.
    begin, end = max(0, first - LENGTH - _SPACE), min(last + LENGTH + _SPACE, _LOOKED_THROUGH)
    starts = {0, *[match.end() for match in _SENTENCE.finditer(part.text, begin, end)]}
    starts.update(part.starts)
    return sorted(starts)


def _worth(regions: Sequence[Region], at: int) -> float:
    return min((_WORTH[region.kind] for region in regions if region.start <= at < region.end), default=1.0)


def _around(sentence: _Sentence, found: Sequence[Match]) -> Excerpt:
    """The sentence with what stands around it, as far as there is room."""
    start, end = sentence.start, sentence.end
    if not sentence.bounds:
        return _cut(sentence.part, start, end, found)
    if end - start > LENGTH:
        middle = sentence.matches[0].start
        start = max(start, middle - LENGTH // 3)
        end = min(end, start + LENGTH)
    bounds = [*sentence.bounds, len(sentence.part.text)]
    after = bisect_right(bounds, end)
    while after < len(bounds) and bounds[after] - start <= LENGTH:
        end = bounds[after]
        after += 1
    before = bisect_right(bounds, start - 1) - 1
    while before >= 0 and end - bounds[before] <= LENGTH:
        start = bounds[before]
        before -= 1
    return _cut(sentence.part, start, end, found)


def _cut(part: Part, start: int, end: int, found: Sequence[Match]) -> Excerpt:
    """The piece between the offsets, moved to whole words and without white space at its ends."""
    text = part.text
    while 0 < start < end and text[start - 1].isalnum() and text[start].isalnum() and not is_dense(text[start]):
        start += 1
    while start < end < len(text) and text[end - 1].isalnum() and text[end].isalnum() and not is_dense(text[end]):
        end -= 1
    piece = text[start:end].lstrip()
    start = end - len(piece)
    piece = piece.rstrip()
    end = start + len(piece)
    inside = [one for one in found if start <= one.start and one.end <= end]
    return Excerpt(part.name, start, end, piece, part.page_at(start), _marks(text, inside, start))


def _marks(text: str, inside: Sequence[Match], start: int) -> tuple[tuple[int, int], ...]:
    """The matches as offsets from *start*; the parts of an identifier (`PN-4711a/2`) become one mark."""
    marks: list[tuple[int, int]] = []
    for one in inside:
        gap = text[marks[-1][1] + start : one.start] if marks else " "
        if len(gap) == 1 and not gap.isspace() and gap not in ",;!?":
            marks[-1] = (marks[-1][0], one.end - start)
        else:
            marks.append((one.start - start, one.end - start))
    return tuple(marks)


def _nearest(
    parts: Sequence[Part],
    nearest: Span,
    found: Mapping[str, Sequence[Match]],
    weights: Mapping[str, float],
) -> Excerpt | None:
    """The passage that semantic search found: where in it words match, else from its first own words on."""
    part = next((one for one in parts if one.name == nearest.part), None)
    if part is None:
        return None
    inside = [one for one in found[part.name] if nearest.start <= one.start < nearest.end]
    begin = nearest.start
    if inside and nearest.end - nearest.start > LENGTH:
        heaviest = max(inside, key=lambda one: weights[one.lexeme])
        begin = max(nearest.start, min(heaviest.start - LENGTH // 3, nearest.end - LENGTH))
    return _cut(part, begin, min(nearest.end, begin + LENGTH), found[part.name])


def _overlaps(chosen: Sequence[Excerpt], part: str, start: int, end: int) -> bool:
    return bool(chosen) and any(one.part == part and start < one.end and one.start < end for one in chosen)


def _beginning(parts: Sequence[Part]) -> tuple[Excerpt, ...]:
    body = next((part for part in parts if part.name == "body" and part.text.strip()), None)
    return (_cut(body, 0, min(LENGTH, len(body.text)), ()),) if body else ()
