"""How a row of the audit is bound to the one before it, and to text that may be erased from under it.

Version 1, so that anybody can compute it again:

- *content* of a row: the JSON object of the columns that CHAINED names, beside `v` (1) and `table`: keys sorted, no
  spaces, UTF-8, moments in UTC with microseconds, bytes in hexadecimal, a column's whole number without
  a fraction.
- *hash* of a row: SHA-256 over the previous row's hash (32 zero bytes before the first) and the content.
- *text*: a JSON object in a row of its own (PayloadText), of which the chained row holds HMAC-SHA256 under a random
  salt. The salt stands with the text and is deleted with it; then the HMAC tells nothing about the words any more.
"""

import hashlib
import hmac
import json
import secrets
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

VERSION = 1
ZERO = bytes(32)
SALT_BYTES = 32
_TEXT = ("payload", "text_hmac")
# By table: the columns that a row's hash covers. `sentence` is the position of the sentence's row in the run's chain.
CHAINED: Mapping[str, tuple[str, ...]] = {
    "run": (
        "tenant", "public_id", "caller", "caller_label", "timezone", "asked_now", "scope", "max_steps", "max_seconds",
        "model", "policy", "removed_text", "verifier_version", "prompt_hashes", "service_version", "evaluation",
        "started_at", *_TEXT,
    ),
    "traceevent": ("tenant", "at", "seq", "at_ms", "phase", "step", "event", "facts", *_TEXT),
    "evidence": ("tenant", "at", "seq", "label", "message_id", *_TEXT),
    "sentence": (
        "tenant", "at", "round", "final", "position", "kept", "structural", "support", "reason", "qualified",
        "translated", "later_message", *_TEXT,
    ),
    "citation": ("tenant", "at", "sentence", "label", "message_id", "part", "page", "start", "end", *_TEXT),
    "widenattempt": ("tenant", "at", "kind", "step", "tool", "argument", "read_before", *_TEXT),
    "runfinished": (
        "tenant", "at", "outcome", "reason", "steps", "seconds", "first_evidence_ms", "model_calls", "tool_calls",
        "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd", "kept", "removed", "model", "coverage",
        *_TEXT,
    ),
    "adminact": ("tenant", "at", "actor", "act", "detail", *_TEXT),
    "note": ("tenant", "at", "author", "sentence", "widen_attempt", "verdict", *_TEXT),
    "accesslog": ("tenant", "at", "reader", "label", "kind", "via", "subjects"),
    "callerattempt": ("tenant", "at", "caller", "caller_label", "kind", "tool", "argument", *_TEXT),
    # An entry of a tenant's chain: what is sealed, and the head of it.
    "seal": ("tenant", "at", "kind", "subject", "row", "count", "head"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """Words that a row stands for: where they are kept, and what the row keeps of them."""

    id: uuid.UUID
    salt: bytes
    content: str
    hmac: bytes


def text(words: Mapping[str, object]) -> Text:
    """*words* (JSON values) under a salt of their own."""
    return salted(_json(words))


def salted(content: str) -> Text:
    """Words that are JSON already, under a salt of their own."""
    salt = secrets.token_bytes(SALT_BYTES)
    return Text(_id(), salt, content, text_hmac(salt, content))


def text_hmac(salt: bytes, content: str) -> bytes:
    return hmac.digest(salt, content.encode(), "sha256")


def content(table: str, row: Mapping[str, object]) -> bytes:
    """What the hash of a *row* covers; *row* holds at least the columns that CHAINED names."""
    covered = {name: _whole(row[name]) for name in CHAINED[table]}
    covered["table"], covered["v"] = table, VERSION
    return _json(covered).encode()


def linked(previous: bytes, row_content: bytes) -> bytes:
    """The hash of the row with *row_content* that follows the one whose hash is *previous*."""
    return hashlib.sha256(previous + row_content).digest()


@dataclass(slots=True)
class RunChain:
    """Where a run's chain stands: how many rows it has, and the hash of the last."""

    count: int = 0
    head: bytes = ZERO

    def add(self, table: str, row: Mapping[str, object]) -> None:
        """Go one row on."""
        self.head = linked(self.head, content(table, row))
        self.count += 1


def _whole(value: object) -> object:
    # Postgres gives the same number back as 1, 1.0 or 1e0, depending on the column.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _other(value: object) -> object:
    """What JSON has no form of its own for."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case bytes() | memoryview():
            return bytes(value).hex()
        case uuid.UUID():
            return str(value)
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a row of the audit")


# Made once: it is most of what a row costs.
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_other).encode


def _id() -> uuid.UUID:
    """A random id that begins with the time (RFC 9562, version 7), so that neighbours lie together in the index."""
    moment = time.time_ns() // 1_000_000
    number = moment << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return uuid.UUID(int=number)
