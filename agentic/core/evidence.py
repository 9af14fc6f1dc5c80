"""The evidence of one run: what tools returned in it, under labels that nobody could have known before."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from mailsearch.hits import Excerpt, MessageText


@dataclass(frozen=True, slots=True)
class FoundBy:
    """The call that brought a message into the evidence. Step None is the caller's own first search."""

    step: int | None
    tool: str
    query: str


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One message that a tool returned in this run. The model may cite it by `label` and by nothing else."""

    label: str
    message: MessageText
    excerpts: tuple[Excerpt, ...]
    found_by: tuple[FoundBy, ...]
    # SHA-256 over the parts' text as it was when it was read, so that the evidence can be proved again.
    text_sha256: str


Evidence = Mapping[str, EvidenceItem]


def text_sha256(message: MessageText) -> str:
    """SHA-256 (hex) over names and texts of all visible parts in their order, each preceded by its length in bytes."""
    digest = hashlib.sha256()
    for part in message.parts:
        for text in (part.name, part.text):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
