"""What every dictionary makes of the words of queries, once the server was asked: it never changes."""

from collections.abc import Iterable, Sequence

_WORDS_KEPT = 20_000
# Word → its lexemes by all dictionaries, itself among them, apart by spaces; and the dictionaries (one bit each, in the
# order of their names) in which it says nothing.
_known: dict[str, tuple[str, int]] = {}
_UNKNOWN = (None, 0)


def known(words: Iterable[str]) -> tuple[list[str | None], list[int]]:
    """The forms of *words*, None where they have to be found first, and what says nothing."""
    found = [_known.get(word, _UNKNOWN) for word in words]
    return [forms for forms, _ in found], [silent for _, silent in found]


def remember(words: Sequence[str], forms: Sequence[str], silent: Sequence[int]) -> None:
    """What the server told of *words*."""
    if len(_known) >= _WORDS_KEPT:
        _known.clear()
    _known.update(zip(words, zip(forms, silent, strict=True), strict=True))
