"""Outlook's winmail.dat (TNEF, MS-OXTNEF): the files and the text inside."""

from collections.abc import Iterator
from dataclasses import dataclass

import tnefparse

from mailsearch.ingest import charset, headers, html, plain
from mailsearch.ingest.attachments import rtf, tnef_pieces
from mailsearch.ingest.parsed import ParsedText

_MOST_FILES = 500
_EMPTY = ParsedText("")


@dataclass(frozen=True, slots=True)
class Opened:
    """What a TNEF container holds. `sound` is False where it could not be read."""

    text: ParsedText
    files: tuple[tuple[str, bytes], ...]
    sound: bool = True


def open_container(content: bytes) -> Opened:
    """Read a TNEF container. Never raises."""
    try:
        container = tnefparse.TNEF(content, do_checksum=False)
        files = tuple((_name(one), bytes(one.data or b"")) for one in container.attachments[:_MOST_FILES])
        return Opened(_text(container), files)
    # The library raises whatever its arithmetic on broken lengths raises.
    except Exception:  # noqa: BLE001
        return _piecewise(content)


def _piecewise(content: bytes) -> Opened:
    pieces = tnef_pieces.read(content)
    files = tuple((headers.safe_filename(one.name), one.content) for one in pieces.files[:_MOST_FILES])
    text = plain.visible_text(charset.clean(pieces.text))
    if not text.text.strip() and pieces.html:
        text = html.visible_text(pieces.html)
    if not text.text.strip() and pieces.packed_rtf:
        text = rtf.read(unpack_rtf(pieces.packed_rtf))[1]
    return Opened(text, files, sound=bool(files or text.text.strip()))


def _name(attachment: tnefparse.TNEFAttachment) -> str:
    return headers.safe_filename(str(attachment.long_filename() or attachment.name or "").rstrip("\x00"))


def _text(container: tnefparse.TNEF) -> ParsedText:
    for value, is_html in ((container.body, False), (container.htmlbody, True)):
        if not value:
            continue
        page = str(container.codepage or "")
        text = charset.clean(value if isinstance(value, str) else charset.decode(bytes(value), page).text)
        parsed = html.visible_text(text) if is_html else plain.visible_text(text)
        if parsed.text.strip():
            return parsed
    packed = getattr(container, "_rtfbody", None)
    return rtf.read(unpack_rtf(packed))[1] if packed else _EMPTY


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
