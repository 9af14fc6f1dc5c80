"""The bytes of a raw message as its row keeps them: pressed, unless it is so short that this gains little.

What is pressed begins with a byte that is never zero, so a zero tells what is kept as it came.
"""

import zlib

# Such a row stays where it is; Postgres would press a longer one itself, at the same cost.
_SHORT = 1_900
_AS_IT_CAME = b"\0"
_LARGE = 1 << 14


def kept(data: bytes) -> bytes:
    """*data* as a row keeps it."""
    if len(data) < _SHORT:
        return _AS_IT_CAME + data
    # Tables of a size that suits a message: to clear the usual ones takes longer than to press most messages.
    window, memory = (13, 6) if len(data) < _LARGE else (15, 8)
    compressor = zlib.compressobj(1, zlib.DEFLATED, window, memory)
    return compressor.compress(data) + compressor.flush()


def came(row: bytes) -> bytes:
    """The bytes of a message that a row keeps as *row*."""
    return row[1:] if row[:1] == _AS_IT_CAME else zlib.decompress(row)
