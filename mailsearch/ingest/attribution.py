"""The lines by which mail programs say "what follows was written by somebody else", in the languages they speak."""

import re
import tomllib
from functools import lru_cache
from importlib import resources

from mailsearch.ingest import naming

_PHRASES = tomllib.loads(resources.files(__package__).joinpath("phrases.toml").read_text("utf-8"))


def _folded(kind: str) -> frozenset[str]:
    # Folding knows that a sigma at the end of a word is one; small letters in the file do not.
    return frozenset(phrase.casefold() for phrase in _PHRASES[kind])


# "On … Ann wrote:" in many languages: the verb, and the colon that ends the line.
_VERBS = (
    # English, German, French, Spanish, Italian, Portuguese, Dutch, Romanian, Catalan
    r"wrote|writes|said|schrieb(?: am| an)?|schreibt|geschrieben|a écrit|écrit|escribió|escribio|escribe|ha scritto"
    r"|scrive|escreveu|escreve|schreef|(?:heeft (?:het volgende )?)?geschreven|a scris|va escriure|ha escrit"
    # Polish, Czech, Slovak, Croatian, Slovene, Hungarian
    r"|napisał(?:\(a\)|a)?|napisal(?:\(a\)|a)?|pisze|napsal(?:\(a\)|a)?|píše|napísal(?:\(a\)|a)?"
    r"|je napisa(?:o/la|o\(la\)|la|o|l)|napisa(?:o|la|o/la) je|piše|ezt írta|írta"
    # Danish, Norwegian, Swedish, Finnish, Estonian, Latvian, Lithuanian, Turkish
    r"|skrev(?: følgende)?|skriver|kirjoitti|kirjutas|rakstīja|rašė|şunları yazdı|yazdı|şöyle yazdı"
    # Russian, Ukrainian, Bulgarian, Greek
    r"|написа[лв](?:\(а\)|а)?|пишет|пише|написа|писа[лв](?:\(а\)|а)?|έγραψε(?: τα εξής)?"
    # Vietnamese, Indonesian, Chinese, Japanese, Korean, Hebrew, Arabic
    r"|đã viết|menulis|เขียนว่า|כתב(?:/ה|ה|\(ה\))?|كتب(?:ت)?"
)
# Chinese, Japanese, Korean: written without blanks around
_UNSPACED_VERBS = r"写道|寫道|のメール|が書きました|さんは書きました|は書きました|님이 작성|작성"
_VERB = re.compile(rf"(?:(?<=\W)|^)(?:{_VERBS})(?=\W|$)|{_UNSPACED_VERBS}", re.IGNORECASE)
_BEGINNINGS = re.compile(
    r"^(?:on|am|le|el|il|em|op|den|på|w dniu|dnia|dne|dňa|dana|în data de|în|στις|в|у|на|pada|vào|kl\.|ti"
    r"|2\d{3}|\d{1,2}[./ ])\b",
    re.IGNORECASE,
)
_COLON_AT_END = re.compile(r"[:：]\s*$")
_MOMENT = re.compile(r"\b[12][0-9]{3}\b.*\b[0-9]{1,2}[:.][0-9]{2}\b|\b[0-9]{1,2}[:.][0-9]{2}\b.*\b[12][0-9]{3}\b")
_JAPANESE = re.compile(r"^[12][0-9]{3}年.{3,80}[:：]\s*$")
_ADDRESS = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
_IN_BRACKETS = re.compile(r"[<\[(](?:mailto:)?\s*[^<>\[\]()\s]*@[^<>\[\]()\s]*\s*[>\])]")
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RULES = "-_=*~—–"
_FORWARDED_BY = ("forwarded by ", "weitergeleitet von ")
_FORWARD = _folded("forward")
_ORIGINAL = _folded("original")
_FROM = _folded("from")
_OTHER = _folded("headers")
_CLOSINGS = _folded("closings")
_LABEL = re.compile(r"[:：]")
_LETTER = re.compile(r"[^\W\d_]")
_FIGURE = re.compile("[0-9]")
_FIGURES = re.compile("[0-9]{2}")


# Each answer carries the attributions of those before it along.
@lru_cache(1_000)
def speaker(line: str) -> str | None:
    """Who an attribution line names ("" if nobody), or None where *line* is none."""
    if len(line) > 400 or not _COLON_AT_END.search(line):
        return None
    verbs = list(_VERB.finditer(line))
    if not verbs:
        return _named(line, "") if _JAPANESE.match(line) else None
    verb = verbs[-1]
    before, after = line[: verb.start()].strip(" \t*_"), line[verb.end() :].strip(" \t*_:：")
    if line[verb.end() :].lstrip().startswith((":", "：")):
        # What follows is said already, and no name.
        after = ""
    if not before and not after:
        return None
    if not (_BEGINNINGS.match(before) or _IN_BRACKETS.search(line) or _is_name_or_date(before)):
        return None
    return _named(before, after)


def named_and_dated(line: str) -> str | None:
    """Who a line names that ends in a colon, with an address in brackets and the time of a day; None for any other.

    In some languages programs announce a quote without a verb, and in others with one that is not known here. So what
    stands below must be marked as quoted too.
    """
    address = _IN_BRACKETS.search(line)
    if address is None or len(line) > 400 or not _MOMENT.search(line):
        return None
    before = line[: address.end()]
    return _named(before, "") if _LETTER.search(before) else address[0].strip("<>()[] ")


def _is_name_or_date(before: str) -> bool:
    return naming.looks_like_name(before) or naming.begins_with_date(before) or naming.ends_with_date(before)


def is_certain(line: str) -> bool:
    """Whether an attribution line also names a date or an address, so that no prose looks like it."""
    return _FIGURE.search(line) is not None or _ADDRESS.search(line) is not None


def is_forward(line: str) -> bool:
    """Whether *line* announces a forwarded message."""
    core = _core(line)
    return core in _FORWARD or (line.startswith("--") and core.startswith(_FORWARDED_BY))


def is_original(line: str) -> bool:
    """Whether *line* announces the message that is being answered."""
    return line[:1] in _RULES and line[1:2] in _RULES and _core(line) in _ORIGINAL


def _core(line: str) -> str:
    """The words of a line of rules, or "" where it has too many or neither rules nor a colon around them."""
    if len(line) > 200 or (line[:1] not in _RULES and line[-1:] not in ":：*"):
        return ""
    return line.strip(" \t>|:：" + _RULES).casefold()


def from_line(line: str) -> str | None:
    """Whom the first line of a block of headers names as sender, or None where *line* is none."""
    label, value = _labelled(line)
    return person(value) if label in _FROM else None


def is_header_line(line: str) -> bool:
    """Whether *line* is another line of a block of headers."""
    return _labelled(line)[0] in _OTHER


def _labelled(line: str) -> tuple[str, str]:
    """A line "Label: value" as its folded label and its value; bold type in text is written with asterisks."""
    match = _LABEL.search(line, 0, 40)
    if match is None or len(line) > 5_000:
        return "", ""
    return line[: match.start()].strip(" \t*>|").casefold(), line[match.end() :].strip(" \t*")


def person(value: str) -> str:
    """A person as "Name <address>", or what there is of that."""
    address = _ADDRESS.search(value)
    name = _IN_BRACKETS.sub(" ", value if value.isascii() else _DIRECTIONS.sub("", value))
    if address and address[0] in name:
        name = name.replace(address[0], " ")
    name = " ".join(name.strip(" \t*_").split()).strip("\"'<>[]();,:：„“”‚‘’ ")
    if address is None:
        # Archives write addresses as "<ada at lind.example>".
        return (name.partition("<")[0].strip() or name)[:200]
    return f"{name[:200]} <{address[0]}>" if name else address[0]


def _named(before: str, after: str) -> str:
    """The person in an attribution: behind the verb, unless a date stands there and a name before it."""
    address = _IN_BRACKETS.search(before)
    name = naming.name_before(before[: address.start()] if address else before)
    bare = _IN_BRACKETS.sub(" ", after)
    behind = naming.name_after(bare)
    address_behind = _IN_BRACKETS.search(after) or _ADDRESS.search(after)
    is_dated = _FIGURES.search(bare) is not None
    if (_LETTER.search(behind) or address_behind) and not (is_dated and (name or address)):
        return person(behind + (f" {address_behind[0]}" if address_behind else ""))
    return person(name + (f" {address[0]}" if address else ""))


def is_closing(line: str) -> bool:
    """Whether *line* only takes leave ("Best regards,")."""
    return line.strip(" ,.!*_-:：，。、").casefold() in _CLOSINGS
