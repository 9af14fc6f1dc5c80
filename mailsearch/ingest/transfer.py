"""Undoing the transfer encodings of MIME (RFC 2045 §6), damaged or not."""

import binascii
import re
from typing import NamedTuple

_NOT_ALPHABET = re.compile(rb"[^A-Za-z0-9+/=]+")
_WHITE = b" \t\n\r\x0b\x0c\x00"
_ENCODED_LINE = re.compile(rb"[A-Za-z0-9+/]*={0,2}\s*")
_BETWEEN_WORDS = re.compile(rb"[^\s>] +[^\s>]")
# The alphabet for file names and addresses (RFC 4648 §5).
_OF_ADDRESSES = re.compile(rb"[A-Za-z0-9_=-]+")
_FROM_ADDRESSES = bytes.maketrans(b"-_", b"+/")
_PADDED = re.compile(rb"=+")
_KNOWN = ("", "7bit", "8bit", "binary", "none")


class Content(NamedTuple):
    """Decoded bytes, and as (code, sentence) what was wrong; `truncated` if the end is missing.

    `trailer` is text that a list or gateway put below the encoded one without encoding it.
    """

    data: bytes
    problem: tuple[str, str] | None = None
    truncated: bool = False
    trailer: bytes = b""


def decode(body: bytes, encoding: str) -> Content:
    """Decode *body* under a Content-Transfer-Encoding. Never raises: what can be decoded is kept."""
    encoding = encoding.strip().strip("\"'").lower().partition(";")[0].strip()
    if encoding == "base64":
        return base64(body)
    if encoding in ("quoted-printable", "quotedprintable", "qp"):
        return Content(binascii.a2b_qp(body))
    if encoding in ("x-uuencode", "uuencode", "x-uue", "uue"):
        return _uuencoded(body)
    if encoding in _KNOWN:
        return Content(body)
    return Content(body, ("unknown-encoding", f"The transfer encoding is unknown: {encoding[:40]}."))


def base64(body: bytes) -> Content:
    """Decode base64 with stray bytes passed over, padding inside allowed, and an incomplete end dropped."""
    try:
        return Content(binascii.a2b_base64(body.translate(None, _WHITE), strict_mode=True))
    except binascii.Error:
        # Damaged or not, all that follows reads it.
        pass
    if _is_prose(body):
        return Content(body, ("base64-absent", "The text is said to be base64 and is not; it was kept as it stands."))
    body, trailer = _without_trailer(body)
    if trailer:
        found = base64(body)
        said = ("base64-trailer", "Text stands below the base64 text.")
        return found._replace(trailer=trailer, problem=found.problem or said)
    return _repaired(body.translate(None, _WHITE))


def _repaired(encoded: bytes) -> Content:
    if _OF_ADDRESSES.fullmatch(encoded):
        encoded = encoded.translate(_FROM_ADDRESSES)
    clean = _NOT_ALPHABET.sub(b"", encoded)
    stray = len(clean) != len(encoded)
    data: list[bytes] = []
    cut = False
    for piece in _PADDED.split(clean):
        if len(piece) % 4 == 1:
            cut = True
            piece = piece[:-1]
        data.append(binascii.a2b_base64(piece + b"=" * (-len(piece) % 4)))
    cut = cut or (len(clean) % 4 != 0 and not clean.endswith(b"="))
    if cut:
        return Content(
            b"".join(data), ("base64-truncated", "The base64 text is cut off; what there was is kept."), True
        )
    if stray:
        return Content(
            b"".join(data), ("base64-damaged", "The base64 text holds stray characters; they were passed over.")
        )
    return Content(b"".join(data))


def _is_prose(body: bytes) -> bool:
    """Whether *body* is words with blanks between them rather than base64."""
    sample = body[:20_000].strip()
    return len(_BETWEEN_WORDS.findall(sample)) * 12 > len(sample)


def _without_trailer(body: bytes) -> tuple[bytes, bytes]:
    """*body* up to where its base64 ends, and the text below, if that is all that is wrong with it."""
    lines = body.splitlines(keepends=True)
    length = 0
    for number, line in enumerate(lines):
        if _ENCODED_LINE.fullmatch(line):
            length += len(line.strip())
            continue
        rest = lines[number:]
        # A damaged line has encoded ones below it.
        if not length or length % 4 or any(len(one) > 40 and _ENCODED_LINE.fullmatch(one) for one in rest):
            break
        return b"".join(lines[:number]), b"".join(rest)
    return body, b""


def _uuencoded(body: bytes) -> Content:
    data: list[bytes] = []
    damaged = False
    for line in body.splitlines():
        if line.startswith((b"begin ", b"end")) or not line.strip(b"` "):
            continue
        try:
            data.append(binascii.a2b_uu(line))
        except binascii.Error:
            damaged = True
    problem = ("uuencode-damaged", "Some uuencoded lines could not be decoded.") if damaged else None
    return Content(b"".join(data), problem, damaged)
