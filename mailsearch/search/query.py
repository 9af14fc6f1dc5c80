"""The query language: any string whatever becomes words, phrases, exclusions and filters.

`golf "claim form" -quote from:nordlicht after:2026-01 policy OR contract`. A sentence that asks something is told
apart from a few words that somebody typed: of a question, a message need hold only the rarer words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from mailsearch.hits import Filters
from mailsearch.search.dates import interval

MAX_TERMS = 48
MAX_VALUES = 50
NO_FILTERS = Filters()
_QUESTION_LENGTH = 7
_TOKEN = re.compile(
    r"""(?P<sign>[-+]?)(?:
        (?P<operator>[A-Za-z]{1,20}):(?P<value>"[^"]*"|[^\s"]\S*)
      | "(?P<phrase>[^"]*)"
      | (?P<word>\S+)
    )""",
    re.VERBOSE,
)
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
# What stands around words in a sentence.
_AROUND = " ?!.,;:()[]{}<>…'¿¡？！。、，"
_QUESTION_MARKS = ("?", "？", "؟", ";?")
# First words that begin a question or a request in the languages that mail here is mostly written in.
_ASKING_WORDS = """
what when where which who whom whose why how did does do is are was were can could should would has have had tell find
show list give summarise summarize explain wer was wann wo warum wieso welche welcher welches wie hat haben ist sind
kann qui que quoi quand où pourquoi comment quel quelle combien quién qué cuándo dónde por cómo cuál cuánto chi che cosa
quando dove perché come quale quanto wat wanneer waar waarom hoe welke quem qual onde
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([kmg]?)(?:i?b|bytes)?", re.IGNORECASE)
_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_LISTS = {
    "from": "senders",
    "to": "recipients",
    "cc": "copied",
    "subject": "subjects",
    "filename": "filenames",
    "in": "folders",
    "thread": "threads",
    "id": "messages",
}
_OPERATORS = frozenset(_LISTS) | {"after", "before", "on", "has", "is", "larger"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A word, or a phrase whose words stand side by side."""

    text: str
    phrase: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is looked for: any of the alternatives will do (`policy OR contract`)."""

    alternatives: tuple[Wanted, ...]

    @property
    def required(self) -> bool:
        """Phrases and alternatives were written on purpose, so a message without them is no hit."""
        return len(self.alternatives) > 1 or self.alternatives[0].phrase


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as it was understood."""

    terms: tuple[Term, ...] = ()
    exclusions: tuple[Wanted, ...] = ()
    filters: Filters = NO_FILTERS
    # What no message may be that is found: `-from:ann`.
    unwanted: Filters = NO_FILTERS
    is_question: bool = False
    # Filters whose value says nothing, as written; they leave no result, since a filter is never dropped.
    refused: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is looked for in plain words, without filters and exclusions: what an embedding is made of."""
        return " ".join(wanted.text for term in self.terms for wanted in term.alternatives)

    def as_json(self) -> Mapping[str, object]:
        """The query as a response shows it."""
        shown: dict[str, object] = {
            "terms": [term.alternatives[0].text for term in self.terms if not term.required],
            "phrases": [term.alternatives[0].text for term in self.terms if _is_phrase(term)],
            "any_of": [[one.text for one in term.alternatives] for term in self.terms if len(term.alternatives) > 1],
            "excluded": [wanted.text for wanted in self.exclusions],
            "not": filters_json(self.unwanted),
            "question": self.is_question,
        }
        return {key: value for key, value in shown.items() if value} | filters_json(self.filters)


def _is_phrase(term: Term) -> bool:
    return len(term.alternatives) == 1 and term.alternatives[0].phrase


def filters_json(filters: Filters) -> dict[str, object]:
    """The filters that narrow, under the names that the query language gives them."""
    shown: dict[str, object] = {}
    if filters == NO_FILTERS:
        return shown
    names = {name: operator for operator, name in _LISTS.items()} | {"mailboxes": "mailbox"}
    for name, operator in names.items():
        values = getattr(filters, name)
        if values:
            shown[operator] = list(values)
    for name in ("after", "before"):
        moment = getattr(filters, name)
        if moment is not None:
            shown[name] = moment.isoformat()
    for name in ("has_attachment", "unread", "larger"):
        if getattr(filters, name) is not None:
            shown[name] = getattr(filters, name)
    return shown


def zone(name: str) -> tzinfo:
    """The zone of an IANA name; UTC for one that does not exist."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def storable(text: str) -> str:
    """*text* without what Postgres' text can't hold: NUL and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def parse(text: str, now: datetime, timezone: tzinfo = UTC) -> ParsedQuery:
    """Understand *text*; never fails. Dates in it are meant on the clock of *timezone*, relative ones from *now*.

    A negated operator (`-from:ann`) leaves out what the operator alone would have left.
    """
    reader = _Reader(now, timezone)
    for match in _TOKEN.finditer(storable(text).translate(_QUOTES)):
        reader.take(match)
    return reader.finished(_asks(text))


def _asks(text: str) -> bool:
    text = text.strip()
    words = text.casefold().split()
    if not words or any(":" in word and word.partition(":")[0] in _OPERATORS for word in words[:1]):
        return text.endswith(_QUESTION_MARKS)
    plain = [word for word in words if word[0] not in '-+"' and ":" not in word]
    return (
        text.endswith(_QUESTION_MARKS)
        or (words[0].strip("¿¡\"'") in _ASKING and len(plain) >= 3)
        or len(plain) >= _QUESTION_LENGTH
    )


@dataclass
class _Reader:
    """The query as far as it has been read."""

    now: datetime
    timezone: tzinfo
    terms: list[Term] = field(default_factory=list)
    exclusions: list[Wanted] = field(default_factory=list)
    filters: Filters = NO_FILTERS
    unwanted: Filters = NO_FILTERS
    refused: list[str] = field(default_factory=list)
    # An OR was read: the next word joins the term before it.
    joining: bool = False

    def take(self, match: re.Match[str]) -> None:
        excluded = match["sign"] == "-"
        operator = (match["operator"] or "").casefold()
        if operator in _OPERATORS:
            value = match["value"].strip('"').strip()
            self._filter(operator, value, match[0], excluded)
        elif match["phrase"] is not None:
            self._want(Wanted(" ".join(match["phrase"].split()), phrase=True), excluded)
        elif match["word"] in ("OR", "|"):
            self.joining = bool(self.terms)
        elif match["word"] != "AND":
            word = (match["word"] or match[0].lstrip("-+")).replace('"', " ")
            self._want(Wanted(word.strip(_AROUND)), excluded)

    def _want(self, wanted: Wanted, excluded: bool) -> None:
        if not any(character.isalnum() for character in wanted.text):
            return
        if len(self.terms) + len(self.exclusions) >= MAX_TERMS:
            return
        if excluded:
            self.exclusions.append(wanted)
        elif self.joining:
            self.terms[-1] = Term((*self.terms[-1].alternatives, wanted))
        else:
            self.terms.append(Term((wanted,)))
        self.joining = False

    def _filter(self, operator: str, value: str, written: str, excluded: bool) -> None:
        self.joining = False
        if excluded and operator not in _LISTS:
            narrowed = self._without(operator, _narrowed(Filters(), operator, value, self.now, self.timezone))
        else:
            into = self.unwanted if excluded else self.filters
            narrowed = _narrowed(into, operator, value, self.now, self.timezone)
        if narrowed is None:
            self.refused.append(written[:200])
        elif excluded and (operator in _LISTS or operator == "larger"):
            self.unwanted = narrowed
        else:
            self.filters = narrowed

    def _without(self, operator: str, named: Filters | None) -> Filters | None:
        """The filters without what *named* would leave; of a size the unwanted ones. None where that says nothing."""
        if named is None or operator == "on":
            # All but one day is no stretch of time.
            return None
        if named.larger is not None:
            known = self.unwanted.larger
            return replace(self.unwanted, larger=named.larger if known is None else min(known, named.larger))
        if operator in ("after", "before"):
            after, before = latest(self.filters.after, named.before), earliest(self.filters.before, named.after)
            return replace(self.filters, after=after, before=before)
        if named.unread is not None:
            return _narrowed_by(self.filters, "unread", not named.unread)
        return _narrowed_by(self.filters, "has_attachment", False)

    def finished(self, asks: bool) -> ParsedQuery:
        refused = tuple(self.refused[:MAX_VALUES])
        return ParsedQuery(tuple(self.terms), tuple(self.exclusions), self.filters, self.unwanted, asks, refused)


def _narrowed(filters: Filters, operator: str, value: str, now: datetime, timezone: tzinfo) -> Filters | None:
    """*filters* with one more; None where the value says nothing to this operator."""
    if operator in _LISTS:
        name = _LISTS[operator]
        values = (*getattr(filters, name), value)
        changed: dict[str, Any] = {name: values}
        return replace(filters, **changed) if value and len(values) <= MAX_VALUES else None
    if operator in ("after", "before", "on"):
        return _narrowed_in_time(filters, operator, interval(value, now, timezone))
    if operator == "larger":
        return _narrowed_in_size(filters, value)
    return _narrowed_by_fact(filters, f"{operator}:{value.casefold()}")


def _narrowed_in_time(filters: Filters, operator: str, named: tuple[datetime, datetime] | None) -> Filters | None:
    if named is None:
        return None
    start, end = named
    after = start if operator in ("after", "on") else None
    before = {"before": start, "on": end}.get(operator)
    return replace(filters, after=latest(filters.after, after), before=earliest(filters.before, before))


def _narrowed_in_size(filters: Filters, value: str) -> Filters | None:
    match = _SIZE.fullmatch(value)
    if match is None:
        return None
    size = int(float(match[1]) * _SIZES[match[2].casefold()])
    return replace(filters, larger=max(size, filters.larger or 0))


def _narrowed_by_fact(filters: Filters, fact: str) -> Filters | None:
    if fact in ("has:attachment", "has:attachments"):
        return _narrowed_by(filters, "has_attachment", True)
    if fact in ("is:unread", "is:read"):
        return _narrowed_by(filters, "unread", fact == "is:unread")
    return None


def _narrowed_by(filters: Filters, name: str, value: bool) -> Filters | None:
    """None for a fact and its opposite: nothing is both."""
    changed: dict[str, Any] = {name: value}
    return replace(filters, **changed) if getattr(filters, name) in (None, value) else None


def latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((moment for moment in (one, other) if moment is not None), default=None)


def earliest(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)
