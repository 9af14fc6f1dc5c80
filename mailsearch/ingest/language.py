"""The language that a text is written in, out of those that search can do something with.

The fewer languages there are to choose from, the fewer short texts are taken for one that is much like their own: of
all that the model knows, "Thanks, see you tomorrow" is Nigerian Pidgin.
"""

import re
from functools import cache

from py3langid.langid import MODEL_FILE, LanguageIdentifier

# Those with a dictionary in Postgres, then others that much mail is written in. `zxx` is no language: logs and codes.
_LANGUAGES = [
    "ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr", "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl",
    "nn", "no", "pt", "ro", "ru", "sr", "sv", "ta", "tr",
    "bg", "bn", "cs", "et", "fa", "he", "hr", "is", "ja", "ka", "ko", "lv", "mk", "pl", "sk", "sl", "sq", "th", "uk",
    "ur", "vi", "zh", "zxx",
]  # fmt: skip
_NONE = "zxx"
_SHORTEST = 24
_SAMPLE = 300
# Quoted lines, figures and rules say little about the writer's language.
_NOISE = re.compile(r"(?m)^>.*$|[0-9_=*#|<>-]+")


def detect(text: str) -> str:
    """ISO 639-1 code of *text*'s language, or "" where it is too short to tell."""
    words = _NOISE.sub(" ", text[: 4 * _SAMPLE]).split()
    # Addresses and links neither.
    sample = " ".join(word for word in words if "@" not in word and "//" not in word)[:_SAMPLE]
    if len(sample) < (_SHORTEST if sample.isascii() else _SHORTEST // 3):
        return ""
    code, _score = _identifier().classify(sample)
    return "" if code == _NONE else str(code)


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(_LANGUAGES)
    return identifier
