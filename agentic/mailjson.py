"""Mail as JSON: how messages, excerpts and hits look in responses.

Text of mail is cleaned when it is sent, never when it is kept; `start` and `end` are offsets into the kept text.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from agentic.core.fence import clean, clean_line
from mailsearch.hits import (
    NO_LINKS,
    Address,
    AttachmentInfo,
    Contact,
    Coverage,
    Excerpt,
    Hit,
    Link,
    MessageHead,
    MessageText,
    PartLinks,
    PartText,
    SearchResult,
)
from mailsearch.hosts import leads_elsewhere

Json = dict[str, Any]


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 with its offset; UTC as `Z`."""
    if moment is None:
        return None
    text = moment.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def in_utc(moment: datetime | None) -> str | None:
    return iso(moment.astimezone(UTC)) if moment else None


def address_json(person: Address) -> Json:
    return {"name": person.name, "address": person.address, "name_conflict": person.name_conflict}


def attachment_json(attachment: AttachmentInfo) -> Json:
    return {
        "attachment_id": attachment.attachment_id,
        "filename": attachment.filename,
        "content_type": attachment.content_type,
        "size": attachment.size,
        "state": attachment.state,
    }


def head_json(head: MessageHead) -> Json:
    """Everything about a message but its text, as it is kept with the evidence."""
    return {
        "message_id": head.message_id,
        "thread_id": head.thread_id,
        "rfc_message_id": f"<{head.rfc_message_id}>" if head.rfc_message_id else None,
        "mailbox": head.mailbox,
        "folder": head.folder,
        "subject": head.subject,
        "from": address_json(head.sender),
        "to": [address_json(person) for person in head.to],
        "cc": [address_json(person) for person in head.cc],
        "sent_at": iso(head.sent_at),
        "received_at": in_utc(head.received_at),
        "date_disputed": head.date_disputed,
        "authentication": {
            "spf": head.authentication.spf,
            "dkim": head.authentication.dkim,
            "dmarc": head.authentication.dmarc,
        },
        "attached_to": head.attached_to or None,
        "attachments": [attachment_json(attachment) for attachment in head.attachments],
    }


def head_of(kept: Mapping[str, Any]) -> MessageHead:
    """A kept head as the value that it was, as far as an answer's text needs it: who wrote what, and when."""
    sender = kept["from"]
    return MessageHead(
        message_id=kept["message_id"],
        thread_id=kept["thread_id"],
        rfc_message_id=(kept["rfc_message_id"] or "")[1:-1],
        mailbox=kept["mailbox"],
        folder=kept["folder"],
        subject=kept["subject"],
        sender=Address(sender["name"], sender["address"], sender["name_conflict"]),
        to=(),
        cc=(),
        sent_at=datetime.fromisoformat(kept["sent_at"]) if kept["sent_at"] else None,
        received_at=datetime.fromisoformat(kept["received_at"]),
    )


def excerpt_json(excerpt: Excerpt) -> Json:
    """An excerpt as it is kept."""
    return {
        "part": excerpt.part,
        "page": excerpt.page,
        "start": excerpt.start,
        "end": excerpt.end,
        "text": excerpt.text,
        "marks": [list(mark) for mark in excerpt.marks],
    }


def cleaned_head(head: Mapping[str, Any]) -> Json:
    """A kept head as it is sent: every string that a stranger can write made harmless, and marked as untrusted."""
    attachments = [{**one, "filename": clean_line(one["filename"])} for one in head["attachments"]]
    return {
        **head,
        "rfc_message_id": clean_line(head["rfc_message_id"]) if head["rfc_message_id"] else None,
        "folder": clean_line(head["folder"]),
        "subject": clean_line(head["subject"]),
        "from": _cleaned_person(head["from"]),
        "to": [_cleaned_person(person) for person in head["to"]],
        "cc": [_cleaned_person(person) for person in head["cc"]],
        "attached_to": clean_line(head["attached_to"]) if head["attached_to"] else None,
        "attachments": attachments,
        "untrusted": True,
    }


def cleaned_excerpt(excerpt: Mapping[str, Any]) -> Json:
    """A kept excerpt as it is sent. Marks move with the text that cleaning shortens."""
    text, cleaned = excerpt["text"], clean(excerpt["text"])
    if cleaned == text:
        # Then nothing in it is cleaned away, and so nothing in any beginning of it.
        return {**excerpt, "marks": [list(mark) for mark in excerpt["marks"]]}
    marks = [[len(clean(text[:start])), len(clean(text[:end]))] for start, end in excerpt["marks"]]
    return {**excerpt, "text": cleaned, "marks": marks}


def hit_json(hit: Hit) -> Json:
    return {
        **cleaned_head(head_json(hit.head)),
        "rank": hit.rank,
        "found_by": list(hit.found_by),
        "excerpts": [cleaned_excerpt(excerpt_json(excerpt)) for excerpt in hit.excerpts],
        "copies": hit.copies,
    }


def search_json(result: SearchResult) -> Json:
    """The response to a plain search."""
    return {
        "mode": result.mode,
        "query": {
            "text": result.text,
            "parsed": result.parsed,
            "applied": result.applied,
            "refused": list(result.refused),
        },
        "hits": [hit_json(hit) for hit in result.hits],
        "total": result.total,
        "total_is_exact": result.total_is_exact,
        "next_cursor": result.next_cursor,
        "indexed_until": in_utc(result.indexed_until),
        "why_empty": result.why_empty,
        "took_ms": result.took_ms,
    }


def message_json(message: MessageText, links: Mapping[str, PartLinks]) -> Json:
    """One whole message: its head and all its visible text by parts, and apart from it the *links* of each part."""
    parts = [
        {
            "part": part.name,
            "filename": clean_line(part.filename) or None,
            "text": clean(part.text),
            "page_starts": list(part.page_starts),
            "links": _links_json(part, links.get(part.name, NO_LINKS).kept),
            "links_left_out": links.get(part.name, NO_LINKS).more,
        }
        for part in message.parts
        if part.name != "subject"
    ]
    return {**cleaned_head(head_json(message.head)), "parts": parts}


def _links_json(part: PartText, links: Iterable[Link]) -> list[Json]:
    listed = []
    for link in links:
        text = part.text[link.start : link.end]
        differs = leads_elsewhere(text, link.target)
        shown = {"text": clean_line(text), "target": clean_line(link.target), "start": link.start, "end": link.end}
        listed.append({**shown, "differs": differs})
    return listed


def contact_json(contact: Contact) -> Json:
    return {
        "address": clean_line(contact.address),
        "names": [clean_line(name) for name in contact.names],
        "messages": contact.messages,
        "first_seen": in_utc(contact.first_seen),
        "last_seen": in_utc(contact.last_seen),
        "is_list": contact.is_list,
        "name_conflict": contact.name_conflict,
        "untrusted": True,
    }


def coverage_json(coverage: Coverage) -> Json:
    """How much mail there was to search, as it is kept with a run's end."""
    return {
        "messages_in_scope": coverage.messages_in_scope,
        "received_from": _day(coverage.received_from),
        "received_to": _day(coverage.received_to),
        "indexed_until": in_utc(coverage.indexed_until),
        "embedded_share": coverage.embedded_share,
        "attachments_unread": coverage.attachments_unread,
        "sources": [
            {name: iso(value) if isinstance(value, datetime) else value for name, value in source.items()}
            for source in coverage.sources
        ],
    }


def _day(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).date().isoformat() if moment else None


def _cleaned_person(person: Mapping[str, Any]) -> Json:
    return {**person, "name": clean_line(person["name"]), "address": clean_line(person["address"])}
