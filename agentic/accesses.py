"""Who read which mail, run or export outside of a run: written down before what was read leaves.

An access that can't be written down is refused, as is an answer whose run can't be: the row goes to the database that
the mail came from, so this costs no availability. It takes one statement, and waits for nobody: rows are bound into
the tenant's chain later, in batches (`seal`), by whoever serves.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import psycopg
from django.db import Error, connection

from agentic.callers import Principal
from mailsearch.sessions import unbound

_NOTE = """
SELECT mail_search.record_access(tenant, %s, %s, %s, %s, subjects)
FROM jsonb_to_recordset(%s::jsonb) AS one (tenant bigint, subjects text[])
"""


class NotRecorded(Exception):
    """An access could not be written down, so what was asked for is not given out."""


async def record(principal: Principal, kind: str, subjects: Iterable[str] = (), via: str = "rest") -> None:
    """Write down that *principal* reads what *subjects* (public ids) name. Raises NotRecorded.

    *kind*: message, raw, thread, attachment, related, search, contacts, list, verify, run, runs, events, review,
    widening, export …; *via*: rest, mcp, page.
    """
    read = {principal.tenant: subjects}
    try:
        async with unbound() as conn:
            await conn.execute(_NOTE, [principal.caller, principal.label, kind, via, _rows(read)], prepare=True)
    except psycopg.Error as error:
        raise NotRecorded from error


@asynccontextmanager
async def recording(principal: Principal, kind: str, subjects: Iterable[str], via: str = "rest") -> AsyncIterator[None]:
    """The same while the block makes ready what will be given out. Left only with the row written, or NotRecorded."""
    written = asyncio.create_task(record(principal, kind, subjects, via))
    try:
        # So it is on its way before the block takes hold of the loop.
        await asyncio.sleep(0)
        yield
    finally:
        await written


def note(tenant: int, reader: str, label: str, kind: str, subjects: Iterable[str] = (), via: str = "page") -> None:
    """The same for code that does not run in an event loop. *reader* is "user:<id>", "key:<lineage>" or a command."""
    note_each({tenant: subjects}, reader, label, kind, via)


def note_each(read: Mapping[int, Iterable[str]], reader: str, label: str, kind: str, via: str = "page") -> None:
    """The same for a page that shows what is of several tenants: *read* holds the subjects by tenant."""
    if not read:
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute(_NOTE, [reader, label, kind, via, _rows(read)])
    except Error as error:
        raise NotRecorded from error


def _rows(read: Mapping[int, Iterable[str]]) -> str:
    return json.dumps([{"tenant": tenant, "subjects": list(dict.fromkeys(ids))} for tenant, ids in read.items()])
