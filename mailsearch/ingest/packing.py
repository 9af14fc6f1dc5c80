"""Rows of the tables that have most of them, in COPY's binary form: nothing is quoted, and Postgres parses no text.

Each row is a count of fields, then each field with its size before it (-1: NULL).
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct

from mailsearch.ingest.parsed import ParsedAddress
from mailsearch.names import likeness

# What comes before the rows (signature, flags, length of a longer header) and behind them.
BEGINNING = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"

# Number of fields, then tenant, mailbox, quarantined, message.
_HEAD = Struct(">hiqiqi?iq").pack
_SIZE = Struct(">i").pack
_INTEGER = Struct(">ii").pack
_PLACE = Struct(">ih").pack
_MOMENT = Struct(">iq").pack
_PASSAGE = Struct(">hiqiqi?iqiqiiii").pack
_PASSAGE_OF_BODY = Struct(">hiqiqi?iqiiiii").pack
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# Tenant, mailbox, quarantined: what every row of mail begins with.
Head = tuple[int, int, bool]


def raw(head: Head, message: int, data: bytes) -> bytes:
    """A row of raw messages."""
    tenant, mailbox, quarantined = head
    return _HEAD(5, 8, tenant, 8, mailbox, 1, quarantined, 8, message) + _SIZE(len(data)) + data


def document(head: Head, message: int, vector: bytes, length: int) -> bytes:
    """A row of search documents; *vector* is a tsvector in its binary form."""
    tenant, mailbox, quarantined = head
    packed = _HEAD(6, 8, tenant, 8, mailbox, 1, quarantined, 8, message)
    return packed + _SIZE(len(vector)) + vector + _INTEGER(4, length)


def participants(head: Head, message: int, people: Sequence[ParsedAddress], received: datetime) -> bytes:
    """The rows of all *people* of a message."""
    tenant, mailbox, quarantined = head
    begin = _HEAD(10, 8, tenant, 8, mailbox, 1, quarantined, 8, message)
    end = _MOMENT(8, (received - _EPOCH) // _MICROSECOND)
    pieces: list[bytes] = []
    for position, person in enumerate(people):
        role, name, address = person.role.encode(), person.name.encode(), person.address.lower().encode()
        key = likeness(person.name).encode()
        pieces += (
            begin, _SIZE(len(role)), role, _PLACE(2, position), _SIZE(len(name)), name, _SIZE(len(key)), key,
            _SIZE(len(address)), address, end,
        )  # fmt: skip
    return b"".join(pieces)


def passage(head: Head, message: int, attachment: int | None, start: int, end: int) -> bytes:
    """A row of passages."""
    tenant, mailbox, quarantined = head
    if attachment is None:
        return _PASSAGE_OF_BODY(7, 8, tenant, 8, mailbox, 1, quarantined, 8, message, -1, 4, start, 4, end)
    return _PASSAGE(7, 8, tenant, 8, mailbox, 1, quarantined, 8, message, 8, attachment, 4, start, 4, end)
