"""Sentences that say what the mail does not hold. No source can show that, so they are no part of an answer."""

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from typing import Any

from agentic.core.verify.sources import MessageIndex
from agentic.core.verify.words import lexicons, words_in


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """All patterns of absence.toml as one."""
    patterns = [pattern.replace("MAIL", table["mail"]) for table in tables().values() for pattern in table["patterns"]]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """The tables of absence.toml by language."""
    return tomllib.loads(resources.files(__package__).joinpath("absence.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _needed() -> frozenset[str]:
    return frozenset(word for table in tables().values() for word in table["needs"].split())


def claimed(text: str) -> bool:
    """Whether *text*, in normal form and without its quotations, says that the mail holds no answer."""
    return not _needed().isdisjoint(words_in(text)) and _pattern().search(text) is not None


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
