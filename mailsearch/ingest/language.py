"""The language that a text is written in."""

import re

from py3langid.langid import classify

_SHORTEST = 24
_SAMPLE = 600
# Quoted lines, figures and rules say little about the writer's language.
_NOISE = re.compile(r"(?m)^>.*$|[0-9_=*#|<>-]+")


def detect(text: str) -> str:
    """ISO 639-1 code of *text*'s language, or "" where it is too short to tell."""
    words = _NOISE.sub(" ", text[: 4 * _SAMPLE]).split()
    # Addresses and links neither.
    sample = " ".join(word for word in words if "@" not in word and "//" not in word)[:_SAMPLE]
    if len(sample) < (_SHORTEST if sample.isascii() else _SHORTEST // 3):
        return ""
    code, _score = classify(sample)
    return str(code)
