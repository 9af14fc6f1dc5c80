"""The verifier's word lists, read once from words.toml, and which language a text is most likely in."""

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['\-\u2019](?=[^\W\d_]))*")
_LETTERS = re.compile(r"[^\W\d_]+")
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The lists of one language. Cues are compiled patterns over case-folded, normalised text."""

    language: str
    stop: frozenset[str]
    negation: re.Pattern[str]
    harmless: re.Pattern[str]
    behind: frozenset[str]
    behind_verb: frozenset[str]
    auxiliary: frozenset[str]
    condition: re.Pattern[str]
    report: re.Pattern[str]
    own: frozenset[str]
    hedge: re.Pattern[str]
    say: frozenset[str]
    by: frozenset[str]
    accord: tuple[str, ...]
    one: frozenset[str]
    numbers: dict[str, int]
    ordinals: dict[str, int]
    months: dict[str, int]
    weekdays: dict[str, int]
    abbreviations: frozenset[str]
    greetings: frozenset[str]


def _entries(value: str) -> list[str]:
    """Words before the first bar, and the phrases between bars."""
    words, *phrases = value.split("|")
    return [*words.split(), *(phrase.strip() for phrase in phrases)]


def _cues(value: str) -> re.Pattern[str]:
    entries = sorted({entry.casefold() for entry in _entries(value)}, key=len, reverse=True)
    # An elided form ("n'") leans on the next word; any other ends at its own edge.
    parts = [re.escape(entry) + ("" if entry.endswith("'") else r"(?!\w)") for entry in entries]
    return re.compile(rf"(?<![\w'])(?:{'|'.join(parts)})")


def _values(value: str) -> dict[str, int]:
    return {word.casefold(): int(number) for word, number in (pair.split("=") for pair in value.split())}


@lru_cache(maxsize=1)
def lexicons() -> dict[str, Lexicon]:
    """All lexicons by language code."""
    raw = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    return {language: _lexicon(language, table) for language, table in raw.items()}


def _lexicon(language: str, table: dict[str, str]) -> Lexicon:
    return Lexicon(
        language=language,
        stop=frozenset(table["stop"].split()),
        negation=_cues(table["negation"]),
        harmless=_cues(table["harmless"]),
        behind=frozenset(table.get("behind", "").split()),
        behind_verb=frozenset(table.get("behind_verb", "").split()),
        auxiliary=frozenset(table.get("auxiliary", "").split()),
        condition=_cues(table["condition"]),
        report=_cues(table["report"]),
        own=frozenset(table["self"].split()),
        hedge=_cues(table["hedge"]),
        say=frozenset(table["say"].split()),
        by=frozenset(table["by"].split()),
        accord=tuple(_entries(table["accord"])) if "|" not in table["accord"] else tuple(table["accord"].split("|")),
        one=frozenset(table["one"].split()),
        numbers=_values(table["numbers"]),
        ordinals=_values(table["ordinals"]),
        months=_values(table["months"]),
        weekdays=_values(table["weekdays"]),
        abbreviations=frozenset(table["abbreviations"].split()),
        greetings=frozenset(entry.casefold() for entry in _entries(table["greetings"])),
    )


@dataclass(frozen=True, slots=True)
class DistinctCues:
    """The cues of all languages that are no common word of another: they tell where a text's language is not known."""

    turning: re.Pattern[str]
    reporting: re.Pattern[str]


@lru_cache(maxsize=1)
def distinct_cues() -> DistinctCues:
    """Cues that turn or report in whatever language they stand."""
    raw = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    return DistinctCues(_distinct(raw, ("negation", "condition")), _distinct(raw, ("report",)))


def _distinct(raw: dict[str, dict[str, str]], lists: tuple[str, ...]) -> re.Pattern[str]:
    kept: list[str] = []
    for code, table in raw.items():
        foreign = _common_words(code)
        entries = (entry for name in lists for entry in _entries(table[name]))
        kept += [entry for entry in entries if not foreign.issuperset(entry.split())]
    return _cues("|".join(["", *dict.fromkeys(kept)]))


def _common_words(but: str) -> frozenset[str]:
    """The function words, names of days and numbers of all languages but one."""
    others = [lexicon for code, lexicon in lexicons().items() if code != but]
    return frozenset(
        word
        for lexicon in others
        for word in (*lexicon.stop, *lexicon.months, *lexicon.weekdays, *lexicon.numbers, *lexicon.ordinals)
    )


@lru_cache(maxsize=512)
def words_in(text: str) -> frozenset[str]:
    """The stretches of letters in *text*, as they stand there ("don't" is two)."""
    return frozenset(_LETTERS.findall(text))


def every_stop_word() -> frozenset[str]:
    """Function words of all languages together."""
    return _every_stop_word()


@lru_cache(maxsize=1)
def _every_stop_word() -> frozenset[str]:
    return frozenset(word for lexicon in lexicons().values() for word in lexicon.stop)


@lru_cache(maxsize=1)
def _languages_by_stop_word() -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(code for code, lexicon in lexicons().items() if word in lexicon.stop) for word in _every_stop_word()
    }


def languages_among(text: str) -> tuple[str, ...]:
    """The languages of which the most function words stand in *text*; several where they share them, none without."""
    tally: dict[str, int] = {}
    for word in WORD.findall(text[:2000]):
        for code in _languages_by_stop_word().get(word.casefold(), ()):
            tally[code] = tally.get(code, 0) + 1
    best = max(tally.values(), default=0)
    return tuple(code for code in LANGUAGES if best and tally.get(code, 0) == best)


_SCRIPTS = (
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
)


@lru_cache(maxsize=512)
def language_of(text: str) -> str:
    """The language that *text* is most likely in, or "" where it is too short or mixed to say.

    By script first, then by function words; a guess only counts when it has two words and leads clearly.
    """
    sample = text[:2000]
    if not sample.isascii() and max(sample) >= "\u0370":
        for language, pattern in _SCRIPTS:
            if len(pattern.findall(sample)) > len(sample) // 4:
                return "ja" if language == "zh" and _SCRIPTS[1][1].search(sample) else language
    tally = dict.fromkeys(LANGUAGES, 0)
    spoken = _languages_by_stop_word()
    for word in WORD.findall(sample.casefold()):
        if word in spoken:
            for code in spoken[word]:
                tally[code] += 1
    (second, _), (best, language) = sorted((count, code) for code, count in tally.items())[-2:]
    return language if best >= 2 and best > second * 1.3 else ""
