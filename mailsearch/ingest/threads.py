"""Which messages belong together: a pure decision over Message-IDs, after RFC 5256 (REFERENCES) and JWZ's algorithm.

Two things connect messages. A message says which one it answers: the last of its References, else the first of its In-
Reply-To. And the References before that say, read from the last back, what those answer that have not arrived; such
hearsay counts up to the first message that has arrived, which speaks for itself. A thread is what is connected. So a
mail that names two threads joins only the one that it answers, forged References tie nothing together that has
arrived, loops do no harm, and the outcome is the same in whatever order mail arrives. Where several messages bear one
Message-ID the first that arrived keeps it; another joins the thread that it answers itself, or the first one's if it
answers none.

A reply that names nothing is placed by its subject: beside the nearest earlier message between the same people, within
thirty days (`follows`), as if it named that one.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# References that are looked at, counted from the last: real threads name fewer, forged ones name thousands.
MOST_REFERENCES = 100
NEAR = timedelta(days=30)
_PREFIX = re.compile(
    r"^(?:\s*(?:\[[^\]]{1,40}\]\s*)?(?:re|aw|sv|antw|antwort|vs|ref|rif|res|ynt|odp|vá|bls|fwd?|wg|tr|rv|enc|vb|pd|fs"
    r"|doorst|ilt|回复|答复|回覆|转发|轉寄|返信|转寄)\s?(?:\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：])",
    re.IGNORECASE,
)
_TAG = re.compile(r"^\s*\[[^\]]{1,40}\]\s*")


class Link(NamedTuple):
    """What one message says of its place: its own id, and the ids that it refers to, the one it answers last."""

    own: str
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of an id: its thread, and whether its message has arrived."""

    thread: int
    arrived: bool


@dataclass(frozen=True, slots=True)
class Grouping:
    """What became of arriving messages. `forgotten`: ids that nobody's word ties to any message any more."""

    groups: tuple["Group", ...]
    forgotten: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Messages and ids that belong together. `thread` is the one that stays; None asks for a new one."""

    thread: int | None
    # Threads that turned out to be the same one.
    absorbed: tuple[int, ...]
    # Places in `arriving` and `stored`.
    arriving: tuple[int, ...]
    stored: tuple[int, ...]
    ids: tuple[str, ...]


def link(own: str, references: Sequence[str], in_reply_to: Sequence[str], fallback: str) -> Link:
    """The link of a message; *fallback* stands for its id where it has none."""
    chain = [one for one in references if one and one != own][-MOST_REFERENCES:]
    if not chain:
        chain = [one for one in in_reply_to if one and one != own][:1]
    # The last mention counts: a chain that names an id twice would run in a circle.
    unique = list(dict.fromkeys(reversed(chain)))
    return Link(own or fallback, tuple(reversed(unique)))


def dissolving(known: Mapping[str, Known], arriving: Iterable[Link]) -> set[int]:
    """Threads that must be looked at anew, since a message arrives of which they held hearsay."""
    return {known[one.own].thread for one in arriving if one.own in known and not known[one.own].arrived}


def group(
    arriving: Sequence[Link],
    known: Mapping[str, Known],
    *,
    stored: Sequence[tuple[int, Link]] = (),
) -> Grouping:
    """The groups that *arriving* messages form with what is *known*.

    *stored* are all messages of the threads that are `dissolving`, oldest first, as (thread, link); *known* holds every
    id that *arriving* and *stored* mention. A thread falls apart where hearsay alone held it together: the group with
    its oldest message keeps it.
    """
    dissolved = {thread for thread, _ in stored}
    here = {one.own for one in arriving} | {one.own for _, one in stored}
    forest = _Forest()
    for name, at in known.items():
        forest.node(_id(name))
        # A thread that stays as it is hangs together by itself.
        if at.thread not in dissolved:
            forest.join(_id(name), _thread(at.thread))
    owners: set[str] = set()
    stored_nodes = [_place(forest, one, owners, here, known) for _, one in stored]
    owners |= {name for name, at in known.items() if at.arrived}
    arriving_nodes = [_place(forest, one, owners, here, known) for one in arriving]
    members: dict[str, _Members] = {}
    for place, node in enumerate(stored_nodes):
        members.setdefault(forest.root(node), _Members()).stored.append(place)
    for place, node in enumerate(arriving_nodes):
        members.setdefault(forest.root(node), _Members()).arriving.append(place)
    forgotten: list[str] = []
    for kind, name, root in forest.nodes():
        if kind == "id" and root in members:
            members[root].ids.append(name)
        elif kind == "id" and name in known and known[name].thread in dissolved and not known[name].arrived:
            forgotten.append(name)
    oldest = [(thread, node) for (thread, _), node in zip(stored, stored_nodes, strict=True)]
    threads = _threads_by_root(forest, oldest, [(at.thread, _id(name)) for name, at in known.items()])
    groups = tuple(_group(found, threads.get(root, [])) for root, found in members.items())
    return Grouping(groups, tuple(forgotten))


def _place(forest: "_Forest", one: Link, owners: set[str], here: set[str], known: Mapping[str, Known]) -> str:
    """Connect a message with what it answers, and what it tells of messages that have not arrived."""
    node = _id(one.own)
    if one.own in owners:
        # Someone else's Message-ID: what this one answers must not move the other's thread.
        node = f"copy {one.own} {' '.join(one.chain)}"
        forest.join(node, _id(one.chain[-1]) if one.chain else _id(one.own))
    else:
        owners.add(one.own)
        forest.node(node)
        if one.chain:
            forest.join(node, _id(one.chain[-1]))
    # All that counts of a chain hangs together with its teller. So when a message arrives, whose words about it end
    # is found in its thread; and an id that hangs together with nobody can be forgotten.
    for child, parent in pairwise(reversed(one.chain)):
        if child in here or (child in known and known[child].arrived):
            break
        forest.join(_id(child), _id(parent))
    return node


def _threads_by_root(
    forest: "_Forest", oldest: Iterable[tuple[int, str]], mentioned: Iterable[tuple[int, str]]
) -> dict[str, list[int]]:
    """Which known threads each group may keep, oldest first. One that fell apart stays with its oldest message."""
    kept: dict[int, str] = {}
    for kind, name, root in forest.nodes():
        if kind == "thread":
            kept[int(name)] = root
    # Where nothing stored is left of a thread, whoever mentions its ids may have it.
    for thread, node in (*oldest, *mentioned):
        kept.setdefault(thread, forest.root(node))
    threads: dict[str, list[int]] = {}
    for thread, root in sorted(kept.items()):
        threads.setdefault(root, []).append(thread)
    return threads


def _group(found: "_Members", threads: Sequence[int]) -> Group:
    return Group(
        thread=threads[0] if threads else None,
        absorbed=tuple(threads[1:]),
        arriving=tuple(found.arriving),
        stored=tuple(found.stored),
        ids=tuple(found.ids),
    )


class _Members:
    __slots__ = ("arriving", "ids", "stored")

    def __init__(self) -> None:
        self.arriving: list[int] = []
        self.stored: list[int] = []
        self.ids: list[str] = []


class _Forest:
    """Disjoint sets (union by size, paths halved)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._sizes: dict[str, int] = {}

    def nodes(self) -> Iterator[tuple[str, str, str]]:
        """Kind, name and root of every node."""
        for node in list(self._parents):
            kind, _, name = node.partition(" ")
            yield kind, name, self.root(node)

    def node(self, name: str) -> None:
        if name not in self._parents:
            self._parents[name] = name
            self._sizes[name] = 1

    def root(self, name: str) -> str:
        parents = self._parents
        while parents[name] != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    def join(self, one: str, other: str) -> None:
        self.node(one)
        self.node(other)
        smaller, larger = sorted((self.root(one), self.root(other)), key=self._sizes.__getitem__)
        if smaller != larger:
            self._parents[smaller] = larger
            self._sizes[larger] += self._sizes[smaller]


def _id(name: str) -> str:
    return f"id {name}"


def _thread(number: int) -> str:
    return f"thread {number}"


@dataclass(frozen=True, slots=True)
class Letter:
    """What placing by subject looks at. `people`: every address on the message, lower-case."""

    subject: str
    people: frozenset[str]
    at: datetime
    # Refers to no message at all.
    alone: bool


@lru_cache(2_000)
def subject_without_prefixes(subject: str) -> tuple[str, bool]:
    """*subject* without reply and forward prefixes, list tags and differences of case and space; had it a prefix?"""
    rest, prefixed = unicodedata.normalize("NFKC", subject[:1000]), False
    while found := _PREFIX.match(rest):
        rest, prefixed = rest[found.end() :], True
    return " ".join(_TAG.sub("", rest).casefold().split()), prefixed


def subject_key(subject: str) -> bytes | None:
    """16 bytes that subjects share which differ in prefixes only; None for subjects that say too little."""
    rest, _ = subject_without_prefixes(subject)
    # Nearly every subject begins with a word.
    if not (len(rest) > 2 and rest[:3].isalnum()) and sum(map(str.isalnum, rest)) < 3:
        return None
    return hashlib.sha256(rest.encode("utf-8", "replace")).digest()[:16]


def is_lone_reply(letter: Letter) -> bool:
    """Whether this is a reply or forward that names no message: one to be placed by its subject."""
    return letter.alone and subject_without_prefixes(letter.subject)[1]


def follows(reply: Letter, other: Letter) -> bool:
    """Whether the lone *reply* may belong to *other* by its subject; of all that it may, it belongs to the nearest.

    Both must be between the same people (two addresses in common, or all of a note to oneself), and *other* the earlier
    one, by thirty days at most.
    """
    if not timedelta() <= reply.at - other.at <= NEAR or not reply.people or not other.people:
        return False
    (subject, _), (other_subject, other_replies) = (
        subject_without_prefixes(reply.subject),
        subject_without_prefixes(other.subject),
    )
    # Of two replies of one moment none is the later.
    if subject != other_subject or (reply.at == other.at and other_replies):
        return False
    return len(reply.people & other.people) >= min(2, len(reply.people), len(other.people))
