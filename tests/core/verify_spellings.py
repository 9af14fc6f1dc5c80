"""Ways to say the same: what the verifier must let stand. Each kind makes a trial of a ground, or none."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial

from tests.core.verify_ground import LABEL, Ground, Trial, prose, quoted, stated
from tests.core.verify_kinds import COUNTS, months
from tests.core.verify_setup import messages

Kind = Callable[[Ground], Trial | None]


def wrapped(text: str, prefix: str = "", width: int = 64) -> str:
    """*text* in lines of about *width* characters, each with *prefix* before it."""
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) > width - 6:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(prefix + line for line in lines)


def _hyphenated(text: str) -> str:
    """The longest word broken at the end of a line."""
    word = max(re.findall(r"[a-z]{8,}", text) or ["xx"], key=len)
    return text.replace(word, f"{word[:4]}-\n{word[4:]}", 1) if len(word) >= 8 else text


def _full_width(quote: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in quote)


HARMLESS_QUOTES: dict[str, Callable[[str], str]] = {
    "as it stands": lambda quote: quote,
    "in capitals": str.upper,
    "in small letters": str.lower,
    "with curly apostrophes": lambda quote: quote.replace("'", "\u2019"),
    "with a full stop": lambda quote: quote + ".",
    "with soft hyphens": lambda quote: re.sub(r"([a-z]{4})([a-z])", "\\1\u00ad\\2", quote),
    "with ligatures": lambda quote: quote.replace("ffi", "\ufb03").replace("fl", "\ufb02").replace("fi", "\ufb01"),
    "with no-break spaces": lambda quote: quote.replace(" ", "\u00a0"),
    "with double spaces and wraps": lambda quote: quote.replace(" ", "  \n", 2),
    "wrapped behind >": lambda quote: wrapped(quote, "> "),
    "with other dashes": lambda quote: re.sub(r"[-\u2013\u2014]", "\u2010", quote),
    "decomposed": lambda quote: unicodedata.normalize("NFD", quote),
    "with marks around": lambda quote: f"\u201c{quote}\u201d",
    "with emphasis": lambda quote: re.sub(r"([^\W\d_]{4,})", r"**\1**", quote, count=1),
    "between ellipses": lambda quote: f"\u2026 {quote} \u2026",
    "full width": _full_width,
}
HARMLESS_SOURCES: dict[str, Callable[[str], str]] = {
    "wrapped": partial(wrapped, width=36),
    "hyphenated at a line end": _hyphenated,
    "with ligatures": lambda text: text.replace("fl", "\ufb02").replace("fi", "\ufb01"),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "with zero-width spaces": lambda text: re.sub(r"([a-z]{3})([a-z])", "\\1\u200b\\2", text),
    "with soft hyphens": lambda text: re.sub(r"([a-z]{3})([a-z])", "\\1\u00ad\\2", text),
    "with curly apostrophes": lambda text: text.replace("'", "\u2019"),
    "with no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "with other dashes": lambda text: text.replace("-", "\u2011"),
    "beside other paragraphs": lambda text: f"Hello,\n\n{text}\n\nBye",
}
_MARKS = (
    '"{}"', "\u201c{}\u201d", "\u201e{}\u201c", "\u00ab{}\u00bb", "\u00ab\u00a0{}\u00a0\u00bb", "\u2039{}\u203a",
    "\u300c{}\u300d",
)  # fmt: skip


def _spelled(change: Callable[[str], str], ground: Ground) -> Trial:
    return quoted(ground, change(ground.quote))


def _laid_out(change: Callable[[str], str], ground: Ground) -> Trial:
    text = change(f"We write to you today. {ground.quote}. That is all for now.")
    return Trial(quoted(ground, ground.quote).draft, messages({LABEL: text}))


def _marked(ground: Ground) -> Trial | None:
    marks = ground.draw("marks").choice(_MARKS)
    return prose(ground, f"It says {marks.format(ground.quote)} [{LABEL}].")


def _block_quoted(ground: Ground) -> Trial:
    return prose(ground, f"{wrapped(ground.quote, '> ')} [{LABEL}]")


def _repeated(ground: Ground) -> Trial:
    return stated(ground, ground.quote + ground.end)


# From here on: the same fact in another style.
# An end of a range is no date that could be said alone.
_ALONE = r"(?<!to )(?<!and )(?<!au )(?<!bis )(?<![-\u2013])"
_NO_RANGE = r"(?! ?(?:to|and|au|bis|[-\u2013])\b)"


def _dates(ground: Ground) -> Iterator[tuple[str, str]]:
    """Dates of the sentence with a year, and other ways to write each."""
    names = months(ground.language)
    pattern = rf"\b{_ALONE}([0-9]{{1,2}})(?:\.|er)? ({'|'.join(names)}) (20[0-9]{{2}})\b{_NO_RANGE}"
    for found in re.finditer(pattern, ground.quote):
        day, month, year = int(found[1]), names.index(found[2]) + 1, found[3]
        yield found[0], f"{year}-{month:02}-{day:02}"
        yield found[0], f"{day:02}.{month:02}.{year}"
        yield found[0], f"{day} {months('en')[month - 1][:3]} {year}"
        if ground.language == "en":
            yield found[0], f"{found[2]} {day}, {year}"
            yield found[0], f"{day}{_ordinal(day)} of {found[2]} {year}"


def _days(ground: Ground) -> Iterator[tuple[str, str]]:
    """The same for days of months without a year."""
    if ground.language != "en":
        return
    for found in re.finditer(
        rf"\b{_ALONE}([0-9]{{1,2}}) ({'|'.join(months('en'))})\b(?! [0-9]){_NO_RANGE}", ground.quote
    ):
        yield found[0], f"{found[2]} {found[1]}"
        yield found[0], f"{found[2]} {found[1]}{_ordinal(int(found[1]))}"
        yield found[0], f"{found[1]} {found[2][:3]}"


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _amounts(ground: Ground) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"\bEUR ([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]{2})?)(?![\w,]|\.[0-9])", ground.quote):
        bare = found[1].replace(",", "")
        yield found[0], f"{found[1]} EUR"
        yield found[0], f"\u20ac{found[1]}"
        yield found[0], f"{bare} euros"
        yield found[0], f"{found[1].translate(str.maketrans(',.', '.,'))} \u20ac"


def _percentages(ground: Ground) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"\b([0-9]+(?:[.,][0-9]+)?) ?(?:%|per ?cent\b)", ground.quote):
        yield from ((found[0], f"{found[1]}{sign}") for sign in ("%", " %", "\u00a0%", " percent", " per cent"))


def _times(ground: Ground) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"(?<![0-9:.])([0-9]{1,2}):([0-9]{2})(?![0-9:]| ?[aApP]\.?[mM])", ground.quote):
        hour = int(found[1])
        yield found[0], f"{hour:02}:{found[2]}"
        yield found[0], f"{hour:02}:{found[2]}:00"
        if ground.language == "en" and 0 < hour < 24:
            yield found[0], f"{(hour - 1) % 12 + 1}:{found[2]} {'pm' if hour >= 12 else 'am'}"


def _counts(ground: Ground) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"(?<![\w.,:/-])([0-9]{1,2}) (?=[a-z]{4,})", ground.quote):
        if ground.language == "en" and 2 <= int(found[1]) <= 12:
            yield found[0], f"{COUNTS[0][int(found[1]) - 2]} "
    for found in re.finditer(rf"\b({'|'.join(COUNTS[0])}) (?=[a-z]{{4,}})", ground.quote):
        if ground.language == "en":
            yield found[0], f"{COUNTS[0].index(found[1]) + 2} "


def _groups(ground: Ground) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"(?<![\w.,])([0-9]{1,3}),([0-9]{3})(?![\w,]|\.[0-9])", ground.quote):
        yield from ((found[0], f"{found[1]}{mark}{found[2]}") for mark in ("", "\u202f", "'", " "))


def _restyled(styles: Callable[[Ground], Iterator[tuple[str, str]]], ground: Ground) -> Trial | None:
    ways = list(styles(ground))
    if not ways:
        return None
    was, now = ground.draw(styles.__name__).choice(ways)
    return stated(ground, ground.quote.replace(was, now, 1) + ground.end)


_NAMED = ('{} wrote: "{}"', '{} says that "{}"', 'According to {}, "{}"', "\u201e{1}\u201c, schrieb {0}")


def said(ground: Ground, name: str) -> Trial:
    """The ground's sentence as something that *name* has written."""
    way = ground.draw("saying").choice(_NAMED)
    return prose(ground, f"{way.format(name, ground.quote)} [{LABEL}].")


def _rightly_said(ground: Ground) -> Trial | None:
    name = ground.message.head.sender.name
    return said(ground, name) if re.fullmatch(r"[A-Z][\w-]+(?: [A-Z][\w-]+)+", name) else None


SPELLINGS: dict[str, Kind] = {
    **{f"quoted {name}": partial(_spelled, change) for name, change in HARMLESS_QUOTES.items()},
    **{f"stored {name}": partial(_laid_out, change) for name, change in HARMLESS_SOURCES.items()},
    "stored wrapped": partial(_laid_out, wrapped),
    "in quotation marks of any kind": _marked,
    "as a block quotation": _block_quoted,
    "in the mail's words without marks": _repeated,
    "said by its writer": _rightly_said,
    **{
        f"{name} in another style": partial(_restyled, styles)
        for name, styles in (
            ("date", _dates),
            ("day", _days),
            ("amount", _amounts),
            ("percentage", _percentages),
            ("time", _times),
            ("count", _counts),
            ("number", _groups),
        )
    },
}
