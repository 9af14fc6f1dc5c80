"""Sentences that say what the mail does not hold. No source can show that, so they are no part of an answer."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from agentic.core.verify.sources import MessageIndex
from agentic.core.verify.words import lexicons, words_in


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What one language says it by. `needed` are words of which one stands in whatever matches.

    The patterns `of_mail` can match only where `mail` does; the others speak of the search, or of an answer.
    """

    needed: frozenset[str]
    mail: re.Pattern[str]
    of_mail: re.Pattern[str]
    other: re.Pattern[str]


@lru_cache(maxsize=1)
def _languages() -> tuple[_Patterns, ...]:
    return tuple(_patterns(table) for table in tables().values())


def _patterns(table: dict[str, Any]) -> _Patterns:
    mail = table["mail"]
    of_mail = [pattern.replace("MAIL", mail) for pattern in table["patterns"] if "MAIL" in pattern]
    other = [pattern for pattern in table["patterns"] if "MAIL" not in pattern]
    return _Patterns(
        frozenset(table["needs"].split()),
        re.compile(rf"\b{mail}"),
        re.compile(_either(of_mail)),
        re.compile(_either(other)),
    )


def _either(patterns: list[str]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """The tables of absence.toml by language."""
    return tomllib.loads(resources.files(__package__).joinpath("absence.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _needed() -> frozenset[str]:
    return frozenset(word for language in _languages() for word in language.needed)


def claimed(text: str) -> bool:
    """Whether *text*, in normal form and without its quotations, says that the mail holds no answer."""
    words = words_in(text)
    if _needed().isdisjoint(words):
        return False
    return any(_claims(text, language) for language in _languages() if not language.needed.isdisjoint(words))


def _claims(text: str, language: _Patterns) -> bool:
    of_mail = language.mail.search(text) is not None and language.of_mail.search(text) is not None
    return of_mail or language.other.search(text) is not None


def is_said(text: str, cited: Iterable[MessageIndex]) -> bool:
    """Whether a cited message says in just the words of *text* that something is lacking.

    In the first person ("I found no invoice") it would read as said of the search, whoever wrote it.
    """
    words = text.strip(" .!")
    own = frozenset(word for lexicon in lexicons().values() for word in lexicon.own)
    if not own.isdisjoint(words.split()):
        return False
    places = ((part, part.text.find(words)) for index in cited for part in index.parts)
    return any(at >= 0 and part.piece_at(at).borrowed != "quoted" for part, at in places)
