"""Which sentences may be an answer at all: no greetings, headers, code, footers, questions, or orders to a machine."""

import re
from collections.abc import Iterable

from agentic.llm.extractive import patterns
from agentic.llm.extractive.kinds import CONTACT, STRICT
from agentic.llm.extractive.reading import Reading, Sentence
from agentic.llm.extractive.words import fold, stop_words

_FEWEST_WORDS = 3
_FEWEST_TELLING = 2
# As many senders and more with the very same sentence: a footer of a list or of a provider.
_FOOTER_SENDERS = 3
_LETTERS_AT_LEAST = 0.6
_LONG, _LETTERS_OF_LONG = 8, 0.5
# Rows of a table and lines of a form hold more figures than words.
_CELLS = re.compile(r"\w\s*(?:[|\t]|:\s)\s*\S")
_LETTERS_OF_CELLS = 0.25
# Kinds that a signature may answer.
_SIGNED = CONTACT | {"url", "identifier", "place"}


class Footers:
    """Sentences that several senders share word for word: what lists and providers add, not what anyone says."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        senders: dict[str, set[str]] = {}
        for reading in readings:
            for sentence in reading.sentences:
                senders.setdefault(_bare(sentence.text), set()).add(reading.head.sender.address)
        self._shared = {text for text, who in senders.items() if len(who) >= _FOOTER_SENDERS}

    def __contains__(self, sentence: Sentence) -> bool:
        return _bare(sentence.text) in self._shared


def is_eligible(sentence: Sentence, kind: str, *, wishes: bool = False) -> bool:
    """Whether *sentence* may answer a question of *kind*; with *wishes* what it asks for may be the answer."""
    text = sentence.text
    if gives_orders(text) or is_header(text) or patterns.line("patch").search(text):
        return False
    if sentence.in_signature and kind not in _SIGNED:
        return False
    if kind in CONTACT or kind == "identifier":
        return True
    asks = text.rstrip("\"' )*").endswith(("?", "؟", "？"))
    if (asks and not wishes) or patterns.line("salutation").match(text):
        return False
    if patterns.line("unsure").search(" ".join(text.split())):
        return False
    return _says_something(sentence, kind) and not patterns.line("attribution").search(text)


def gives_orders(text: str) -> bool:
    """Whether *text* speaks to whatever machine reads it, or demands that a link be followed."""
    return patterns.orders().search(" ".join(text.split())) is not None


def is_header(text: str) -> bool:
    """Whether *text* is a line of a mail's header that was copied into a body."""
    return patterns.line("header").match(text) is not None


def _says_something(sentence: Sentence, kind: str) -> bool:
    telling = sum(fold(word.raw) not in stop_words() for word in sentence.words)
    letters = sum(sign.isalpha() or sign.isspace() for sign in sentence.text)
    # Long sentences may hold a path, a command, or a piece of data between their words.
    least = _LETTERS_AT_LEAST if len(sentence.words) < _LONG else _LETTERS_OF_LONG
    if kind in STRICT and _CELLS.search(sentence.text):
        least = _LETTERS_OF_CELLS
    if letters < least * len(sentence.text):
        return False
    # Who asks for a figure may be told it with one word: "91 points!"
    fewest = _FEWEST_WORDS - (kind in STRICT)
    return len(sentence.words) >= fewest and telling + (len(sentence.words) > _FEWEST_WORDS) >= _FEWEST_TELLING


def _bare(text: str) -> str:
    return " ".join(text.lower().split())
