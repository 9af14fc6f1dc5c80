"""Words of three languages as the reader compares them: folded, brought to a stem, with what counts as the same."""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Numbers keep their points and colons ("2.6.37", "08:30"); words keep an inner apostrophe.
_WORD = re.compile(r"\d+(?:[.,:]\d+)+[^\W_]*|[^\W_]+(?:['’][^\W\d_]+)?")
# French words that lose their vowel before the next: "l'acompte", "d'abord", "qu'Emil".
_ELIDED = re.compile(r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=[^\W\d_]{2})", re.I)
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SUFFIXES = (
    "ations", "ation", "ements", "ement", "ungen", "ingly", "edly", "ings", "ing", "ung", "ern", "ers", "ens",
    "ed", "em", "er", "en", "es", "ly", "e", "s", "n",
)  # fmt: skip
_SHORTEST_STEM = 4
_SHORTEST_KIN, _LONG_WORD, _COMPOUND_ADDS = 5, 7, 3


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text with its place; offsets are code points, end exclusive."""

    start: int
    end: int
    stem: str
    # As written, apart from an inner apostrophe's tail: capitals and digits still tell something.
    raw: str


def words_of(text: str, start: int = 0, end: int | None = None) -> list[Word]:
    """The words of `text[start:end]` in order; scripts without spaces come as overlapping pairs of characters."""
    found: list[Word] = []
    for match in _WORD.finditer(text, start, len(text) if end is None else end):
        raw = match.group()
        if not raw.isascii() and _UNSPACED.search(raw):
            found.extend(_pairs(raw, match.start()))
            continue
        bare = re.split("['’]", raw)[0] if len(raw) > 3 and raw[-2:-1] in "'’" else raw
        elided = _ELIDED.match(bare)
        if elided:
            bare = bare[elided.end() :]
        found.append(Word(match.start() + (elided.end() if elided else 0), match.end(), stem(fold(bare)), bare))
    return found


def _pairs(raw: str, start: int) -> Iterable[Word]:
    if len(raw) == 1:
        yield Word(start, start + 1, raw, raw)
    for at in range(len(raw) - 1):
        yield Word(start + at, start + at + 2, raw[at : at + 2], raw[at : at + 2])


def fold(word: str) -> str:
    """Lower case without accents."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))


def stem(word: str) -> str:
    """A folded word without its commonest endings: light enough to be harmless in English, German and French."""
    return _cut_suffix(_irregular().get(word, word))


def _cut_suffix(word: str) -> str:
    if len(word) <= _SHORTEST_STEM or not word.isalpha():
        return word[:-1] if len(word) == _SHORTEST_STEM and word.endswith("s") and not word.endswith("ss") else word
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM - (
            suffix in ("s", "e", "es", "ed", "ing")
        ):
            if suffix == "s" and word.endswith("ss"):
                continue
            return _undouble(word[: -len(suffix)])
    return word


def _undouble(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word


def similarity(wanted: str, other: str) -> float:
    """How far stem *other* stands for stem *wanted*: 1.0 the same, less for a near form or a compound, else 0.0."""
    if wanted == other:
        return 1.0
    if other in _alike().get(wanted, ()):
        return 0.7
    shorter, longer = sorted((wanted, other), key=len)
    # A compound adds three letters and more; with less, only long words are more likely kin than strangers.
    kin = len(longer) - len(shorter) >= _COMPOUND_ADDS or len(shorter) >= _LONG_WORD
    if len(shorter) >= _SHORTEST_KIN and kin and not shorter.isdigit() and shorter in longer:
        return 0.8 if longer.startswith(shorter) else 0.6
    return 0.0


@cache
def _vocabulary() -> dict[str, object]:
    return tomllib.loads((Path(__file__).parent / "vocabulary.toml").read_text(encoding="utf-8"))


def _groups(name: str) -> Iterable[list[str]]:
    value = _vocabulary()[name]
    return (str(line).split() for line in value) if isinstance(value, list) else (str(value).split(),)


@cache
def listed(name: str) -> frozenset[str]:
    """The words of the list *name* in `vocabulary.toml`."""
    return frozenset(word for group in _groups(name) for word in group)


@cache
def stop_words() -> frozenset[str]:
    """Folded words that say nothing about what is asked."""
    return frozenset(word for group in _groups("stop") for word in group)


@cache
def weak_stems() -> frozenset[str]:
    """Stems that say little about what is asked."""
    return frozenset(stem(word) for group in _groups("weak") for word in group)


@cache
def numbered_words() -> dict[str, int]:
    """Folded words for numbers, cardinal and ordinal, with the number that each means."""
    return {word: number for number, group in enumerate(_groups("numerals"), 1) for word in group}


@cache
def month_stems(month: int) -> frozenset[str]:
    """Stems of the names of a *month*, 1 to 12."""
    return frozenset(stem(word) for word in tuple(_groups("months"))[month - 1])


@cache
def _irregular() -> dict[str, str]:
    return {word: group[0] for group in _groups("irregular") for word in group}


@cache
def _alike() -> dict[str, frozenset[str]]:
    alike: dict[str, frozenset[str]] = {}
    for group in _groups("alike"):
        stems = frozenset(stem(word) for word in group)
        for one in stems:
            alike[one] = alike.get(one, frozenset()) | stems
    return alike
