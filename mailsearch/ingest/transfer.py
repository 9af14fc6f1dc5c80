"""Undoing the transfer encodings of MIME (RFC 2045 §6), damaged or not."""

import binascii
import re
from typing import NamedTuple

_NOT_ALPHABET = re.compile(rb"[^A-Za-z0-9+/=]+")
_WHITE = b" \t\n\r\x0b\x0c\x00"
_PADDED = re.compile(rb"=+")
_KNOWN = ("", "7bit", "8bit", "binary", "none")


class Content(NamedTuple):
    """Decoded bytes, and as (code, sentence) what was wrong; `truncated` if the end is missing."""

    data: bytes
    problem: tuple[str, str] | None = None
    truncated: bool = False


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
    body = body.translate(None, _WHITE)
    try:
        return Content(binascii.a2b_base64(body, strict_mode=True))
    except binascii.Error:
        # Damaged or not, all that follows reads it.
        pass
    clean = _NOT_ALPHABET.sub(b"", body)
    stray = len(clean) != len(body)
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
