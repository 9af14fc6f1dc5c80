"""Addresses of From, To, Cc and their like: split while still encoded, decoded afterwards."""

import re
import unicodedata
from functools import lru_cache

from mailsearch.ingest import charset, headers
from mailsearch.ingest.parsed import ParsedAddress

_MOST = 2_000
_LONGEST_USUAL = 10_000
_TOKEN = re.compile(
    rb"\"(?:[^\"\\]|\\.)*\"|=\?[^?\s]{1,60}\?[bBqQ]\?[^?]{0,4000}\?=|<[^<>]*>|[,;:()]|[^\",;:()<=]+|.", re.DOTALL
)
_AT = re.compile(rb"[^\s@]@[^\s@]")
_QUOTED_LOCAL = re.compile(r'("(?:[^"\\]|\\.){1,64}")@([^@\s"]+)$')
_ANGLE = re.compile(rb"<([^<>]*)>")
# Format characters, but for joiners in scripts that are written with them.
_UNSEEN = re.compile(
    "(?<=[A-Za-z ])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z ])"
    "|[\u00ad\u034f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_ROUTE = re.compile(r"^@[^:]*:")
# Names and addresses in which nothing is quoted, encoded or odd: `Ann Abel <ann@abel.example>`.
_USUAL = re.compile(rb"(?:([A-Za-z0-9][A-Za-z0-9 .&-]*[A-Za-z0-9.]) )?(<)?([A-Za-z0-9._+=-]+@[A-Za-z0-9.-]+)(?(2)>)")


@lru_cache(1_000)
def read(value: bytes, role: str, hint: str = "") -> tuple[tuple[ParsedAddress, ...], str]:
    """The addresses of one header, and in one sentence what was wrong with it ("" if nothing).

    Splitting comes first, so that a comma inside an encoded or quoted name parts nothing. A name with a bare comma
    before an address ("Okafor, Ngozi <n@x.example>") is one person.
    """
    usual = [_read_usual(piece, role) for piece in value.split(b",")] if len(value) < _LONGEST_USUAL else [None]
    if None not in usual:
        return tuple(filter(None, usual)), ""
    if b"\x1b$" in value:
        # Bytes of unencoded ISO-2022-JP look like commas and brackets.
        value = charset.decode(value).text.encode()
    pieces = _split(headers.unfold(value))
    joined, problem = _join_bare_commas(pieces)
    found = [address for piece in joined if (address := _read_one(piece, role, hint)) is not None]
    if b"=?" in value and b"@" not in value and not any("@" in one.address for one in found):
        # The whole header was encoded, brackets and all.
        inner = headers.text(value, hint).value.encode("utf-8", "replace")
        if b"@" in inner and b"=?" not in inner:
            return read(inner, role, hint)[0], "The address is inside an encoded word."
    if not found and value.strip() and not value.rstrip().endswith(b";"):
        problem = "The header holds no address."
    return tuple(found), problem


def _read_usual(piece: bytes, role: str) -> ParsedAddress | None:
    """One address in the usual form; None for any other, or for none at all."""
    found = _USUAL.fullmatch(piece.strip())
    if found is None or (found[1] and not found[2]) or b"  " in piece or len(piece) > 300:
        return None
    local, _, domain = found[3].decode("ascii").partition("@")
    return ParsedAddress(role, (found[1] or b"").decode("ascii"), f"{local}@{domain.lower()}")


def _split(value: bytes) -> list[bytes]:
    """Pieces between top-level commas; group names ("team: a, b;") and nested comments are left out."""
    pieces: list[bytes] = []
    current: list[bytes] = []
    comment: list[bytes] = []
    depth = 0
    for match in _TOKEN.finditer(value):
        token = match[0]
        if token == b"(" or depth:
            depth += {b"(": 1, b")": -1}.get(token, 0)
            comment.append(token)
            if not depth:
                current.append(b"".join(comment))
                comment = []
        elif token in (b",", b";"):
            pieces.append(b"".join(current))
            current = []
        elif token == b":" and b"@" not in b"".join(current):
            current = []
        else:
            current.append(token)
        if len(pieces) >= _MOST:
            break
    pieces.append(b"".join([*current, *comment]))
    return [piece.strip() for piece in pieces if piece.strip()]


def _join_bare_commas(pieces: list[bytes]) -> tuple[list[bytes], str]:
    joined: list[bytes] = []
    waiting: list[bytes] = []
    problem = ""
    for piece in pieces:
        bare = b"<" not in piece and _AT.search(piece) is None
        if bare:
            waiting.append(piece)
        elif waiting and b"<" in piece and not piece.startswith(b"<"):
            joined.append(b", ".join([*waiting, piece]))
            waiting = []
            problem = "The name before an address has a comma without quotes."
        else:
            joined += [*waiting, piece]
            waiting = []
    return joined + waiting, problem


def _read_one(piece: bytes, role: str, hint: str) -> ParsedAddress | None:
    angles = [match for match in _ANGLE.finditer(piece) if b"@" in match[1]] or list(_ANGLE.finditer(piece))
    if angles:
        last = angles[-1]
        name, address = piece[: last.start()].rstrip(b"< ") + b" " + piece[last.end() :].lstrip(b"> "), last[1]
    elif b"@" in piece:
        name, address = _name_in_comment(piece)
    elif b"<" in piece or not piece.strip():
        return None
    else:
        name, address = piece, b""
        if re.fullmatch(rb"[A-Za-z0-9._-]+", piece):
            name, address = b"", piece
    clean = _address(address, hint)
    shown = _name(name, hint)
    return ParsedAddress(role, shown, clean) if clean or shown else None


def _name_in_comment(piece: bytes) -> tuple[bytes, bytes]:
    """The old form "ann@x.example (Ann Example)"."""
    match = re.search(rb"\((.*)\)", piece, re.DOTALL)
    if match is None:
        words = piece.split()
        address = next((word for word in words if b"@" in word), piece)
        return b" ".join(word for word in words if word != address), address
    return match[1], piece[: match.start()] + piece[match.end() :]


def _address(value: bytes, hint: str) -> str:
    address = headers.text(value, hint).value
    quoted = _QUOTED_LOCAL.match(address.strip("<> "))
    if quoted:
        return f"{quoted[1]}@{quoted[2].lower()}"[:320]
    address = address.replace(" ", "").strip("<>\"'").removeprefix("mailto:")
    address = _ROUTE.sub("", address)[:320]
    local, at, domain = address.rpartition("@")
    return f"{local}@{domain.lower()}" if at else address


def _name(value: bytes, hint: str) -> str:
    value = re.sub(rb"\\(.)", rb"\1", value.strip())
    name = headers.text(value, hint).value
    while len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        name = name[1:-1].strip()
    if name.startswith('"') and name.count('"') < 3:
        name = name.replace('"', "")
    if not name.isascii():
        # Nobody sees these characters: with them a known name would pass for another one.
        name = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", name)).split())
    return re.sub(r"^\((.*)\)$", r"\1", name)[:500]
