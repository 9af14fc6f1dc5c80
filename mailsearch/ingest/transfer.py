"""Undoing the transfer encodings of MIME (RFC 2045 §6), damaged or not."""

import binascii
import re
from collections import Counter
from typing import NamedTuple

_NOT_ALPHABET = re.compile(rb"[^A-Za-z0-9+/=]+")
_WHITE = b" \t\n\r\x0b\x0c\x00"
_ENCODED_LINE = re.compile(rb"[A-Za-z0-9+/]*={0,2}\s*")
_BETWEEN_WORDS = re.compile(rb"[^\s>] +[^\s>]")
# Up to ten lines that are no base64, an empty one, and what certainly is.
_ABOVE = re.compile(rb"\s*(?:[^\r\n]{1,200}\r*\n){1,10}?(?:[ \t]*\r*\n)+(?=[A-Za-z0-9+/]{60,}={0,2}(?:\s|\Z))")
# The alphabet for file names and addresses (RFC 4648 §5).
_OF_ADDRESSES = re.compile(rb"[A-Za-z0-9_=-]+")
_FROM_ADDRESSES = bytes.maketrans(b"-_", b"+/")
_PADDED = re.compile(rb"=+")
_PADDED_BREAK = re.compile(rb"=[ \t]+(?=\r*\n)")
# How long the lines are that programs write.
_WIDTHS = (60, 64, 68, 72, 76)
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
    encoding = encoding.partition("(")[0].strip().strip("\"'").lower().partition(";")[0].strip()
    if encoding in ("base64", "base-64", "x-base64"):
        return base64(body)
    if encoding in ("quoted-printable", "quotedprintable", "qp"):
        # Blanks at line ends were added on the way (RFC 2045 §6.7).
        return Content(binascii.a2b_qp(_PADDED_BREAK.sub(b"=", body) if b"= " in body or b"=\t" in body else body))
    if encoding in ("x-uuencode", "uuencode", "x-uue", "uue"):
        return _uuencoded(body)
    if encoding in _KNOWN:
        return Content(body)
    return Content(body, ("unknown-encoding", f"The transfer encoding is unknown: {encoding[:40]}."))


def base64(body: bytes) -> Content:
    """Decode base64 with stray bytes passed over, padding inside allowed, and an incomplete end dropped."""
    encoded = body.translate(None, _WHITE)
    try:
        # What lost characters the library takes, too.
        if len(encoded) % 4 == 0:
            return Content(binascii.a2b_base64(encoded, strict_mode=True))
    except binascii.Error:
        # Damaged or not, all that follows reads it.
        pass
    if _is_prose(body):
        return Content(body, ("base64-absent", "The text is said to be base64 and is not; it was kept as it stands."))
    if prelude := _before(body):
        found = base64(body[len(prelude) :])
        said = ("base64-damaged", "Text stands above the base64 text; it was passed over.")
        return found._replace(problem=found.problem or said)
    body, trailer = _without_trailer(body)
    if trailer:
        found = base64(body)
        said = ("base64-trailer", "Text stands below the base64 text.")
        return found._replace(trailer=trailer, problem=found.problem or said)
    return _repaired(_realigned(body).translate(None, _WHITE))


def _realigned(body: bytes) -> bytes:
    """*body* with lines that lost characters filled up, so that those below are read as they were."""
    lines = body.split()
    width = Counter(sorted(map(len, lines[:-1]), reverse=True)).most_common(1)[0][0] if len(lines) > 1 else 0
    if width not in _WIDTHS or not all(map(_ENCODED_LINE.fullmatch, lines)):
        return body
    if not any(len(line) % 4 for line in lines[:-1]):
        return body
    return b"\n".join([*(line.ljust(-len(line) % 4 + len(line), b"=") for line in lines[:-1]), lines[-1]])


def _before(body: bytes) -> bytes:
    """The lines of words, and the empty line below them, that stand above base64 text."""
    match = _ABOVE.match(body)
    return (
        match[0] if match and not any(map(_ENCODED_LINE.fullmatch, filter(bytes.strip, match[0].splitlines()))) else b""
    )


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
    stray = stray or len(clean) % 4 != 0
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
