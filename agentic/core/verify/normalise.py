"""Two spellings of the same words become one, with a map back to the place in the stored text.

Follows Unicode Annex 15 (canonical and compatibility forms) with exceptions that keep numbers honest: superscripts,
subscripts, fractions and circled digits stay what they are, so that ten squared never reads as one hundred and two.
"""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

# A letter, a hyphen and a line end: printed as JOINT, which may stand for a hyphen or for nothing.
JOINT = "\u00ad"

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"
APOSTROPHES = "'\u2019\u2018\u02bc\u00b4`\uff07\u201b"
QUOTE_MARKS = (
    '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f'
    "\u201a\u301d\u301e\u301f\uff02\ufe41\ufe42\ufe43\ufe44\u2032\u2033"
)
GERSHAYIM = '"\u05f4\u201d'

# A character that stays as it is but for case, with nothing behind it that joins it.
_PLAIN = r"[A-Za-z0-9,.;:!?()/%&+=#@$\-](?![\u0300-\u036f\u00ad\u200b-\u200f])"
_TOKEN = re.compile(
    rf"(?P<plain>(?:{_PLAIN})+(?: (?:{_PLAIN})+)*)"
    r"|(?P<space>\s+)"
    r"|(?P<jamo>[\u1100-\u11ff]+)"
    r"|(?P<stars>\*+|_+)"
    r"|(?P<char>.[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u093c\u09bc\u09be\u09d7\u0a3c\u0b3c"
    r"\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f]*)",
    re.DOTALL,
)
_QUOTE_PREFIX = re.compile(r"[ \t]*(?:>[ \t]?)+")
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
# Scripts written without spaces between words: a line wrap there is no space, and words have no edges to check.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)


# Letters of Chinese and Japanese with their punctuation; full-width Latin is Latin.
_IDEOGRAPHIC = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff9f]")


def is_unspaced(character: str) -> bool:
    """Whether *character* belongs to a script that puts no spaces between words."""
    return bool(character) and character >= "\u0e00" and _UNSPACED.match(character) is not None


def is_wordlike(character: str) -> bool:
    """Whether *character* is part of a word or number: a letter, a digit, a mark on one, or an underscore."""
    return (
        character.isalnum() or character == "_" or (character > "\u02ff" and unicodedata.category(character)[0] == "M")
    )


@lru_cache(maxsize=4096)
def _fold(cluster: str) -> str:
    """One character with its combining marks: dropped, unified, composed and case-folded."""
    first = cluster[0]
    if first in DASHES:
        return "-" + cluster[1:]
    if first in QUOTE_MARKS or unicodedata.category(first) == "Cf" or _is_selector(first):
        return ""
    if unicodedata.category(first) in ("Cc", "Cs", "Co") and not first.isspace():
        return " "
    composed = unicodedata.normalize("NFC", cluster)
    folded = "".join(
        c if unicodedata.decomposition(c).startswith(_KEPT_FORMS) else unicodedata.normalize("NFKC", c)
        for c in composed
    )
    return unicodedata.normalize("NFC", folded.casefold())


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef" or character == "\u034f"


@dataclass(frozen=True, slots=True)
class Normalised:
    """Normal form of a stretch of text. `starts`/`origins` say for each run where it begins here and in the source.

    Within a run of flag `even` one character here is one character there; other runs map as a whole. `ends` are the
    offsets in the source after each run. All offsets are code points.
    """

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    ends: tuple[int, ...]
    even: tuple[bool, ...]

    def origin(self, position: int) -> int:
        """Offset in the source of the character at *position*."""
        run = bisect_right(self.starts, position) - 1
        return self.origins[run] + (position - self.starts[run] if self.even[run] else 0)

    def origin_end(self, position: int) -> int:
        """Offset in the source just after the character at *position*."""
        run = bisect_right(self.starts, position) - 1
        return self.origins[run] + (position - self.starts[run]) + 1 if self.even[run] else self.ends[run]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The source's span for the non-empty span *start*, *end* here."""
        return self.origin(start), self.origin_end(end - 1)


class _Writer:
    """Collects runs; the last character written is what the rules for spaces and hyphens look back at."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.starts: list[int] = []
        self.origins: list[int] = []
        self.ends: list[int] = []
        self.even: list[bool] = []
        self.length = 0
        self.last = " "

    def put(self, piece: str, origin: int, end: int, even: bool = False) -> None:
        if not piece:
            return
        if piece[0] == " " and self.last == " ":
            piece, even = piece.lstrip(" "), False
            if not piece:
                return
        self.pieces.append(piece)
        self.starts.append(self.length)
        self.origins.append(origin)
        self.ends.append(end)
        self.even.append(even)
        self.length += len(piece)
        self.last = piece[-1]

    def unhyphenate(self) -> None:
        """Turn the hyphen just written into a joint."""
        self.pieces[-1] = self.pieces[-1][:-1] + JOINT
        self.last = JOINT


def normalise(text: str, start: int = 0, end: int | None = None) -> Normalised:
    """The normal form of `text[start:end]`; offsets of its map are those of the whole *text*.

    Case, quotation marks, dashes, white space, format characters, ligatures and line wraps (also those of `>` quoted
    mail) make no difference to it. Linear in the length. Sources: Unicode TR15; RFC 3676 for quote marks.
    """
    stop = len(text) if end is None else end
    writer = _Writer()
    prefix = _QUOTE_PREFIX.match(text, start, stop)
    position = prefix.end() if prefix else start
    while position < stop:
        match = _TOKEN.match(text, position, stop)
        if match is None:  # pragma: no cover - the pattern takes any character
            break
        position = _take(text, match, writer, stop)
    return Normalised(
        "".join(writer.pieces), tuple(writer.starts), tuple(writer.origins), tuple(writer.ends), tuple(writer.even)
    )


def _take(text: str, match: re.Match[str], writer: _Writer, stop: int) -> int:
    """Write one token and return where the next begins."""
    start, end = match.span()
    kind = match.lastgroup
    if kind == "plain":
        _put_plain(match.group(), start, writer)
    elif kind == "space":
        return _put_space(text, start, end, writer, stop)
    elif kind == "jamo":
        writer.put(unicodedata.normalize("NFC", match.group()), start, end)
    elif kind == "stars":
        _put_stars(text, start, end, writer, stop)
    else:
        _put_char(text, match.group(), start, writer, stop)
    return end


def _put_plain(run: str, start: int, writer: _Writer) -> None:
    if writer.last == "-" and run[0] == "-":
        stripped = run.lstrip("-")
        start, run = start + len(run) - len(stripped), stripped
    if "--" not in run:
        writer.put(run.lower(), start, start + len(run), even=True)
        return
    offset = 0
    # Typed dashes ("--") are one dash.
    for dashes in re.finditer(r"-{2,}", run):
        writer.put(run[offset : dashes.start() + 1].lower(), start + offset, start + dashes.start() + 1, even=True)
        offset = dashes.end()
    if offset < len(run):
        writer.put(run[offset:].lower(), start + offset, start + len(run), even=True)


def _put_space(text: str, start: int, end: int, writer: _Writer, stop: int) -> int:
    wrapped = "\n" in text[start:end] or "\r" in text[start:end]
    if wrapped:
        prefix = _QUOTE_PREFIX.match(text, end, stop)
        while prefix:
            end = prefix.end()
            spaces = re.compile(r"\s+").match(text, end, stop)
            end = spaces.end() if spaces else end
            prefix = _QUOTE_PREFIX.match(text, end, stop) if spaces else None
        following = text[end : end + 1]
        if writer.last == "-" and following.isalpha() and _ends_in_letter_hyphen(writer):
            writer.unhyphenate()
            return end
        if is_unspaced(writer.last) and is_unspaced(following):
            return end
    if _is_ideographic(text[start - 1 : start]) and _is_ideographic(text[end : end + 1] if end < stop else ""):
        return end
    writer.put(" ", start, end)
    return end


def _is_ideographic(character: str) -> bool:
    """Chinese and Japanese letters and their punctuation, between which a blank means nothing."""
    return _IDEOGRAPHIC.match(character) is not None


def _ends_in_letter_hyphen(writer: _Writer) -> bool:
    if not writer.pieces:
        return False
    tail = writer.pieces[-1][-2:]
    if len(tail) < 2 and len(writer.pieces) > 1:
        tail = writer.pieces[-2][-1] + tail
    return len(tail) == 2 and tail[0].isalpha()


def _put_stars(text: str, start: int, end: int, writer: _Writer, stop: int) -> None:
    """Stars and underscores that lean on a word from one side are emphasis; others (a product, a name) are text."""
    before = start > 0 and (is_wordlike(text[start - 1]) or text[start - 1] in "*_")
    after = end < stop and (is_wordlike(text[end]) or text[end] in "*_")
    if before == after:
        writer.put(text[start:end], start, end, even=True)


def _put_char(text: str, cluster: str, start: int, writer: _Writer, stop: int) -> None:
    end = start + len(cluster)
    first = cluster[0]
    if first in APOSTROPHES or first in GERSHAYIM:
        before, after = text[start - 1 : start] if start else "", text[end : end + 1] if end < stop else ""
        inside = before.isalnum() and after.isalnum()
        if inside and first in APOSTROPHES:
            writer.put("'", start, end)
        elif inside and "\u05d0" <= before <= "\u05ea" and "\u05d0" <= after <= "\u05ea":
            writer.put("\u05f4", start, end)
        return
    folded = _fold(cluster)
    if folded[:1] == "-" and writer.last == "-":
        return
    writer.put(folded, start, end)
