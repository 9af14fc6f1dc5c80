"""Which line ends of a text its writer chose, and which only wrap a paragraph.

A line that was wrapped was full: the next word had no room. So a line end is chosen where the next line's first word
would have fitted, that line begins anew, and nothing says that the sentence goes on. Of text in proportional type (PDF)
only the number of characters is known, so what counts as room is judged with a margin; and a line end in the midst of
prose needs a second sign.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from mailsearch.hits import BlockKind

# What of the widest line's characters a full line has at least: in type of one width (programs that fill lines evenly
# leave some room), and in proportional type.
_FULL = 0.92
_FULL_IN_PRINT = 0.85
_SHORT = 0.6
# Nobody wraps prose narrower than this.
_NARROW = 40
_GOES_ON = re.compile(
    r"(?:[,\-–—&+/(=]|\b(?:and|or|of|the|a|an|to|for|with|in|on|at|by|from|und|oder|der|die|das|den|dem|des|ein|eine|mit"
    r"|von|vom|zu|zum|zur|für|im|am|et|ou|de|du|des|le|la|les|un|une|pour|avec|y|o|el|los|las|del|con|para|e|il|lo|gli"
    r"|di|da|per|en|van|het|een|og|och|i|w|z|и|в|на|с|для))$",
    re.IGNORECASE,
)
# Its longest word, and what stands before that.
_LONGEST_LINK = 6
_SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")
_SENTENCES = re.compile(r"[.!?…][\"'”’»)\]]*\s+[^\W\d_a-z]")
_LABEL = re.compile(r"[^\W\d_][^\n:.!?]{0,40}\s?[:：]\s?\S")
_COLUMNS = re.compile(r"\S\s*(?:\t|\|| {3,})\s*\S")


def chosen_ends(lines: Sequence[str], *, printed: bool = False) -> list[bool]:
    """For each of *lines* but the last whether the writer chose to end it there. *printed*: in proportional type."""
    lines = [line.strip() for line in lines]
    width = max(map(len, lines), default=0)
    full = width * (_FULL_IN_PRINT if printed else _FULL)
    pairs = list(pairwise(lines))
    free = [_begins_anew(after) and not _GOES_ON.search(line[-_LONGEST_LINK:]) for line, after in pairs]
    roomy = [one and _has_room(line, after, full) for one, (line, after) in zip(free, pairs, strict=True)]
    found: list[bool] = []
    for number, (line, after) in enumerate(pairs):
        among, is_field = number == 0 or found[-1], _LABEL.match(line) is not None
        if not free[number]:
            found.append(False)
        elif roomy[number]:
            beside = roomy[max(number - 1, 0) : number + 2].count(True) > 1
            short = len(line) <= _SHORT * width
            found.append(short or beside or _SENTENCE_END.search(line) is not None or (among and is_field))
        else:
            # The widest line of a list has no room, as a full line of prose has none. What it stands among tells.
            apart = _is_apart(line, after) or (is_field and _has_room(line, after, width))
            found.append((width <= _NARROW and not _runs_on(line, after, lines[-1])) or (among and apart))
    return found


def kind_of(line: str) -> BlockKind:
    """What a line is that stands by itself: a row of columns, prose, or one thing of a list.

    A line like "Delivery: EUR 48.00" is no row: the first row of a table speaks for the others.
    """
    line = line.strip()
    if _COLUMNS.search(line):
        return "row"
    is_prose = _SENTENCES.search(line) or (line.endswith((".", "!", "?", "。")) and len(line) > _NARROW)
    return "paragraph" if is_prose else "item"


def _begins_anew(line: str) -> bool:
    first = line.lstrip("\"'“„«»(‘¿¡")[:1]
    # Writing without capitals tells nothing here.
    return first != "" and not first.islower() and unicodedata.category(first)[0] in "LNSP" and first not in ")]},.;:!?"


def _has_room(line: str, after: str, full: float) -> bool:
    word = after.split(maxsplit=1)[0]
    needed = 1 if word[0] > "\u2e80" else len(word) + 1
    return len(line) + needed <= full


def _runs_on(line: str, after: str, last: str) -> bool:
    """Whether narrow lines may be one sentence: only the last of them ends one, or the script has no capitals."""
    unspaced = line[-1] > "\u2e80" and after[0] > "\u2e80"
    return unspaced or (_SENTENCE_END.search(last) is not None and _SENTENCE_END.search(line) is None)


def _is_apart(line: str, after: str) -> bool:
    """Whether two neighbours in a list are apart though the first one is as wide as the list."""
    if _LABEL.match(after) or _SENTENCE_END.search(line):
        return True
    return line[-1:].isdigit() or (_LABEL.match(line) is not None and after[0].isdigit())
