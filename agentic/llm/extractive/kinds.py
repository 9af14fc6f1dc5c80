"""What kind of thing a question asks for, and whether a text holds one: a date, an amount, a phone number, …"""

import re
from dataclasses import dataclass

from agentic.llm.extractive import patterns

# An answer to a question of these kinds holds a thing of the kind; without one it is none.
CONTACT = frozenset(("phone", "email", "postal"))
_FIGURES = frozenset(("date", "time", "when", "money", "percent", "count", "quantity", "version", "identifier"))
STRICT = CONTACT | _FIGURES | {"url", "person"}

_CAPITAL = re.compile(r"(?<!\w)[A-ZÀ-ÖØ-Þ][\w'’-]+")
# Whoever writes so may be who is asked for.
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I'll|I've|we|my|our|ich|wir|mein\w*|unser\w*|je|j'|nous|mon|ma|notre)\b", re.I)
_PHONE_DIGITS = (7, 16)
_DATE_OR_YEARS = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|(?:19|20)\d\d\s?[-–].*")
# Which of several numbers a question means, as words that mark its line.
_LABELS = (
    ("fax",),
    ("mobile", "mob", "cell", "handy", "portable", "natel"),
    ("home", "privat"),
    ("office", "direct", "work", "durchwahl", "büro", "bureau"),
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The kind that is asked for (empty where nothing tells), and the words of the question that named it."""

    kind: str
    named_by: str = ""


def expected(question: str) -> Expectation:
    """What kind of thing *question* asks for."""
    for kind, pattern in patterns.asks():
        match = pattern.search(question)
        if match:
            return Expectation(kind, match.group())
    return Expectation("")


def holds(kind: str, text: str, question: str) -> bool:
    """Whether *text* holds something of *kind* that is not already in *question*."""
    if kind == "person":
        return _FIRST_PERSON.search(text) is not None or _names_somebody(text, question)
    if kind == "when":
        return holds("date", text, question) or holds("time", text, question)
    if kind == "place":
        return any(name not in question for name in _CAPITAL.findall(text))
    pattern = patterns.held(kind)
    if pattern is None:
        return True
    return any(_is_new(kind, match, question) for match in pattern.finditer(" ".join(text.split())))


def _names_somebody(text: str, question: str) -> bool:
    """Whether a word inside *text* is written like a name that the question does not have."""
    for match in _CAPITAL.finditer(text):
        begins = not text[: match.start()].rstrip(" \"'“„«(*-") or text[: match.start()].rstrip()[-1:] in ".!?:\n"
        word = match.group()
        if not begins and word not in question and not patterns.calendar().fullmatch(word):
            return True
    return False


def _is_new(kind: str, match: re.Match[str], question: str) -> bool:
    found = match.group().strip()
    if kind == "phone":
        return _is_phone(found, match.string)
    if kind in ("count", "quantity", "version") and found[0].isdigit():
        # The whole number around the digit must be new.
        return _token_around(match) not in question
    return kind == "reason" or found.lower() not in question.lower()


def _is_phone(found: str, line: str) -> bool:
    digits = sum(sign.isdigit() for sign in found)
    if not _PHONE_DIGITS[0] <= digits <= _PHONE_DIGITS[1] or _DATE_OR_YEARS.fullmatch(found):
        return False
    # Digits alone may count anything; a number to dial is grouped, begins with + or 0, or is said to be one.
    return not found.isdigit() or found[0] == "0" or is_labelled_contact(line)


def _token_around(match: re.Match[str]) -> str:
    text, start, end = match.string, match.start(), match.end()
    while start and (text[start - 1].isalnum() or text[start - 1] in ".-_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or (text[end] in ".-_" and text[end + 1 : end + 2].isalnum())):
        end += 1
    return text[start:end]


def is_labelled_contact(line: str) -> bool:
    """Whether *line* gives a number behind a word such as "Tel" or "Mobile"."""
    return patterns.line("labelled").search(line) is not None


def number_label(question: str) -> tuple[str, ...]:
    """Which line of numbers a question means, as words that mark such lines; empty where any will do."""
    lowered = question.lower()
    return next((group for group in _LABELS if any(word in lowered for word in group)), ())
