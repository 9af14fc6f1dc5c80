"""Contacts: the participants of the mail in scope, counted over that mail alone."""

from psycopg import sql

from mailsearch.hits import Contact
from mailsearch.names import likeness
from mailsearch.scope import Scope
from mailsearch.search.heads import first_bearers
from mailsearch.search.query import storable
from mailsearch.terms import fold

MOST_CONTACTS = 100
_MOST_WORDS = 8
# A list's address reads like its List-Id with a dot for the @ (RFC 2919).
_CONTACTS = """
WITH met AS (
    SELECT p.address, p.name, m.id, m.received_at, m.list_id
    FROM mailsearch_participant p JOIN mailsearch_message m ON m.id = p.message_id WHERE p.address <> '' AND {scope}
), wanted AS (
    SELECT DISTINCT one.address FROM (
        SELECT DISTINCT met.address, mail_search.fold(met.name) AS name FROM met
    ) AS one WHERE NOT EXISTS (
        SELECT FROM unnest(%(words)s::text[]) AS word (part)
        WHERE position(word.part IN one.address) = 0 AND position(word.part IN one.name) = 0)
)
SELECT met.address, array_agg(DISTINCT met.name) FILTER (WHERE met.name <> ''), count(DISTINCT met.id),
       min(met.received_at), max(met.received_at),
       bool_or(met.list_id <> '' AND position(replace(met.address, '@', '.') IN lower(met.list_id)) > 0)
FROM met JOIN wanted ON wanted.address = met.address
GROUP BY met.address ORDER BY count(DISTINCT met.id) DESC, max(met.received_at) DESC, met.address LIMIT %(limit)s
"""


async def search(scope: Scope, text: str, limit: int = 20) -> tuple[Contact, ...]:
    """Contacts in whose address or name every word of *text* stands, those of most messages first.

    Without words, all contacts. Counts, names and times are those of the scope's mail.
    """
    condition, values = scope.condition("m")
    words = fold(storable(text)).split()[:_MOST_WORDS]
    parameters = values | {"words": words, "limit": max(1, min(limit, MOST_CONTACTS))}
    async with scope.reading() as conn:
        cursor = await conn.execute(sql.SQL(_CONTACTS).format(scope=condition), parameters)
        rows = await cursor.fetchall()
        known = await first_bearers(conn, scope, {likeness(name) for row in rows for name in row[1] or ()})
    return tuple(
        Contact(
            address=address,
            names=tuple(names or ()),
            messages=messages,
            first_seen=first,
            last_seen=last,
            is_list=is_list,
            name_conflict=any(known.get(likeness(name), address) != address for name in names or ()),
        )
        for address, names, messages, first, last, is_list in rows
    )
