"""Whom a question is about: its names, found among the people on the messages shown, and the part each plays."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agentic.llm.extractive.question import Question
from agentic.llm.extractive.reading import Reading
from agentic.llm.extractive.words import fold, listed, stem, stop_words, words_of
from mailsearch.hits import Address

Role = Literal["agent", "owner", "recipient", "topic"]
_SHORTEST_NAME = 3


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom the question names and who takes part in the mail shown."""

    stems: frozenset[str]
    addresses: frozenset[str]
    role: Role
    # Stems of the question that named the person.
    named_by: frozenset[str]

    def wrote(self, sender: Address) -> bool:
        """Whether *sender* is this person: by an address seen under the name, or by the name itself."""
        if sender.address.lower() in self.addresses:
            return True
        return self.named_by <= {word.stem for word in words_of(sender.name)} | _organisation(sender.address)


def find_people(question: Question, readings: Iterable[Reading]) -> tuple[Person, ...]:
    """The people of *readings* whom *question* names, in the question's order."""
    known = _known_names(readings)
    people = []
    for run in name_runs(question):
        stems = frozenset(stem(fold(question.words[at].raw)) for at in run)
        addresses = frozenset(address for address, names in known.items() if stems <= names)
        if addresses:
            everything = frozenset(name for address in addresses for name in known[address])
            people.append(Person(everything, addresses, _role(question, run), stems))
    return tuple(people)


def _known_names(readings: Iterable[Reading]) -> dict[str, frozenset[str]]:
    """Address to the stems of the names it was seen with, the part before the @ included."""
    known: dict[str, set[str]] = {}
    for reading in readings:
        for person in (reading.head.sender, *reading.head.to, *reading.head.cc):
            local, _, _ = person.address.partition("@")
            stems = {word.stem for word in words_of(f"{person.name} {local}")} | _organisation(person.address)
            known.setdefault(person.address.lower(), set()).update(stems - listed("nobody"))
    return {address: frozenset(stems) for address, stems in known.items()}


def _organisation(address: str) -> set[str]:
    """Stems of the domain's own name: whoever writes from nordlicht.example speaks for Nordlicht."""
    labels = address.partition("@")[2].split(".")[:-1]
    return {word.stem for label in labels[-1:] for word in words_of(label)}


def name_runs(question: Question) -> Iterable[list[int]]:
    """Runs of capitalised words of *question*, each as indexes of its words: names of people and things."""
    run: list[int] = []
    for at, word in enumerate(question.words):
        is_name = word.raw[0].isupper() and fold(word.raw) not in stop_words() | listed("nobody")
        joined = not run or question.text[question.words[at - 1].end : word.start].strip(" -.'’") == ""
        if run and (not is_name or not joined or _possessive(question, at - 1)):
            yield from _useful(question, run)
            run = []
        if is_name:
            run.append(at)
        elif word.raw.islower() and len(word.raw) > _SHORTEST_NAME and _in_brackets(question, at):
            yield [at]
    yield from _useful(question, run)


def _useful(question: Question, run: list[int]) -> Iterable[list[int]]:
    if run and any(len(question.words[at].raw) >= _SHORTEST_NAME for at in run):
        yield [at for at in run if len(question.words[at].raw) > 1]


def _possessive(question: Question, at: int) -> bool:
    """Whether an apostrophe with or without an s ends the word at index *at*."""
    start, end = question.words[at].start, question.words[at].end
    return re.match(r"['’](?:s\b|\s|$)", question.text[start + len(question.words[at].raw) : end + 2]) is not None


def _in_brackets(question: Question, at: int) -> bool:
    word = question.words[at]
    return question.text[word.start - 1 : word.start] == "(" and question.text[word.end : word.end + 1] == ")"


def _role(question: Question, run: list[int]) -> Role:
    if _possessive(question, run[-1]):
        return "owner"
    before = fold(question.words[run[0] - 1].raw) if run[0] else ""
    lead = question.text[: question.words[run[0]].start]
    if (before in listed("agent_before") and before != "to") or re.search(r"according to\s*$", lead, re.I):
        return "agent"
    return "recipient" if before in listed("to") else "topic"
