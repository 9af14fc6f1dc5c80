"""ISO-2022-JP as it is written: with the rows of NEC and IBM that Windows added, and with escapes missing."""

import re

_ESCAPE = re.compile(rb"\x1b(\$[@B]|\$\([@BDO]|\([BJIH])|([\x0e\x0f])")
_SINGLE, _KANA, _DOUBLE = "single", "kana", "double"


def decode(data: bytes) -> str:
    """*data* as text. Never raises: what means nothing becomes U+FFFD. Each line begins in ASCII (RFC 1468)."""
    return "\n".join(_line(line) for line in data.replace(b"\r\n", b"\n").split(b"\n"))


def _line(line: bytes) -> str:
    pieces: list[str] = []
    mode, position = _SINGLE, 0
    for match in _ESCAPE.finditer(line):
        pieces.append(_stretch(line[position : match.start()], mode))
        mode, position = _mode(match[0]), match.end()
    pieces.append(_stretch(line[position:], mode))
    return "".join(pieces)


def _mode(escape: bytes) -> str:
    if escape.startswith(b"\x1b$"):
        return _DOUBLE
    return _KANA if escape in (b"\x1b(I", b"\x0e") else _SINGLE


def _stretch(data: bytes, mode: str) -> str:
    if mode == _SINGLE:
        return data.decode("ascii", "replace")
    if mode == _KANA:
        return bytes(byte | 0x80 for byte in data).decode("cp932", "replace")
    return b"".join(_shifted(data[at : at + 2]) for at in range(0, len(data), 2)).decode("cp932", "replace")


def _shifted(pair: bytes) -> bytes:
    """A row and cell of JIS X 0208 as Shift_JIS, whose codec knows the added rows."""
    if len(pair) < 2 or not (0x21 <= pair[0] <= 0x7E and 0x21 <= pair[1] <= 0x7E):
        return pair if pair.isascii() else b"?"
    row, cell = pair
    lead = (row - 0x21) // 2 + (0x81 if row < 0x5F else 0xC1)
    if row % 2:
        return bytes((lead, cell + (0x1F if cell < 0x60 else 0x20)))
    return bytes((lead, cell + 0x7E))
