"""Outlook's winmail.dat (TNEF, MS-OXTNEF): the files and the text inside."""

from collections.abc import Iterator
from dataclasses import dataclass

import tnefparse

from mailsearch.ingest import bodies, charset, headers, html, plain
from mailsearch.ingest.attachments import encapsulated, rtf, tnef_pieces
from mailsearch.ingest.bodies import Found

_MOST_FILES = 500


@dataclass(frozen=True, slots=True)
class Opened:
    """What a TNEF container holds. `sound` is False where it could not be read."""

    body: Found
    files: tuple[tuple[str, bytes], ...]
    sound: bool = True


def open_container(content: bytes) -> Opened:
    """Read a TNEF container. Never raises."""
    try:
        container = tnefparse.TNEF(content, do_checksum=False)
        files = tuple((_name(one), bytes(one.data or b"")) for one in container.attachments[:_MOST_FILES])
        page = str(container.codepage or "")
        packed = bytes(getattr(container, "_rtfbody", None) or b"")
        return Opened(_body(_decoded(container.body, page), _decoded(container.htmlbody, page), packed), files)
    # The library raises whatever its arithmetic on broken lengths raises.
    except Exception:  # noqa: BLE001
        return _piecewise(content)


def _piecewise(content: bytes) -> Opened:
    pieces = tnef_pieces.read(content)
    files = tuple((headers.safe_filename(one.name), one.content) for one in pieces.files[:_MOST_FILES])
    body = _body(charset.clean(pieces.text), pieces.html, pieces.packed_rtf)
    return Opened(body, files, sound=bool(files or body.text.text.strip()))


def _name(attachment: tnefparse.TNEFAttachment) -> str:
    return headers.safe_filename(str(attachment.long_filename() or attachment.name or "").rstrip("\x00"))


def _decoded(value: str | bytes | None, page: str) -> str:
    return charset.clean(value if isinstance(value, str) else charset.decode(bytes(value), page).text) if value else ""


def _body(text: str, page: str, packed_rtf: bytes) -> Found:
    """The body that is given as *text*, as an HTML *page* and as RTF, any of which may be empty."""
    parsed = plain.visible_text(text)
    source = unpack_rtf(packed_rtf) if packed_rtf and not page.strip() else b""
    made_from = encapsulated.original(source) if source else None
    if made_from is not None and made_from.kind == "html":
        page = made_from.text
    elif source and not parsed.text.strip():
        parsed = plain.visible_text(made_from.text) if made_from is not None else rtf.read(source)[1]
    return bodies.chosen(parsed, html.visible_text(page)) if page.strip() else Found([("plain", parsed)])


def unpack_rtf(packed: bytes) -> bytes:
    """Compressed RTF (MS-OXRTFCP) as RTF."""
    if packed[8:12] == b"MELA":
        return packed[16:]
    if packed[8:12] != b"LZFu":
        return b""
    window = bytearray(_PRELOADED.ljust(4096, b" "))
    write = len(_PRELOADED)
    unpacked = bytearray()
    for is_reference, token in _tokens(packed):
        piece = token
        if is_reference:
            pair = int.from_bytes(token, "big")
            # A reference to the place that is written next ends the text.
            if pair >> 4 == write % 4096:
                break
            piece = _copy(window, pair >> 4, (pair & 15) + 2, write)
        for byte in piece:
            window[write % 4096] = byte
            write += 1
        unpacked += piece
    return bytes(unpacked)


def _tokens(packed: bytes) -> Iterator[tuple[bool, bytes]]:
    """Single bytes and two-byte references, eight after each byte of flags."""
    position = 16
    while position < len(packed):
        flags = packed[position]
        position += 1
        for bit in range(8):
            width = 2 if flags >> bit & 1 else 1
            if position + width > len(packed):
                return
            yield width == 2, packed[position : position + width]
            position += width


def _copy(window: bytearray, offset: int, length: int, write: int) -> bytes:
    """*length* bytes from *offset*, which may run into what it is itself writing."""
    piece = bytearray()
    for step in range(length):
        place = (offset + step) % 4096
        distance = (write - offset) % 4096
        piece.append(piece[step - distance] if step >= distance > 0 else window[place])
    return bytes(piece)


# The dictionary that the format starts with (MS-OXRTFCP §2.1.2.1).
_PRELOADED = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
