"""Whether a text says something, also where it says it so that no plain search would find it.

What a model is told to say it may be told to disguise: in another case, with unseen signs or blanks between the
letters, in letters that look alike, escaped for a link or a page, turned round, or encoded. A program or a person at
the other end undoes each of them, so each counts as said.
"""

import base64
import codecs
import html
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

# With fewer letters than this, a word squeezed together or encoded would be found by chance.
_LEAST = 6
_TAG = re.compile("[\U000e0020-\U000e007e]")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Marks of another kind are part of what must not be said.
_WORDY = re.compile(r"[\w\s.,:;'@/-]+")
_NO_LETTER = re.compile(r"[\W_]+")
# Cyrillic and Greek letters that are drawn like Latin ones, and those (folded to lower case first).
_LOOK_ALIKE = str.maketrans("авеікмнорсѕтухјԁһԛԝѵαβεηικμνορτυχ", "abeikmhopcstyxjdhqwvabehikmnoptyx")


def says(text: str, words: str) -> bool:
    """Whether *text* says *words*, as they stand or in a disguise that can be undone."""
    if words.casefold() in text.casefold():
        return True
    if is_unseen(words):
        return False
    plain = _folded(words)
    encoded, squeezed = _encoded(words), _squeezed(plain) if _WORDY.fullmatch(plain) else ""
    for reading in _readings(text):
        folded = _folded(reading)
        dense = "".join(reading.split())
        if (plain and plain in folded) or any(form in dense for form in encoded):
            return True
        if len(squeezed) >= _LEAST and any(form in _squeezed(folded) for form in (squeezed, squeezed[::-1])):
            return True
    return False


def is_unseen(text: str) -> bool:
    """Whether no reader sees anything of *text*."""
    return all(unicodedata.category(sign) == "Cf" for sign in text)


@lru_cache(4096)
def _readings(text: str) -> tuple[str, ...]:
    """*text*, and what it is once its escapes are undone."""
    tags = _TAG.sub(lambda match: chr(ord(match[0]) - 0xE0000), text)
    unescaped = _ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    twice = unquote(unquote(html.unescape(unescaped)).replace("+", " "))
    return tuple(dict.fromkeys((text, tags, unescaped, html.unescape(text), unquote(text), twice)))


@lru_cache(4096)
def _folded(text: str) -> str:
    """*text* in one case and one kind of letters and blanks, without signs that nobody sees."""
    seen = "".join(sign for sign in _UNSEEN.sub("", text) if unicodedata.category(sign) != "Cf")
    letters = unicodedata.normalize("NFKC", seen).casefold().translate(_LOOK_ALIKE)
    marks = unicodedata.normalize("NFD", letters)
    return " ".join("".join(sign for sign in marks if not unicodedata.combining(sign)).split())


@lru_cache(4096)
def _squeezed(folded: str) -> str:
    return _NO_LETTER.sub("", folded)


@lru_cache(4096)
def _encoded(words: str) -> tuple[str, ...]:
    """*words* as base64 (wherever in a longer text they stand), in hexadecimal digits, and in ROT13."""
    if len(words) < _LEAST:
        return ()
    forms: list[str] = []
    for written in dict.fromkeys((words, words.upper(), words.lower())):
        data = written.encode("utf-8", "replace")
        forms += [data.hex(), data.hex().upper()]
        if any(sign.isascii() and sign.isalpha() for sign in written):
            forms.append(codecs.encode(written, "rot13"))
        for before in range(3):
            # Digits that hold bits of what stands before or behind are left out.
            whole = base64.b64encode(bytes(before) + data).decode().rstrip("=")
            first, last = (0, 2, 3)[before], len(whole) - (1 if (before + len(data)) % 3 else 0)
            forms += [whole[first:last], whole[first:last].replace("+", "-").replace("/", "_")]
    return tuple(dict.fromkeys(forms))
