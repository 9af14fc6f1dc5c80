"""Threads in the store: asks `threads` what belongs together, and writes that down.

All of it runs inside the one transaction of a batch, under a lock of the tenant, so that two importers never decide
about the same thread at once.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mailsearch.ids import public_ids
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.literals import array, bytes_array
from mailsearch.ingest.threads import (
    NEAR,
    Group,
    Known,
    Letter,
    Link,
    dissolving,
    group,
    link,
    placed_by_subject,
    subject_without_prefixes,
)

# The nearest messages with the subject of `n` on either side, walked along in the index of subjects: however many share
# it, no more are looked at. Later ones that can't follow on `n` don't count.
_SAME_SUBJECT = """
    SELECT m.id, m.thread_id, m.subject, coalesce(m.sent_at, m.received_at) AS at,
        cardinality(m."references") + cardinality(m.in_reply_to) = 0 AS alone,
        abs(extract(epoch FROM coalesce(m.sent_at, m.received_at) - n.at)) AS away
    FROM mailsearch_message m
    WHERE m.tenant_id = %s AND m.subject_key = n.key AND m.container_id IS NULL"""
_EARLIER = f"""{_SAME_SUBJECT} AND n.is_reply
        AND coalesce(m.sent_at, m.received_at) < n.at
        AND coalesce(m.sent_at, m.received_at) >= n.at - %s * interval '1 day'
    ORDER BY coalesce(m.sent_at, m.received_at) DESC LIMIT %s"""
_LATER = f"""{_SAME_SUBJECT}
        AND (n.is_reply OR (cardinality(m."references") + cardinality(m.in_reply_to) = 0 AND m.subject ~ '[:：]'))
        AND coalesce(m.sent_at, m.received_at) >= n.at
        AND coalesce(m.sent_at, m.received_at) <= n.at + %s * interval '1 day'
    ORDER BY coalesce(m.sent_at, m.received_at) LIMIT %s"""
_NEAREST = (
    "SELECT n.number, found.* FROM unnest(%s::integer[], %s::bytea[], %s::timestamptz[], %s::boolean[])"  # noqa: S608
    f" AS n (number, key, at, is_reply), LATERAL (SELECT * FROM ({_EARLIER}) AS e"
    f" UNION ALL SELECT * FROM ({_LATER}) AS l ORDER BY away, id LIMIT %s) AS found"
)
# Larger threads are only added to: looking at all of one anew at each late arrival would cost more than it helps.
_LARGEST_LOOSENED = 2_000
_MOST_CANDIDATES = 50


@dataclass(slots=True)
class _Stored:
    """A message of the store whose thread is looked at anew."""

    id: int
    thread: int
    link: Link


@dataclass(slots=True)
class _Writing:
    """What a decision changes: rows of keys (hash → thread, has it arrived), keys that go, and messages that move."""

    forgotten: list[bytes] = field(default_factory=list)
    keys: dict[bytes, tuple[int, bool]] = field(default_factory=dict)
    moves: dict[int, int] = field(default_factory=dict)
    merges: list[tuple[int, int]] = field(default_factory=list)


def place(tenant: int, drafts: Sequence[Draft]) -> list[int]:
    """The thread of each of *drafts*, made where there was none; threads that turned out to be one are merged.

    Messages inside others are not asked for: they stand in their container's thread.
    """
    links = [one.link for one in drafts]
    with connection.cursor() as cursor:
        known = _known(cursor, tenant, _mentioned(links))
        stored = _loosened(cursor, tenant, dissolving(known, links))
        known |= _known(cursor, tenant, _mentioned(one.link for one in stored) - known.keys())
        grouping = group(links, known, stored=[(one.thread, one.link) for one in stored])
        groups = grouping.groups
        threads = _threads(cursor, tenant, groups, _by_subject(cursor, tenant, drafts, groups))
        writing = _Writing(forgotten=[key_of(name) for name in grouping.forgotten])
        placed = [0] * len(drafts)
        arriving = {one.own for one in links}
        for found, thread in zip(groups, threads, strict=True):
            for number in found.arriving:
                placed[number] = thread
            _note(writing, found, thread, stored, known, arriving)
        _write(cursor, tenant, writing)
    return placed


def _mentioned(links: Iterable[Link]) -> set[str]:
    return {name for one in links for name in (one.own, *one.chain)}


def key_of(name: str) -> bytes:
    """What stands for a Message-ID in the table of thread keys."""
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()


def _known(cursor: CursorWrapper, tenant: int, names: set[str]) -> dict[str, Known]:
    by_hash = {key_of(name): name for name in names}
    cursor.execute(
        "SELECT rfc_id_sha256, thread_id, arrived FROM mailsearch_threadkey"
        " WHERE tenant_id = %s AND rfc_id_sha256 = ANY(%s::bytea[])",
        [tenant, bytes_array(by_hash)],
    )
    return {by_hash[bytes(digest)]: Known(thread, arrived) for digest, thread, arrived in cursor.fetchall()}


def _loosened(cursor: CursorWrapper, tenant: int, threads: set[int]) -> list[_Stored]:
    """All messages of *threads*, oldest first, without those of very large threads."""
    if not threads:
        return []
    cursor.execute(
        "SELECT id, thread_id, rfc_message_id, \"references\", in_reply_to, encode(content_sha256, 'hex')"
        " FROM (SELECT *, count(*) OVER (PARTITION BY thread_id) AS members FROM mailsearch_message"
        "       WHERE tenant_id = %s AND container_id IS NULL AND thread_id = ANY(%s::bigint[])) AS m"
        " WHERE members <= %s ORDER BY id",
        [tenant, array(threads), _LARGEST_LOOSENED],
    )
    return [
        _Stored(id_, thread, link(own, references, in_reply_to, fallback))
        for id_, thread, own, references, in_reply_to, fallback in cursor.fetchall()
    ]


def _threads(cursor: CursorWrapper, tenant: int, groups: Sequence[Group], beside: Mapping[int, "_Beside"]) -> list[int]:
    """The thread of each group; new ones are made in one go."""
    placed: dict[int, int] = {}
    followed = {number: _follow(number, beside) for number in range(len(groups))}
    for number, end in followed.items():
        if isinstance(end, _InStore):
            placed[number] = end.thread
        elif (thread := groups[end].thread) is not None:
            placed[number] = thread
    missing = sorted({end for end in followed.values() if isinstance(end, int) and groups[end].thread is None})
    made: dict[int, int] = {}
    if missing:
        cursor.execute(
            "INSERT INTO mailsearch_thread (tenant_id, public_id) SELECT %s, unnest(%s::text[]) RETURNING id",
            [tenant, array(public_ids("thr", len(missing)))],
        )
        made = dict(zip(missing, sorted(id_ for (id_,) in cursor.fetchall()), strict=True))
    return [placed[number] if number in placed else made[_end(followed[number])] for number in range(len(groups))]


@dataclass(frozen=True, slots=True)
class _InStore:
    thread: int


# Beside what a newcomer was placed by its subject: a thread of the store, or a group of the same batch.
_Beside = _InStore | int


def _follow(number: int, beside: Mapping[int, _Beside]) -> _Beside:
    end: _Beside = number
    while isinstance(end, int) and end in beside:
        end = beside[end]
    return end


def _end(followed: _Beside) -> int:
    assert isinstance(followed, int)
    return followed


def _by_subject(
    cursor: CursorWrapper, tenant: int, drafts: Sequence[Draft], groups: Sequence[Group]
) -> dict[int, _Beside]:
    """What single newcomers stand beside by their subject: place in *groups* → thread or other group.

    Only a message that belongs to nothing else is placed so; two threads are never joined by a subject.
    """
    single = {
        number: drafts[found.arriving[0]]
        for number, found in enumerate(groups)
        if found.thread is None and len(found.arriving) == 1 and not found.stored
    }
    single = {number: one for number, one in single.items() if one.subject_key and not one.link.chain}
    if not single:
        return {}
    letters = {number: one.letter for number, one in single.items()}
    stored = _candidates(cursor, tenant, {number: (one.subject_key, letters[number]) for number, one in single.items()})
    beside: dict[int, _Beside] = {}
    here = _by_key(drafts, groups)
    for number, one in single.items():
        others = [*stored.get(number, ()), *here[one.subject_key]]
        # Not beside itself, nor beside what already stands beside it.
        choices = [(at, letter) for at, letter in others if _follow_from(at, beside) != number]
        chosen = placed_by_subject(letters[number], [letter for _, letter in choices])
        if chosen is not None:
            beside[number] = choices[chosen][0]
    return beside


def _by_key(drafts: Sequence[Draft], groups: Sequence[Group]) -> dict[bytes | None, list[tuple[_Beside, Letter]]]:
    """What arrives, by the key of its subject."""
    found: dict[bytes | None, list[tuple[_Beside, Letter]]] = {}
    for number, one in enumerate(groups):
        for place in one.arriving:
            found.setdefault(drafts[place].subject_key, []).append((number, drafts[place].letter))
    return found


def _follow_from(at: _Beside, beside: Mapping[int, _Beside]) -> _Beside:
    return _follow(at, beside) if isinstance(at, int) else at


def _candidates(
    cursor: CursorWrapper, tenant: int, newcomers: Mapping[int, tuple[bytes | None, Letter]]
) -> dict[int, list[tuple[_Beside, Letter]]]:
    """Messages of the store that each of *newcomers* (key of the subject, letter) may belong to, the nearest first.

    Beside one that is no reply only a later reply that refers to nothing can stand; and no reply lacks a colon.
    """
    keys, letters = zip(*newcomers.values(), strict=True)
    cursor.execute(
        _NEAREST,
        [
            array(newcomers),
            bytes_array(key or b"" for key in keys),
            array(one.at.isoformat() for one in letters),
            array(subject_without_prefixes(one.subject)[1] for one in letters),
            *[tenant, NEAR.days, _MOST_CANDIDATES] * 2,
            _MOST_CANDIDATES,
        ],
    )
    rows = cursor.fetchall()
    people = _people(cursor, {message for _, message, *_ in rows})
    found: dict[int, list[tuple[_Beside, Letter]]] = {}
    for number, message, thread, subject, at, alone, _away in rows:
        letter = Letter(subject, people.get(message, frozenset()), at, alone)
        found.setdefault(number, []).append((_InStore(thread), letter))
    return found


def _people(cursor: CursorWrapper, messages: set[int]) -> dict[int, frozenset[str]]:
    """The addresses on each of *messages*."""
    if not messages:
        return {}
    cursor.execute(
        "SELECT message_id, array_agg(address) FROM mailsearch_participant"
        " WHERE message_id = ANY(%s::bigint[]) AND address <> '' GROUP BY message_id",
        [array(messages)],
    )
    return {message: frozenset(addresses) for message, addresses in cursor.fetchall()}


def _note(
    writing: _Writing,
    found: Group,
    thread: int,
    stored: Sequence[_Stored],
    known: Mapping[str, Known],
    arriving: set[str],
) -> None:
    for name in found.ids:
        before, arrives = known.get(name), name in arriving
        if before is None or before.thread != thread or (arrives and not before.arrived):
            writing.keys[key_of(name)] = thread, arrives
    for number in found.stored:
        if stored[number].thread != thread:
            writing.moves[stored[number].id] = thread
    writing.merges += [(old, thread) for old in found.absorbed]


def _write(cursor: CursorWrapper, tenant: int, writing: _Writing) -> None:
    # Single messages before whole threads: a thread that fell apart and was absorbed leaves its other half behind.
    if writing.moves:
        cursor.execute(
            "WITH RECURSIVE move(message, thread) AS ("
            " SELECT * FROM unnest(%s::bigint[], %s::bigint[])"
            " UNION SELECT n.id, move.thread FROM move JOIN mailsearch_message n ON n.container_id = move.message)"
            " UPDATE mailsearch_message m SET thread_id = move.thread FROM move WHERE m.id = move.message",
            [array(writing.moves), array(writing.moves.values())],
        )
    if writing.forgotten:
        cursor.execute(
            "DELETE FROM mailsearch_threadkey"
            " WHERE tenant_id = %s AND rfc_id_sha256 = ANY(%s::bytea[]) AND NOT arrived",
            [tenant, bytes_array(writing.forgotten)],
        )
    if writing.keys:
        cursor.execute(
            "INSERT INTO mailsearch_threadkey AS before (tenant_id, rfc_id_sha256, thread_id, arrived)"
            " SELECT %s, key, thread, arrived"
            " FROM unnest(%s::bytea[], %s::bigint[], %s::boolean[]) AS k (key, thread, arrived)"
            " ON CONFLICT (tenant_id, rfc_id_sha256) DO UPDATE"
            " SET thread_id = excluded.thread_id, arrived = before.arrived OR excluded.arrived",
            [
                tenant,
                bytes_array(writing.keys),
                array(thread for thread, _ in writing.keys.values()),
                array(arrived for _, arrived in writing.keys.values()),
            ],
        )
    for old, thread in writing.merges:
        for table in ("message", "threadkey"):
            cursor.execute(
                f"UPDATE mailsearch_{table} SET thread_id = %s WHERE tenant_id = %s AND thread_id = %s",  # noqa: S608
                [thread, tenant, old],
            )
        cursor.execute(
            "UPDATE mailsearch_thread SET merged_into_id = %s"
            " WHERE tenant_id = %s AND (id = %s OR merged_into_id = %s)",
            [thread, tenant, old, old],
        )
