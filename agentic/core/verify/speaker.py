"""Who is said to have said it: a correspondent named beside a verb of saying must have written what is quoted."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentic.core.verify.lookup import Match
from agentic.core.verify.sources import normal_text
from agentic.core.verify.words import every_stop_word, lexicons
from mailsearch.hits import Address, MessageText

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
# Parts of an address's local part that name no person.
_ROLES = frozenset(
    [
        "info",
        "mail",
        "office",
        "team",
        "support",
        "sales",
        "service",
        "kontakt",
        "contact",
        "admin",
        "noreply",
        "no-reply",
        "news",
        "billing",
        "claims",
        "hello",
        "post",
        "the",
        "and",
        "von",
        "van",
        "de",
        "der",
        "la",
        "le",
        "di",
        "da",
        "dos",
        "das",
        "do",
        "mr",
        "mrs",
        "ms",
        "dr",
        "herr",
        "frau",
        "via",
        "list",
        "gmbh",
        "ltd",
        "inc",
    ]
)
# A name and nothing else behind a quotation, after a dash or in brackets.
_SIGNED = re.compile(r" ?[-(] ?([^,.;:!?()]{1,80}?)\)? ?[.!]?$")
# What only joins a quotation to the one before it: both are then said by the same.
_AND = re.compile(r"\W*(?:and|and then|or|und|sowie|et|puis|y|e|ed|en|i|oraz)?\W*")
# Before a name that a colon follows they say that it is not he who speaks.
_NOT_BY = frozenset(
    """to for about on with re cc an f\u00fcr \u00fcber mit betreff \u00e0 pour sur avec para sobre con per su voor
    aan over met dla o z""".split()  # noqa: SIM905 - words in quotation marks are harder to read
)
_BRACKETED = re.compile(r" ?\([^()]{0,80}\)")
# Words that a name and its verb of saying may have between them.
_DISTANCE = 7


@dataclass(frozen=True, slots=True)
class People:
    """The correspondents of the evidence: the words of all their names, and of each one's."""

    names: frozenset[str]
    each: tuple[frozenset[str], ...] = ()

    def one(self, first: str, second: str) -> bool:
        """Whether two words are names of one person."""
        return any(first in person and second in person for person in self.each)

    def speakers(self, before: str, after: str) -> set[str]:
        """Names that the words *before* or *after* a quotation make its speaker."""
        found = _speaker_before(before, self)
        return {found} if found else {name for name in [_speaker_after(after, self)] if name}


def names_of(address: Address) -> frozenset[str]:
    """The words by which a text may call the holder of *address*."""
    local = address.address.partition("@")[0]
    words = {*_words(address.name), *(word for word in re.split(r"[._+\-0-9]", normal_text(local)) if len(word) >= 2)}
    return frozenset(word for word in words if _names_somebody(word))


def _names_somebody(word: str) -> bool:
    """Whether a part of a name can call a person; "Will" and "An" are read as the words that they also are."""
    return len(word) >= 2 and word not in _ROLES and word not in every_stop_word()


def people_of(messages: Iterable[MessageText]) -> People:
    """Everybody who wrote or got one of *messages*."""
    each: set[frozenset[str]] = set()
    for message in messages:
        for address in (message.head.sender, *message.head.to, *message.head.cc):
            each.add(names_of(address))
        for part in message.parts:
            for region in part.regions:
                each.add(_names_said(region.said_by))
    return People(frozenset(name for person in each for name in person), tuple(sorted(each, key=sorted)))


def _names_said(said_by: str) -> frozenset[str]:
    words = _words(said_by) if "@" not in said_by else []
    return frozenset(word for word in words if len(word) >= 2 and word not in _ROLES)


def mismatch(unit: str, spans: Sequence[tuple[int, int, Match]], loose: Sequence[Match], people: People) -> str:
    """The name that is wrongly made the speaker of a quotation, or empty.

    *unit* is the statement without markers; *spans* are its quotations in order with where they stand; *loose* are
    quotations that were given beside it.
    """
    for (_, _, match), named in zip(spans, _speakers(unit, spans, people), strict=True):
        wrong = _not_by(named, match)
        if wrong:
            return wrong
    outside = _outside(unit, spans)
    plain = normal_text(outside)
    # A quotation given beside the unit is shown behind it, after a colon.
    listed = [*_all_speakers(plain, people), _before_colon(plain.rstrip(" .!?\u2026") + ":", people)]
    named = {name for name in listed if name}
    for match in loose:
        if named and all(_not_by({name}, match) for name in named):
            return sorted(named)[0]
    return ""


def _speakers(unit: str, spans: Sequence[tuple[int, int, Match]], people: People) -> list[set[str]]:
    """Who is made the speaker of each quotation; those that only a word like "and" joins have one in common."""
    if not spans:
        return []
    edges = [0, *(end for _, end, _ in spans)]
    leads = [normal_text(unit[edge:start]) for edge, (start, _, _) in zip(edges, spans, strict=False)]
    tails = [*leads[1:], normal_text(unit[edges[-1] :])]
    named = [people.speakers(lead, tail) for lead, tail in zip(leads, tails, strict=True)]
    for at in range(1, len(named)):
        if not named[at] and _AND.fullmatch(leads[at]):
            named[at] = named[at - 1]
    for at in range(len(named) - 2, -1, -1):
        if not named[at] and _AND.fullmatch(tails[at]):
            named[at] = named[at + 1]
    return named


def _not_by(named: set[str], match: Match) -> str:
    """The first of *named* (each the words of one person's name) that is no name of who wrote *match*, or empty."""
    author = author_of(match)
    return next((name for name in sorted(named) if not set(name.split()) <= author), "")


def _outside(unit: str, spans: Sequence[tuple[int, int, Match]]) -> str:
    pieces, position = [], 0
    for start, end, _ in spans:
        pieces.append(unit[position:start])
        position = end
    return " ".join([*pieces, unit[position:]])


def author_of(match: Match) -> frozenset[str]:
    """The names of who wrote the region that *match* stands in, as far as the message says."""
    region = match.piece.region
    if region is not None and region.kind != "signature":
        return frozenset(_words(region.said_by.partition("<")[0])) | names_of(Address("", _address_in(region.said_by)))
    return names_of(match.index.message.head.sender)


def _address_in(text: str) -> str:
    found = re.search(r"[^\s<>]+@[^\s<>]+", text)
    return found.group() if found else ""


def _words(text: str) -> list[str]:
    return _WORD.findall(normal_text(text))


@lru_cache(maxsize=1)
def _verbs() -> frozenset[str]:
    return frozenset(verb for lexicon in lexicons().values() for verb in lexicon.say)


@lru_cache(maxsize=1)
def _by() -> frozenset[str]:
    return frozenset(
        word for lexicon in lexicons().values() for word in (*lexicon.by, *(" ".join(lexicon.accord)).split())
    )


@lru_cache(maxsize=1)
def _agents() -> frozenset[str]:
    return frozenset(word for lexicon in lexicons().values() for word in lexicon.by)


def _bare(word: str) -> str:
    return word.removesuffix("'s").removesuffix("'")


def _speaker_before(text: str, people: People) -> str:
    """The subject of the last verb of saying before a quotation: the name before it, else the one right after it."""
    words = _words(text)
    verbs = _verbs()
    for at in range(len(words) - 1, -1, -1):
        if words[at] in verbs:
            return _subject(words, at, people) or _inverted(words, at, people)
    return _before_colon(text, people) or _after_preposition(words, people) or _possessor(text, people)


# What somebody said, as a noun.
_SAYING = re.compile(
    r"([^\W_]+)'s? (?:(?:own|exact|last|first) )?(?:words|mail|e-?mail|message|note|letter|reply|answer|statement)\b"
)


def _possessor(text: str, people: People) -> str:
    """ "Ann's words were ..."."""
    named = [match.group(1) for match in _SAYING.finditer(text) if match.group(1) in people.names]
    return named[-1] if named else ""


def _before_colon(text: str, people: People) -> str:
    """ "Ann Berg: ...": nothing but a name between the last pause and a colon."""
    match = re.search(r"(?:^|[,;.!?\u2026(-])([^,;.!?\u2026(-]*)[:\uff1a]\s*$", _BRACKETED.sub("", text))
    words = _words(match.group(1)) if match else []
    named: list[str] = []
    while words and _bare(words[-1]) in people.names:
        named.insert(0, _bare(words.pop()))
    if not named or any(_bare(word) in people.names or word in _NOT_BY for word in words):
        return ""
    return " ".join(named)


def _subject(words: list[str], at: int, people: People) -> str:
    agent = _agent(words, at, people)
    if agent:
        return agent
    for back in range(at - 1, max(-1, at - 1 - _DISTANCE), -1):
        if _bare(words[back]) in people.names:
            # "to Ann he wrote" names whom he wrote to.
            return (
                ""
                if back > 0 and words[back - 1] in ("to", "an", "\u00e0", "a", "for", "f\u00fcr", "with", "mit")
                else _run(words, back, people)
            )
        if words[back] in ("he", "she", "they", "er", "sie", "il", "elle", "i", "we", "ich", "wir"):
            return ""
    return ""


def _agent(words: list[str], at: int, people: People) -> str:
    """ "Nora was told by Rolf": who acts in the passive voice."""
    by = at + 1 < len(words) and words[at + 1] in _agents()
    return _run(words, at + 2, people) if by and at + 2 < len(words) and words[at + 2] in people.names else ""


def _run(words: list[str], at: int, people: People) -> str:
    """The name at *at* with the names directly beside it: "tom berg" is one person, not each Berg."""
    first = last = at
    while first > 0 and people.one(words[first - 1], words[first]):
        first -= 1
    while last + 1 < len(words) and people.one(words[last], _bare(words[last + 1])):
        last += 1
    return " ".join(_bare(word) for word in words[first : last + 1])


def _inverted(words: list[str], at: int, people: People) -> str:
    """ "Gestern schrieb Bo: ..." or "..., said Bo"."""
    for place, ahead in enumerate(words[at + 1 : at + 3], at + 1):
        if ahead in people.names:
            return _run(words, place, people)
        if ahead not in ("mr", "mrs", "ms", "dr", "herr", "frau", "m", "mme"):
            break
    return ""


def _after_preposition(words: list[str], people: People) -> str:
    """ "according to Ann", "by Ann", "laut Ann"."""
    prepositions = _by()
    for at in range(len(words) - 1, 0, -1):
        if _bare(words[at]) in people.names and words[at - 1] in prepositions:
            return _run(words, at, people)
    return ""


def _speaker_after(text: str, people: People) -> str:
    """ "...", wrote Ann / Ann wrote / according to Ann, directly behind a quotation."""
    signed = _SIGNED.match(text)
    words = _words(signed.group(1)) if signed else []
    if words and all(word in people.names or word in _ROLES for word in words):
        return " ".join(word for word in words if word in people.names)
    words = _words(text)[:6]
    if words[:1] == ["so"] and words[1:2] and words[1] in people.names:
        # German: "...", so Ann.
        return _run(words, 1, people)
    verbs = _verbs()
    for at, word in enumerate(words):
        if word in verbs:
            if at and words[at - 1] in people.names:
                # "..., Ann told Bo".
                return _subject(words, at, people)
            return _inverted(words, at, people) or _subject(words, at, people)
    return _after_preposition(words, people)


def _all_speakers(text: str, people: People) -> list[str]:
    words = _words(text)
    verbs = _verbs()
    found = [
        _subject(words, at, people) or _inverted(words, at, people) for at, word in enumerate(words) if word in verbs
    ]
    return [*found, _after_preposition(words, people)]
