"""Ways to say something else: what the verifier must never let stand. Each kind makes a trial of a ground, or none."""

import random
import re
from collections.abc import Callable, Sequence
from functools import partial

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from tests.core.verify_ground import FOREIGN, LABEL, Ground, Trial, prose, quoted, stated
from tests.core.verify_kinds import (
    ACTIVE,
    COUNTS,
    FALSE_BRACKETS,
    FALSE_LABELS,
    HOMOGLYPHS,
    UNITS,
    WEEKDAYS,
    Change,
    months,
)
from tests.core.verify_setup import messages
from tests.core.verify_spellings import Kind, said


def numbers_changed(quote: str) -> str:
    """Every number one higher."""
    return re.sub(r"[0-9]+", lambda match: str(int(match.group()) + 1), quote)


def _one_word_changed(quote: str) -> str:
    words = quote.split()
    longest = max(range(len(words)), key=lambda at: len(words[at]))
    words[longest] = "otherwise"
    return " ".join(words)


def _one_word_dropped(quote: str) -> str:
    words = quote.split()
    del words[len(words) // 2]
    return " ".join(words)


def _cut_into_a_word(quote: str) -> str:
    """From the third letter of the longest word on."""
    longest = max(re.findall(r"[^\W\d_]+", quote), key=len)
    return quote[quote.index(longest) + 2 :]


def _turned(quote: str) -> str:
    words = quote.split()
    half = len(words) // 2
    return " ".join([*words[half:], *words[:half]])


def _inserted(word: str, quote: str) -> str:
    return " ".join([*quote.split()[:2], word, *quote.split()[2:]])


FORGED_QUOTES: dict[str, Change] = {
    "a negation added": partial(_inserted, "not"),
    "a word changed": _one_word_changed,
    "a word dropped": _one_word_dropped,
    "a word added": lambda quote: quote + " gladly",
    "turned around": _turned,
    "a homoglyph": lambda quote: quote.replace("e", "\u0435", 1),
    "a letter dropped": lambda quote: re.sub(r"([^\W\d_]{4,})[^\W\d_]", r"\1", quote, count=1),
    "begun inside a word": _cut_into_a_word,
    "a word in brackets": partial(_inserted, "[not]"),
    "two fragments reversed": lambda quote: " \u2026 ".join(
        reversed([" ".join(quote.split()[:3]), " ".join(quote.split()[3:])])
    ),
    "spliced onto another message": lambda quote: quote + " nothing in here is about anything",
}
_AUXILIARY = re.compile(r"\b(is|are|was|were|will|would|can|could|has|have|had|should|do|does|did)\b(?!n't| not)")
_NEGATION = re.compile(r"(?:n't\b| (?:not|never|no|nicht|keine?[nmrs]?|pas|jamais|niemals|nie))(?= |$)")


def _forged(change: Change, ground: Ground) -> Trial | None:
    changed = change(ground.quote)
    return quoted(ground, changed) if ground.plain and changed != ground.quote else None


def _changed(change: Callable[[Ground, str], str | None], ground: Ground) -> Trial | None:
    """The sentence with a fact changed, given as verbatim."""
    changed = change(ground, ground.quote)
    return quoted(ground, changed) if changed else None


def _restated(change: Callable[[Ground, str], str | None], ground: Ground) -> Trial | None:
    """The sentence with a fact changed, given as a statement in own words."""
    changed = change(ground, ground.quote)
    return stated(ground, changed + ground.end) if changed else None


def _beside(change: Callable[[Ground, str], str | None], ground: Ground) -> Trial | None:
    """The same beside the true quotation."""
    changed = change(ground, ground.quote)
    if not changed:
        return None
    sentence = DraftSentence(changed + ground.end, (LABEL,), (DraftQuote(LABEL, ground.quote),))
    return Trial(Draft(sentences=(sentence,)), ground.sources)


def _negated(ground: Ground, text: str) -> str | None:
    found = list(_AUXILIARY.finditer(text)) if ground.language == "en" else []
    if not found:
        return None
    at = ground.draw("negation").choice(found)
    short = at[0] not in ("can", "will") and ground.draw("short").random() < 0.5
    return text[: at.end()] + ("n't" if short else " not") + text[at.end() :]


def _affirmed(ground: Ground, text: str) -> str | None:
    return _NEGATION.sub("", text, count=1) if _NEGATION.search(text) else None


def _affirmed_by_ellipsis(ground: Ground, text: str) -> str | None:
    found = _NEGATION.search(text)
    whole = found and found[0].startswith(" ") and text[: found.start()].count(" ") and text[found.end() :].count(" ")
    return f"{text[: found.start()]} \u2026 {text[found.end() :].strip()}" if found and whole else None


def _cut_behind_negation(ground: Ground, text: str) -> str | None:
    found = _NEGATION.search(text)
    rest = text[found.end() :].strip() if found else ""
    return rest if len(rest.split()) >= 4 and found and not found[0].endswith((" no", " pas")) else None


def _number(ground: Ground, text: str) -> str | None:
    """One run of digits exchanged for one that the message has nowhere, in no way of writing it."""
    runs = list(re.finditer(r"[0-9]+", text))
    if not runs or re.match(r"[0-9]", text):
        return None
    rng = ground.draw("number")
    run = rng.choice(runs)
    new = _fresh(ground, int(run[0]), rng)
    return text[: run.start()] + str(new).zfill(len(run[0])) + text[run.end() :] if new else None


def _fresh(ground: Ground, value: int, rng: random.Random) -> int | None:
    """A number about as large as *value*, so that a month or an hour may stay one, that nobody could mean."""
    low, high = (1, 12) if value <= 12 else (13, 28) if value <= 28 else (value // 2, value * 2)
    options = [one for one in range(low, min(high, low + 400) + 1) if one != value]
    free = [one for one in options if not {one, one + 12, one - 12, one + 2000, one - 2000} & ground.numbers]
    return rng.choice(free) if free else None


def _shifted(ground: Ground, text: str) -> str | None:
    """A number with its mark of decimals or groups moved, dropped or added: ten times as much, or a tenth."""
    found = re.search(r"(?<![\w.,:/-])[0-9]{2,}(?:[.,][0-9]+)*(?![\w.,:/-]|[.,][0-9])", text)
    if not found or re.search(r"20[0-9]{2}$", found[0]):
        return None
    digits = re.sub(r"[.,]", "", found[0])
    new = ground.draw("shift").choice([found[0] + "0", f"{digits[0]}.{digits[1:]}9", digits + "00"])
    return text[: found.start()] + new + text[found.end() :]


def _one_of(name: str, groups: Sequence[Sequence[str]], ground: Ground, text: str) -> str | None:
    """A word of one of *groups* exchanged for another of its group that the message has nowhere."""
    for group in groups:
        pattern = "|".join(re.escape(word) for word in group)
        found = re.search(rf"(?<![^\W\d_])(?:{pattern})(?![^\W\d_])", text)
        here = " ".join(part.text for part in ground.message.parts).casefold()
        others = [word for word in group if word.strip().casefold() not in here] if found else []
        if found and others:
            return text[: found.start()] + ground.draw(name).choice(others) + text[found.end() :]
    return None


def _month(ground: Ground, text: str) -> str | None:
    names = months(ground.language)
    found = re.search(rf"[0-9](?:\.|er|st|nd|rd|th)? ({'|'.join(names)})\b", text)
    others = [one for at, one in enumerate(names, 1) if one.casefold() not in ground.words and at not in ground.numbers]
    return text[: found.start(1)] + ground.draw("month").choice(others) + text[found.end(1) :] if found else None


def _unit(ground: Ground, text: str) -> str | None:
    return _one_of("unit", UNITS, ground, text) if re.search(r"[0-9] ?|EUR|\u20ac", text) else None


def _counted_unit(ground: Ground, text: str) -> str | None:
    """A unit directly behind or before its number, where it is a fact."""
    near = re.search(
        r"(?:EUR|\u20ac) ?[0-9][0-9.,]*[0-9]|[0-9]+ (?:minutes|hours|days|weeks|months|years|km|mm|cm|kg)\b", text
    )
    changed = _one_of("unit", UNITS, ground, near[0]) if near else None
    return text[: near.start()] + changed + text[near.end() :] if near and changed else None


def _weekday(ground: Ground, text: str) -> str | None:
    """Only where the message names no day of a month, which would name its weekday too."""
    if len(ground.numbers & set(range(1, 32))) > 8 or re.search(r"[0-9]", ground.quote):
        return None
    return _one_of("weekday", WEEKDAYS, ground, text)


def _count(ground: Ground, text: str) -> str | None:
    for words in COUNTS:
        found = re.search(rf"\b({'|'.join(words)})(?= [a-z]{{4,}})", text)
        others = [
            word for at, word in enumerate(words, 2) if at not in ground.numbers and at + 12 not in ground.numbers
        ]
        if found and others:
            return text[: found.start()] + ground.draw("count").choice(others) + text[found.end() :]
    return None


def _homoglyph(ground: Ground, text: str) -> str | None:
    rng = ground.draw("homoglyph")
    places = [at for at, character in enumerate(text) if character in HOMOGLYPHS]
    at = rng.choice(places)
    return text[:at] + rng.choice(HOMOGLYPHS[text[at]]) + text[at + 1 :]


def _words_swapped(ground: Ground, text: str) -> str | None:
    words = text.split()
    one, two = sorted(ground.draw("swap").sample(range(len(words)), 2))
    words[one], words[two] = words[two], words[one]
    changed = " ".join(words)
    return changed if changed.casefold() != text.casefold() and "-" not in words[one] + words[two] else None


def _word_of_the_mail(ground: Ground, text: str) -> str | None:
    """One word exchanged for another one of the same message."""
    rng, words = ground.draw("word"), text.split()
    at = rng.randrange(len(words))
    longer = sorted(
        word for word in re.findall(r"[^\W\d_]{4,}", ground.neighbour) if word.casefold() not in text.casefold()
    )
    if not longer:
        return None
    words[at] = rng.choice(longer)
    return " ".join(words)


def _halves(text: str) -> tuple[str, str]:
    words = text.split()
    half = len(words) // 2
    return " ".join(words[:half]), " ".join(words[half:])


def _over_sentences(ground: Ground) -> Trial | None:
    mark = ground.draw("ellipsis").choice([" \u2026 ", " ... ", " [...] ", " (\u2026) "])
    return quoted(ground, _halves(ground.quote)[0] + mark + _halves(ground.neighbour)[1])


def _reversed(ground: Ground) -> Trial | None:
    mark = ground.draw("ellipsis").choice([" \u2026 ", " ... ", " [...] "])
    return quoted(ground, mark.join(reversed(_halves(ground.quote))))


def _quilt(ground: Ground) -> Trial | None:
    mark = ground.draw("quilt").choice([" ", ", ", " \u2026 ", ". ", "; "])
    words = _halves(ground.quote)[0] + mark + _halves(ground.foreign_quote)[1]
    both = {**ground.sources, FOREIGN: ground.foreign}
    return Trial(Draft(text=f"It says \u201c{words}\u201d [{LABEL}, {FOREIGN}]."), both)


def _across(ground: Ground) -> Trial | None:
    """Two sentences side by side in columns, read over the gap, or down a column of a table."""
    rng = ground.draw("columns")
    left, right = ground.quote.split(), ground.neighbour.split()
    if min(len(left), len(right)) < 8:
        return None
    rows = [(" ".join(left[at : at + 4]), " ".join(right[at : at + 4])) for at in (0, 4)]
    gap = rng.choice(["\t", "     ", " | "])
    text = "\n".join(gap.join(row) for row in rows)
    read = rng.choice(
        [f"{rows[0][0]} {rows[0][1]}", f"{rows[1][0]} {rows[1][1]}", f"{rows[0][1]} {rows[1][0]}",
         f"{rows[0][0]} {rows[1][0]}" if gap == " | " else f"{rows[0][1]} {rows[1][0]}"]
    )  # fmt: skip
    return Trial(quoted(ground, read).draft, messages({LABEL: f"Hello,\n\n{text}\n\nBye"}))


def _foreign(ground: Ground) -> Trial | None:
    """The true words under the label of another message."""
    there = " ".join(" ".join(part.text for part in ground.foreign.parts).casefold().split())
    if ground.quote.casefold() in there:
        return None
    sources = {**ground.sources, FOREIGN: ground.foreign}
    return Trial(quoted(ground, ground.quote, FOREIGN).draft, sources)


def _foreign_fact(ground: Ground) -> Trial | None:
    """A statement whose number the other message has nowhere."""
    numbers = [int(run) for run in re.findall(r"[0-9]{3,}", ground.quote)]
    there = " ".join(part.text for part in ground.foreign.parts)
    moment = ground.foreign.head.received_at.year
    if not any(str(one) not in there and one != moment for one in numbers):
        return None
    draft = Draft(sentences=(DraftSentence(ground.quote + ground.end, (FOREIGN,)),))
    return Trial(draft, {**ground.sources, FOREIGN: ground.foreign})


def _look_alike(ground: Ground) -> Trial | None:
    rng = ground.draw("label")
    label = rng.choice(FALSE_LABELS)(LABEL)
    if rng.random() < 0.5:
        return prose(ground, f"It says \u201c{ground.quote}\u201d [{label}].")
    return quoted(ground, ground.quote, label)


def _false_brackets(ground: Ground) -> Trial | None:
    marker = ground.draw("brackets").choice(FALSE_BRACKETS)
    return prose(ground, f"It says \u201c{ground.quote}\u201d {marker.format(LABEL)}.")


def _active(ground: Ground) -> Trial | None:
    rng = ground.draw("active")
    load = rng.choice(ACTIVE)
    text = rng.choice([f"This is stated {load}", f"{load} is stated.", f"This {load} is stated."])
    sentence = DraftSentence(text, (LABEL,), (DraftQuote(LABEL, ground.quote),))
    return Trial(Draft(sentences=(sentence,)), ground.sources)


def _wrongly_said(ground: Ground) -> Trial | None:
    """The sentence as something that one of its readers has written."""
    head = ground.message.head
    writer = set(re.findall(r"\w+", f"{head.sender.name} {head.sender.address}".casefold()))
    names = [one.name for one in (*head.to, *head.cc) if re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", one.name)]
    others = [one for one in names if not set(one.casefold().split()) & writer]
    if not others or not head.sender.name:
        return None
    name = ground.draw("speaker").choice(others)
    return said(ground, ground.draw("part").choice([name, name.split()[0]]))


def _from_a_reply(ground: Ground) -> Trial | None:
    """The words stand only in what the message quotes."""
    text = "Thanks, I have read it.\n\nOn Monday Ann Berg wrote:\n> " + ground.quote + ground.end
    return Trial(quoted(ground, ground.quote).draft, messages({LABEL: text}))


FORGERIES: dict[str, Kind] = {
    **{f"quoted with {name}": partial(_forged, change) for name, change in FORGED_QUOTES.items()},
    **{
        f"quoted with {name}": partial(_changed, change)
        for name, change in (
            ("a negation put in", _negated),
            ("its negation dropped", _affirmed),
            ("its negation elided", _affirmed_by_ellipsis),
            ("its negation cut off", _cut_behind_negation),
            ("a number changed", _number),
            ("a number's size changed", _shifted),
            ("a unit changed", _unit),
            ("a month changed", _month),
            ("a weekday changed", _weekday),
            ("a count changed", _count),
            ("two words swapped", _words_swapped),
            ("a word of the mail put in", _word_of_the_mail),
            ("a homoglyph of any alphabet", _homoglyph),
        )
    },
    **{
        f"{way} with {name}": partial(make, change)
        for way, make in (("stated", _restated), ("stated beside its quotation", _beside))
        for name, change in (
            ("a number changed", _number),
            ("a number's size changed", _shifted),
            ("a unit changed", _counted_unit),
            ("a month changed", _month),
            ("a weekday changed", _weekday),
            ("a count changed", _count),
        )
    },
    "spliced over sentences": _over_sentences,
    "fragments reversed": _reversed,
    "quilt of two messages": _quilt,
    "columns read across": _across,
    "words of another message": _foreign,
    "facts of another message": _foreign_fact,
    "look-alike of a label": _look_alike,
    "look-alike of brackets": _false_brackets,
    "active content": _active,
    "said by a reader": _wrongly_said,
    "words of a quoted reply": _from_a_reply,
}
