"""Words around a quotation that turn, condition, report or weaken what it says."""

import re

from agentic.core.verify.words import Lexicon, distinct_cues, languages_among, lexicons

# Where the language is not known, the best tested ones are asked together, and those of which a word stands there.
_UNKNOWN = ("en", "de", "fr")
_NUMBER_ABBREVIATION = re.compile(r"\bno\. ?(?=[0-9#])")
# "No, the gate is open": it answers what was asked before, and denies nothing of what follows.
_ANSWER = re.compile(r"^\W*(?:no|nein|non|nee|n\u00e3o|nie)(?= ?[,;:!] )")


def _lexicons_for(language: str, text: str) -> list[Lexicon]:
    every = lexicons()
    if language in every:
        return [every[language]]
    return [every[code] for code in dict.fromkeys((*_UNKNOWN, *languages_among(text)))]


def turns(text: str, language: str, about: str = "", ahead: str = "") -> bool:
    """Whether the normal form *text* holds a cue of negation or condition; *about* is the sentence around it.

    A cue of several words may end in *ahead*, what follows the text ("should the", "als het").
    """
    clean = _ANSWER.sub("", _NUMBER_ABBREVIATION.sub("", text)).rstrip()
    whole = f"{clean} {ahead}"
    asked = _lexicons_for(language, about or text)
    if any(_turns(whole, len(clean), lexicon) for lexicon in asked):
        return True
    return language not in lexicons() and _begins_in(distinct_cues().turning, whole, len(clean))


def _turns(text: str, limit: int, lexicon: Lexicon) -> bool:
    clean = lexicon.harmless.sub(lambda match: " " * len(match.group()), text)
    return _begins_in(lexicon.negation, clean, limit) or _begins_in(lexicon.condition, clean, limit)


def _begins_in(pattern: re.Pattern[str], text: str, limit: int) -> bool:
    found = pattern.search(text)
    return found is not None and found.start() < limit


def reports(text: str, language: str, about: str = "", ahead: str = "") -> bool:
    """Whether *text* holds a cue that somebody other than the writer is reported; the rest as in `turns`."""
    clean = text.rstrip()
    whole = f"{clean} {ahead}"
    if any(_reports(whole, len(clean), lexicon) for lexicon in _lexicons_for(language, about or text)):
        return True
    return language not in lexicons() and _begins_in(distinct_cues().reporting, whole, len(clean))


def _reports(text: str, limit: int, lexicon: Lexicon) -> bool:
    clean = lexicon.harmless.sub(lambda match: " " * len(match.group()), text)
    for match in lexicon.report.finditer(clean):
        if match.start() >= limit:
            break
        before = clean[: match.start()].split()[-2:]
        after = clean[match.end() : limit].split()[:1]
        if not lexicon.own & {word.strip(",.;:") for word in [*before, *after]}:
            return True
    return False


# The last word of a quotation, and the first ones behind it.
_LAST = re.compile(r"[^\W_]+$")
_FIRST = re.compile(r"[\s>]+([^\W\d_]+)(?:[\s>]+[^\W\d_]+)?")


def denied_behind(quotation: str, after: str, language: str) -> bool:
    """Whether the stored words *after* a quotation begin by denying it, with no pause before: it was cut off there."""
    found = _FIRST.match(after)
    if found is None:
        return False
    word = found.group(1).casefold()
    last = _LAST.search(quotation)
    for lexicon in _lexicons_for(language, quotation):
        verb = word in lexicon.behind_verb and last is not None and last.group().casefold() in lexicon.auxiliary
        if (verb or word in lexicon.behind) and not lexicon.harmless.match(" ".join(found.group().casefold().split())):
            return True
    return False


def weakens(text: str, language: str) -> bool:
    """Whether *text* holds a cue that limits what follows: hedges, plans, "only"."""
    return bool(text.strip()) and any(lexicon.hedge.search(text) for lexicon in _lexicons_for(language, text))
