"""Words before a quotation that turn, condition, report or weaken what it says."""

import re

from agentic.core.verify.words import Lexicon, languages_among, lexicons

# Where the language is not known, the best tested ones are asked together, and those of which a word stands there.
_UNKNOWN = ("en", "de", "fr")
_NUMBER_ABBREVIATION = re.compile(r"\bno\. ?(?=[0-9#])")


def _lexicons_for(language: str, text: str) -> list[Lexicon]:
    every = lexicons()
    if language in every:
        return [every[language]]
    return [every[code] for code in dict.fromkeys((*_UNKNOWN, *languages_among(text)))]


def turns(text: str, language: str, about: str = "") -> bool:
    """Whether the normal form *text* holds a cue of negation or condition; *about* is the sentence around it."""
    clean = _NUMBER_ABBREVIATION.sub("", text)
    return any(_turns(lexicon.harmless.sub("", clean), lexicon) for lexicon in _lexicons_for(language, about or text))


def _turns(text: str, lexicon: Lexicon) -> bool:
    return lexicon.negation.search(text) is not None or lexicon.condition.search(text) is not None


def reports(text: str, language: str, about: str = "") -> bool:
    """Whether *text* holds a cue that somebody other than the writer is reported."""
    return any(_reports(text, lexicon) for lexicon in _lexicons_for(language, about or text))


def _reports(text: str, lexicon: Lexicon) -> bool:
    for match in lexicon.report.finditer(text):
        before = text[: match.start()].split()[-2:]
        after = text[match.end() :].split()[:1]
        if not lexicon.own & {word.strip(",.;:") for word in [*before, *after]}:
            return True
    return False


def weakens(text: str, language: str) -> bool:
    """Whether *text* holds a cue that limits what follows: hedges, plans, "only"."""
    return bool(text.strip()) and any(lexicon.hedge.search(text) for lexicon in _lexicons_for(language, text))
