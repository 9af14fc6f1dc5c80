"""Attachments as files: taken out of the raw message again, since their bytes are kept nowhere else."""

import asyncio
from dataclasses import dataclass

from mailsearch.ingest.limits import Worker
from mailsearch.ingest.parsed import ParsedMessage
from mailsearch.scope import Scope
from mailsearch.search.reading import AttachmentPlace, attachment_place


@dataclass(frozen=True, slots=True)
class AttachmentFile:
    """An attachment byte for byte. Its type is what the sender says."""

    filename: str
    content_type: str
    content: bytes


async def attachment_file(scope: Scope, attachment_id: str) -> AttachmentFile | None:
    """The attachment's bytes; None where it can't be read in this scope, or is not in its message any more."""
    place = await attachment_place(scope, attachment_id)
    return None if place is None else await asyncio.to_thread(_take_out, place)


def _take_out(place: AttachmentPlace) -> AttachmentFile | None:
    # Mail is hostile to its parser also the second time.
    with Worker() as worker:
        message: ParsedMessage = worker.parse(place.raw, read_attachments=False)
    for number in place.path:
        if number >= len(message.nested):
            return None
        message = message.nested[number]
    if place.position >= len(message.attachments):
        return None
    found = message.attachments[place.position]
    # A parser that has learned to see more parts would count differently.
    if (found.filename, len(found.content)) != (place.filename, place.size):
        return None
    return AttachmentFile(place.filename, place.content_type, found.content)
