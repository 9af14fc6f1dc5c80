"""How a kept unit is supported: by a quotation that bears it, or by a reference that a reader has to follow."""

import re
from collections.abc import Sequence
from functools import lru_cache

from agentic.core.verify.lookup import Match, count_words
from agentic.core.verify.normalise import is_unspaced
from agentic.core.verify.sources import normal_text
from agentic.core.verify.words import every_stop_word, language_of, lexicons

# Set on shuffled pairs: see docs/verification.md.
MIN_SHARE = 0.3
MIN_SHARED = 2
MIN_WORDS = 5
MIN_CHARACTERS = 30
_STEM = 5
_WORD = re.compile(r"[^\W_]+(?:[.,'-][^\W_]+)*")


def content(text: str, leave_out: frozenset[str] = frozenset()) -> set[str]:
    """Stems of the content words of *text* (normal form), without verbs of saying and the words *leave_out*."""
    stems: set[str] = set()
    for word in _WORD.findall(text):
        if is_unspaced(word[0]):
            stems.update(word[at : at + 2] for at in range(len(word) - 1))
        elif (
            len(word) > 1
            and word not in every_stop_word()
            and word not in _saying()
            and word.removesuffix("'s") not in leave_out
        ):
            stems.add(_stem(word))
    return stems


def _stem(word: str) -> str:
    if any(character.isdigit() for character in word):
        return word
    bare = word.removesuffix("'s")
    return bare[:_STEM] if len(bare) > _STEM else bare.removesuffix("s") if len(bare) > 3 else bare


@lru_cache(maxsize=1)
def _saying() -> frozenset[str]:
    verbs = {verb for lexicon in lexicons().values() for verb in lexicon.say}
    return frozenset(
        verbs
        | set(
            [
                "mail",
                "email",
                "message",
                "says",
                "letter",
                "subject",
                "quote",
                "reads",
                "reply",
                "sender",
                "attachment",
                "file",
                "heisst",
                "steht",
                "lautet",
                "nachricht",
            ]
        )
    )


def bears(match: Match) -> bool:
    """Whether a quotation is long enough to say something: five words and thirty characters, or a whole sentence."""
    text = normal_text(match.text)
    if (match.piece.region is not None and match.piece.region.kind == "signature") or is_greeting(text):
        return False
    width = len(text) + sum(2 for character in text if is_unspaced(character))
    whole = normal_text(match.context).strip(" .,;:!?-") == text.strip(" .,;:!?-")
    return whole or (count_words(text) >= MIN_WORDS and width >= MIN_CHARACTERS)


def is_greeting(text: str) -> bool:
    """Whether *text* only greets, thanks or signs off."""
    bare = text.strip(" .,;:!?-")
    if count_words(bare) > 6:
        return False
    for lexicon in lexicons().values():
        for greeting in lexicon.greetings:
            if (
                bare == greeting
                or (bare.startswith(greeting + " ") and count_words(bare) <= count_words(greeting) + 2)
                or bare.startswith(greeting + ",")
            ):
                return True
    return False


def shares(own: str, match: Match, names: frozenset[str]) -> bool:
    """Whether the unit's *own* words (normal form, without its quotations) are about what the quotation says.

    A unit that is little more than the quotation is borne by it. Otherwise a share of its content words must occur in
    the quotation or its stored sentence.
    """
    stated = content(own, names)
    if not stated:
        return True
    quoted = content(normal_text(match.text))
    around = quoted | content(normal_text(match.context))
    shared = len(stated & around)
    if len(stated) <= 1:
        return shared == len(stated)
    needed = MIN_SHARED if len(stated) > 2 else 1
    return bool(stated & quoted) and shared >= needed and shared / len(stated) >= MIN_SHARE


def translated(own: str, quotes: Sequence[Match]) -> bool:
    """Whether the unit's own words are in another language than the stored sentences that it rests on."""
    language = language_of(own)
    if not language:
        return False
    sources = {code for match in quotes if (code := language_of(match.context) or match.part.language)}
    return bool(sources) and language not in sources
