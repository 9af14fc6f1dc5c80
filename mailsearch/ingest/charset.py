"""Bytes to text: the declared charset if it fits, else what the bytes themselves say, and never an exception.

The order is: declared, strict, unless it can't be right (`guessing`); UTF-8, strict; declared or UTF-8 but for a few
bytes; detection; Windows-1252 with replacement. Only charsets from a list are tried (`charset_labels`).
"""

import codecs
import re
from functools import lru_cache
from typing import Literal, NamedTuple

from mailsearch.ingest import guessing, japanese
from mailsearch.ingest.charset_labels import lookup

__all__ = ["Decoded", "Step", "clean", "decode", "has_unstorable", "lookup"]

Step = Literal["declared", "utf-8", "windows-1252", "detected", "fallback"]

# Which charset of Windows has printable characters where one of ISO 8859 has controls. The letters of the first ones
# are the same in both.
_LIKE_WINDOWS = ("iso8859-1", "iso8859-3", "iso8859-10", "iso8859-14", "iso8859-15", "iso8859-9")
_WINDOWS = {
    **dict.fromkeys(_LIKE_WINDOWS, "cp1252"),
    **dict.fromkeys(("iso8859-2", "iso8859-16"), "cp1250"),
    **dict.fromkeys(("iso8859-4", "iso8859-13"), "cp1257"),
    "iso8859-5": "cp1251",
    "iso8859-6": "cp1256",
    "iso8859-7": "cp1253",
    "iso8859-8": "cp1255",
    "iso8859-9": "cp1254",
}
_NOT_LATIN = (
    "iso8859-5",
    "iso8859-6",
    "iso8859-7",
    "iso8859-8",
    "cp1251",
    "cp1253",
    "cp1255",
    "cp1256",
    "cp855",
    "cp866",
    "cp874",
    "tis-620",
)
_SINGLE_BYTE = ("iso8859", "cp125", "koi8", "mac", "kz", "cp43", "cp8", "tis", "ptcp", "hp")
_WIDE = ("utf-16", "utf-32")
# What Windows added to a charset of two bytes.
_LARGER = {"big5hkscs": "cp950"}
_SURELY_UTF8 = 4
# A letter with an accent, or a quote or dash, in UTF-8 beside a letter of ASCII.
_WITHIN_LATIN = re.compile(rb"[A-Za-z](?:\xc3[\x80-\xbf]|\xe2\x80[\x93-\x9d])|\xc3[\x80-\xbf][a-z]")
_PRINTABLE = bytes((9, 10, 13, *range(32, 127)))
_HIGH_CONTROL = re.compile(rb"[\x80-\x9f]")
_NON_ASCII = re.compile(rb"[\x80-\xff]")

# NUL can't be stored, the other controls mean nothing in text; a lone surrogate can't be encoded.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
# Copies of ASCII that no program shows; flags of regions end in some.
_TAGS = re.compile("(?<!\U0001f3f4)[\U000e0001\U000e0020-\U000e007f]+")
_LINE_ENDS = re.compile("\r+\n|\r|\x0b|\x0c|\x85|\u2028")
_ASCII_CONTROLS = bytes([*range(9), *range(14, 32), 127])
_ASCII_CHANGED = _ASCII_CONTROLS + b"\r\x0b\x0c"
# The first bytes of tag characters in UTF-8, and of few others.
_TAGS_BEGIN = b"\xf3\xa0"


class Decoded(NamedTuple):
    """Text, the charset that gave it, and which step decided."""

    text: str
    charset: str
    step: Step


def decode(data: bytes, declared: str = "", hint: str = "") -> Decoded:
    """Decode *data*, labelled *declared*; *hint* is a charset that its surroundings use.

    The result may still hold controls: `clean` takes them out.
    """
    if (
        data.isascii()
        and b"\x1b" not in data
        and b"\x00" not in data
        and not declared.lower().startswith(("utf-", "hz"))
    ):
        return Decoded(data.decode("ascii"), declared or "us-ascii", "declared")
    if data.startswith(codecs.BOM_UTF8) and (found := _strict(data[3:], "utf-8", "utf-8")) is not None:
        return found._replace(step="declared") if lookup(declared) == "utf-8" else found
    codec = lookup(declared)
    if codec.startswith(_WIDE) and _is_narrow(data):
        codec = ""
    return _escaped(data, codec) or _wide(data, codec) or _by_label(data, codec) or _by_bytes(data, codec, lookup(hint))


def clean(text: str) -> str:
    """*text* with `\\n` as line ends and without what can't be stored: controls go, surrogates become U+FFFD.

    Unicode's tag characters go too, since nobody sees them.
    """
    if text.isprintable() or (not text.isascii() and _is_clean(text)):
        return text
    if "\r" in text or not text.isascii() or "\x0b" in text or "\x0c" in text:
        text = _LINE_ENDS.sub("\n", text)
    if text.isascii():
        # A tenth of what the expression takes.
        kept = text.encode("ascii").translate(None, _ASCII_CONTROLS)
        return text if len(kept) == len(text) else kept.decode("ascii")
    return _UNSTORABLE.sub(lambda match: "\ufffd" if match[0] >= "\ud800" else "", _TAGS.sub("", text))


def _is_clean(text: str) -> bool:
    """Whether `clean` surely has nothing to do, at a tenth of what its expressions take."""
    try:
        packed = text.encode()
    except UnicodeEncodeError:
        return False
    if len(packed.translate(None, _ASCII_CHANGED)) != len(packed) or _TAGS_BEGIN in packed:
        return False
    return not any(character in text for character in "\x85\u2028\ufffe\uffff")


def tagged(text: str) -> str:
    """What *text* says in tag characters."""
    if text.isascii() or _TAGS_BEGIN not in text.encode("utf-8", "surrogatepass"):
        return ""
    return "".join(chr(ord(tag) - 0xE0000) for run in _TAGS.findall(text) for tag in run if tag > "\U000e001f")


def has_unstorable(text: str) -> bool:
    """Whether *text* holds NUL, another control or a lone surrogate."""
    return _UNSTORABLE.search(text) is not None


def _escaped(data: bytes, codec: str) -> Decoded | None:
    """ISO-2022-JP whatever its label: no other text has its escapes."""
    if b"\x1b$" not in data or codec in ("iso2022_kr", "hz") or b"\x1b$)" in data or not data.isascii():
        return None
    named = codec if codec.startswith("iso2022_jp") else "iso2022_jp"
    step: Step = "declared" if named == codec else "detected"
    return _strict(data, named, step) or Decoded(japanese.decode(data), named, step)


def _is_narrow(data: bytes) -> bool:
    """Whether what is labelled as UTF-16 has one byte to most characters, and so can't be."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\x00" in data:
        return False
    return len(data.translate(None, _PRINTABLE)) * 10 < len(data) * 3 or _characters_of_utf8(data) >= _SURELY_UTF8


def _wide(data: bytes, codec: str) -> Decoded | None:
    """UTF-16 by its zero bytes, whatever its label; and what is labelled so and is not."""
    named = codec.startswith(_WIDE)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strict(data, codec if named and "-32" in codec else "utf-16", "declared" if named else "detected")
    if b"\x00" not in data:
        return None
    # Files are filled up with zeros, too.
    text = data.rstrip(b"\x00")
    data = data[: len(text) + len(text) % 2 + 2] if len(data) - len(text) > 3 else data
    zeros, first = data.count(b"\x00"), data[::2].count(b"\x00")
    if codec.startswith("utf-32") or 10 * zeros < 3 * len(data) or len(data) < 6:
        return None
    if not named and 4 * min(first, zeros - first) > zeros:
        return None
    big = codec == "utf-16-be" if 2 * first == zeros else 2 * first > zeros
    even = data[: len(data) // 2 * 2]
    return _strict(even, "utf-16-be" if big else "utf-16-le", "declared" if named else "detected")


def _by_label(data: bytes, codec: str) -> Decoded | None:
    if not codec or (codec == "ascii" and not data.isascii()):
        return None
    if data.isascii():
        return _strict(data, codec, "declared")
    if _is_really_utf8(data, codec):
        return _strict(data, "utf-8", "utf-8")
    other = guessing.other_than(data, codec)
    if other and (found := _strict(data, other, "detected")) is not None:
        return found
    found = _strict(data, codec, "declared") or _strict(data, _LARGER.get(codec, ""), "declared")
    if found is not None and codec in _WINDOWS and _HIGH_CONTROL.search(data):
        windows = _WINDOWS[codec]
        # Controls are no text, so all of it is in the other charset, whose letters may be others.
        whole = None if codec in _LIKE_WINDOWS else _strict(data, windows, "windows-1252")
        return whole or Decoded(found.text.translate(_printable(codec)), windows, "windows-1252")
    return found


@lru_cache(20)
def _printable(codec: str) -> dict[int, str]:
    """What the controls of one of ISO 8859 are meant to be."""
    return {byte: bytes((byte,)).decode(_WINDOWS[codec], "replace") for byte in range(0x80, 0xA0)}


def _by_bytes(data: bytes, codec: str, hint: str) -> Decoded:
    """Decode what its label, for *codec*, does not fit, or what has none."""
    found = _strict(data, "utf-8", "utf-8") or _cesu_8(data) or _nearly(data, codec)
    if found is None and hint and not guessing.other_than(data, hint):
        found = _strict(data, hint, "detected")
    found = found or _nearly_utf8(data, declared=codec == "utf-8")
    if found is None:
        guess = guessing.unlabelled(data)
        found = _strict(data, guess, "detected") or _nearly(data, guess)
    return found or Decoded(data.decode("cp1252", "replace"), "cp1252", "fallback")


def _is_really_utf8(data: bytes, codec: str) -> bool:
    """Whether text labelled otherwise is UTF-8: other text hardly ever happens to be valid UTF-8."""
    if codec == "utf-8" or codec.startswith(_WIDE):
        return False
    sequences = _characters_of_utf8(data)
    if not codec.startswith(_SINGLE_BYTE):
        # Two bytes to a character, so that few characters may be valid by chance.
        return sequences >= _SURELY_UTF8
    # In Cyrillic, Greek or Hebrew charsets one such pair may be two letters of a short word, but not within a word
    # of Latin letters, as in "café" or "it’s".
    return sequences >= (2 if codec in _NOT_LATIN and not _WITHIN_LATIN.search(data) else 1)


def _characters_of_utf8(data: bytes) -> int:
    """How many characters beyond ASCII *data* has at its beginning as UTF-8; none where it is no UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return 0
    return sum(1 for character in text[:5000] if character > "\x7f")


def _nearly(data: bytes, codec: str) -> Decoded | None:
    """Text of *codec* with a few broken bytes: the end of it is cut off, or a gateway wrote into it."""
    if codec in ("", "utf-8", "ascii", "iso8859-1"):
        return None
    text = data.decode(codec, "replace")
    sound = sum(1 for character in text[:20_000] if character > "\x7f" and character != "\ufffd")
    return Decoded(text, codec, "fallback") if 0 < text[:20_000].count("\ufffd") * 4 <= sound else None


def _nearly_utf8(data: bytes, *, declared: bool) -> Decoded | None:
    """UTF-8 with a few broken bytes: better read as UTF-8 with replacements than as something else altogether."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    sound = sum(1 for character in text[:20_000] if character > "\x7f" and character != "\ufffd")
    surely = declared and _WITHIN_LATIN.search(data) is not None
    if not surely and (sound < (2 if declared else 4) or broken * (1 if declared else 4) > sound):
        return None
    return Decoded(data.decode("utf-8", "windows-1252"), "utf-8", "fallback")


def _cesu_8(data: bytes) -> Decoded | None:
    """UTF-8 but for astral characters, which were written as two surrogates."""
    if b"\xed" not in data:
        return None
    try:
        paired = data.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return Decoded(paired.decode("utf-16", "replace"), "utf-8", "fallback")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Decode bytes that are no UTF-8 among some that is: text of two programs in one message."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    before, after = error.object[: error.start][-1:], error.object[error.start + 1 : error.start + 3]
    # Within a word of Latin letters; elsewhere it is what is left of a longer character.
    if before.isalpha() or (after.isalpha() and len(after) == 2):
        return error.object[error.start : error.start + 1].decode("cp1252", "replace"), error.start + 1
    return "\ufffd", error.end


codecs.register_error("windows-1252", _as_windows)


def _strict(data: bytes, codec: str, step: Step) -> Decoded | None:
    if not codec:
        return None
    try:
        return Decoded(data.decode(codec), codec, step)
    except (UnicodeError, ValueError):
        return None
