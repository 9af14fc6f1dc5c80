"""What leaves of text that a model wrote and no rule has passed: without links, addresses and numbers to act on."""

import re
from collections.abc import Collection

MASK = "▒▒▒"
QUERY_CHARACTERS = 120

_LINK = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]{1,15}://|www\.)\S+|\b(?:data|javascript|mailto|tel|file):\S+", re.IGNORECASE
)
_DOMAIN_PATH = re.compile(r"\b(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}/\S*")
_ADDRESS = re.compile(r"[^\s@<>()\[\]]{1,64}@[^\s@<>()\[\]]{1,255}")
_MARKUP = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\n]{0,500}\)|</?[A-Za-z!][^<>\n]{0,500}>")
_IBAN = re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{2,4}){3,8}\b")
_NUMBER = re.compile(r"[+(]?[0-9](?:[ \u00a0().\-/]{0,3}[0-9]){6,30}")
# Long runs of digits that are no account and no phone.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}")
_WORD = re.compile(r"\w+")
# With the signs that stand at a word's edges, or join two.
_PLAIN_WORD = re.compile(r"[\"'(\u201c\u201e]?\w+(?:[-'.\u2019]\w+)*[\"').,;:!?\u201d]{0,2}")
_EDGES = "\"'(\u201c\u201e).,;:!?\u201d"
_GROUPED = re.compile(r"[0-9]{1,3}(?:[., \u00a0][0-9]{3})+(?:[.,][0-9]{1,2})?")


def mask(text: str) -> str:
    """*text* with links, markup, mail addresses, account numbers and phones each in place of themselves masked."""
    text = _MARKUP.sub(lambda match: match[1] or MASK if match[1] is not None else MASK, text)
    for pattern in (_LINK, _ADDRESS, _DOMAIN_PATH, _IBAN):
        text = pattern.sub(MASK, text)
    return _NUMBER.sub(_mask_number, text)


def guarded_query(query: str) -> str:
    """A model's query as a response may show it: one line, masked, at most 120 characters."""
    line = " ".join(mask(query).split())
    return line if len(line) <= QUERY_CHARACTERS else line[: QUERY_CHARACTERS - 1] + "…"


def asked_words(text: str, question: str) -> str:
    """The words of *question* that *text* of a model has, too, in the question's order; a mask for all others.

    So what is left is the asker's own, down to the order: a model could say something with the words, too.
    """
    said = set(_WORD.findall(text.casefold()))
    wanted = (_bare(word) for word in question.split())
    shown = {word: None for word in wanted if word and said.issuperset(_WORD.findall(word.casefold()))}
    asked = set(_WORD.findall(question.casefold()))
    others = not all(_is_made_of(word, asked) for word in text.split())
    return " ".join([*shown, MASK] if others else shown)


def _bare(word: str) -> str:
    """*word* without the signs at its edges; nothing of what is no plain word."""
    return word.strip(_EDGES) if _PLAIN_WORD.fullmatch(word) else ""


def _is_made_of(word: str, asked: Collection[str]) -> bool:
    return _PLAIN_WORD.fullmatch(word) is not None and all(one in asked for one in _WORD.findall(word.casefold()))


def _mask_number(match: re.Match[str]) -> str:
    found = match[0]
    bare = found.strip("()")
    return found if _DATE.fullmatch(bare) or _GROUPED.fullmatch(bare) else MASK
