"""`/v1/messages`: mail as a list, and mail that is put in."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from agentic import filters
from agentic.mailjson import cleaned_head, head_json
from agentic.web.bodies import LARGEST_MAIL
from agentic.web.intake_api import take_in
from agentic.web.mail_api import MailView
from agentic.web.parameters import CURSOR, LIMIT, Parameter
from agentic.web.problems import Problem
from agentic.web.views import answer
from agentic.workers import in_worker
from mailsearch.hits import Filters
from mailsearch.models import Permission, Tenant
from mailsearch.search import listing
from mailsearch.search.paging import InvalidCursor

_ANY = "Any of these; give it several times for several."
_LISTED = {
    **{name: Parameter(_ANY, several=True) for name in filters.LISTS},
    "after": Parameter("On this day or later, by the sender's date: 2026-03-14, 2026-03, yesterday.", longest=40),
    "before": Parameter("Before this day: 2026-03-14, 2026-03, yesterday.", longest=40),
    "has_attachment": Parameter("With attachments, or without.", "boolean"),
    "unread": Parameter("Unread mail, or read.", "boolean"),
    "larger": Parameter("More bytes than this.", "integer", None, 0, 1_000_000_000),
    "limit": LIMIT,
    "cursor": CURSOR,
}
_PUT_IN = {
    "mailbox": Parameter("The mailbox's name.", longest=63, required=True),
    "folder": Parameter("The folder's path, with `/` between levels.", default="INBOX", longest=1000),
}


class MessagesView(MailView):
    """Mail, and mail that comes in."""

    permissions = {"get": Permission.SEARCH_READ, "post": Permission.INGEST_WRITE}
    parameters = {"get": _LISTED, "post": _PUT_IN}

    async def get(self, request: Request) -> HttpResponseBase:
        """Heads of the messages in scope, the newest arrival first. Mail that arrives meanwhile shifts no page."""
        zone = ZoneInfo(await in_worker(_zone_of, self.principal.tenant))
        given = _filters({name: value for name, value in self.query.items() if name in filters.PROPERTIES}, zone)
        try:
            page = await listing.messages(await self.scope(), given, self.query["limit"], self.query["cursor"])
        except InvalidCursor as error:
            message = "This is no cursor of this list."
            raise Problem("invalid-request", errors=[{"field": "cursor", "message": message}]) from error
        await self.seen("list", [head.message_id for head in page.heads])
        return answer(
            {
                "messages": [cleaned_head(head_json(head)) for head in page.heads],
                "refused": list(page.refused),
                "next_cursor": page.next_cursor,
            }
        )

    async def post(self, request: Request) -> HttpResponseBase:
        """Put one message in (`Content-Type: message/rfc822`, at most 50 MB). The same mail twice changes nothing."""
        if (request.content_type or "").partition(";")[0].strip().casefold() != "message/rfc822":
            raise Problem("unsupported-media-type", "Send Content-Type: message/rfc822.")
        data = await in_worker(request._request.read, LARGEST_MAIL + 1)
        if not data:
            raise Problem("invalid-request", errors=[{"field": "(body)", "message": "The body is empty."}])
        put_in = await in_worker(take_in, self.principal, data, self.query["mailbox"], self.query["folder"])
        return answer(put_in, status=201 if put_in["new"] else 200)


def _filters(given: dict[str, object], zone: ZoneInfo) -> Filters:
    now: datetime = timezone.now()
    try:
        return filters.parse(given, now, zone)
    except filters.UnreadableDate as error:
        raise Problem("invalid-request", errors=[{"field": error.name, "message": str(error)}]) from error


def _zone_of(tenant: int) -> str:
    return Tenant.objects.values_list("timezone", flat=True).get(pk=tenant)
