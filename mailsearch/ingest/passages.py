"""Cutting a part's text into the pieces that are indexed and ranked."""

import re
from bisect import bisect_right

from mailsearch.hits import PartText

LENGTH = 900
OVERLAP = 100
_SHORTEST = 300
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s|[。！？]|\n")
_BLANK = re.compile(r"\s+")


def split(part: PartText) -> tuple[tuple[int, int], ...]:
    """Spans of about LENGTH characters that cover *part*'s text, each OVERLAP characters into the one before.

    A span ends where a block ends if one does in its last two thirds, else after a sentence, else at a blank, else
    hard. Time is linear in the text.
    """
    text = part.text
    stop = len(text.rstrip())
    ends = sorted({block.end for block in part.blocks})
    spans: list[tuple[int, int]] = []
    start = _skip_blank(text, 0)
    while start < stop:
        limit = start + LENGTH
        if limit >= stop:
            spans.append((start, stop))
            break
        last = bisect_right(ends, limit) - 1
        end = ends[last] if last >= 0 and ends[last] > start + _SHORTEST else 0
        end = end or _sentence_end(text, start + _SHORTEST, limit)
        spans.append((start, end))
        start = _next_start(text, start, end) if end < stop else stop
    return tuple(spans)


def _sentence_end(text: str, earliest: int, limit: int) -> int:
    end = 0
    for match in _SENTENCE_END.finditer(text, earliest, limit):
        end = match.end()
    if end:
        return end
    blank = max(text.rfind(" ", earliest, limit), text.rfind("\n", earliest, limit))
    return blank + 1 if blank > 0 else limit


def _next_start(text: str, start: int, end: int) -> int:
    """OVERLAP before *end*, moved on to the start of a word, never back to *start*."""
    match = _BLANK.search(text, max(end - OVERLAP, start + 1), end)
    return _skip_blank(text, match.end() if match else max(end - OVERLAP, start + 1))


def _skip_blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
