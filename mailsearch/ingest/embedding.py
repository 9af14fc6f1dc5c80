"""The stage that gives passages their vectors: after an import or beside it, newest mail first, whenever it has time.

What is to be done is what has no vector of the tenant's current model, so the stage can be stopped and started at will,
and a change of model simply leaves everything to be done. Vectors of models that are no longer used are removed once
the new ones are complete. Keyword search does not wait for any of it.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorWrapper
from numpy.typing import NDArray

from mailsearch.embeddings import Embedder, configured_embedder
from mailsearch.ingest import statistics
from mailsearch.models import Mailbox, Tenant
from mailsearch.sessions import Binding, bound

BATCH = 128
# Postgres' COPY BINARY: signature, flags, length of extension; a trailer of -1.
_HEADER = b"PGCOPY\n\xff\r\n\x00" + struct.pack("!ii", 0, 0)
_TRAILER = struct.pack("!h", -1)


@dataclass(frozen=True, slots=True)
class Progress:
    """Passages embedded by this call so far, and those that still wait."""

    done: int
    waiting: int


@dataclass(frozen=True, slots=True)
class _Pending:
    passage: int
    message: int
    mailbox: int
    quarantined: bool
    text: str


def waiting(tenant: Tenant, embedder: Embedder | None = None) -> int:
    """How many passages of *tenant* have no vector of its current model."""
    model = (embedder or configured_embedder(tenant.may_leave)).name
    with _bound(tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM mailsearch_passage p WHERE p.tenant_id = %s AND NOT EXISTS ("
            " SELECT 1 FROM mailsearch_passagevector v WHERE v.passage_id = p.id AND v.model = %s)",
            [tenant.pk, model],
        )
        return int((cursor.fetchone() or (0,))[0])


def embed_pending(
    tenant: Tenant,
    *,
    progress: Callable[[Progress], None] | None = None,
    batch: int = BATCH,
    embedder: Embedder | None = None,
    limit: int | None = None,
) -> int:
    """Embed what waits, newest mail first; returns how many passages were embedded.

    *limit* ends it after so many. Raises EmbeddingUnavailable; what was done until then is kept.
    """
    embedder = embedder or configured_embedder(tenant.may_leave)
    left = waiting(tenant, embedder)
    done = 0
    before: tuple[datetime, int] | None = None
    while limit is None or done < limit:
        pending, before = _pending(tenant, embedder.name, batch, before)
        if not pending:
            # What arrived meanwhile is newer than where this pass stands.
            break
        vectors = _embed(embedder, [one.text for one in pending])
        _store(tenant, embedder.name, pending, vectors)
        done += len(pending)
        if progress:
            progress(Progress(done, max(left - done, 0)))
    if limit is None:
        _remove_others(tenant, embedder.name)
    if done:
        statistics.refresh()
    return done


def _pending(
    tenant: Tenant, model: str, count: int, before: tuple[datetime, int] | None
) -> tuple[list[_Pending], tuple[datetime, int] | None]:
    """The next passages, and where the walk over messages (by time of arrival, backwards) then stands."""
    with _bound(tenant), connection.cursor() as cursor:
        # One message at a time would be slow and all at once large: a page of messages that lack vectors.
        cursor.execute(
            "SELECT m.id, m.received_at FROM mailsearch_message m WHERE m.tenant_id = %s"
            " AND (%s::timestamptz IS NULL OR (m.received_at, m.id) <= (%s, %s))"
            " AND EXISTS (SELECT 1 FROM mailsearch_passage p WHERE p.message_id = m.id AND NOT EXISTS ("
            "   SELECT 1 FROM mailsearch_passagevector v WHERE v.passage_id = p.id AND v.model = %s))"
            " ORDER BY m.received_at DESC, m.id DESC LIMIT %s",
            [tenant.pk, before and before[0], before and before[0], before and before[1], model, count],
        )
        messages = cursor.fetchall()
        if not messages:
            return [], before
        pending = _texts(cursor, [id_ for id_, _ in messages], model, count)
    # The walk goes on at the message of the last one, which may have more.
    arrivals = dict(messages)
    last = pending[-1].message if pending else messages[-1][0]
    return pending, (arrivals[last], last)


def _texts(cursor: CursorWrapper, messages: Sequence[int], model: str, count: int) -> list[_Pending]:
    cursor.execute(
        "SELECT p.id, p.message_id, p.mailbox_id, p.quarantined,"
        ' substr(coalesce(a.text, m.body_text), p.start + 1, p."end" - p.start)'
        " FROM mailsearch_passage p JOIN mailsearch_message m ON m.id = p.message_id"
        " LEFT JOIN mailsearch_attachment a ON a.id = p.attachment_id"
        " WHERE p.message_id = ANY(%s) AND NOT EXISTS ("
        "  SELECT 1 FROM mailsearch_passagevector v WHERE v.passage_id = p.id AND v.model = %s)"
        " ORDER BY m.received_at DESC, m.id DESC, p.id LIMIT %s",
        [list(messages), model, count],
    )
    return [_Pending(*row) for row in cursor.fetchall()]


def _embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector for each text; a text that occurs twice is embedded once."""
    places: dict[str, int] = {}
    for text in texts:
        places.setdefault(text, len(places))
    vectors = embedder.embed(list(places))
    return vectors[[places[text] for text in texts]]


def _store(tenant: Tenant, model: str, pending: Sequence[_Pending], vectors: NDArray[np.float32]) -> None:
    with _bound(tenant), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE incoming_vector (passage bigint, embedding halfvec) ON COMMIT DROP")
        with cursor.copy("COPY incoming_vector FROM STDIN WITH (FORMAT binary)") as copy:
            copy.write(b"".join(_binary((one.passage for one in pending), vectors)))
        # Quarantined or erased meanwhile: the passage's own row decides.
        cursor.execute(
            "INSERT INTO mailsearch_passagevector"
            " (tenant_id, mailbox_id, quarantined, passage_id, message_id, model, embedding)"
            " SELECT p.tenant_id, p.mailbox_id, p.quarantined, p.id, p.message_id, %s, i.embedding"
            " FROM incoming_vector i JOIN mailsearch_passage p ON p.id = i.passage ORDER BY p.id"
            " ON CONFLICT (passage_id, model) DO NOTHING",
            [model],
        )


def _binary(passages: Iterable[int], vectors: NDArray[np.float32]) -> Iterator[bytes]:
    """Rows of (bigint, halfvec) in COPY's binary format; halfvec: length, zero, then halves, all big-endian."""
    dimensions = vectors.shape[1]
    head = struct.pack("!ihh", 4 + 2 * dimensions, dimensions, 0)
    halves = vectors.astype(">f2")
    yield _HEADER
    for passage, half in zip(passages, halves, strict=True):
        yield struct.pack("!hiq", 2, 8, passage) + head + half.tobytes()
    yield _TRAILER


def _remove_others(tenant: Tenant, model: str) -> None:
    with _bound(tenant), connection.cursor() as cursor:
        cursor.execute("DELETE FROM mailsearch_passagevector WHERE tenant_id = %s AND model <> %s", [tenant.pk, model])


def _bound(tenant: Tenant) -> AbstractContextManager[None]:
    mailboxes = frozenset(Mailbox.objects.filter(tenant=tenant).values_list("id", flat=True))
    return bound(Binding(tenant.pk, mailboxes, include_quarantined=True))
