"""Drafts into rows: one transaction a batch, loaded by COPY.

Row-level security refuses COPY into its tables, so rows are copied into tables of the transaction's own and inserted
from there. A lock of the tenant makes importers of one tenant write one after another; parsing stays parallel.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mailsearch import ids
from mailsearch.ingest import packing, placing
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.lexemes import IndexLine, Stems, index_line
from mailsearch.ingest.literals import array, bytes_array, text_array
from mailsearch.ingest.parsed import Defect, ParsedText
from mailsearch.models import Mailbox
from mailsearch.sessions import Binding, bound
from mailsearch.terms import dictionary

# Any number, as long as nothing else of ours takes it: the class of the locks below.
_LOCK = 0x6D61696C
_COLUMNS = {
    "message": (
        "id", "tenant_id", "mailbox_id", "quarantined", "folder_id", "thread_id", "public_id", "content_sha256",
        "words_sha256", "container_id", "rfc_message_id", "in_reply_to", "references", "subject", "subject_key",
        "sent_at", "sent_offset", "received_at", "date_disputed", "language", "list_id", "spf", "dkim", "dmarc", "size",
        "flags", "attachment_count", "body_text", "body_blocks", "body_regions", "hidden_text", "alternatives_differ",
        "text_version", "defects", "extras", "body_links",
    ),
    "rawmessage": ("tenant_id", "mailbox_id", "quarantined", "message_id", "data"),
    "participant": (
        "tenant_id", "mailbox_id", "quarantined", "message_id", "role", "position", "name", "name_key", "address",
        "received_at",
    ),
    "attachment": (
        "id", "tenant_id", "mailbox_id", "quarantined", "message_id", "public_id", "position", "filename",
        "content_type", "size", "state", "text", "blocks", "page_starts", "hidden_text",
        "links",
    ),
    "searchdocument": ("tenant_id", "mailbox_id", "quarantined", "message_id", "words", "length"),
    "passage": ("tenant_id", "mailbox_id", "quarantined", "message_id", "attachment_id", "start", "end"),
}  # fmt: skip
# What comes from elsewhere than a row's own values: columns, their values, and where these are.
_ADDED = {
    "searchdocument": (
        ", folder_id, received_at, deleted, words_key, places",
        ", m.folder_id, m.received_at, false, mail_search.words_key(m.words_sha256),"
        " mail_search.word_places(m.mailbox_id, m.received_at)",
        " JOIN incoming_message AS m ON m.id = incoming.message_id",
    )
}
TEXT_VERSION = 2


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch."""

    new: list[Draft]
    known: int
    erased: int


def known_hashes(mailbox: Mailbox, hashes: Sequence[bytes]) -> set[bytes]:
    """Which of *hashes* the mailbox already has as messages of their own."""
    with bound(_binding(mailbox, [mailbox.pk])), connection.cursor() as cursor:
        return _known(cursor, mailbox, hashes)


def write(mailbox: Mailbox, folders: Mapping[str, int], drafts: Sequence[Draft], stems: Stems) -> Written:
    """Store *drafts* in one transaction: all of them or, on an error of the database, none.

    *folders* are ids by path, for each folder that a draft names. What the mailbox already has, and what was erased
    and must not come back, is passed over. Raises django.db.Error.
    """
    mailboxes = list(Mailbox.objects.filter(tenant=mailbox.tenant_id).values_list("id", flat=True))
    with bound(_binding(mailbox, mailboxes)), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, mailbox.tenant_id % 2**31])
        erased = _erased(cursor, mailbox.tenant_id, [one.content_sha256 for one in drafts])
        known = _known(cursor, mailbox, [one.content_sha256 for one in drafts])
        new = list({one.content_sha256: one for one in drafts if one.content_sha256 not in known | erased}.values())
        if new:
            _quarantine_equal(cursor, mailbox.tenant_id, new)
            threads = placing.place(mailbox.tenant_id, new)
            _insert(cursor, mailbox, folders, new, threads, stems)
    blocked = sum(one.content_sha256 in erased for one in drafts)
    return Written(new, len(drafts) - len(new) - blocked, blocked)


def tidy_index() -> None:
    """Take into the keyword index what waits beside it, so that no search has to read that list."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT mail_search.tidy_index()")


def ask_stems(name: str, words: Sequence[str]) -> Mapping[str, str]:
    """The stem of each of *words* by the Postgres dictionary *name*; stop words have none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT word, (ts_lexize(%s::regdictionary, word))[1] FROM unnest(%s::text[]) AS word",
            [f"pg_catalog.{name}", text_array(words)],
        )
        return {word: stem for word, stem in cursor.fetchall() if stem}


def _binding(mailbox: Mailbox, mailboxes: Iterable[int]) -> Binding:
    return Binding(mailbox.tenant_id, frozenset(mailboxes), include_quarantined=True)


def _known(cursor: CursorWrapper, mailbox: Mailbox, hashes: Sequence[bytes]) -> set[bytes]:
    # One by one: all at once, the planner takes them for most of the mailbox and reads it whole for each batch.
    cursor.execute(
        "SELECT found.* FROM unnest(%s::bytea[]) AS asked (digest), LATERAL ("
        " SELECT m.content_sha256 FROM mailsearch_message m"
        " WHERE m.mailbox_id = %s AND m.container_id IS NULL AND m.content_sha256 = asked.digest LIMIT 1) AS found",
        [bytes_array(hashes), mailbox.pk],
    )
    return {bytes(digest) for (digest,) in cursor.fetchall()}


def _erased(cursor: CursorWrapper, tenant: int, hashes: Sequence[bytes]) -> set[bytes]:
    """Which of *hashes* were erased. Tombstones keep only salted hashes; a tenant has few salts."""
    cursor.execute("SELECT salt, salted_sha256 FROM mailsearch_erasedmessage WHERE tenant_id = %s", [tenant])
    tombstones: dict[bytes, set[bytes]] = {}
    for salt, digest in cursor.fetchall():
        tombstones.setdefault(bytes(salt), set()).add(bytes(digest))
    return {one for one in hashes for salt, digests in tombstones.items() if salted(salt, one) in digests}


def salted(salt: bytes, content_sha256: bytes) -> bytes:
    """What a tombstone keeps of a message that was erased."""
    return hashlib.sha256(salt + content_sha256).digest()


def _quarantine_equal(cursor: CursorWrapper, tenant: int, drafts: Sequence[Draft]) -> None:
    """Mail that says the same as quarantined mail is quarantined too, and so is what it holds."""
    cursor.execute(
        "SELECT found.* FROM unnest(%s::bytea[]) AS asked (digest), LATERAL ("
        " SELECT m.words_sha256 FROM mailsearch_message m"
        " WHERE m.tenant_id = %s AND m.quarantined AND m.words_sha256 = asked.digest LIMIT 1) AS found",
        [bytes_array({one.words_sha256 for one in drafts}), tenant],
    )
    equal = {bytes(digest) for (digest,) in cursor.fetchall()}
    equal |= {one.words_sha256 for one in drafts if one.quarantined}
    for one in drafts:
        if one.words_sha256 in equal:
            for member in one.family():
                member.quarantined = True


@dataclass(slots=True)
class _Rows:
    """The rows of one message; those of bytes in COPY's binary form."""

    message: tuple[Any, ...]
    raw: bytes
    participants: bytes
    attachments: list[tuple[Any, ...]]
    document: bytes
    passages: bytes


def _insert(
    cursor: CursorWrapper,
    mailbox: Mailbox,
    folders: Mapping[str, int],
    drafts: Sequence[Draft],
    threads: Sequence[int],
    stems: Stems,
) -> None:
    families = [
        (member, folders[one.mail.folder], thread)
        for one, thread in zip(drafts, threads, strict=True)
        for member in one.family()
    ]
    names = _take_names(cursor, "message", "msg", len(families))
    files = iter(_take_names(cursor, "attachment", "att", sum(len(one.parsed.attachments) for one, *_ in families)))
    number_of = {id(one): name.number for (one, *_), name in zip(families, names, strict=True)}
    containers = {id(inner): number_of[id(one)] for one, *_ in families for inner in one.nested}
    lines = _index_lines([one for one, *_ in families], stems)
    rows = [
        _rows(
            one, line, name, (mailbox.tenant_id, mailbox.pk, one.quarantined), (folder, thread),
            containers.get(id(one)), [next(files) for _ in one.parsed.attachments],
        )
        for (one, folder, thread), name, line in zip(families, names, lines, strict=True)
    ]  # fmt: skip
    _copy(cursor, "message", [one.message for one in rows])
    _copy_packed(cursor, "rawmessage", [one.raw for one in rows])
    _copy_packed(cursor, "participant", [one.participants for one in rows])
    _copy(cursor, "attachment", [row for one in rows for row in one.attachments])
    _copy_packed(cursor, "searchdocument", [one.document for one in rows])
    _copy_packed(cursor, "passage", [one.passages for one in rows])


def _index_lines(drafts: Sequence[Draft], stems: Stems) -> Iterator[IndexLine]:
    """The index line of each draft. Stems are asked for once a language, not once a message."""
    words: dict[str, set[str]] = {}
    for one in drafts:
        words.setdefault(dictionary(one.parsed.language), set()).update(one.index.places)
    known = {name: stems.of(name, found) for name, found in words.items()}
    for one in drafts:
        line = index_line(one.index, known[dictionary(one.parsed.language)])
        if line.capped:
            one.defects.append(
                Defect("index-capped", "", "More different words than the index takes; the last ones can't be found.")
            )
        yield line


@dataclass(frozen=True, slots=True)
class _Name:
    """What a row is called, within the store and outside."""

    number: int
    public_id: str


def _take_names(cursor: CursorWrapper, table: str, prefix: str, count: int) -> list[_Name]:
    if not count:
        return []
    cursor.execute(
        "SELECT nextval(%s::regclass) FROM generate_series(1, %s)", [f"public.mailsearch_{table}_id_seq", count]
    )
    numbers = sorted(number for (number,) in cursor.fetchall())
    return list(map(_Name, numbers, ids.public_ids(prefix, count)))


def _copy(cursor: CursorWrapper, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    with _incoming(cursor, table) as columns, cursor.copy(f"COPY incoming_{table} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _copy_packed(cursor: CursorWrapper, table: str, rows: Iterable[bytes]) -> None:
    """`_copy` for rows in Postgres' binary form."""
    packed = b"".join(rows)
    if not packed:
        return
    with (
        _incoming(cursor, table) as columns,
        cursor.copy(f"COPY incoming_{table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(packing.BEGINNING)
        copy.write(packed)
        copy.write(packing.END)


@contextmanager
def _incoming(cursor: CursorWrapper, table: str) -> Iterator[str]:
    """A table of this transaction for rows of *table*, which get there at the end; gives its columns."""
    columns = ", ".join(f'"{name}"' for name in _COLUMNS[table])
    # What stays so short a time is pressed where it goes, not here.
    cursor.execute(
        f"CREATE TEMP TABLE incoming_{table} WITH (toast_tuple_target = 8160) ON COMMIT DROP"  # noqa: S608
        f" AS SELECT {columns} FROM mailsearch_{table} WITH NO DATA"
    )
    yield columns
    more, values, source = _ADDED.get(table, ("", "", ""))
    own = ", ".join(f'incoming."{name}"' for name in _COLUMNS[table])
    cursor.execute(
        f"INSERT INTO mailsearch_{table} ({columns}{more}) SELECT {own}{values}"  # noqa: S608
        f" FROM incoming_{table} AS incoming{source}"
    )


def _rows(
    one: Draft,
    line: IndexLine,
    name: _Name,
    head: packing.Head,
    place: tuple[int, int],
    container: int | None,
    files: Sequence[_Name],
) -> _Rows:
    parsed, number = one.parsed, name.number
    return _Rows(
        message=_message(one, name, head, place, container),
        raw=b"" if one.raw is None else packing.raw(head, number, one.raw),
        participants=packing.participants(head, number, parsed.addresses, one.received_at),
        attachments=[
            (
                file.number, *head, number, file.public_id, position, found.filename,
                found.content_type[:255], len(found.content), found.state, found.text.text, _blocks(found.text),
                array(found.text.page_starts), found.text.hidden_text, _links(found.text),
            )
            for position, (file, found) in enumerate(zip(files, parsed.attachments, strict=True))
        ],
        document=packing.document(head, number, line.packed(), line.length),
        passages=b"".join([
            packing.passage(
                head, number, None if span.attachment is None else files[span.attachment].number, span.start, span.end
            )
            for span in one.spans
        ]),
    )  # fmt: skip


def _message(
    one: Draft, name: _Name, head: packing.Head, place: tuple[int, int], container: int | None
) -> tuple[Any, ...]:
    parsed = one.parsed
    offset = parsed.sent_at.utcoffset() if parsed.sent_at else None
    extras = dict(parsed.extras)
    if one.mail.labels and container is None:
        extras["labels"] = ", ".join(one.mail.labels)
    for fact in ("encrypted", "signed", "auto_submitted"):
        if getattr(parsed, fact):
            extras[fact] = "yes"
    return (
        name.number, *head, *place, name.public_id, one.content_sha256, one.words_sha256, container,
        parsed.rfc_message_id, text_array(parsed.in_reply_to), text_array(parsed.references), parsed.subject,
        one.subject_key, parsed.sent_at, None if offset is None else int(offset.total_seconds()), one.received_at,
        one.date_disputed, parsed.language[:8], parsed.list_id, parsed.authentication.spf, parsed.authentication.dkim,
        parsed.authentication.dmarc, len(one.mail.data) if container is None else 0, text_array(one.mail.flags),
        len(parsed.attachments), parsed.body.text, _blocks(parsed.body), _regions(parsed.body), parsed.body.hidden_text,
        parsed.alternatives_differ, TEXT_VERSION, _defects(one.defects), json.dumps(extras) if extras else "{}",
        _links(parsed.body),
    )  # fmt: skip


def _blocks(text: ParsedText) -> str:
    # No kind needs quoting.
    return "[" + ",".join([f'[{one.start},{one.end},"{one.kind}"]' for one in text.blocks]) + "]"


def _regions(text: ParsedText) -> str:
    if not text.regions:
        return "[]"
    return json.dumps([[region.start, region.end, region.kind, region.said_by] for region in text.regions])


def _links(text: ParsedText) -> str:
    links = text.links
    if not links.kept and not links.more:
        return "{}"
    return json.dumps({"kept": [[link.start, link.end, link.target] for link in links.kept], "more": links.more})


def _defects(defects: Sequence[Defect]) -> str:
    if not defects:
        return "[]"
    return json.dumps([{"code": one.code, "part": one.part, "explanation": one.explanation} for one in defects])
