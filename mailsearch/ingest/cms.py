"""The message inside an opaque S/MIME signature (RFC 8551 §3.5.2) or compressed (RFC 3274).

Enough of DER to find it; nothing is verified.
"""

import binascii
import re
import zlib

_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_ENVELOPED = (bytes.fromhex("2a864886f70d010703"), bytes.fromhex("2a864886f70d0109100117"))
_DATA = bytes.fromhex("2a864886f70d010701")
_SEQUENCE, _OID, _OCTETS, _OCTETS_BUILT, _EXPLICIT = 0x30, 0x06, 0x04, 0x24, 0xA0
_DEEPEST = 8
_COMPRESSED = bytes.fromhex("2a864886f70d0109100109")
_MOST_UNPACKED = 50_000_000
_ARMOUR = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]{3,30}-----\s+(.*?)-----END ", re.DOTALL)


def unarmoured(data: bytes) -> bytes:
    """*data* as DER, where it is written as PEM."""
    match = _ARMOUR.match(data)
    if match is None:
        return data
    try:
        return binascii.a2b_base64(match[1])
    except binascii.Error:
        return data


def content_inside(data: bytes) -> bytes | None:
    """The bytes that were signed or compressed, or None where *data* is neither or does not hold them."""
    outer = _children(data, *_value(data, 0, len(data), _SEQUENCE))
    kind = _kind(data, outer)
    if len(outer) < 2 or kind not in (_SIGNED_DATA, _COMPRESSED):
        return None
    explicit = _children(data, outer[1][1], outer[1][2])
    signed = _children(data, explicit[0][1], explicit[0][2]) if explicit and explicit[0][0] == _SEQUENCE else []
    for tag, start, end in signed:
        inner = _children(data, start, end) if tag == _SEQUENCE else []
        if len(inner) >= 2 and inner[0][0] == _OID and data[inner[0][1] : inner[0][2]] == _DATA:
            octets = _octets(data, inner[1][1], inner[1][2], 0)
            return _unpacked(octets) if kind == _COMPRESSED else octets
    return None


def is_signed(data: bytes) -> bool:
    """Whether *data* is CMS that is signed."""
    return _kind(data, _children(data, *_value(data, 0, len(data), _SEQUENCE))) == _SIGNED_DATA


def _kind(data: bytes, outer: list[tuple[int, int, int]]) -> bytes:
    return data[outer[0][1] : outer[0][2]] if outer and outer[0][0] == _OID else b""


def _unpacked(packed: bytes) -> bytes | None:
    try:
        return zlib.decompressobj().decompress(packed, _MOST_UNPACKED)
    except zlib.error:
        return None


def is_encrypted(data: bytes) -> bool:
    """Whether *data* is CMS that hides its content."""
    outer = _children(data, *_value(data, 0, len(data), _SEQUENCE))
    return bool(outer) and data[outer[0][1] : outer[0][2]] in _ENVELOPED


def _octets(data: bytes, start: int, end: int, depth: int) -> bytes:
    """The octet string in a stretch; a built one holds its pieces one after the other."""
    pieces: list[bytes] = []
    for tag, inner_start, inner_end in _children(data, start, end):
        if tag == _OCTETS:
            pieces.append(data[inner_start:inner_end])
        elif tag == _OCTETS_BUILT and depth < _DEEPEST:
            pieces.append(_octets(data, inner_start, inner_end, depth + 1))
    return b"".join(pieces)


def _value(data: bytes, start: int, end: int, wanted: int) -> tuple[int, int]:
    found = _element(data, start, end, 0)
    return (found[1], found[2]) if found and found[0] == wanted else (0, 0)


def _children(data: bytes, start: int, end: int) -> list[tuple[int, int, int]]:
    """Tag, start and end of the content of each element in a stretch."""
    found: list[tuple[int, int, int]] = []
    while start < end and len(found) < 100_000:
        element = _element(data, start, end, 0)
        if element is None or element[0] == 0:
            break
        found.append(element[:3])
        start = element[3]
    return found


def _element(data: bytes, start: int, end: int, depth: int) -> tuple[int, int, int, int] | None:
    """Tag, start and end of the content, and where the next element begins; None where there is none."""
    if start + 2 > end:
        return None
    tag, length, position = data[start], data[start + 1], start + 2
    if length == 0x80:
        return _indefinite(data, tag, position, end, depth)
    if length > 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[position : position + count], "big")
        position += count
    stop = min(position + length, end)
    return tag, position, stop, stop


def _indefinite(data: bytes, tag: int, start: int, end: int, depth: int) -> tuple[int, int, int, int] | None:
    """An element of BER whose length is not said: it ends at two zero bytes on its own level."""
    position = start
    while depth < 20 and position + 2 <= end and data[position : position + 2] != b"\x00\x00":
        inner = _element(data, position, end, depth + 1)
        if inner is None or inner[3] <= position:
            return None
        position = inner[3]
    return tag, start, position, min(position + 2, end)
