"""Looks a quotation up in a message: contiguous, whole words, in one piece, exact after normalising both sides."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentic.core.verify import columns, cues
from agentic.core.verify.normalise import JOINT, is_unspaced, is_wordlike
from agentic.core.verify.sources import MessageIndex, PartIndex, Piece, normal_text

_EDGES = " .,;:!?-\u3002\uff0c\u3001\u060c\u061f\u0964\u2026"
_ELLIPSIS = re.compile(r" ?(?:\[ ?\.{3,} ?\]|\( ?\.{3,} ?\)|\.{3,}|\. \. \.) ?")
_SIC = re.compile(r" ?[\[(]sic!?[\])]")
_LETTER = re.compile(r"\[(\w)\](?=\w)|(?<=\w)\[(\w)\]")
_EMPHASIS = re.compile(
    r"(?<!\w)\*+(?=\w)|(?<=\w)\*+(?!\w)|(?<![\w])_{1,3}(?=\S)|(?<=\S)_{1,3}(?![\w])|~~|(?<!\w)`+|`+(?!\w)"
)
_EMPHATIC = re.compile("[*_~`]")
_NEGATING_PREFIX = re.compile(r"(?:non|un|in|nicht|anti|ex|mis|no|dis|de|sans|nie)-$")
_SCALE = re.compile(
    r" ?(?:million|billion|trillion|thousand|hundred|mio|mrd|mill|tsd|milliarde|millionen|tausend|millones|mille|"
    r"milliards?|millions?|miljoen|miljard|mln|mld|bn|mn|tys|k|m)\b"
)
MAX_OCCURRENCES = 200


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quotation stands: `start`, `end` in the stored text of `part`; `elided` if words were left out."""

    index: MessageIndex
    part: PartIndex
    piece: Piece
    start: int
    end: int
    sentence: tuple[int, int]
    elided: bool = False

    @property
    def text(self) -> str:
        return self.part.part.text[self.start : self.end]

    @property
    def context(self) -> str:
        return self.part.part.text[self.sentence[0] : self.sentence[1]].strip()

    @property
    def before(self) -> str:
        """What stands before the quotation in its stored sentence, in normal form."""
        # One character more, so that an apostrophe before the quotation ("n'") is seen inside its word.
        text, first = self.part.part.text, self.part.part.text[self.start : self.start + 1]
        return normal_text(text[self.sentence[0] : self.start + 1]).removesuffix(normal_text(first))

    @property
    def after(self) -> str:
        return normal_text(self.part.part.text[self.end : self.sentence[1]])


def is_turned(match: Match, before: str) -> bool:
    """Whether what stands *before* the quotation in its sentence (normal form) denies, conditions or reports it."""
    language, around, ahead = match.part.language, match.context, " ".join(normal_text(match.text[:60]).split()[:3])
    return cues.turns(before, language, around, ahead) or cues.reports(before, language, around, ahead)


def is_cut_short(match: Match) -> bool:
    """Whether the words directly behind the quotation deny it."""
    stored = match.part.part.text
    behind = stored[match.end : min(match.end + 60, match.sentence[1])]
    return cues.denied_behind(stored[max(match.start, match.end - 40) : match.end], behind, match.part.language)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A quotation made ready for lookups: its normal form, and its segments around ellipses (one if there are none)."""

    text: str
    variants: tuple[str, ...]
    segments: tuple[str, ...]

    @property
    def words(self) -> int:
        return count_words(self.text)


def prepare(quotation: str) -> Wanted:
    """Normalise what stands between quotation marks; `text` is empty where it says nothing that could be looked up."""
    stripped = re.sub(r"\\(?=[\"'\u201c\u201d])|\\$", "", quotation) if "\\" in quotation else quotation
    edited = plain = normal_text(stripped)
    variants = [plain]
    if _EMPHATIC.search(stripped):
        variants.append(normal_text(_EMPHASIS.sub("", stripped)))
    if "[" in plain or "(" in plain:
        edited = _LETTER.sub(lambda match: match.group(1) or match.group(2), _SIC.sub("", plain))
        variants.append(edited)
    unique = tuple(dict.fromkeys(trimmed for variant in variants if (trimmed := _trim(variant))))
    best = _trim(edited)
    segments: tuple[str, ...] = (best,) if best else ()
    if "..." in edited or ". ." in edited:
        segments = tuple(segment for raw in _ELLIPSIS.split(_ELLIPSIS_EDGE.sub("", edited)) if (segment := _trim(raw)))
    return Wanted(best if any(is_wordlike(c) or ord(c) > 0x2190 for c in best) else "", unique, segments)


_ELLIPSIS_EDGE = re.compile(r"^(?: ?[\[(]?\.{3,}[\])]? ?)+|(?: ?[\[(]?\.{3,}[\])]? ?)+$")


def _trim(text: str) -> str:
    trimmed = text.rstrip(_EDGES).lstrip(" .,;:!?\u3002\uff0c\u3001\u060c\u061f\u0964\u2026")
    # A minus sign belongs to its number; a dash before a word is an edge.
    return trimmed if re.match(r"-[0-9]", trimmed) else trimmed.lstrip("- ")


def count_words(text: str) -> int:
    """Words of a normal form; two characters of a script without spaces count as one."""
    if text.isascii():
        return len(_WORDISH.findall(text))
    unspaced = sum(is_unspaced(character) for character in text)
    spaced = [word for word in text.split() if any(is_wordlike(c) and not is_unspaced(c) for c in word)]
    return len(spaced) + (unspaced + 1) // 2


# A stretch without blanks that holds a letter or digit.
_WORDISH = re.compile(r"[^\s\w]*\w\S*")


def find(wanted: Wanted, index: MessageIndex) -> Iterator[Match]:
    """All places of *wanted* in the message, whole quotations first, then those with words left out."""
    for match in _places(wanted, index):
        if not columns.crosses(match.part, match.piece, match.start, match.end):
            yield match


def _places(wanted: Wanted, index: MessageIndex) -> Iterator[Match]:
    for part in index.parts:
        for variant in wanted.variants:
            for start, end in _occurrences(variant, part):
                yield _match(index, part, start, end)
    if len(wanted.segments) > 1:
        for part in index.parts:
            yield from _elided(wanted.segments, index, part)


def _match(index: MessageIndex, part: PartIndex, start: int, end: int, elided: bool = False) -> Match:
    piece = part.piece_at(start)
    begin, stop = piece.normalised.span(start - piece.base, end - piece.base)
    return Match(index, part, piece, begin, stop, part.sentence_around(piece, begin, stop), elided)


def _occurrences(needle: str, part: PartIndex, low: int = 0, high: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of *needle* in the joined normal form of *part*, at whole words."""
    haystack = part.text
    stop = len(haystack) if high is None else high
    found = 0
    position = haystack.find(needle, low, stop)
    while position != -1 and found < MAX_OCCURRENCES:
        if is_whole(haystack, position, position + len(needle)):
            yield position, position + len(needle)
        found += 1
        position = haystack.find(needle, position + 1, stop)
    if not found and JOINT in haystack:
        yield from _joined(needle, haystack, low, stop)


def _joined(needle: str, haystack: str, low: int, stop: int) -> Iterator[tuple[int, int]]:
    """Occurrences over line-end hyphens, each of which may stand for a hyphen or for nothing."""
    variants = [needle.replace(JOINT, "-")] if JOINT in needle else [needle]
    pattern = "".join(
        re.escape(c) if c == " " else f"{JOINT}?{re.escape(c)}" if c != "-" else f"(?:-|{JOINT})" for c in variants[0]
    ).removeprefix(f"{JOINT}?")
    for match in re.compile(pattern).finditer(haystack, low, stop):
        if is_whole(haystack, *match.span()):
            yield match.span()


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` of a normal form begins and ends at edges of words and numbers."""
    return _whole_start(text, start, end) and _whole_end(text, start, end)


def _whole_start(text: str, start: int, end: int) -> bool:
    if start == 0 or text[start - 1] == "\n":
        return True
    first, before, beyond = text[start], text[start - 1], text[start - 2 : start - 1]
    if is_unspaced(first) or is_unspaced(before):
        return not (first.isdigit() and before.isdigit())
    if is_wordlike(first) and is_wordlike(before):
        return False
    if before == "'" and is_wordlike(beyond) and len(text[:start].rsplit(" ", 1)[-1]) > 3:
        return False
    if first.isdigit():
        return _whole_number_start(text, start, end)
    if before in "@/.-_:" and (is_wordlike(beyond) or before == "/") and _in_address_or_number(text, start):
        return False
    return not (before in "-" + JOINT and _NEGATING_PREFIX.search(text[max(0, start - 8) : start].replace(JOINT, "-")))


def _in_address_or_number(text: str, at: int) -> bool:
    """Whether *at* lies inside a link, an address or an identifier, which are quoted whole or not at all."""
    low, high = max(0, at - 200), at + 200
    left = re.split(r"[\s<>()\[\]{},;]", text[low:at])[-1]
    right = re.split(r"[\s<>()\[\]{},;]", text[at:high])[0]
    token = (left + right).rstrip(".:!?")
    if "://" in token or "@" in token or token.startswith("www."):
        return at < low + len(text[low:at]) + len(right.rstrip(".:!?"))
    # "AB-1234-X": the piece on either side of the joint has a digit.
    joint = re.search(r"([^\W_]+)[-_/]?$", left), re.match(r"[-_/]?([^\W_]+)", right)
    pieces = [found.group(1) for found in joint if found]
    return text[at - 1] in "-_/" or text[at : at + 1] in ("-", "_", "/") if _has_digit(pieces) else False


def _has_digit(pieces: list[str]) -> bool:
    return any(character in "0123456789" for piece in pieces for character in piece)


def _whole_number_start(text: str, start: int, end: int) -> bool:
    before, beyond = text[start - 1], text[start - 2 : start - 1]
    if (before in ".,:/-'" and beyond.isdigit()) or (before in "-/" and is_wordlike(beyond)):
        return False
    if before in "-+" and not is_wordlike(beyond) and beyond not in ")]":
        return before != "-"
    digits = re.match(r"[0-9]+", text[start:end])
    return not (before == " " and beyond.isdigit() and digits and len(digits.group()) == 3 and _is_group(text, start))


def _is_group(text: str, start: int) -> bool:
    """Whether the three digits at *start* go on a number grouped by spaces."""
    return re.search(r"(?<![0-9.,])[0-9]{1,3}(?: [0-9]{3})* $", text[max(0, start - 24) : start]) is not None


def _whole_end(text: str, start: int, end: int) -> bool:
    if end >= len(text) or text[end] == "\n":
        return True
    last, after, beyond = text[end - 1], text[end], text[end + 1 : end + 2]
    if is_unspaced(last) or is_unspaced(after):
        return not (last.isdigit() and after.isdigit())
    if is_wordlike(last) and is_wordlike(after):
        return False
    if after in "'@" and is_wordlike(beyond) and is_wordlike(last):
        return False
    if after in "/-.:?#=&" and (is_wordlike(beyond) or after == "/") and _in_address_or_number(text, end):
        return False
    if after == "/" and is_wordlike(beyond) and re.search(r"[0-9] ?[a-z]{1,8}$", text[max(0, end - 12) : end]):
        return False  # "30 km" of "30 km/h"
    if last.isdigit():
        return _whole_number_end(text, end)
    return not (after == JOINT and is_wordlike(beyond))


def _whole_number_end(text: str, end: int) -> bool:
    after, beyond = text[end], text[end + 1 : end + 2]
    if (after in ".,:/-'" and beyond.isdigit()) or after in "%\u2030":
        return False
    if re.match(r" [0-9]{3}(?![0-9])", text[end : end + 5]) and re.search(
        r"(?<![0-9.,])[0-9]{1,3}$", text[max(0, end - 4) : end]
    ):
        return False
    return _SCALE.match(text, end) is None


def _elided(segments: tuple[str, ...], index: MessageIndex, part: PartIndex) -> Iterator[Match]:
    """Segments in order within one stored sentence, each long enough, and no cue of negation or condition left out."""
    if any(count_words(segment) < 2 and len(segment) < 8 for segment in segments):
        return
    for start, end in _occurrences(segments[0], part):
        match = _match(index, part, start, end)
        limit = _sentence_limit(part, match)
        stop, gaps_clean = end, True
        for segment in segments[1:]:
            following = next(_occurrences(segment, part, stop, limit), None)
            if following is None:
                break
            gaps_clean = gaps_clean and not cues.turns(part.text[stop : following[0]], part.language)
            stop = following[1]
        else:
            if gaps_clean:
                yield _match(index, part, start, stop, elided=True)


def _sentence_limit(part: PartIndex, match: Match) -> int:
    """Where the sentence of *match* ends in the joined normal form."""
    piece, normalised = match.piece, match.piece.normalised
    low, high = 0, len(normalised.text)
    # The map rises, so the first position whose source lies at or behind the sentence's end can be bisected.
    while low < high:
        middle = (low + high) // 2
        if normalised.origin(middle) >= match.sentence[1]:
            high = middle
        else:
            low = middle + 1
    return piece.base + low
