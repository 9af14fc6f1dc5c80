"""Which charset text is in whose label is missing or can't be right: what its bytes look like, and what language says.

A label that fits is believed. But every text fits the label of a single-byte charset, and mail gateways write such
labels without looking. So a label is doubted where what it makes of the bytes is no text of any language that is
written in it; and another charset is taken only where that makes one.
"""

import re

from mailsearch.ingest.charset_labels import lookup

_SAMPLE = 4_000
_LATIN = frozenset(
    ("ascii", "cp1252", "cp850", "cp858", "mac-roman", *(f"iso8859-{part}" for part in (1, 2, 3, 4, 9, 10, 13, 14, 15)))
)
_SCRIPTS = frozenset(
    re.findall(
        r"\S+",
        "cp1251 cp1253 cp1255 cp1256 koi8-r koi8-u koi8-t cp866 cp874 tis-620 mac-cyrillic mac-greek iso8859-5"
        " iso8859-6 iso8859-7 iso8859-8 gb18030 big5hkscs cp949 cp932 euc_jp johab",
    )
)
_WESTERN = ("iso8859-1", "cp1252", "iso8859-15")
_CYRILLIC = ("cp1251", "koi8-r", "iso8859-5", "cp866", "mac-cyrillic")
# Letters with accents hardly ever stand four in a row, and never different ones all over a text.
_DENSE = re.compile(rb"[\xa1-\xff]{4,}")
_HIGH = bytes(range(128, 256))
_MANY = 6
_CONTROLS = re.compile(rb"[\x81-\x83\x86-\x90\x98-\x9f]")
# Letters of Polish, Czech or Hungarian under a Western label are signs in the midst of a word.
_SIGNS_IN_WORDS = re.compile(rb"[A-Za-z\xc0-\xff][\x8a\x9a\x9c\x9f\xa3\xb1\xb3\xb6\xb9\xbc\xbe\xbf][a-z\xe0-\xff]")
_FREQUENT = frozenset("оеаинтсрвл")
# Pairs of bytes, and those of them whose second byte is low: a third of Big5, next to none of the others.
_PAIR = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]")
_LOW_PAIR = re.compile(rb"[\x81-\xfe](?:[\x40-\x7e]|[\x80-\xa0])")
_IDEOGRAPHIC = frozenset(("gb18030", "big5hkscs", "cp949"))


def other_than(data: bytes, codec: str) -> str:
    """The codec that *data* is in though its label names *codec*; "" where the label may be right."""
    if codec in _LATIN:
        return _not_latin(data, codec)
    if codec in _CYRILLIC:
        return _other_cyrillic(data, codec)
    return _other_ideographic(data, codec) if codec in _IDEOGRAPHIC else ""


def unlabelled(data: bytes) -> str:
    """The codec that *data*, which is not UTF-8, is most likely in; "" where nothing speaks for any."""
    found = _detected(data)
    if not found:
        return ""
    codec, confidence = found[0]
    if confidence >= 0.5 or (_is_dense(data) and codec not in _LATIN):
        return codec
    # Short texts with few accents look like those of many languages; Western ones are the most common.
    western = max((value for other, value in found if other in _WESTERN), default=0.0)
    return codec if codec in (*_LATIN, "cp1250", "cp1254", "cp1257") and confidence > max(0.06, 1.4 * western) else ""


def _not_latin(data: bytes, codec: str) -> str:
    sample = data[: 50 * _SAMPLE]
    if _is_dense(sample) or _is_full_of_controls(sample):
        found = next((other for other, _ in _detected(sample)), "")
        return found if found in _SCRIPTS else ""
    if codec in _WESTERN and len(_SIGNS_IN_WORDS.findall(sample)) >= 2:
        found = next((other for other, _ in _detected(sample)), "")
        return found if found in ("cp1250", "iso8859-2") else ""
    return ""


def _is_full_of_controls(data: bytes) -> bool:
    """Whether first bytes of Shift_JIS stand where ISO 8859 has controls; quotes and dashes of Windows don't count."""
    found = len(_CONTROLS.findall(data))
    return found >= _MANY and 4 * found >= len(data) - len(data.translate(None, _HIGH))


def _is_dense(data: bytes) -> bool:
    """Whether most characters beyond ASCII stand in runs, as where a whole script is beyond ASCII."""
    runs = [run for run in _DENSE.findall(data) if len(set(run)) > 2]
    in_runs = sum(map(len, runs))
    return in_runs >= _MANY and 2 * in_runs >= len(data) - len(data.translate(None, _HIGH))


def _other_cyrillic(data: bytes, codec: str) -> str:
    """Small letters of one Cyrillic charset are capitals of another, and the letters are others."""
    sample = _lines_beyond_ascii(data)
    text = sample.decode(codec, "replace")
    letters = [letter for letter in text if letter.isalpha() and letter > "\x7f"]
    capitals = sum(letter.isupper() for letter in letters)
    odd = sum(not "\u0400" <= letter <= "\u04ff" for letter in letters)
    if len(letters) < 2 * _MANY or (10 * capitals < 7 * len(letters) and 10 * odd < 3 * len(letters)):
        return ""
    shares = {other: _frequency(sample.decode(other, "replace")) for other in _CYRILLIC}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > 0.5 and shares[best] > 1.3 * shares[codec] else ""


def _frequency(text: str) -> float:
    letters = [letter for letter in text.lower() if letter > "\x7f"]
    return sum(letter in _FREQUENT for letter in letters) / len(letters) if letters else 0.0


def _other_ideographic(data: bytes, codec: str) -> str:
    sample = _lines_beyond_ascii(data)
    pairs = _PAIR.findall(sample)
    low = sum(_LOW_PAIR.match(pair) is not None for pair in pairs)
    usual = 20 * low >= len(pairs) if codec == "big5hkscs" else 5 * low <= len(pairs)
    if len(pairs) < _MANY or usual:
        return ""
    found = next((other for other, _ in _detected(sample)), "")
    return found if found in (*_IDEOGRAPHIC, "cp932", "euc_jp") else ""


def _detected(data: bytes) -> list[tuple[str, float]]:
    """Codecs in which *data* may be with confidence (0 to 1), the likeliest first."""
    # Loaded when needed: mail that says what it is in hardly ever asks.
    import chardet

    found = [
        (lookup(str(one.get("encoding") or "")), float(one.get("confidence") or 0))
        for one in chardet.detect_all(_lines_beyond_ascii(data))
    ]
    # UTF-16 and its like are told by their zeros before anything is guessed.
    return [(codec, confidence) for codec, confidence in found if codec and not codec.startswith("utf-")]


def _lines_beyond_ascii(data: bytes) -> bytes:
    """A sample of *data*: lines of plain ASCII tell nothing and cost time."""
    lines = [line for line in data[: 50 * _SAMPLE].splitlines(keepends=True) if not line.isascii()]
    return b"".join(lines)[:_SAMPLE]
