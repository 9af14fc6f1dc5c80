"""Bytes to text: the declared charset if it fits, else what the bytes themselves say, and never an exception.

The order is: declared, strict; UTF-8, strict; detection; Windows-1252 with replacement. Only charsets from a list are
tried, because Python's codec registry also knows transfer encodings and name encodings (`utf-7`, `idna`, `base64`)
that a sender could use to smuggle text past a filter.
"""

import codecs
import re
from functools import lru_cache
from typing import Literal, NamedTuple

Step = Literal["declared", "utf-8", "windows-1252", "detected", "fallback"]

_ALLOWED = {
    *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
    *(f"cp{n}" for n in (437, 850, 852, 855, 857, 860, 861, 862, 863, 865, 866, 869, 874, 932, 949, 950)),
    *(f"cp{n}" for n in range(1250, 1259)),
    *("ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *("koi8-r", "koi8-u", "koi8-t", "kz1048", "ptcp154", "tis-620", "mac-roman", "mac-cyrillic", "mac-latin2"),
    *("gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs", "euc_kr", "johab", "shift_jis", "shift_jis_2004"),
    *("euc_jp", "euc_jis_2004", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_3", "iso2022_jp_ext"),
    *("iso2022_kr", "cp1125"),
}

# Labels that mail uses for a larger set than the label's own, or that Python does not know.
_ALIASES = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "cp936": "gb18030",
    "gb_2312-80": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "ks_c_5601": "cp949",
    "ksc5601": "cp949",
    "windows-949": "cp949",
    "x-windows-949": "cp949",
    "windows-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "x-mac-roman": "mac-roman",
    "macintosh": "mac-roman",
    "x-user-defined": "cp1252",
    "utf8mb4": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "cp-850": "cp850",
    "big5": "big5hkscs",
    "x-x-big5": "big5hkscs",
}

_ESCAPES = {b"\x1b$": "iso2022_jp", b"\x1b(": "iso2022_jp", b"\x1b&": "iso2022_jp"}
_LATIN_1 = ("iso8859-1", "ascii")
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
)
_HIGH_CONTROL = re.compile(rb"[\x80-\x9f]")
_NON_ASCII = re.compile(rb"[\x80-\xff]")
_DETECT_BYTES = 4_000
_MINIMUM_CONFIDENCE = 0.5

# NUL can't be stored, the other controls mean nothing in text; a lone surrogate can't be encoded.
_UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_LINE_ENDS = re.compile("\r+\n|\r|\x0b|\x0c|\x85|\u2028")
_ASCII_CONTROLS = bytes([*range(9), *range(14, 32), 127])


class Decoded(NamedTuple):
    """Text, the charset that gave it, and which step decided."""

    text: str
    charset: str
    step: Step


@lru_cache(500)
def lookup(label: str) -> str:
    """The codec for a charset label, or "" where the label is unknown or not allowed."""
    name = label.strip().strip("\"'").lower()
    name = _ALIASES.get(name, name)
    if not name or len(name) > 40:
        return ""
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError, UnicodeError):
        return ""
    codec = _ALIASES.get(codec, codec)
    return codec if codec in _ALLOWED or codec.replace("_", "-") in _ALLOWED else ""


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
    return _by_label(data, lookup(declared)) or _by_bytes(data, lookup(hint))


def clean(text: str) -> str:
    """*text* with `\\n` as line ends and without what can't be stored: controls go, surrogates become U+FFFD."""
    if text.isprintable():
        return text
    if "\r" in text or not text.isascii() or "\x0b" in text or "\x0c" in text:
        text = _LINE_ENDS.sub("\n", text)
    if text.isascii():
        # A tenth of what the expression takes.
        kept = text.encode("ascii").translate(None, _ASCII_CONTROLS)
        return text if len(kept) == len(text) else kept.decode("ascii")
    return _UNSTORABLE.sub(lambda match: "\ufffd" if match[0] >= "\ud800" else "", text)


def has_unstorable(text: str) -> bool:
    """Whether *text* holds NUL, another control or a lone surrogate."""
    return _UNSTORABLE.search(text) is not None


def _by_label(data: bytes, codec: str) -> Decoded | None:
    if not codec:
        return None
    if codec in _LATIN_1 and b"\x1b$" in data:
        return _strict(data, "iso2022_jp", "detected")
    if codec == "ascii" and not data.isascii():
        return None
    if _is_really_utf8(data, codec):
        return _strict(data, "utf-8", "utf-8")
    if codec == "iso8859-1" and _HIGH_CONTROL.search(data):
        found = _strict(data, "cp1252", "windows-1252")
        if found is not None:
            return found
    return _strict(data, codec, "declared")


def _by_bytes(data: bytes, hint: str) -> Decoded:
    for mark, codec in ((codecs.BOM_UTF8, "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark) and (found := _strict(data, codec, "detected")) is not None:
            return found
    for mark, codec in _ESCAPES.items():
        if mark in data and data.isascii() and (found := _strict(data, codec, "detected")) is not None:
            return found
    found = _strict(data, "utf-8", "utf-8")
    if found is None and hint:
        found = _strict(data, hint, "detected")
    return (
        found
        or _nearly_utf8(data)
        or _detected(data)
        or Decoded(data.decode("cp1252", "replace"), "cp1252", "fallback")
    )


def _is_really_utf8(data: bytes, codec: str) -> bool:
    """Whether text labelled with a single-byte charset is UTF-8: other text hardly ever happens to be valid UTF-8."""
    if not codec.startswith(("iso8859", "cp125", "koi8", "mac", "kz", "cp43", "cp8")) or not _NON_ASCII.search(data):
        return False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    sequences = sum(1 for character in text[:5000] if character > "\x7f")
    # In Cyrillic, Greek or Hebrew charsets one such pair may be two letters of a short word.
    return sequences >= (2 if codec in _NOT_LATIN else 1)


def _nearly_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken bytes: better read as UTF-8 with replacements than as something else altogether."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    sound = sum(1 for character in text[:20_000] if character > "\x7f" and character != "\ufffd")
    return Decoded(text, "utf-8", "fallback") if sound >= 4 and broken * 4 <= sound else None


def _detected(data: bytes) -> Decoded | None:
    # Loaded when needed: mail that says what it is in hardly ever asks.
    import chardet

    # Lines of plain ASCII tell nothing and cost time.
    lines = [line for line in data[: 50 * _DETECT_BYTES].splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:_DETECT_BYTES]
    found = chardet.detect(sample)
    codec = lookup(str(found.get("encoding") or ""))
    if not codec or float(found.get("confidence") or 0) < _MINIMUM_CONFIDENCE:
        return None
    return _strict(data, codec, "detected")


def _strict(data: bytes, codec: str, step: Step) -> Decoded | None:
    try:
        return Decoded(data.decode(codec), codec, step)
    except (UnicodeError, ValueError):
        return None
