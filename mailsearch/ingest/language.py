"""The language that a text is written in."""

import re

from py3langid.langid import classify

_SHORTEST = 24
_SAMPLE = 800
# Quoted lines, addresses and links say little about the writer's language.
_NOISE = re.compile(r"(?m)^>.*$|\S*(?:://|@)\S*|[0-9_=*#|<>-]+")


def detect(text: str) -> str:
    """ISO 639-1 code of *text*'s language, or "" where it is too short to tell."""
    sample = _NOISE.sub(" ", text[: 4 * _SAMPLE])[:_SAMPLE].strip()
    letters = sum(1 for character in sample if character.isalpha())
    if letters < (_SHORTEST if sample.isascii() else _SHORTEST // 3):
        return ""
    code, _score = classify(sample)
    return str(code)
