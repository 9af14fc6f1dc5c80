"""The properties of one object in an Outlook file (MS-OXMSG), read one by one: what is broken costs only itself.

Strings are in UTF-16, or in a code page that two of the properties name.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from oxmsg.storage import Storage

from mailsearch.ingest import charset
from mailsearch.ingest.charset_labels import code_page

# Where the properties begin in their stream: of a message, of one inside another, of a recipient or attachment.
OF_MESSAGE, OF_EMBEDDED, OF_OTHERS = 32, 24, 8
_UNICODE, _STRING8, _BINARY = 0x001F, 0x001E, 0x0102
_MESSAGE_CODEPAGE, _INTERNET_CODEPAGE = 0x3FFD, 0x3FDE
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


class Values:
    """The properties of the object in *storage*. *inherited* are those of the message that it is part of."""

    def __init__(self, storage: Storage, start: int, inherited: "Values | None" = None) -> None:
        self._streams = {stream.name: stream for stream in storage.streams}
        self._fixed: dict[int, bytes] = {}
        stream = self._stream("__properties_version1.0")
        for place in range(start, len(stream) - 15, 16):
            number = int.from_bytes(stream[place + 2 : place + 4], "little")
            self._fixed[number] = stream[place + 8 : place + 16]
        self._inherited = inherited

    def text(self, *numbers: int) -> str:
        """The first of these string properties that says anything, without NULs; "" where none does."""
        for number in numbers:
            wide, narrow = self._value(number, _UNICODE), self._value(number, _STRING8)
            found = wide.decode("utf-16-le", "replace") if wide else self.decoded(narrow)
            if found.strip("\x00 "):
                return found.replace("\x00", "")
        return ""

    def binary(self, number: int) -> bytes:
        """A binary property, or b""."""
        return self._value(number, _BINARY)

    def decoded(self, data: bytes) -> str:
        """*data* in the code page of the message; one that can't be right is not believed."""
        pages = self._pages()
        return charset.decode(data, pages[0], pages[-1]).text if data else ""

    def page_of_html(self) -> str:
        """The charset of a body in HTML, which says so of itself."""
        return self._pages()[-1]

    def integer(self, number: int) -> int:
        """An integer property, 0 where there is none."""
        return int.from_bytes(self._fixed.get(number, b"")[:4], "little")

    def moment(self, *numbers: int) -> datetime | None:
        """The first of these times that there is."""
        for number in numbers:
            ticks = int.from_bytes(self._fixed.get(number, b""), "little")
            # Tenths of microseconds; the largest stand for never.
            if 0 < ticks < 1 << 62:
                try:
                    return _EPOCH + timedelta(microseconds=ticks // 10)
                except OverflowError:
                    continue
        return None

    def _pages(self) -> Sequence[str]:
        numbers = (self.integer(_MESSAGE_CODEPAGE), self.integer(_INTERNET_CODEPAGE))
        found = [page for number in numbers if number and (page := code_page(number))]
        if not found and self._inherited is not None:
            return self._inherited._pages()
        return found or [""]

    def _value(self, number: int, kind: int) -> bytes:
        return self._stream(f"__substg1.0_{number:04X}{kind:04X}")

    def _stream(self, name: str) -> bytes:
        stream = self._streams.get(name)
        return bytes(stream.bytes_) if stream is not None else b""
