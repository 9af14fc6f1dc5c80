"""Text of documents put together from pieces in which links stand; where these lead is kept apart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mailsearch.hits import BlockKind
from mailsearch.ingest import links
from mailsearch.ingest.attachments.packages import Package, attribute, relations
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.links import Links, Span
from mailsearch.ingest.parsed import ParsedText


@dataclass(slots=True)
class LinkedBuilder(TextBuilder):
    """A builder that is told, beside the text, which of it leads somewhere."""

    links: Links = field(default_factory=Links)

    def taken(self, inline: Sequence[str]) -> tuple[Span, ...]:
        """The spans of links in *inline*, the pieces of text since the last call."""
        if not (self.links.marks or self.links.waiting):
            return ()
        return self.links.take(inline, blank=not any(text.strip() for text in inline))

    def put(self, texts: Iterable[str], kind: BlockKind, spans: Sequence[Span]) -> None:
        """Append *texts* as blocks. *spans* count what is not blank in all of them."""
        before, base = len(self.pieces), self.length
        for text in texts:
            self.add(text, kind)
        if spans:
            links.place(spans, "".join(self.pieces[before:]), base)

    def parsed(self) -> ParsedText:
        """Everything so far."""
        return replace(TextBuilder.parsed(self), links=self.links.part(self.length))


def joined(texts: Iterable[tuple[str, Sequence[Span]]], *, bars: bool = False) -> tuple[Span, ...]:
    """The links of *texts*, each with its own, in the one text that they make; with *bars* between each two."""
    spans: list[Span] = []
    before = 0
    for number, (text, own) in enumerate(texts):
        before += bars and number > 0
        spans += [(lead, before + start, before + end) for lead, start, end in own]
        before += links.solid(text)
    return tuple(spans)


def forget(spans: Iterable[Span]) -> None:
    """No reader sees the words of these links."""
    for lead, _, _ in spans:
        lead.worded = False


def outward(package: Package, part: str) -> Mapping[str, str]:
    """Where the relations of *part* lead out of the package, by their ids."""
    return {
        attribute(one, "Id"): attribute(one, "Target")
        for one in relations(package, part)
        if attribute(one, "TargetMode") == "External" and attribute(one, "Type").endswith("/hyperlink")
    }
