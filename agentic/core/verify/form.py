"""An answer is plain text: nothing in it that a client could load, run or follow."""

import re

from mailsearch.hits import Address

_ACTIVE = (
    re.compile(r"```|~~~"),
    re.compile(r"!?\[[^\]\n]{0,1000}\]\s{0,2}\("),
    re.compile(r"!\[[^\]\n]{0,1000}\]"),
    re.compile(r"\[[^\]\n]{1,1000}\]\[[^\]\n]{0,200}\](?=[^\[\]]{0,200}$)"),
    re.compile(r"^\s{0,3}\[[^\]\n]{1,200}\]:\s*\S", re.MULTILINE),
    re.compile(r"<[!/?]?[a-zA-Z][^<>\n]{0,2000}>|<!--|-->|<[!/?]?[a-zA-Z][\w-]{0,40}[\s/][^<]*$"),
    re.compile(
        r"(?<![a-z])(?:(?:data|mailto|file|blob|about|intent|tel|sms|cid)\s{0,3}:(?=[^\s,]{2})|"
        r"(?:javascript|vbscript)\s{0,3}:(?=\S))",
        re.IGNORECASE,
    ),
    re.compile(
        r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|quot|apos|lt|gt|amp|nbsp|ldquo|rdquo|lsquo|rsquo|laquo|raquo|bdquo|sbquo|colon|lpar|rpar);",
        re.IGNORECASE,
    ),
    re.compile(r"\[\[[^\]\n]{0,500}\]\]"),
    re.compile(r"<\|[^|\n]{1,60}\|>|\x1b"),
)
# What a client would load, run or make a link of, wherever it stands.
_LOADED = re.compile(
    r"!?\[[^\]\n]{0,1000}\]\(\s*[^\s)]|<[!/?]?[a-zA-Z][a-zA-Z0-9-]{0,40}(?:[\s/][^<>\n]{0,2000})?>|<!--"
    r"|(?<![a-z])(?:(?:javascript|vbscript)\s{0,3}:(?=\S)|data\s{0,3}:(?=[^\s,]{2}))",
    re.IGNORECASE,
)
_DEFANGED = re.compile(r"\w\[(?:\.|dot|at)\]\w", re.IGNORECASE)
_AUTOLINK = re.compile(r"<[a-z][a-z0-9+.-]{1,31}:[^<>\s]*>|<[^<>\s@]+@[^<>\s@]+>", re.IGNORECASE)
_SCHEMED = re.compile(
    r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}://[^\s<>\"\u201c\u201d\u00ab\u00bb]*|(?<![a-z0-9@])//[a-z0-9-]+\.[a-z][^\s]*",
    re.IGNORECASE,
)
_HIDDEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
# Control characters and those of private use mean nothing to a reader; the verifier marks places with some of them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufff9-\uffff]")


# Every mandatory line break of Unicode TR14 but the line feed itself and a carriage return before it.
_LINE_END = re.compile("\r(?!\n)|[\x0b\x0c\x85\u2028\u2029]")


def blanked(text: str) -> str:
    """*text* with line ends of all kinds made line feeds, and control and private characters made blanks, in place."""
    return text if _is_clean(text) else _CONTROL.sub(" ", _LINE_END.sub("\n", text))


def _is_clean(text: str) -> bool:
    """Whether *text* plainly holds none of the characters that are taken out, as most text does."""
    return text.isascii() and text.isprintable()


# Each active form has one of these.
_SIGNS = re.compile(r"[`~\[<>&:\x1b]")


def active(text: str) -> str:
    """What in *text* is a link, image, reference definition, HTML or another active form; empty if nothing is.

    *text* is the unit without its markers and without verified quotations, which are text whatever they hold.
    """
    folded = _HIDDEN.sub("", text)
    if not _SIGNS.search(folded):
        return ""
    for pattern in (*_ACTIVE, _AUTOLINK, _DEFANGED):
        match = pattern.search(folded)
        if match:
            return match.group().strip()[:200]
    return ""


def loaded(text: str) -> str:
    """What in a quotation a client could load, run or follow though the mail has it too; empty if nothing is."""
    folded = text if _is_clean(text) else _HIDDEN.sub("", text)
    if "](" not in folded and "<" not in folded and ":" not in folded:
        return ""
    match = _LOADED.search(folded)
    return match.group()[:200] if match else ""


def links(text: str) -> list[str]:
    """Addresses with a scheme in *text*, without the punctuation of the sentence after them."""
    if "//" not in text:
        return []
    return [match.group().rstrip(".,;:!?)'\"*_\u3002") for match in _SCHEMED.finditer(text)]


def visible(text: str) -> str:
    """*text* without the characters that no reader sees and that can make it read otherwise."""
    return text if _is_clean(text) else _HIDDEN.sub("", _CONTROL.sub(" ", text))


# Letters and digits of any script with the marks of addresses: nothing that ends a bracket or a line, or makes a link.
_LOCAL = re.compile(r"[\w.+'=&/%$^?~#*{}-]{1,64}")
_DOMAIN = re.compile(r"(?=.{1,255}\Z)\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*")
_NAME = re.compile(r"\w[\w .,'\u2019-]{0,60}")
_NOT_SHOWN = "\u2026"


def sender(person: Address) -> str:
    """Who sent a message, as an answer may name them: by address, or by name where there is none.

    Both are a stranger's words. What is no plain address or name is left out; of an address its domain stays, if plain.
    """
    local, at, domain = person.address.rpartition("@")
    if not at:
        return next((one for one in (person.address, person.name) if _NAME.fullmatch(one)), _NOT_SHOWN)
    if _DOMAIN.fullmatch(domain) is None:
        return _NOT_SHOWN
    return person.address if _LOCAL.fullmatch(local) else f"{_NOT_SHOWN}@{domain}"


def claimed(name: str) -> str:
    """A name that a mail claims for somebody, on one line and without what nobody sees; empty where it is active."""
    line = " ".join(visible(name).split())
    return "" if loaded(line) or links(line) or active(line.replace("<", "").replace(">", "")) else line
