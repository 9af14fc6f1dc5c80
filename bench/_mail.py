"""A folder of mail for benchmarks: the sample's messages recombined, so that no two say the same.

Each round through the sample gives all Message-IDs an ending of its own, so its threads are threads again; each text
and HTML of a message gets the same paragraph of another mixed in. As in mail of years, a round comes some weeks after
the one before it, and every few rounds other people write, at the same domains. The same seed gives the same files.
"""

import binascii
import email
import random
import re
from calendar import month_abbr
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import Message
from functools import lru_cache, partial
from html import escape
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[1] / "sample" / "mail"
_ID_FIELDS = re.compile(rb"(?im)^(?:message-id|in-reply-to|references):(?:.*(?:\r?\n[ \t].*)*)")
_DOMAIN = re.compile(rb"@([\w.-]+>)")
_PEOPLE_FIELDS = re.compile(rb"(?im)^(?:from|to|cc|sender|reply-to):(?:.*(?:\r?\n[ \t].*)*)")
_ADDRESS = re.compile(rb"([\w.+-]+)@([\w-]+\.[\w.-]+)")
# After so many rounds the people change.
_ROUNDS_OF_PEOPLE = 10
_DATED_FIELDS = re.compile(rb"(?im)^(?:date|received):(?:.*(?:\r?\n[ \t].*)*)")
_DAY = re.compile(
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{1,2} (?:%b) \d{4})" % b"|".join(map(str.encode, month_abbr[1:]))
)
# The last round keeps its dates, which are no more than a few years old: a hundred thousand messages take twenty years.
_APART = timedelta(days=20)
_SHORTEST = 40
# As much as tells messages apart: with more of it they would no longer be as long as the sample is.
_MIXED_IN = 1


@dataclass(frozen=True, slots=True)
class _Place:
    """Where paragraphs are put into a message: how they are written there."""

    charset: str
    html: bool
    quoted_printable: bool

    def written(self, paragraph: str) -> bytes:
        return _written(self, paragraph)


@dataclass(frozen=True, slots=True)
class _Original:
    """A message of the sample, taken apart at the places where paragraphs go: one piece more than there are places."""

    pieces: tuple[bytes, ...]
    places: tuple[_Place, ...]

    def with_paragraphs(self, paragraphs: Sequence[str]) -> bytes:
        written = [b"".join(map(place.written, paragraphs)) for place in self.places]
        return b"".join([self.pieces[0], *(one for pair in zip(written, self.pieces[1:], strict=True) for one in pair)])


def write_corpus(folder: Path, count: int, seed: int = 7) -> int:
    """Write *count* messages into *folder*, a file each; returns their bytes."""
    draw = random.Random(seed)
    raws = [path.read_bytes().replace(b"\r\n", b"\n") for path in sorted(SAMPLE.rglob("*.eml"))]
    originals = [_taken_apart(raw) for raw in raws]
    paragraphs = sorted({paragraph for raw in raws for paragraph in _paragraphs(raw)})
    written, rounds = 0, -(-count // len(originals))
    for number in range(count):
        turn, place = divmod(number, len(originals))
        mixed = [*draw.sample(paragraphs, _MIXED_IN), f"Reference {number}"]
        raw = originals[place].with_paragraphs(mixed)
        head, blank, rest = raw.partition(b"\n\n")
        head = _changed(_PEOPLE_FIELDS, _ADDRESS, rb"\1.%d@\2" % (turn // _ROUNDS_OF_PEOPLE), head)
        head = _changed(_DATED_FIELDS, _DAY, partial(_earlier, (rounds - 1 - turn) * _APART), head)
        raw = _changed(_ID_FIELDS, _DOMAIN, rb"@r%d.\1" % turn, head + blank + rest)
        (folder / f"{number:06}.eml").write_bytes(raw)
        written += len(raw)
    return written


def _changed(
    fields: re.Pattern[bytes], name: re.Pattern[bytes], changed: bytes | Callable[[re.Match[bytes]], bytes], raw: bytes
) -> bytes:
    """*raw* with each *name* in its *fields* changed."""
    return fields.sub(lambda match: name.sub(changed, match[0]), raw)


def _earlier(by: timedelta, day: re.Match[bytes]) -> bytes:
    return f"{datetime.strptime(day[1].decode(), '%d %b %Y') - by:%a, %d %b %Y}".encode()


def _taken_apart(raw: bytes) -> _Original:
    pieces, places, rest = [], [], raw
    for part, encoded in _texts(raw):
        html = part.get_content_subtype() == "html"
        body = encoded.rstrip()
        # What is written after the end of a page is not seen by everybody.
        end = encoded.lower().rfind(b"</body>") if html else -1
        before, found, rest = rest.partition(encoded)
        assert found  # it is told as it stands there
        at = end if end >= 0 else len(body)
        pieces.append(before + found[:at])
        rest = found[at:] + rest
        places.append(_Place(part.get_content_charset("ascii"), html, _encoding(part) == "quoted-printable"))
    return _Original((*pieces, rest), tuple(places))


def _texts(raw: bytes) -> Iterator[tuple[Message, bytes]]:
    """The parts that a reader sees as text, in their order, as they stand in the message."""
    for part in email.message_from_bytes(raw).walk():
        shown = part.get_content_type() in ("text/plain", "text/html") and part.get_content_disposition() is None
        payload = part.get_payload()
        if shown and isinstance(payload, str) and payload.strip() and _encoding(part) != "base64":
            yield part, payload.encode(part.get_content_charset("ascii"), "surrogateescape")


def _encoding(part: Message) -> str:
    return str(part.get("Content-Transfer-Encoding", "")).strip().lower()


def _paragraphs(raw: bytes) -> Iterator[str]:
    for part, _ in _texts(raw):
        if part.get_content_subtype() == "plain":
            decoded = part.get_payload(decode=True)
            text = decoded.decode(part.get_content_charset("ascii"), "replace") if isinstance(decoded, bytes) else ""
            yield from (one for one in text.split("\n\n") if len(one) > _SHORTEST)


@lru_cache(100_000)
def _written(place: _Place, paragraph: str) -> bytes:
    text = f"\n\n<p>{escape(paragraph)}</p>" if place.html else f"\n\n{paragraph}"
    data = text.encode(place.charset, "replace")
    return binascii.b2a_qp(data, istext=True) if place.quoted_printable else data
