"""Who read which mail, run or export outside of a run: written down before what was read leaves.

An access that can't be written down is refused, as is an answer whose run can't be: the row goes to the database that
the mail came from, so this costs no availability. It takes one statement, and waits for nobody: rows are bound into
the tenant's chain later, in batches (`seal`), by whoever serves.
"""

from collections.abc import Iterable

from django.db import Error, connection

from agentic.callers import Principal
from agentic.workers import in_worker


class NotRecorded(Exception):
    """An access could not be written down, so what was asked for is not given out."""


async def record(principal: Principal, kind: str, subjects: Iterable[str] = (), via: str = "rest") -> None:
    """Write down that *principal* reads what *subjects* (public ids) name. Raises NotRecorded.

    *kind*: message, raw, thread, attachment, related, search, verify, run, events, export …; *via*: rest, mcp, page.
    """
    await in_worker(note, principal.tenant, principal.caller, principal.label, kind, tuple(subjects), via)


def note(tenant: int, reader: str, label: str, kind: str, subjects: Iterable[str] = (), via: str = "page") -> None:
    """The same for code that does not run in an event loop. *reader* is "user:<id>", "key:<lineage>" or a command."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT mail_search.record_access(%s, %s, %s, %s, %s, %s)",
                [tenant, reader, label, kind, via, list(dict.fromkeys(subjects))],
            )
    except Error as error:
        raise NotRecorded from error
