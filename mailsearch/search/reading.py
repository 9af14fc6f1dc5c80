"""Reading whole messages, threads, attachments and raw mail within a scope.

What is missing, out of scope, quarantined, deleted or erased is one answer: None.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mailsearch import keeping
from mailsearch.hits import (
    AttachmentInfo,
    Block,
    Link,
    MessageHead,
    MessageText,
    PartLinks,
    PartText,
    Region,
    page_at,
)
from mailsearch.scope import Scope
from mailsearch.search import heads
from mailsearch.search.narrowing import message_ids
from mailsearch.search.threads import FAMILY, named

# Messages of one thread that are read at once; longer ones end here, the oldest first.
LONGEST_THREAD = 500
_ONE_ATTACHMENT = """
SELECT m.id, a.public_id, a.filename, a.content_type, a.size, a.state, a.text, a.blocks, a.page_starts
FROM mailsearch_attachment a JOIN mailsearch_message m ON m.id = a.message_id WHERE a.public_id = %(asked)s AND {}
"""
_RAW = """
SELECT r.data FROM mailsearch_rawmessage r JOIN mailsearch_message m ON m.id = r.message_id
WHERE m.public_id = %(asked)s AND {}
"""
_LINKS = """
SELECT m.public_id, 'body', m.body_links FROM mailsearch_message m
WHERE m.public_id = ANY(%(asked)s) AND m.body_links <> '{{}}' AND {}
UNION ALL
SELECT m.public_id, 'attachment:' || a.public_id, a.links
FROM mailsearch_attachment a JOIN mailsearch_message m ON m.id = a.message_id
WHERE m.public_id = ANY(%(asked)s) AND a.links <> '{{}}' AND {}
"""
# Internal ids of the messages of a thread, as an expression.
_THREAD = """
ARRAY(SELECT m.id FROM mailsearch_message m WHERE m.thread_id = ANY({}) AND {} ORDER BY m.received_at, m.id LIMIT {})
"""
# From the attachment's message up through the messages that it is inside of; `path` says which of the messages inside
# each one leads down again.
_PLACE = """
WITH RECURSIVE up AS (
    SELECT m.id, m.container_id, ARRAY[]::bigint[] AS path FROM mailsearch_attachment a
    JOIN mailsearch_message m ON m.id = a.message_id WHERE a.public_id = %(asked)s AND {}
    UNION
    SELECT c.id, c.container_id, (
        SELECT count(*) FROM mailsearch_message s WHERE s.container_id = c.id AND s.id < up.id) || up.path
    FROM up JOIN mailsearch_message c ON c.id = up.container_id
)
SELECT r.data, up.path, a.position, a.filename, a.content_type, a.size
FROM up JOIN mailsearch_rawmessage r ON r.message_id = up.id, mailsearch_attachment a
WHERE up.container_id IS NULL AND a.public_id = %(asked)s
"""


@dataclass(frozen=True, slots=True)
class AttachmentPlace:
    """Where an attachment's bytes are: in the raw message, down the messages inside it, at a place in the last."""

    raw: bytes
    path: tuple[int, ...]
    position: int
    filename: str
    content_type: str
    size: int


async def message(scope: Scope, message_id: str) -> MessageText | None:
    """One message by its public id."""
    return (await messages(scope, [message_id])).get(message_id)


async def messages(scope: Scope, ids: Iterable[str]) -> dict[str, MessageText]:
    """Messages by public id; those that can't be read are left out."""
    async with scope.reading() as conn:
        found = await message_ids(conn, scope, list(ids))
        read = await load(conn, scope, found.values())
    return {public_id: read[internal] for public_id, internal in found.items() if internal in read}


async def thread(scope: Scope, thread_id: str) -> tuple[MessageText, ...] | None:
    """The messages of a thread that are in scope, oldest first; threads that were merged with it included."""
    condition, values = scope.condition("m")
    statement = sql.SQL(_THREAD).format(FAMILY, condition, sql.Literal(LONGEST_THREAD))
    async with scope.reading() as conn:
        asked = await heads.ask_of(conn, scope, statement, values | {"asked": named([thread_id])})
    read = sorted((await heads.told(asked)).items(), key=lambda one: (one[1].head.received_at, one[0]))
    return tuple(whole(one) for _, one in read) or None


async def links(scope: Scope, ids: Iterable[str]) -> dict[str, dict[str, PartLinks]]:
    """Where links of messages lead, by public id and name of the part; parts without links are left out.

    Read by themselves and by those alone who show them to a person or a service: whole messages go to models, too.
    """
    condition, values = scope.condition("m")
    found: dict[str, dict[str, PartLinks]] = {}
    async with scope.reading() as conn:
        cursor = await conn.execute(
            sql.SQL(_LINKS).format(condition, condition), values | {"asked": list(map(_clean, ids))}
        )
        for message_id, part, stored in await cursor.fetchall():
            kept = tuple(Link(*one) for one in stored["kept"])
            found.setdefault(message_id, {})[part] = PartLinks(kept, stored["more"])
    return found


async def attachment(scope: Scope, attachment_id: str) -> tuple[MessageHead, PartText, AttachmentInfo] | None:
    """An attachment's text (empty where it could not be read) with the message that it is on."""
    condition, values = scope.condition("m")
    async with scope.reading() as conn:
        cursor = await conn.execute(
            sql.SQL(_ONE_ATTACHMENT).format(condition), values | {"asked": _clean(attachment_id)}
        )
        row = await cursor.fetchone()
        if row is None:
            return None
        message_id, public_id, filename, content_type, size, state, text, blocks, page_starts = row
        head = (await heads.load(conn, scope, [message_id])).get(message_id)
    if head is None:
        return None
    part = PartText(f"attachment:{public_id}", text, _blocks(blocks), (), tuple(page_starts), filename)
    return head, part, AttachmentInfo(public_id, filename, content_type, size, state)


async def raw(scope: Scope, message_id: str) -> bytes | None:
    """The message as it came, byte for byte. For a message inside another one that was kept only there: None."""
    condition, values = scope.condition("m")
    async with scope.reading() as conn:
        cursor = await conn.execute(sql.SQL(_RAW).format(condition), values | {"asked": _clean(message_id)})
        row = await cursor.fetchone()
    return keeping.came(bytes(row[0])) if row else None


async def attachment_place(scope: Scope, attachment_id: str) -> AttachmentPlace | None:
    """Where the bytes of an attachment are; `mailsearch.originals` takes them out."""
    condition, values = scope.condition("m")
    async with scope.reading() as conn:
        cursor = await conn.execute(sql.SQL(_PLACE).format(condition), values | {"asked": _clean(attachment_id)})
        row = await cursor.fetchone()
    return AttachmentPlace(keeping.came(bytes(row[0])), tuple(row[1]), *row[2:]) if row else None


async def load(conn: AsyncConnection[TupleRow], scope: Scope, ids: Iterable[int]) -> dict[int, MessageText]:
    """Whole messages by internal id, of those in scope."""
    wanted = list(ids)
    found = await heads.read(conn, scope, wanted, texts=True) if wanted else {}
    return {message_id: whole(one) for message_id, one in found.items()}


class StoredPart:
    """A part of a message that was read, for who looks at few of its blocks or none: they are made when asked for."""

    __slots__ = ("_blocks", "_page_starts", "_regions", "name", "text")

    def __init__(
        self,
        name: str,
        text: str,
        blocks: Iterable[Sequence[Any]],
        regions: Iterable[Sequence[Any]] = (),
        page_starts: Sequence[int] = (),
    ) -> None:
        self.name, self.text, self._blocks, self._regions, self._page_starts = name, text, blocks, regions, page_starts

    @property
    def starts(self) -> list[int]:
        """Where its blocks begin."""
        return [one[0] for one in self._blocks]

    @property
    def regions(self) -> Sequence[Region]:
        """What of it others wrote."""
        return _regions(self._regions) if self._regions else ()

    def page_at(self, offset: int) -> int | None:
        """See PartText.page_at."""
        return page_at(self._page_starts, offset)


def stored(read: heads.Read) -> list[StoredPart]:
    """The parts of `whole`, as they are stored."""
    subject, (text, blocks, regions, _) = read.head.subject, read.body
    parts = [StoredPart("subject", subject, ((0,),) if subject else ()), StoredPart("body", text, blocks, regions)]
    for info, (text, blocks, page_starts, _) in zip(read.head.attachments, read.of_attachments, strict=True):
        if text:
            parts.append(StoredPart(f"attachment:{info.attachment_id}", text, blocks, (), page_starts))
    return parts


class Texts(Mapping[str, MessageText]):
    """Messages that were read, by public id, each made whole when it is asked for."""

    def __init__(self, read: Mapping[str, heads.Read]) -> None:
        self._read = read
        self._whole: dict[str, MessageText] = {}

    def __getitem__(self, message_id: str) -> MessageText:
        if message_id not in self._whole:
            self._whole[message_id] = whole(self._read[message_id])
        return self._whole[message_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


def whole(read: heads.Read) -> MessageText:
    """The message that was read with its texts."""
    head = read.head
    text, blocks, regions, hidden = read.body
    parts = [
        PartText("subject", head.subject, (Block(0, len(head.subject), "heading"),) if head.subject else ()),
        PartText("body", text, _blocks(blocks), _regions(regions)),
    ]
    unseen = [hidden]
    for info, (text, blocks, page_starts, hidden) in zip(head.attachments, read.of_attachments, strict=True):
        unseen.append(hidden)
        if text:
            name = f"attachment:{info.attachment_id}"
            parts.append(PartText(name, text, _blocks(blocks), (), tuple(page_starts), info.filename))
    return MessageText(head, tuple(parts), "\n".join(filter(None, unseen)))


def _blocks(stored: Iterable[Sequence[Any]]) -> tuple[Block, ...]:
    return tuple(Block(*one) for one in stored)


def _regions(stored: Iterable[Sequence[Any]]) -> tuple[Region, ...]:
    return tuple(Region(*one) for one in stored)


def _clean(public_id: str) -> str:
    """An id with anything but ASCII in it, or with NUL, names nothing; Postgres might not even take it."""
    return public_id if public_id.isascii() and "\0" not in public_id else ""
