"""The audit as files: runs, sentences, widen attempts and accesses of a tenant, as CSV or JSON Lines, of any size.

Rows are read by a cursor of the database and leave as they come, so that memory does not grow with them. What a run
read is shown where its reader may read that mail now; else, and where it was erased, the words are left out and
`words` says so. The last line is the tenant's chain as it stood when the export began: its number, head and signature.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from agentic import accesses, cells
from agentic.links import ZERO
from agentic.models import AdminAct
from agentic.workers import in_worker
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, session

What = Literal["runs", "sentences", "widen_attempts", "accesses"]
Form = Literal["csv", "jsonl"]
WHAT: tuple[What, ...] = get_args(What)
FORMS: tuple[Form, ...] = get_args(Form)
MEDIA_TYPES: Mapping[Form, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
_ROWS_AT_ONCE = 500


# Words of each row, beside its columns.
_WORDS: Mapping[What, tuple[str, ...]] = {
    "runs": ("question",),
    "sentences": ("text", "drafted", "detail"),
    "widen_attempts": ("argument_sent", "requested", "effective"),
    "accesses": (),
}
# Every message of the run's evidence is one that the reader may read now. Mail that was only deleted at its source
# stays readable where it is evidence.
_READABLE = """
NOT EXISTS (SELECT 1 FROM agentic_evidence e WHERE e.run_id = x.run_id AND NOT EXISTS (
    SELECT 1 FROM mailsearch_message m WHERE m.public_id = e.message_id AND m.folder_id = ANY(%(folders)s)
    AND (%(from)s::timestamptz IS NULL OR m.received_at >= %(from)s)
    AND (%(until)s::timestamptz IS NULL OR m.received_at < %(until)s)))
"""
_CHAIN = """
SELECT number, encode(hash, 'hex'), signature, at FROM agentic_seal WHERE tenant_id = %(tenant)s
ORDER BY number DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Who exports the audit of which tenant. `scope`: the mail that it may read now; None for the operator."""

    tenant: int
    reader: str
    label: str
    via: str
    scope: Scope | None = None


async def export(exporter: Exporter, what: What, form: Form, since: datetime | None = None) -> AsyncIterator[str]:
    """The lines of an export, each with its end. It is a recorded act before its first line."""
    await in_worker(_record, exporter, what, form)
    async with session(_binding(exporter)) as conn:
        # One state of the audit, whatever is written meanwhile.
        await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        chain = await _chain(conn, exporter.tenant)
        async with conn.cursor(name="export") as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            await cursor.execute(_query(what, everything=exporter.scope is None), _values(exporter, since))
            columns = [column.name for column in cursor.description or ()]
            if form == "csv":
                yield cells.line([*columns[:-3], *(["words", *_WORDS[what]] if _WORDS[what] else [])])
            async for row in cursor:
                told = _told(what, columns, row)
                yield cells.line(list(told.values())) if form == "csv" else _json(told)
    yield cells.line(["chain", *chain.values()]) if form == "csv" else _json({"chain": chain})


@cache
def _query(what: What, *, everything: bool) -> sql.Composed:
    text = resources.files(__package__).joinpath(f"{what}.sql").read_text()
    return sql.SQL(text).format(readable=sql.SQL("true" if everything else _READABLE))


def _values(exporter: Exporter, since: datetime | None) -> Mapping[str, object]:
    scope = exporter.scope or Scope(exporter.tenant, frozenset())
    return {
        "tenant": exporter.tenant,
        "since": since,
        "folders": scope.folder_ids,
        "from": scope.received_from,
        "until": scope.received_until,
    }


def _told(what: What, columns: Sequence[str], row: Sequence[Any]) -> dict[str, object]:
    *values, worded, content, readable = row
    told: dict[str, object] = dict(zip(columns, values, strict=False))
    if not _WORDS[what]:
        return told
    words = json.loads(content) if content is not None and readable else {}
    state = "none" if not worded else "erased" if content is None else "shown" if readable else "withheld"
    return {**told, "words": state, **{name: words.get(name) for name in _WORDS[what]}}


async def _chain(conn: AsyncConnection[TupleRow], tenant: int) -> dict[str, object]:
    row = await (await conn.execute(_CHAIN, {"tenant": tenant})).fetchone()
    number, head, signature, at = row if row else (0, ZERO.hex(), "", None)
    return {"number": number, "head": head, "signature": signature, "at": at}


def _binding(exporter: Exporter) -> Binding:
    mailboxes = exporter.scope.mailboxes if exporter.scope is not None else frozenset()
    return Binding(exporter.tenant, mailboxes, audit=frozenset({exporter.tenant}))


def _record(exporter: Exporter, what: What, form: Form) -> None:
    AdminAct.objects.create(
        tenant_id=exporter.tenant, actor=exporter.reader, act="audit exported", detail={"what": what, "form": form}
    )
    accesses.note(exporter.tenant, exporter.reader, exporter.label, "export", [what], exporter.via)


def _json(told: Mapping[str, object]) -> str:
    return json.dumps(cells.plain(dict(told)), ensure_ascii=False) + "\n"
