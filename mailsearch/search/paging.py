"""Cursors: where the next page of a search begins, bound to the search that they came from."""

import base64
import binascii
import hashlib
import json
from datetime import UTC, datetime

from mailsearch.hits import SearchRequest
from mailsearch.scope import Scope

# Hits of one search that can be paged through.
DEEPEST = 1_000


class InvalidCursor(ValueError):
    """The cursor does not belong to this search."""


def fingerprint(scope: Scope, request: SearchRequest) -> str:
    """Equal for pages of one search by callers of one scope."""
    text = repr((scope.version, request.text, request.mode, request.filters, request.timezone, request.spread))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def encode(offset: int, print_: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, print_]).encode()).decode().rstrip("=")


def decode(cursor: str, print_: str) -> int:
    """The offset that *cursor* stands for; 0 for none. Raises InvalidCursor."""
    if not cursor:
        return 0
    try:
        value = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
    except (UnicodeError, binascii.Error, ValueError, RecursionError) as error:
        raise InvalidCursor("The cursor can't be read.") from error
    if not (isinstance(value, list) and len(value) == 2 and type(value[0]) is int and value[1] == print_):
        raise InvalidCursor("The cursor belongs to another search.")
    if not 0 <= value[0] <= DEEPEST:
        raise InvalidCursor("The cursor is out of bounds.")
    return value[0]


def encode_place(moment: datetime, public_id: str) -> str:
    """A cursor that stands behind one row of a list by time."""
    return base64.urlsafe_b64encode(json.dumps([moment.isoformat(), public_id]).encode()).decode().rstrip("=")


def decode_place(cursor: str) -> tuple[datetime, str] | None:
    """The place that *cursor* stands for; None for the beginning. Raises InvalidCursor.

    It holds no right: the rows behind it are looked up in scope like any.
    """
    if not cursor:
        return None
    try:
        moment, public_id = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
        place = datetime.fromisoformat(moment).astimezone(UTC)
    except (UnicodeError, binascii.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidCursor("The cursor can't be read.") from error
    if not isinstance(public_id, str) or "\0" in public_id or not public_id.isascii():
        raise InvalidCursor("The cursor can't be read.")
    return place, public_id
