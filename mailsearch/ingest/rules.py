"""A tenant's rules that quarantine mail on arrival: one header a line, `X-Spam-Flag: YES`, `*` for any characters.

They look at the raw header, so they hold for mail that could not be parsed too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_END = re.compile(rb"\r?\n\r?\n|\r\r")
_FOLD = re.compile(rb"(?:\r\n|\n|\r)[ \t]+")
_LARGEST_HEADER = 262_144


@dataclass(frozen=True, slots=True)
class Rule:
    """Quarantines mail whose header *name* (lower case) has a value that *value* fits."""

    name: bytes
    value: re.Pattern[bytes]


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules of *text*, one a line; blank lines and lines that begin with `#` say nothing.

    Raises ValueError, with a sentence that says which, for a line that is no rule.
    """
    rules = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!-9;-~]+", name.strip()) or not value.strip():
            raise ValueError(f"{line.strip()!r} is no rule; write a header and its value: X-Spam-Flag: YES")
        pattern = rb".*".join(re.escape(piece) for piece in value.strip().encode().split(b"*"))
        rules.append(Rule(name.strip().lower().encode(), re.compile(pattern, re.IGNORECASE | re.DOTALL)))
    return tuple(rules)


def is_caught(raw: bytes, rules: Sequence[Rule]) -> bool:
    """Whether a header of *raw* fits one of *rules*."""
    if not rules:
        return False
    end = _END.search(raw, 0, _LARGEST_HEADER)
    head = _FOLD.sub(b" ", raw[: end.start() if end else _LARGEST_HEADER])
    for line in re.split(rb"\r\n|\n|\r", head):
        name, _, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        if any(rule.name == name and rule.value.fullmatch(value) for rule in rules):
            return True
    return False
