"""The attributes of a TNEF container one by one (MS-OXTNEF): what is broken costs only itself.

For containers that the library gives up: cut off, with a code page that it does not know, or with names in one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mailsearch.ingest import charset
from mailsearch.ingest.charset_labels import code_page

_SIGNATURE = b"\x78\x9f\x3e\x22"
_FIRST = 6
_HEAD = 9
_ATTACHMENT_LEVEL = 2
_BODY, _MAPI, _CODE_PAGE = 0x800C, 0x9003, 0x9007
_NEW_ATTACHMENT, _TITLE, _DATA, _ATTACHMENT_MAPI = 0x9002, 0x8010, 0x800F, 0x9005
_SIZES = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 4, 0x14: 8, 0x40: 8, 0x48: 16}
_STRING8, _UNICODE, _BINARY, _OBJECT = 0x1E, 0x1F, 0x102, 0x0D
_MANY = 0x1000
_MAPI_BODY, _MAPI_HTML, _MAPI_RTF = 0x1000, 0x1013, 0x1009
_LONG_NAME, _SHORT_NAME, _SHOWN_NAME, _CONTENT = 0x3707, 0x3704, 0x3001, 0x3701
_MOST = 100_000


@dataclass(slots=True)
class File:
    """An attachment as far as it was read."""

    names: dict[int, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def name(self) -> str:
        """The longest form of its name."""
        kinds = (_LONG_NAME, _SHORT_NAME, _TITLE, _SHOWN_NAME)
        return next((self.names[kind] for kind in kinds if self.names.get(kind)), "")


@dataclass(slots=True)
class Pieces:
    """What could be read: the text in its three forms, and the files."""

    text: str = ""
    html: str = ""
    packed_rtf: bytes = b""
    files: list[File] = field(default_factory=list)
    page: str = "cp1252"

    def decoded(self, data: bytes) -> str:
        """*data* in the code page of the container."""
        return charset.decode(data, self.page).text.replace("\x00", "")


def read(content: bytes) -> Pieces:
    """Everything in *content* that can be read. Never raises."""
    pieces = Pieces()
    if not content.startswith(_SIGNATURE):
        return pieces
    for level, name, data in _attributes(content):
        if level == _ATTACHMENT_LEVEL:
            _file_attribute(pieces, name, data)
        elif name == _CODE_PAGE:
            pieces.page = code_page(int.from_bytes(data[:4], "little")) or pieces.page
        elif name == _BODY:
            pieces.text = pieces.text or pieces.decoded(data)
        elif name == _MAPI:
            _message_properties(pieces, data)
    return pieces


def _attributes(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Level, name and data of each; the last may be cut off."""
    place = _FIRST
    for _ in range(_MOST):
        if place + _HEAD > len(content):
            return
        name = int.from_bytes(content[place + 1 : place + 3], "little")
        length = int.from_bytes(content[place + 5 : place + 9], "little")
        yield content[place], name, content[place + _HEAD : place + _HEAD + length]
        # A sum of two bytes ends each.
        place += _HEAD + length + 2


def _file_attribute(pieces: Pieces, name: int, data: bytes) -> None:
    if name == _NEW_ATTACHMENT or not pieces.files:
        pieces.files.append(File())
    file = pieces.files[-1]
    if name == _TITLE:
        file.names[_TITLE] = pieces.decoded(data)
    elif name == _DATA:
        file.content = data
    elif name == _ATTACHMENT_MAPI:
        for number, kind, value in _properties(data):
            if number in (_LONG_NAME, _SHORT_NAME, _SHOWN_NAME):
                file.names[number] = _string(pieces, kind, value)
            elif number == _CONTENT and not file.content:
                # An object begins with the id of its kind.
                file.content = value[16:] if kind == _OBJECT else value


def _message_properties(pieces: Pieces, data: bytes) -> None:
    for number, kind, value in _properties(data):
        if number == _MAPI_BODY:
            pieces.text = pieces.text or _string(pieces, kind, value)
        elif number == _MAPI_HTML:
            pieces.html = _string(pieces, kind, value)
        elif number == _MAPI_RTF:
            pieces.packed_rtf = value


def _string(pieces: Pieces, kind: int, value: bytes) -> str:
    if kind == _UNICODE:
        return value.decode("utf-16-le", "replace").replace("\x00", "")
    return pieces.decoded(value)


def _properties(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Number, kind and first value of each property."""
    place = 4
    for _ in range(min(int.from_bytes(data[:4], "little"), _MOST)):
        if place + 4 > len(data):
            return
        kind, number = (int.from_bytes(data[place + at : place + at + 2], "little") for at in (0, 2))
        place = _after_name(data, place + 4) if number >= 0x8000 else place + 4
        value, place = _value(data, place, kind)
        yield number, kind & ~_MANY, value


def _after_name(data: bytes, place: int) -> int:
    """Where the value of a named property begins."""
    kind = int.from_bytes(data[place + 16 : place + 20], "little")
    if kind == 0:
        return place + 24
    return place + 24 + _padded(int.from_bytes(data[place + 20 : place + 24], "little"))


def _value(data: bytes, place: int, kind: int) -> tuple[bytes, int]:
    """The first value at *place*, and where the next property begins."""
    plain = kind & ~_MANY
    count = 1
    if kind & _MANY or plain in (_STRING8, _UNICODE, _BINARY, _OBJECT):
        count = int.from_bytes(data[place : place + 4], "little")
        place += 4
    first = b""
    for number in range(min(count, _MOST)):
        length = _SIZES.get(plain, 4)
        if plain in (_STRING8, _UNICODE, _BINARY, _OBJECT):
            length = int.from_bytes(data[place : place + 4], "little")
            place += 4
        if number == 0:
            first = data[place : place + length]
        place += _padded(length)
        if place > len(data):
            break
    return first, place


def _padded(length: int) -> int:
    return (length + 3) // 4 * 4
