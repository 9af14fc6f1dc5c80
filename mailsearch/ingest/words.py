"""The words of a text, whatever its white space, quoting and case: what near-duplicates share."""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
# The same for ASCII, at a third of the cost.
_APART = str.maketrans(dict.fromkeys((chr(code) for code in range(128) if not re.match(r"\w", chr(code))), " "))
# Nobody sees them, and the same text has them in one form of it and not in another.
_UNSEEN = re.compile("[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_BAR = re.compile(r"(?m)^[ \t]*(?:[_=-]{20,}|--)[ \t]*$")
# How such a footer begins: the name of the list, or a standing sentence.
_OF_LIST = re.compile(
    r"(?i)(?:[\w.+ '-]{1,60}[ -](?:mailing ?-?liste?|mailinglijst)\b[ :]*\S*$|mailing ?-?liste?\b|(?:to )?unsubscri"
    r"|you (?:received|are receiving|get) this (?:message|e-?mail|mail)|you are (?:currently )?subscribed"
    r"|(?:zum |um .{0,40})(?:abmelden|abbestellen|abzumelden|abzubestellen)|sie erhalten diese"
    r"|pour (?:vous|se) d[ée]s|vous recevez ce|para (?:cancelar|darse de baja|desuscri)"
    r"|lista de (?:correo|distribu|discuss)|liste de diffusion|per (?:cancellarsi|annullare)"
    r"|рассылка|メーリングリスト|邮件列表|郵件列表)"
)
_LONGEST_FOOTER, _LONGEST_SAID = 1_200, 800
_QUOTE_PREFIX = re.compile(r"(?m)^[ \t]{0,3}(?:>[ \t]?)+")


def words(text: str) -> list[str]:
    """The words of *text* in order, folded for comparison."""
    if ">" in text:
        text = _QUOTE_PREFIX.sub("", text)
    if text.isascii():
        found = text.lower().translate(_APART).split()
    else:
        found = _WORD.findall(_UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold())
    # A line drawn of them is no word.
    return [word for word in found if word.strip("_")] if "__" in text else found


def without_list_footer(text: str) -> str:
    """*text* without what a mailing list adds below a line: where the list is, and how to unsubscribe."""
    end, first = len(text), max(len(text) - _LONGEST_FOOTER, 0)
    if text.find("--", first) < 0 and text.find("____", first) < 0 and text.find("====", first) < 0:
        return text
    for bar in reversed(list(_BAR.finditer(text, first))):
        said = text[bar.end() : end].strip()
        if said and (len(said) > _LONGEST_SAID or not _OF_LIST.match(said.partition("\n")[0])):
            break
        end = bar.start()
    kept = text[:end]
    return kept if kept.strip() else text


def words_hash(text: str) -> str:
    """A hash (64 hexadecimal digits) that texts with the same words in the same order share; "" for no words."""
    return hash_of(words(text))


def hash_of(found: Sequence[str]) -> str:
    """`words_hash` of a text whose words are *found*."""
    return hashlib.sha256(" ".join(found).encode("utf-8", "replace")).hexdigest() if found else ""


def differ(first: str, second: str) -> bool:
    """Whether much of what *first* or *second* says in words is missing in the other."""
    one, other = set(words(first)), set(words(second))
    smaller = min(len(one), len(other))
    shared = len(one & other)
    return shared < 0.7 * smaller or len(one | other) - shared > 10 + 0.6 * max(len(one), len(other))
