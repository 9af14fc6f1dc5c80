"""The answer as it leaves: every kept unit, the verified quotation behind it, and who wrote that when."""

import re
from collections.abc import Mapping
from typing import Literal

from agentic.core.answer import Citation, Draft, Sentence, Verification
from agentic.core.verify import form
from agentic.core.verify.quotes import scan
from agentic.core.verify.sources import normal_text
from mailsearch.hits import MessageText

_MARKS = (('"', '"'), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"), ("\u300c", "\u300d"))
_STOP = re.compile(r"(?:\s*[.!?\u2026\u3002\uff01\uff1f\u0964])+$")


def rebuild(
    verification: Verification, sources: Mapping[str, MessageText], *, cite: Literal["sender", "label"] = "sender"
) -> str:
    """The answer text from the kept units.

    Each is followed by its verified quotation where it does not hold that already, and by `[sender address, date]` (or,
    with *cite* "label", by `[label]`, a form that can be verified again and then loses nothing).
    """
    lines: list[str] = []
    for sentence in verification.sentences:
        if not sentence.kept:
            continue
        text = sentence.text if sentence.structural else line(sentence, sources, cite=cite)
        separator = " " if lines and _flows(lines[-1], text) else "\n"
        lines.append((separator if lines else "") + text)
    return "".join(lines)


def _flows(before: str, text: str) -> bool:
    """Whether two lines can stand in one paragraph and still be told apart as sentences."""
    return not _is_block(before) and not _is_block(text) and before.endswith("].") and text[:1].isupper()


def redraft(verification: Verification, sources: Mapping[str, MessageText]) -> Draft:
    """The kept units as a draft; verifying it removes nothing."""
    return Draft(text=rebuild(verification, sources, cite="label"))


def _is_block(text: str) -> bool:
    return re.match(r"\s*(?:[-*+\u2022#>|]|[0-9]{1,3}[.)]\s|```|~~~)", text) is not None or "\n" in text.strip()


def line(sentence: Sentence, sources: Mapping[str, MessageText], *, cite: Literal["sender", "label"]) -> str:
    """One kept unit as the answer shows it."""
    text = sentence.text.rstrip()
    added = [quoted(citation.quote) for citation in sentence.citations if citation.quote and not _holds(text, citation)]
    sources_named = "".join(
        f" [{name}]" for name in dict.fromkeys(_name(citation, sources, cite) for citation in sentence.citations)
    )
    if text.endswith(("```", "~~~")):
        return text + sources_named
    if text.endswith("|"):
        # A bar in a quotation would begin another cell: then the row is left as it is.
        cell = "".join(f" {quote}" for quote in added if "|" not in quote) + sources_named
        return f"{text[:-1].rstrip()}{cell} |"
    # The stop of "8 p.m." is the abbreviation's.
    stop = None if re.search(r"\.\w{1,3}\.$", text) else _STOP.search(text)
    body, end = (text[: stop.start()], stop.group()) if stop and not text.startswith(">") else (text, "")
    if not added:
        return body + sources_named + end
    joined = " \u2014 ".join(added)
    lead = body.rstrip(" :,;")
    # "[x]:" would be the definition of a link.
    pause = " \u2014" if lead.endswith("]") else ":"
    closing = end if not end.strip(".") else "."
    return f"{lead}{pause} {joined}{sources_named}{closing}" if lead else f"{joined}{sources_named}"


def _holds(text: str, citation: Citation) -> bool:
    """Whether one of the text's own quotations is this one, or holds it."""
    wanted = normal_text(citation.quote).strip(" .,;:!?-")
    if text.startswith((">", "```", "~~~")):
        return True
    return any(wanted in normal_text(text[quote.inner_start : quote.inner_end]) for quote in scan(text).quotes)


def quoted(quote: str) -> str:
    """Stored words on one line between marks that do not occur in them."""
    words = " ".join(form.visible(re.sub(r"\n[ \t]*(?:>[ \t]?)+", "\n", quote)).split())
    for opening, closing in _MARKS:
        told = f"{opening}{words}{closing}"
        # A mark inside that opens and is not closed would take the closing one for its own.
        if opening not in words and closing not in words and _is_one_quotation(told):
            return told
    return '"' + re.sub('["\u201c\u201d\u00ab\u00bb\u300c\u300d]', "", words) + '"'


def _is_one_quotation(text: str) -> bool:
    scanned = scan(text)
    return not scanned.unbalanced and [(quote.start, quote.end) for quote in scanned.quotes] == [(0, len(text))]


def _name(citation: Citation, sources: Mapping[str, MessageText], cite: str) -> str:
    if cite == "label":
        return citation.label
    head = sources[citation.label].head
    return f"{form.sender(head.sender)}, {(head.sent_at or head.received_at).date().isoformat()}"
