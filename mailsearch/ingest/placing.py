"""Threads in the store: asks `threads` what belongs together, and writes that down.

All of it runs inside the one transaction of a batch, under a lock of the tenant, so that two importers never decide
about the same thread at once.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mailsearch.ids import public_ids
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.literals import array, bytes_array
from mailsearch.ingest.subjects import Subjects
from mailsearch.ingest.threads import Group, Known, Link, dissolving, group, link

# Larger threads are only added to: looking at all of one anew at each late arrival would cost more than it helps.
_LARGEST_LOOSENED = 2_000


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
    with connection.cursor() as cursor:
        subjects = Subjects(cursor, tenant)
        subjects.add(drafts)
        followed = subjects.of_arriving()
        links = [_following(one.link, followed.arriving.get(place)) for place, one in enumerate(drafts)]
        known = _known(cursor, tenant, _mentioned(links))
        stored = _loosened(cursor, tenant, dissolving(known, links) | followed.threads)
        by_subject = subjects.of_stored([one.id for one in stored if not one.link.chain])
        stored = [replace(one, link=_following(one.link, by_subject.get(one.id))) for one in stored]
        known |= _known(cursor, tenant, _mentioned(one.link for one in stored) - known.keys())
        grouping = group(links, known, stored=[(one.thread, one.link) for one in stored])
        groups = grouping.groups
        threads = _threads(cursor, tenant, groups)
        writing = _Writing(forgotten=[key_of(name) for name in grouping.forgotten])
        placed = [0] * len(drafts)
        arriving = {one.own for one in links}
        for found, thread in zip(groups, threads, strict=True):
            for number in found.arriving:
                placed[number] = thread
            _note(writing, found, thread, stored, known, arriving)
        _write(cursor, tenant, writing)
    return placed


def _following(one: Link, followed: str | None) -> Link:
    """*one* as if it named the message that it follows by its subject."""
    return Link(one.own, (followed,)) if followed else one


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


def _threads(cursor: CursorWrapper, tenant: int, groups: Sequence[Group]) -> list[int]:
    """The thread of each group; new ones are made in one go."""
    missing = sum(found.thread is None for found in groups)
    made: list[int] = []
    if missing:
        cursor.execute(
            "INSERT INTO mailsearch_thread (tenant_id, public_id) SELECT %s, unnest(%s::text[]) RETURNING id",
            [tenant, array(public_ids("thr", missing))],
        )
        made = sorted((id_ for (id_,) in cursor.fetchall()), reverse=True)
    return [made.pop() if found.thread is None else found.thread for found in groups]


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
