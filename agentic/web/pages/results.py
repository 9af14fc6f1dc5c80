"""A response as the page shows it: what the JSON says, in words, with the addresses that its parts lead to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agentic.mailjson import Json
from agentic.templatetags.mail_words import seconds
from agentic.web.pages import wording

QUOTED = "its words were found in the message and are shown"
CITED = "its facts were found in the message, its words were not; read the source"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a sentence comes from; `head` is None where the message may not be read now."""

    address: str
    head: Json | None
    quote: str = ""
    context: str = ""
    page: int | None = None
    subject: str = ""


@dataclass(frozen=True, slots=True)
class KeptSentence:
    """A sentence of the answer."""

    text: str | None
    quoted: bool
    qualified: bool = False
    translated: bool = False
    relayed_by: str = ""
    said_by: str = ""
    later: str = ""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a message in parts, each marked or not."""

    pieces: tuple[tuple[str, bool], ...]
    address: str
    page: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """A message of the evidence or of a search; `head` is None where it may not be read now."""

    head: Json | None
    address: str = ""
    cited: bool = False
    excerpts: tuple[Excerpt, ...] = ()
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended, as its asker sees it."""

    run: str
    status: str
    outcome: str
    code: str
    reason: str
    next: str
    figures: str
    sentences: tuple[KeptSentence, ...]
    removed: tuple[Json, ...]
    steps: tuple[str, ...]
    evidence: tuple[Found, ...]
    searched: tuple[Json, ...]
    coverage: Json = field(default_factory=dict)
    model: str = ""
    notice: str = ""

    @property
    def running(self) -> bool:
        return self.status in ("queued", "running")


def of(response: Json) -> Result:
    """The page's view of one response."""
    code = response["outcome"] or ""
    cited = _cited(response)
    evidence = [found(item, cited=item["message_id"] in cited) for item in response["evidence"]]
    subjects = {item["message_id"]: item["subject"] for item in response["evidence"] if not item.get("withheld")}
    reason = response["reason"] or ""
    return Result(
        run=response["run_id"],
        status=response["status"],
        outcome=wording.outcome(code, response["status"]),
        code=code + (f" · {reason}" if reason else ""),
        reason=wording.REASONS.get(reason, ""),
        next=wording.NEXT.get(code, ""),
        figures=_figures(response),
        sentences=tuple(_sentence(one, subjects) for one in (response["answer"] or {}).get("sentences", ())),
        removed=tuple(
            {**one, "words": wording.REMOVALS.get(one["reason"], "")} for one in response["removed_sentences"]
        ),
        steps=tuple(_steps(response["trace"])),
        evidence=tuple(sorted(evidence, key=lambda one: not one.cited)),
        searched=tuple(_searched(response, evidence)),
        coverage=response["coverage"],
        model=response["model"],
        notice=response["notice"],
    )


def found(item: Json, *, cited: bool = False) -> Found:
    """One message of the evidence, or a hit of a search."""
    if item.get("withheld"):
        return Found(None, cited=cited)
    message = item["message_id"]
    excerpts = tuple(
        Excerpt(pieces(one["text"], one["marks"]), span_address(message, one), one["page"]) for one in item["excerpts"]
    )
    return Found(item, message_address(message), cited, excerpts, item.get("copies", 1))


def message_address(message: str) -> str:
    return reverse("message-page", args=[message])


def span_address(message: str, span: Mapping[str, Any]) -> str:
    """The address that opens a message at a span; offsets and ids, never words, stand in it."""
    values = {"part": span["part"], "start": span["start"], "end": span["end"]}
    if span["start"] is None or span["end"] is None:
        values = {"part": span["part"]}
    return f"{message_address(message)}?{urlencode(values)}#cited"


def pieces(text: str, marks: Sequence[Sequence[int]]) -> tuple[tuple[str, bool], ...]:
    """*text* cut at its marks."""
    cut, at = [], 0
    for start, end in sorted((max(0, start), end) for start, end in marks):
        if start < at or end <= start:
            continue
        cut += [(text[at:start], False), (text[start:end], True)]
        at = end
    return tuple(piece for piece in (*cut, (text[at:], False)) if piece[0])


def _cited(response: Json) -> set[str]:
    sentences = (response["answer"] or {}).get("sentences", ())
    return {citation["message_id"] for one in sentences for citation in one["citations"]}


def _sentence(one: Json, subjects: Mapping[str, str]) -> KeptSentence:
    sources = tuple(_source(citation, subjects) for citation in one["citations"])
    if one.get("withheld"):
        return KeptSentence(None, quoted=False, sources=sources)
    return KeptSentence(
        text=one["text"],
        quoted=one["support"] == "quote",
        qualified=one["qualified"],
        translated=one["translated"],
        relayed_by=one["relayed_by"] or "",
        said_by=one["said_by"] or "",
        later=message_address(one["later_message"]) if one["later_message"] else "",
        sources=sources,
    )


def _source(citation: Json, subjects: Mapping[str, str]) -> Source:
    if citation.get("withheld"):
        return Source("", None)
    return Source(
        span_address(citation["message_id"], citation),
        citation,
        citation["quote"],
        citation["context"] if citation["context"] != citation["quote"] else "",
        citation["page"],
        subjects.get(citation["message_id"], ""),
    )


def _figures(response: Json) -> str:
    usage = response["usage"]
    if usage is None:
        return ""
    removed = len(response["removed_sentences"])
    parts = [seconds(usage["seconds"]), f"{usage['steps']} of {response['budget']['max_steps']} steps"]
    if removed:
        parts.append(f"{removed} sentence{'s' if removed > 1 else ''} removed")
    return " · ".join(parts)


def _steps(trace: Sequence[Json]) -> list[str]:
    """Where the time went, by phase: `search ×3 0.1 s (11 messages)`."""
    spent: dict[str, list[int]] = {}
    messages: dict[str, set[str]] = {}
    for row in trace:
        if row["event"] in ("found", "replied", "verified"):
            phase = "search" if row["event"] == "found" else row["phase"]
            spent.setdefault(phase, []).append(row.get("took_ms") or 0)
            messages.setdefault(phase, set()).update(row.get("admitted") or ())
    return [_step(phase, times, len(messages[phase])) for phase, times in spent.items()]


def _step(phase: str, times: Sequence[int], messages: int) -> str:
    often = f" ×{len(times)}" if len(times) > 1 else ""
    more = f" ({messages} message{'s' if messages != 1 else ''})" if phase == "search" else ""
    return f"{phase}{often} {seconds(sum(times) / 1000)}{more}"


def _searched(response: Json, evidence: Sequence[Found]) -> list[Json]:
    """Each search with its nearest misses as messages, of those that are evidence and may be read."""
    by_id = {one.head["message_id"]: one for one in evidence if one.head}
    return [
        {
            **one,
            "filters": wording.detail(one["filters"]),
            "nearest": [by_id[message] for message in one.get("nearest", ()) if message in by_id],
            "unshown": len([message for message in one.get("nearest", ()) if message not in by_id]),
        }
        for one in response["searched"]
    ]
