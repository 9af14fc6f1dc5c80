"""One unit against the messages that it cites: kept with its places, or removed with a reason."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agentic.core.answer import Citation, DraftQuote, Policy, Sentence
from agentic.core.verify import absence, check_facts, cues, form, lookup, markers, speaker, support
from agentic.core.verify.facts.extract import extract
from agentic.core.verify.lookup import Match, Wanted
from agentic.core.verify.nearest import nearest
from agentic.core.verify.quotes import scan
from agentic.core.verify.sources import MessageIndex, SourceCache, normal_text
from agentic.core.verify.units import Unit, without_bullet
from agentic.core.verify.words import language_of
from mailsearch.hits import MessageText

MAX_UNIT = 400
MAX_CITATIONS = 4
# The fence that closes a code block, with nothing but citations behind it.
_CLOSED = re.compile(r"\n[ \t]{0,3}(?:```+|~~~+)[^\n`~]*(?:\n[^`~]*)?$")
_FENCES = re.compile(r"^[ \t]{0,3}(?:```+|~~~+)[^\n]*\n?|\n?[ \t]{0,3}(?:```+|~~~+)[ \t]*", re.MULTILINE)


class Removed(Exception):
    """A unit does not stand. `reason` is one of the fixed list, `detail` what is known of it."""

    def __init__(self, reason: str, **detail: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = {key: value for key, value in detail.items() if value}


@dataclass(frozen=True, slots=True)
class Bench:
    """What every unit of a draft is held against."""

    sources: Mapping[str, MessageText]
    cache: SourceCache
    policy: Policy
    marker: str
    people: speaker.People
    # Other messages in which the original of a forwarded text may stand.
    originals: tuple[MessageText, ...] = ()

    def index(self, label: str) -> MessageIndex:
        return self.cache.of(self.sources[label])


@dataclass(frozen=True, slots=True)
class Claim:
    """A unit with what the draft's structured fields say about it."""

    unit: Unit
    citations: tuple[str, ...] = ()
    quotes: tuple[DraftQuote, ...] = ()


@dataclass(slots=True)
class _Found:
    """A quotation and where it was found: `start`, `end` in the shown text, or -1 if it came beside it."""

    label: str
    match: Match
    start: int = -1
    end: int = -1
    qualified: bool = False


@dataclass(slots=True)
class _Work:
    """One unit while it is being checked."""

    claim: Claim
    shown: str = ""
    labels: tuple[str, ...] = ()
    found: list[_Found] = field(default_factory=list)
    # The unit's own words: without quotations.
    own: str = ""


def check(claim: Claim, position: int, bench: Bench) -> Sentence:
    """The verdict on one unit."""
    clean = replace(claim.unit, text=form.visible(claim.unit.text))
    work = _Work(claim, _shown(clean, bench.sources))
    try:
        return _keep(work, position, bench)
    except Removed as removed:
        return Sentence(
            position=position,
            drafted=claim.unit.text,
            text=work.shown,
            kept=False,
            reason=removed.reason,
            detail=removed.detail,
            citations=tuple(_reference(label, bench) for label in work.labels if label in bench.sources),
        )


def _shown(unit: Unit, known: Collection[str]) -> str:
    """The unit as a reader sees it: its markers gone, those inside quotations kept as the quoted text that they are."""
    spans = tuple((marker.start, marker.end) for marker in markers.find(unit.text, known))
    inside = [(quote.start, quote.end) for quote in scan(unit.text, spans).quotes]
    pieces, position = [], 0
    for start, end in inside:
        pieces += [unit.text[position:start], unit.text[start:end]]
        position = end
    pieces.append(unit.text[position:])
    # Quotations stand aside while the markers go, each under its number.
    held = "".join(f"\ue003{number}\ue003" if number % 2 else piece for number, piece in enumerate(pieces))
    shown = re.sub("\ue003([0-9]+)\ue003", lambda match: pieces[int(match.group(1))], markers.without(held, known))
    return shown.lstrip("> ") if unit.kind == "sentence" else shown


def _keep(work: _Work, position: int, bench: Bench) -> Sentence:
    unit = work.claim.unit
    _check_marker(unit.text, bench)
    work.labels = _labels(work, bench)
    quoted = _quotations(work)
    work.own = _own_words(work, quoted)
    if len(work.own) > MAX_UNIT or len(work.labels) > MAX_CITATIONS:
        raise Removed("too_long" if work.labels else "no_citation")
    _check_form(work)
    own, known = normal_text(work.own), [bench.index(label) for label in work.labels if label in bench.sources]
    if absence.claimed(own) and not absence.is_said(own, known):
        raise Removed("absence_claim")
    _check_labels(work, bench)
    _find_quotes(work, quoted, bench)
    _check_links(work, bench)
    relayed = _check_facts(work, bench)
    _check_speaker(work, bench)
    return _sentence(work, position, bench, relayed)


def _check_marker(text: str, bench: Bench) -> None:
    if bench.marker and bench.marker.casefold() in re.sub(r"\s", "", form.visible(text)).casefold():
        raise Removed("marker_leak")


def _labels(work: _Work, bench: Bench) -> tuple[str, ...]:
    """Labels cited by markers outside quotations and by the structured fields, each once."""
    text = work.claim.unit.text
    found = markers.find(text, bench.sources)
    inside = (
        scan(text, tuple((marker.start, marker.end) for marker in found)).quotes
        if work.claim.unit.kind != "code"
        else ()
    )
    outside = [marker for marker in found if not any(quote.start < marker.start < quote.end for quote in inside)]
    if work.claim.unit.kind == "code":
        closing = _CLOSED.search(text)
        outside = [marker for marker in outside if closing and marker.start > closing.start()]
    listed = [label for marker in outside for label in marker.labels]
    listed += [*work.claim.citations, *(quote.label for quote in work.claim.quotes)]
    return tuple(dict.fromkeys(listed))


def _check_labels(work: _Work, bench: Bench) -> None:
    if not work.labels or not any(character.isalnum() or character > "\u2190" for character in work.shown):
        raise Removed("no_citation")
    unknown = [label for label in work.labels if label not in bench.sources]
    if unknown:
        raise Removed("unknown_label", label=unknown[0][:40])


def _quotations(work: _Work) -> list[tuple[int, int, str]]:
    """What the shown text gives as verbatim: (start, end, words). Raises Removed where that can't be told."""
    unit, shown = work.claim.unit, work.shown
    if unit.kind == "code":
        if not _CLOSED.search(unit.text):
            raise Removed("active_content" if work.labels else "no_citation")
        return [(0, len(shown), _FENCES.sub("", shown))]
    if unit.kind == "quote":
        return [(0, len(shown), shown)]
    scanned = scan(shown)
    quotations = []
    for quote in scanned.quotes:
        words = shown[quote.inner_start : quote.inner_end]
        quotations.append((quote.start, quote.end, words))
    if scanned.unbalanced:
        work.own = shown
        raise Removed("no_citation" if not work.labels else "quote_unbalanced")
    return quotations


def _own_words(work: _Work, quoted: Sequence[tuple[int, int, str]]) -> str:
    pieces, position = [], 0
    for start, end, _ in quoted:
        pieces.append(work.shown[position:start])
        position = end
    pieces.append(work.shown[position:])
    own = " \u2026 ".join(pieces) if len(pieces) > 1 else pieces[0]
    return without_bullet(own)


def _check_form(work: _Work) -> None:
    text = work.claim.unit.text
    found = form.active(work.own) or form.loaded(text) or form.active(without_bullet(text) if "](" in text else "")
    if found:
        raise Removed("active_content", found=found)


def _find_quotes(work: _Work, quoted: Sequence[tuple[int, int, str]], bench: Bench) -> None:
    for start, end, words in quoted:
        found = _locate(lookup.prepare(words), work.labels, bench, normal_text(work.shown[:start] + "\u2026"))
        found.start, found.end = start, end
        work.found.append(found)
    for quote in work.claim.quotes:
        text = quote.text.strip()
        wanted = lookup.prepare(text)
        found = _locate(wanted, (quote.label,), bench)
        if not any(
            other.match.index is found.match.index
            and other.match.start <= found.match.start
            and other.match.end >= found.match.end
            for other in work.found
        ):
            work.found.append(found)


_RANKS = ("kept", "qualified", "forwarded", "quote_negated", "quote_in_quoted_text")


def _locate(wanted: Wanted, labels: Sequence[str], bench: Bench, lead: str = "") -> _Found:
    """The best place of a quotation among the cited messages. Raises Removed where there is none.

    *lead* is what stands before the quotation in the unit, in normal form.
    """
    if not wanted.text:
        raise Removed("quote_unbalanced")
    best: tuple[int, str, Match] | None = None
    for label in labels:
        for match in lookup.find(wanted, bench.index(label)):
            rank = _RANKS.index(_standing(match, bench, lead))
            if best is None or rank < best[0]:
                best = (rank, label, match)
            if best[0] == 0:
                return _Found(label, match)
    if best is None:
        raise _why_not(wanted, labels, bench)
    verdict = _RANKS[best[0]]
    if verdict.startswith("quote_"):
        raise Removed(verdict, source=best[2].context[:300])
    return _Found(best[1], best[2], qualified=verdict == "qualified" or _is_qualified(best[2]))


def _standing(match: Match, bench: Bench, lead: str) -> str:
    if match.piece.borrowed == "quoted":
        return "quote_in_quoted_text"
    before = match.before
    if before.strip() and lead.rstrip(" .").endswith(before.strip()):
        # The unit itself has all that stands before it there: nothing was cut off.
        before = ""
    if before.strip() and lookup.is_turned(match, before):
        return "quote_negated"
    if lookup.is_cut_short(match):
        return "quote_negated"
    if match.piece.borrowed == "forwarded":
        return "quote_in_quoted_text" if _has_original(match, bench) else "forwarded"
    return "qualified" if _is_qualified(match) else "kept"


def _is_qualified(match: Match) -> bool:
    """Something weakens the quotation before it, or it was cut out of a question."""
    asked = match.context.rstrip(" \"'\u201d\u00bb)").endswith(
        ("?", "\uff1f", "\u061f")
    ) and not match.text.rstrip().endswith(("?", "\uff1f", "\u061f"))
    return asked or cues.weakens(match.before, match.part.language)


def _has_original(match: Match, bench: Bench) -> bool:
    """Whether another message in reach holds the forwarded words as its own."""
    wanted = lookup.prepare(match.text)
    others = {id(message): message for message in (*bench.sources.values(), *bench.originals)}
    return any(
        not found.piece.borrowed
        for message in others.values()
        if message is not match.index.message and message.head.message_id != match.index.message.head.message_id
        for found in lookup.find(wanted, bench.cache.of(message))
    )


def _why_not(wanted: Wanted, labels: Sequence[str], bench: Bench) -> Removed:
    """The reason that fits a quotation which stands in none of the cited messages."""
    indexes = [bench.index(label) for label in labels]
    if any(wanted.text in index.hidden for index in indexes if index.hidden):
        return Removed("hidden_text")
    if len(wanted.segments) > 1 and all(_somewhere(segment, indexes) for segment in wanted.segments):
        return Removed("elided", quote=wanted.text[:200])
    words = wanted.text.split(" ")
    for cut in range(2, len(words) - 1):
        if _somewhere(" ".join(words[:cut]), indexes) and _somewhere(" ".join(words[cut:]), indexes):
            return Removed("quilt", quote=wanted.text[:200])
        if cut > 40:
            break
    return Removed("quote_not_found", quote=wanted.text[:200], source=nearest(wanted.text, indexes))


def _somewhere(text: str, indexes: Sequence[MessageIndex]) -> bool:
    return any(text in part.text for index in indexes for part in index.parts)


def _check_links(work: _Work, bench: Bench) -> None:
    """An address with a scheme stands only inside a verified quotation, or as the cited mail shows it."""
    for link in form.links(work.own):
        allowed = bench.policy != "strict" and any(
            link in part.part.text for label in work.labels for part in bench.index(label).parts
        )
        if not allowed:
            raise Removed("active_content", found=link[:200])


def _check_facts(work: _Work, bench: Bench) -> frozenset[str]:
    """Facts of the unit's own words; returns the labels whose facts only stand in forwarded text."""
    own = normal_text(work.own)
    cited = [bench.index(label) for label in work.labels]
    claims = extract(own, check_facts.languages_for(own, cited), claims=True)
    if not claims:
        return frozenset()
    finding = check_facts.check(claims, cited, [found.match for found in work.found])
    if finding.reason:
        hidden = any(normal_text(finding.fact) in index.hidden for index in cited if index.hidden)
        reason = "hidden_text" if hidden and finding.reason == "fact_not_found" else finding.reason
        raise Removed(reason, fact=finding.fact, source=finding.source)
    return frozenset(
        label for label in work.labels for place in finding.relayed if place.part in bench.index(label).parts
    )


def _check_speaker(work: _Work, bench: Bench) -> None:
    spans = [(found.start, found.end, found.match) for found in work.found if found.start >= 0]
    loose = [found.match for found in work.found if found.start < 0]
    name = speaker.mismatch(work.shown, spans, loose, bench.people) if work.found else ""
    if name:
        author = next(iter(work.found)).match.index.message.head.sender
        raise Removed("speaker_mismatch", fact=name, source=author.name or author.address)


def _sentence(work: _Work, position: int, bench: Bench, relayed: frozenset[str]) -> Sentence:
    own = normal_text(work.own)
    matches = [found.match for found in work.found]
    moved = support.translated(own, matches) if matches else _is_translated(own, work, bench)
    kind = "quote" if not moved and _is_borne(own, work, bench) else "reference"
    if bench.policy == "strict" and kind != "quote":
        raise Removed("not_supported_strict")
    quoted = {found.label for found in work.found}
    citations = [_citation(found) for found in work.found]
    citations += [_reference(label, bench, relayed=label in relayed) for label in work.labels if label not in quoted]
    return Sentence(
        position=position,
        drafted=work.claim.unit.text,
        text=work.shown,
        kept=True,
        support="quote" if kind == "quote" else "reference",
        citations=tuple(citations),
        qualified=any(found.qualified for found in work.found),
        translated=moved,
    )


def _is_borne(own: str, work: _Work, bench: Bench) -> bool:
    messages = {id(found.match.index) for found in work.found}
    if len(messages) != 1:
        return False
    return any(
        support.bears(found.match) and support.shares(own, found.match, bench.people.names) for found in work.found
    )


def _is_translated(own: str, work: _Work, bench: Bench) -> bool:
    language = language_of(own)
    sources = {
        part.language for label in work.labels for part in bench.index(label).parts if part.part.name == "body"
    } - {""}
    return bool(language and sources) and language not in sources


def _citation(found: _Found) -> Citation:
    match = found.match
    head = match.index.message.head
    forwarded = match.piece.borrowed == "forwarded"
    return Citation(
        label=found.label,
        message_id=head.message_id,
        part=match.part.part.name,
        start=match.start,
        end=match.end,
        quote=match.text,
        context=match.context,
        page=match.part.part.page_at(match.start),
        relayed_by=form.sender(head.sender) if forwarded else "",
        said_by=form.claimed(match.piece.region.said_by) if forwarded and match.piece.region else "",
    )


def _reference(label: str, bench: Bench, relayed: bool = False) -> Citation:
    head = bench.sources[label].head
    return Citation(
        label, head.message_id, "body", None, None, "", "", relayed_by=form.sender(head.sender) if relayed else ""
    )
