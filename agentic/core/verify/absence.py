"""Sentences that say what the mail does not hold. No source can show that, so they are no part of an answer."""

import re
import tomllib
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def _pattern() -> re.Pattern[str]:
    """All patterns of absence.toml as one."""
    tables = tomllib.loads(resources.files(__package__).joinpath("absence.toml").read_text(encoding="utf-8"))
    patterns = [pattern.replace("MAIL", table["mail"]) for table in tables.values() for pattern in table["patterns"]]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def claimed(text: str) -> bool:
    """Whether *text*, in normal form and without its quotations, says that the mail holds no answer."""
    return _pattern().search(text) is not None
