"""From ranked ids to hits: heads, excerpts and what folding needs, all read within the scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from mailsearch.hits import Hit, MessageText
from mailsearch.scope import Scope, bigints
from mailsearch.search import heads, reading
from mailsearch.search.excerpts import Span, Words, excerpts
from mailsearch.search.folding import Candidate, Folded
from mailsearch.search.heads import of_row
from mailsearch.search.keyword import CAPS, KeywordPlan, asked, narrows_by_scope
from mailsearch.search.lexemes import Cut
from mailsearch.search.narrowing import Narrowing
from mailsearch.search.paging import DEEPEST
from mailsearch.search.semantic import Nearest
from mailsearch.search.vocabulary import remember

# One by one, by a key that belongs to one row: planned for one tenant, it suits the others.
_CANDIDATES = """
SELECT m.id, m.words_sha256, m.thread_id, m.received_at, m.dmarc = 'pass',
    CASE WHEN m.id = ANY(%(senders)s::bigint[]) THEN coalesce(s.address, '') END
FROM unnest(%(ids)s::bigint[]) AS u (id)
CROSS JOIN LATERAL (SELECT m.* FROM mailsearch_message m WHERE m.id = u.id AND {} OFFSET 0) AS m
LEFT JOIN mail_search.senders(%(senders)s::bigint[]) AS s ON s.message_id = m.id
"""
# The scope is bound and row-level security asked where a page is ranked, before anything of it is read.
# What is said of the page as a whole stands in its first row, or in the one that there is where nothing is shown.
_PAGE = """
SELECT p.copies[h.place], h.*,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.total END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.hits END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.indexed_until END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.lexemes END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.worths END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.known END,
    CASE WHEN coalesce(h.ordinality, 1) = 1 THEN p.silent END
FROM mail_search.found(
    %(tenant)s, %(mailboxes)s, %(folders)s::bigint[], %(start)s, %(end)s, %(words)s::text[], %(known)s::text[],
    %(silent)s::integer[], %(terms)s::text[], %(owns)s::text[], %(required)s::boolean[], %(alone)s::integer[],
    %(slots)s::text[], %(slot_terms)s::integer[], %(excluded)s::text[], %(question)s,
    %(among)s::bigint[], %(narrow)s, %(caps)s::integer[], %(depth)s, %(offset)s, %(limit)s) AS p
LEFT JOIN LATERAL mail_search.written(p.messages, %(folders)s::bigint[], %(start)s, %(end)s, false, true)
    WITH ORDINALITY AS h ON true
"""
_OF_PAGE = 7
_BY_WORDS = ("keyword",)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of what words alone find."""

    hits: tuple[Hit, ...]
    # The messages of the hits by public id.
    texts: Mapping[str, MessageText]
    # How many messages match, and how many hits there are up to the page's end and one more.
    total: int
    reached: int
    # When the newest mail in scope came into the index; None where there is none.
    indexed_until: datetime | None


async def page(
    conn: AsyncConnection[TupleRow], scope: Scope, cut: Cut, narrowing: Narrowing, offset: int, limit: int
) -> Page:
    """Understand, rank and read a page in one trip to the database, each of several copies once.

    One statement that binds its own transaction, so *conn* need not be bound.
    """
    by_words_alone = cut.terms and narrows_by_scope(narrowing)
    values = asked(scope, cut) | {
        "among": bigints(narrowing.folders),
        "narrow": None if by_words_alone else narrowing.parameter,
        "caps": CAPS,
        "depth": min(offset + limit + 1, DEEPEST),
        "offset": offset,
        "limit": limit,
    }
    cursor = await conn.execute(_PAGE, values, prepare=True, binary=True)
    rows = await cursor.fetchall()
    total, reached, indexed_until, lexemes, worths, *learnt = rows[0][-_OF_PAGE:]
    remember(cut.words, *learnt)
    words, shown, texts = Words(dict(zip(lexemes or (), worths or (), strict=True))), [], {}
    # Where nothing is left to show, one row tells the numbers.
    found = sorted((row[1], row[0], row[1 : -1 - _OF_PAGE]) for row in rows if row[1] is not None)
    for place, copies, row in found:
        one = of_row(row)
        texts[one.head.message_id] = one
        shown.append(Hit(one.head, offset + place, _BY_WORDS, excerpts(reading.stored(one), words), copies))
    return Page(tuple(shown), reading.Texts(texts), total, reached, indexed_until)


async def candidates(
    conn: AsyncConnection[TupleRow], scope: Scope, ids: Sequence[int], senders: Sequence[int] = ()
) -> dict[int, Candidate]:
    """What folding needs to know of the messages, of those in scope, and for spreading the *senders* of these."""
    statement, values = scope.statement(_CANDIDATES)
    asked = values | {"ids": bigints(ids), "senders": bigints(senders)}
    cursor = await conn.execute(statement, asked, prepare=True, binary=True)
    return {row[0]: Candidate(*row) for row in await cursor.fetchall()}


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for by `ask`, for `hits`: the messages of a page, and the names of attachments on it."""

    page: Sequence[Folded]
    messages: AsyncCursor[TupleRow]
    names: AsyncCursor[TupleRow] | None


async def ask(
    conn: AsyncConnection[TupleRow], scope: Scope, page: Sequence[Folded], nearest: Mapping[int, Nearest]
) -> Asked:
    """Ask for the messages of one page. Within a pipeline it does not wait."""
    messages = await heads.ask(conn, scope, [one.message_id for one in page], texts=True)
    return Asked(page, messages, await _attachment_names(conn, nearest, page))


async def hits(
    asked: Asked,
    offset: int,
    ways: Mapping[int, tuple[str, ...]],
    nearest: Mapping[int, Nearest],
    plan: KeywordPlan,
) -> tuple[tuple[Hit, ...], dict[str, MessageText]]:
    """The hits of the page that was *asked* for, ranked from *offset* + 1 on, and their messages by public id."""
    texts = {message_id: reading.whole(one) for message_id, one in (await heads.told(asked.messages)).items()}
    names: dict[int, str] = dict(await asked.names.fetchall()) if asked.names else {}
    shown, words = [], Words(plan.lexemes)
    for rank, hit in enumerate(asked.page, offset + 1):
        text = texts.get(hit.message_id)
        if text is None:
            continue
        near = nearest.get(hit.message_id)
        span = _span(near, names) if near is not None else None
        found_by = ways.get(hit.message_id) or ways.get(hit.best, ())
        shown.append(Hit(text.head, rank, found_by, excerpts(text.parts, words, span), hit.copies))
    return tuple(shown), {text.head.message_id: text for text in texts.values()}


def _span(near: Nearest, names: Mapping[int, str]) -> Span:
    part = "body" if near.attachment_id is None else f"attachment:{names.get(near.attachment_id, '')}"
    return Span(part, near.start, near.end)


async def _attachment_names(
    conn: AsyncConnection[TupleRow], nearest: Mapping[int, Nearest], page: Sequence[Folded]
) -> AsyncCursor[TupleRow] | None:
    """Ask for public ids of the attachments whose passages were nearest, where there are any."""
    ids = [
        near.attachment_id
        for hit in page
        if (near := nearest.get(hit.message_id)) is not None and near.attachment_id is not None
    ]
    if not ids:
        return None
    return await conn.execute("SELECT id, public_id FROM mailsearch_attachment WHERE id = ANY(%s)", [ids])
