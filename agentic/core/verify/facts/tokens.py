"""Addresses, links, phone numbers and identifiers: compared as wholes, never in parts.

Sources: RFC 5322 for addresses, RFC 3986 for URLs, ISO 13616 for IBAN, ITU-T E.164 for phone numbers.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from agentic.core.verify.facts.values import Fact
from agentic.core.verify.words import lexicons

LETTER = "a-z\u00df-\u024f\u0370-\u04ff"
_URL = re.compile(r"(?:https?://|ftp://|www\.)[^\s<>()\[\]{}|]+(?:\([^\s()<>]*\)[^\s<>()\[\]]*)*")
_EMAIL = re.compile(
    rf"(?<![{LETTER}0-9._%+\-])[{LETTER}0-9._%+=#$&!/\-]{{1,64}}@[{LETTER}0-9\-]+(?:\.[{LETTER}0-9\-]+)+"
)
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?(?![a-z0-9])")
_PHONE = re.compile(
    r"(?<![\w.,/-])(?:\+ ?[0-9]{1,3}[ ./\-]?(?:\(0?[0-9]{1,5}\)[ ./\-]?)?[0-9](?:[ ./\-]{0,3}[0-9]){4,13}"
    r"|\(0[0-9]{1,5}\) ?[0-9](?:[ /\-]{0,3}[0-9]){3,10}"
    r"|0[0-9](?:\.[0-9]{2}){4}|1[-. ]\(?[0-9]{3}\)?[-. ][0-9]{3}[-. ][0-9]{4}"
    r"|0[0-9]{1,5}(?: ?/ ?| |-)[0-9](?:[ /\-]{0,3}[0-9]){3,10}"
    r"|\([0-9]{3}\) ?[0-9]{3}[-. ][0-9]{4}|[0-9]{3}[-.][0-9]{3}[-.][0-9]{4})(?![\w-]|[.,:/][0-9])"
)
_DOMAIN = re.compile(rf"(?<![\w@.-])[{LETTER}0-9_-]+(?:\.[{LETTER}0-9_-]+)*\.[a-z][a-z0-9]{{1,12}}(?![\w-])")
_IDENTIFIER = re.compile(rf"(?<![\w-])(?:#|n\u00b0 ?)?[{LETTER}0-9]+(?:[-_/:.][{LETTER}0-9]+)*(?![\w])")
_TRAIL = ".,;:!?'\"*_"


def urls(text: str) -> Iterator[Fact]:
    """Links with a scheme or `www.`; a trailing stop belongs to the sentence."""
    for match in _URL.finditer(text):
        found = match.group().rstrip(_TRAIL)
        yield Fact("url", _plain_url(found), found, match.start(), match.start() + len(found))


def _plain_url(url: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", url).rstrip("/")


def emails(text: str) -> Iterator[Fact]:
    """Addresses of mail."""
    for match in _EMAIL.finditer(text):
        start = match.start() + len(match.group()) - len(match.group().lstrip("._/-"))
        found = text[start : match.end()].rstrip("-")
        yield Fact("email", found.removeprefix("mailto"), found, start, start + len(found))


def ibans(text: str) -> Iterator[Fact]:
    """International bank account numbers, with or without their spaces, if the check digits hold."""
    for match in _IBAN.finditer(text):
        value = match.group().replace(" ", "")
        if 15 <= len(value) <= 34 and _iban_holds(value):
            yield Fact("identifier", value, match.group(), *match.span())


def _iban_holds(value: str) -> bool:
    digits = "".join(str(int(character, 36)) for character in value[4:] + value[:4])
    return int(digits) % 97 == 1


def phones(text: str) -> Iterator[Fact]:
    """Telephone numbers: by their digits, `00` read as `+`."""
    for match in _PHONE.finditer(text):
        found = match.group()
        digits = re.sub(r"[^0-9]", "", found.replace("(0)", ""))
        if len(digits) < 7 or (
            not found.startswith(("+", "(")) and re.fullmatch(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}", found)
        ):
            continue
        if found.startswith("+") or (len(digits) == 11 and digits.startswith("1")):
            digits = "00" + digits
        yield Fact("phone", digits, found, *match.span())


@lru_cache(maxsize=1)
def _abbreviations() -> frozenset[str]:
    return frozenset(name for lexicon in lexicons().values() for name in lexicon.abbreviations if "." in name)


def domains(text: str) -> Iterator[Fact]:
    """Dotted names: hosts, file names, packages."""
    for match in _DOMAIN.finditer(text):
        labels = match.group().split(".")
        # "e.g", "u.a", "dott.ssa" and the like are abbreviations.
        if max(map(len, labels)) >= 3 and match.group() not in _abbreviations():
            yield Fact("domain", match.group().removeprefix("www."), match.group(), *match.span())


def identifiers(text: str) -> Iterator[Fact]:
    """Tokens of letters with digits, five digits and more, or digits joined by hyphens, slashes or dots."""
    for match in _IDENTIFIER.finditer(text):
        raw = match.group()
        value = raw.lstrip("#").removeprefix("n\u00b0").strip()
        digits = sum(character in "0123456789" for character in value)
        if not digits:
            continue
        lettered = any(character.isalpha() for character in value)
        joined = re.search(r"[0-9][-_/:][0-9]", value) is not None or value.count(".") >= 2
        if lettered or (digits >= 5 and value.isdigit()) or joined:
            yield Fact("identifier", value, raw, *match.span())


# A word first and then its digits: looking for both at once takes quadratic time where a long word has none.
_REST = re.compile(r"[^\s\ue001]+")
_DIGIT = re.compile(r"[0-9]")


def leftovers(text: str) -> Iterator[Fact]:
    """Whatever still holds a digit and fits no style: compared letter by letter, so that no number goes unchecked."""
    for match in _REST.finditer(text):
        if not _DIGIT.search(match.group()):
            continue
        found = match.group().rstrip(".,;:!?()[]{}*|\u3002\uff0c").lstrip(",;:!?()[]{}*|\u3002\uff0c")
        start = match.start() + match.group().index(found)
        if found:
            yield Fact("identifier", found, found, start, start + len(found))
