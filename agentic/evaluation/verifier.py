"""Verifier cases: a draft and its sources in, and each unit kept or removed as the case says.

Rows of the file are objects with `id`, `sources` (label to source), `evidence_ids`, `answer`, and `expected`, a list of
`{"sentence", "kept"}`. A source has `text` and may have `html`, `hidden_text`, `from`, `date`, `subject`, `attachments`
(name to text), `raw` and `content_type`. Rows of type `header` are skipped.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parseaddr
from pathlib import Path
from typing import Any

from agentic.core.answer import Draft, DraftQuote, DraftSentence, Policy, Sentence
from agentic.core.verify import verify
from agentic.evaluation.report import BadInput, Gate, Report
from mailsearch.hits import Address, AttachmentInfo, MessageHead, MessageText, PartText
from mailsearch.ingest import html, mime, plain
from mailsearch.ingest.parsed import ParsedText

# When a source names no date of its own.
_UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
_WRONG_REMOVALS = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """One row, made ready: what is verified against what, and which units must stand."""

    case_id: str
    draft: Draft
    sources: Mapping[str, MessageText]
    everything: Mapping[str, MessageText]
    expected: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """One case after verification. Units that differ in text count as wrongly removed or kept, whichever they are."""

    case_id: str
    agrees: bool
    false_keeps: int
    wrong_removals: int
    sentences: int
    got: tuple[Sentence, ...]


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Verify every case of *file* under the policy in *options* (`standard` unless named). Raises BadInput."""
    policy: Policy = "strict" if options.get("policy") == "strict" else "standard"
    results = [compare(case, policy) for case in read(file)]
    if not results:
        raise BadInput(f"{file} holds no case")
    differ = tuple(result.case_id for result in results if not result.agrees)
    total = sum(result.sentences for result in results)
    false_keeps = sum(result.false_keeps for result in results)
    wrong = sum(result.wrong_removals for result in results)
    return Report(
        subject="verifier",
        file=str(file),
        n=len(results),
        agree=len(results) - len(differ),
        differ=differ,
        gates={
            "false_keeps": Gate(false_keeps, 0),
            "wrong_removal_rate": Gate(round(wrong / max(total, 1), 4), _WRONG_REMOVALS),
        },
        figures={"sentences": total, "false_keeps": false_keeps, "wrong_removals": wrong, "policy": policy},
        lines=tuple(line for result in results if not result.agrees for line in _explain(result)),
    )


def _explain(result: Compared) -> Iterator[str]:
    yield result.case_id
    for sentence in result.got:
        verdict = "kept" if sentence.kept else f"removed: {sentence.reason}"
        yield f"  {verdict}  {sentence.drafted[:160]!r}  {dict(sentence.detail) or ''}"


def compare(case: Case, policy: Policy = "standard") -> Compared:
    """Verify one case and hold the units against what it expects."""
    got = verify(case.draft, case.sources, policy=policy, all_evidence=case.everything).sentences
    found = [(sentence.drafted.strip(), sentence.kept) for sentence in got]
    wanted = [(text.strip(), kept) for text, kept in case.expected]
    false_keeps = sum(1 for text, kept in found if kept and (text, True) not in wanted)
    wrong_removals = sum(1 for text, kept in wanted if kept and (text, True) not in found)
    return Compared(case.case_id, found == wanted, false_keeps, wrong_removals, len(wanted), got)


def read(file: Path) -> Iterator[Case]:
    """The cases of *file*, one JSON object a line. Raises BadInput."""
    try:
        lines = file.read_text(encoding="utf-8").split("\n")  # splitlines would cut at U+2028 inside a text
    except OSError as error:
        raise BadInput(f"{file} can't be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if row.get("type") != "header":
                yield _case(row)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"line {number} of {file} is no case: {error!r}") from error


def _case(row: Mapping[str, Any]) -> Case:
    everything = {label: message_from(label, source) for label, source in row["sources"].items()}
    allowed = row.get("evidence_ids", list(everything))
    return Case(
        case_id=row["id"],
        draft=_draft(row.get("answer", "")),
        sources={label: everything[label] for label in allowed if label in everything},
        everything={label: everything[label] for label in allowed if label in everything},
        expected=tuple((entry["sentence"], bool(entry["kept"])) for entry in row["expected"]),
    )


def _draft(answer: Any) -> Draft:
    """Prose, or a list of sentences as the final tool call has them."""
    if isinstance(answer, str):
        return Draft(text=answer)
    return Draft(
        sentences=tuple(
            DraftSentence(
                text=entry["text"],
                citations=tuple(entry.get("citations", ())),
                quotes=tuple(DraftQuote(quote["label"], quote["text"]) for quote in entry.get("quotes", ())),
            )
            for entry in answer
        )
    )


def message_from(label: str, source: Mapping[str, Any]) -> MessageText:
    """A source as the store would hold it, by the store's own rules for text, blocks and regions."""
    body = _body(source)
    parts = [PartText("subject", str(source.get("subject", ""))), _part("body", body)]
    attachments = []
    for name, text in dict(source.get("attachments") or {}).items():
        part = f"attachment:{name}"
        attachments.append(AttachmentInfo(name, name, "text/plain", len(text), "ok"))
        parts.append(_part(part, plain.visible_text(text), filename=name))
    name, address = parseaddr(str(source.get("from", "")))
    sent_at = _moment(source.get("date"))
    head = MessageHead(
        message_id=label,
        thread_id=str(source.get("thread", "thread")),
        rfc_message_id=f"{label}@cases.example",
        mailbox="cases",
        folder="INBOX",
        subject=str(source.get("subject", "")),
        sender=Address(name, address),
        to=tuple(Address(*parseaddr(entry)) for entry in _listed(source.get("to"))),
        cc=tuple(Address(*parseaddr(entry)) for entry in _listed(source.get("cc"))),
        sent_at=sent_at,
        received_at=sent_at or _UNDATED,
        attachments=tuple(attachments),
    )
    hidden = "\n".join(text for text in (body.hidden_text, str(source.get("hidden_text") or "")) if text)
    return MessageText(head, tuple(parts), hidden)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _body(source: Mapping[str, Any]) -> ParsedText:
    content_type = str(source.get("content_type", "")).lower()
    if source.get("html"):
        return html.visible_text(str(source["html"]))
    if "text" in source:
        flowed = "format=flowed" in content_type.replace('"', "")
        return plain.visible_text(str(source["text"]), flowed=flowed, delsp="delsp=yes" in content_type)
    if source.get("raw"):
        return _from_raw(str(source["raw"]), content_type, str(source.get("content_transfer_encoding", "")))
    return ParsedText("")


def _from_raw(raw: str, content_type: str, encoding: str) -> ParsedText:
    """The body of a raw part; where it has no header of its own, one is put before it."""
    if re.match(r"[A-Za-z][A-Za-z0-9-]*:[^\n]*\n", raw):
        return mime.parse(raw.encode("utf-8", "surrogateescape"), read_attachments=False).body
    header = f"Content-Type: {content_type or 'text/plain; charset=utf-8'}\r\n"
    header += f"Content-Transfer-Encoding: {encoding}\r\n" if encoding else ""
    return mime.parse(f"MIME-Version: 1.0\r\n{header}\r\n{raw}".encode(), read_attachments=False).body


def _part(name: str, parsed: ParsedText, filename: str = "") -> PartText:
    return PartText(name, parsed.text, parsed.blocks, parsed.regions, parsed.page_starts, filename)


def _moment(value: Any) -> datetime | None:
    if not value:
        return None
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
