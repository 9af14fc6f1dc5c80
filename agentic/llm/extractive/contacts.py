"""Phone numbers and addresses of a person: lines that they themselves sign with, or sentences that name them."""

import re
from collections.abc import Iterable

from agentic.llm.extractive import patterns
from agentic.llm.extractive.eligible import gives_orders, is_header
from agentic.llm.extractive.kinds import holds, is_labelled_contact, number_label
from agentic.llm.extractive.people import Person
from agentic.llm.extractive.reading import Reading, Sentence

# Without a marked signature, a signature is looked for in as many last lines of a mail.
_LAST_LINES = 12
# So many lines above a number may say which of several it is.
_LINES_ABOVE = 2
# Case counts here: a town's name begins with a capital.
_ZIP = re.compile(
    r"\b[A-Z]{2} \d{5}\b|\b(?:[A-Z]{1,2}-)?\d{4,5} [A-ZÀ-Þ][a-zà-þ]+|\b[A-Z]{1,2}\d{1,2}[A-Z]? \d[A-Z]{2}\b"
)


def contact_lines(
    kind: str, question: str, person: Person, readings: Iterable[Reading], names: frozenset[str]
) -> list[tuple[Reading, int]]:
    """Places that give *person*'s contact of *kind*, best and newest first; empty where none does.

    *names* are stems of what else the question names: of several numbers, the one "in Austin" stands beside that word.
    """
    found: list[tuple[bool, int, float, Reading, int]] = []
    for reading in readings:
        own = person.wrote(reading.head.sender)
        for index, sentence in enumerate(reading.sentences):
            if not _gives(kind, sentence, question) or gives_orders(sentence.text) or is_header(sentence.text):
                continue
            if (own and _is_their_own(kind, reading, index, person)) or person.named_by <= sentence.stems:
                near = reading.sentences[max(0, index - _LINES_ABOVE) : index + 1]
                beside = frozenset[str]().union(*(other.stems for other in near))
                received = reading.head.received_at.timestamp()
                labelled = _has_wanted_label(question, sentence.text)
                found.append((labelled, len(names & beside), received, reading, index))
    if kind == "phone" and number_label(question):
        found = [entry for entry in found if entry[0]]
    elif kind == "phone":
        found = [entry for entry in found if not patterns.line("fax").search(entry[3].sentences[entry[4]].text)]
    found.sort(key=lambda entry: (not entry[0], -entry[1], -entry[2], entry[3].head.message_id, entry[4]))
    return [(reading, index) for *_, reading, index in found]


def _gives(kind: str, sentence: Sentence, question: str) -> bool:
    if kind == "postal":
        return _ZIP.search(sentence.text) is not None or patterns.line("street").search(sentence.text) is not None
    if kind == "place":
        return _ZIP.search(sentence.text) is not None
    return holds(kind, sentence.text, question)


def _is_their_own(kind: str, reading: Reading, index: int, person: Person) -> bool:
    sentence = reading.sentences[index]
    if kind == "email":
        return any(address in sentence.text.lower() for address in person.addresses) or bool(
            person.named_by & sentence.stems
        )
    at_the_end = sentence.in_signature or index >= len(reading.sentences) - _LAST_LINES
    if kind == "phone":
        return at_the_end and (sentence.in_signature or is_labelled_contact(sentence.text) or len(sentence.words) <= 12)
    return at_the_end and len(sentence.words) <= 16


def _has_wanted_label(question: str, line: str) -> bool:
    return any(word in line.lower() for word in number_label(question))
