"""Files in yEnc, which stand between lines of text as bytes: `=ybegin`, the encoded lines, `=yend`."""

import re
from binascii import crc32

_BEGIN = re.compile(rb"(?m)^=ybegin ([^\r\n]{0,300}?)name=([^\r\n]{1,300})\r*$")
_PART = re.compile(rb"\s*=ypart [^\r\n]{0,200}")
_END = re.compile(rb"(?m)^=yend([^\r\n]{0,200})\r*$")
_ESCAPED = re.compile(rb"=(.)", re.DOTALL)
_DECODED = bytes((byte - 42) % 256 for byte in range(256))
_CHECKSUM = re.compile(rb"\bp?crc32=([0-9A-Fa-f]{1,8})\b")


def take_files(data: bytes) -> tuple[bytes, tuple[tuple[bytes, bytes, bool], ...]]:
    """*data* without its encoded files, and the files: name, content, and whether it is whole."""
    kept: list[bytes] = []
    files: list[tuple[bytes, bytes, bool]] = []
    position = 0
    while (begin := _BEGIN.search(data, position)) is not None:
        start = begin.end()
        if part := _PART.match(data, start):
            start = part.end()
        end = _END.search(data, start)
        stop = end.start() if end else len(data)
        content = _decoded(data[start:stop])
        # Of a file in several parts the checksum of this one comes last.
        stated = _CHECKSUM.findall(end[1]) if end else []
        sound = end is not None and (not stated or any(int(one, 16) == crc32(content) for one in stated))
        files.append((begin[2].strip().strip(b'"'), content, sound))
        kept.append(data[position : begin.start()])
        position = end.end() if end else len(data)
    return b"".join([*kept, data[position:]]), tuple(files)


def _decoded(lines: bytes) -> bytes:
    lines = lines.translate(None, b"\r\n")
    return _ESCAPED.sub(lambda match: bytes(((match[1][0] - 64) % 256,)), lines).translate(_DECODED)
