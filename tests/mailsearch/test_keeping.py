"""Raw messages in their rows: whatever their bytes, they come back as they were."""

import zlib

import pytest

from mailsearch import keeping

TEXT = b"Subject: Ferry\r\n\r\nThe ferry leaves at seven.\r\n"


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\0\0x", b"x\x9c", bytes(range(256)), TEXT, TEXT * 38, TEXT * 50, TEXT * 500, zlib.compress(TEXT)],
    ids=["empty", "zero", "zeros", "like-pressed", "all-bytes", "short", "at-the-edge", "long", "very-long", "pressed"],
)
def test_a_message_comes_back_byte_for_byte(data: bytes) -> None:
    assert keeping.came(keeping.kept(data)) == data


def test_only_what_gains_by_it_is_pressed() -> None:
    assert keeping.kept(TEXT) == b"\0" + TEXT
    assert len(keeping.kept(TEXT * 100)) < len(TEXT * 100) / 10


def test_rows_from_before_are_read() -> None:
    assert keeping.came(zlib.compress(TEXT)) == TEXT
