"""The reader's regular expressions by name, made from `patterns.toml`."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

_PART = re.compile(r"\{([a-z]+)\}")


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "patterns.toml").read_text(encoding="utf-8"))


def _joined(patterns: Iterable[str]) -> re.Pattern[str]:
    parts = {name: "|".join(words.split()) for name, words in _file()["parts"].items()}
    parts["machine"] = "|".join(_file()["orders"]["machine"].split())
    filled = (_PART.sub(lambda match: parts[match.group(1)], pattern) for pattern in patterns)
    return re.compile("|".join(filled), re.I | re.S)


@cache
def held(kind: str) -> re.Pattern[str] | None:
    """What a sentence holds that answers a question of *kind*; None where that has no form."""
    patterns = _file()["holds"].get(kind)
    return _joined(patterns) if patterns else None


@cache
def asks() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kinds with what a question says that asks for them, in the order in which they count."""
    return tuple((entry["kind"], _joined(entry["patterns"])) for entry in _file()["asks"])


@cache
def line(name: str) -> re.Pattern[str]:
    """Lines of one sort: header, patch, attribution, salutation, labelled, fax, street."""
    return _joined(_file()["lines"][name])


@cache
def calendar() -> re.Pattern[str]:
    """Names of months and days."""
    return _joined(["(?:{months}|{days})"])


@cache
def orders() -> re.Pattern[str]:
    """Words that speak to whatever machine reads the mail."""
    return _joined(_file()["orders"]["patterns"])
