"""Reading mail: messages, threads, attachments, contacts."""

from django.http import HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from agentic.callers import scope_at_once
from agentic.core.fence import clean, clean_line
from agentic.mailjson import attachment_json, cleaned_head, contact_json, head_json, hit_json, message_json
from agentic.web.parameters import LIMIT, Parameter
from agentic.web.problems import Problem
from agentic.web.views import ApiView, answer, found
from mailsearch import originals
from mailsearch.models import Permission
from mailsearch.scope import Scope
from mailsearch.search import contacts, reading, related

_CHARACTERS = 20_000
_LONGEST_NAME = 150


class MailView(ApiView):
    """An address that reads mail."""

    permission = Permission.SEARCH_READ

    async def scope(self) -> Scope:
        """The mail that the caller may read now, and nothing once the permission was withdrawn."""
        return await scope_at_once(self.principal, self.needed)


class MessageView(MailView):
    """One message."""

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """A message with all its visible text, and where its links lead. The text is a stranger's: untrusted."""
        scope = await self.scope()
        read = await reading.message(scope, message)
        if read is None:
            return found(None)
        links = await reading.links(scope, [message])
        await self.seen("message", [message])
        return answer(message_json(read, links.get(message, {})))


class RawMessageView(MailView):
    """A message as it came."""

    permission = Permission.MESSAGE_RAW

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """The raw message, byte for byte."""
        data = await reading.raw(await self.scope(), message)
        if data is None:
            raise Problem("not-found")
        await self.seen("raw", [message])
        return _download(data, "message.eml")


class ThreadView(MailView):
    """One conversation."""

    async def get(self, request: Request, thread: str) -> HttpResponseBase:
        """The messages of a thread that are in the caller's scope, the oldest first."""
        scope = await self.scope()
        messages = await reading.thread(scope, thread)
        if not messages:
            raise Problem("not-found")
        ids = [one.head.message_id for one in messages]
        links = await reading.links(scope, ids)
        await self.seen("thread", ids)
        told = [message_json(one, links.get(one.head.message_id, {})) for one in messages]
        return answer({"thread_id": thread, "total": len(messages), "messages": told})


class AttachmentView(MailView):
    """The text of one attachment."""

    parameters = {"get": {"offset": Parameter("Character at which to go on reading.", "integer", 0, 0, 100_000_000)}}

    async def get(self, request: Request, attachment: str) -> HttpResponseBase:
        """The attachment's text from character `offset` on, 20,000 characters at a time."""
        read = await reading.attachment(await self.scope(), attachment)
        if read is None:
            raise Problem("not-found")
        head, part, info = read
        await self.seen("attachment", [attachment, head.message_id])
        offset = self.query["offset"]
        end = offset + _CHARACTERS
        return answer(
            {
                **attachment_json(info),
                "message": cleaned_head(head_json(head)),
                "text": clean(part.text[offset:end]),
                "offset": offset,
                "next_offset": end if end < len(part.text) else None,
                "page_starts": list(part.page_starts),
                "untrusted": True,
            }
        )


class AttachmentFileView(MailView):
    """One attachment as a file."""

    permission = Permission.MESSAGE_RAW

    async def get(self, request: Request, attachment: str) -> HttpResponseBase:
        """The attachment byte for byte, to be saved and never shown: its type is what a stranger says it is."""
        file = await originals.attachment_file(await self.scope(), attachment)
        if file is None:
            raise Problem("not-found")
        await self.seen("file", [attachment])
        return _download(file.content, file.filename)


class RelatedView(MailView):
    """Messages on the same matter."""

    parameters = {"get": {"limit": Parameter("How many at most.", "integer", 10, 1, 50)}}

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """Messages on the same matter as one, also of other threads."""
        hits = await related.find_related(await self.scope(), message, limit=self.query["limit"])
        if hits:
            await self.seen("related", [hit.head.message_id for hit in hits])
        return found({"hits": [hit_json(hit) for hit in hits]} if hits is not None else None)


class ContactsView(MailView):
    """Who writes."""

    parameters = {
        "get": {"query": Parameter("Words of the name or the address.", default="", longest=200), "limit": LIMIT}
    }

    async def get(self, request: Request) -> HttpResponseBase:
        """Participants of the mail in scope whose name or address holds `query`."""
        people = await contacts.search(await self.scope(), self.query["query"], limit=self.query["limit"])
        if people:
            await self.seen("contacts", [])
        return answer({"contacts": [contact_json(person) for person in people]})


def _download(content: bytes, name: str) -> HttpResponse:
    """A stranger's bytes: saved under a harmless name, and inert in a browser that shows them all the same."""
    response = HttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, _file_name(name))
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _file_name(name: str) -> str:
    """*name* without folders, control characters and what makes text read otherwise than it is."""
    inside = clean_line(name).replace("\\", "/").rpartition("/")[2]
    kept = "".join(one for one in inside if one.isprintable()).strip(" .")
    return kept[-_LONGEST_NAME:] or "attachment"
