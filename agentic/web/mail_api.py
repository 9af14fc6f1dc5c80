"""Reading mail and what the caller may do with it: messages, threads, attachments, contacts, `me` and `usage`."""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from agentic import caps, policies
from agentic.callers import Principal, scope_now
from agentic.core.fence import clean
from agentic.mailjson import Json, attachment_json, cleaned_head, contact_json, head_json, hit_json, message_json
from agentic.web.problems import Problem
from agentic.web.views import ApiView, found
from agentic.workers import in_worker
from mailsearch.models import Folder, Mailbox, Permission, Tenant
from mailsearch.scope import Scope
from mailsearch.search import contacts, reading, related
from mailsearch.sessions import Binding, session

_CHARACTERS = 20_000


class MailView(ApiView):
    """An address that reads mail."""

    permission = Permission.SEARCH_READ

    async def scope(self) -> Scope:
        return await in_worker(scope_now, self.principal, self.permission)


class MessageView(MailView):
    """One message."""

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """A message with all its visible text. The text is a stranger's: untrusted."""
        read = await reading.message(await self.scope(), message)
        return found(message_json(read) if read else None)


class RawMessageView(MailView):
    """A message as it came."""

    permission = Permission.MESSAGE_RAW

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """The raw message, byte for byte."""
        data = await reading.raw(await self.scope(), message)
        if data is None:
            raise Problem("not-found")
        response = HttpResponse(data, content_type="application/octet-stream")
        response["Content-Disposition"] = 'attachment; filename="message.eml"'
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "sandbox; default-src 'none'"
        return response


class ThreadView(MailView):
    """One conversation."""

    async def get(self, request: Request, thread: str) -> HttpResponseBase:
        """The messages of a thread that are in the caller's scope, the oldest first."""
        messages = await reading.thread(await self.scope(), thread)
        if not messages:
            raise Problem("not-found")
        return Response({"thread_id": thread, "total": len(messages), "messages": list(map(message_json, messages))})


class AttachmentView(MailView):
    """The text of one attachment."""

    async def get(self, request: Request, attachment: str) -> HttpResponseBase:
        """The attachment's text from character `offset` on, 20,000 characters at a time."""
        read = await reading.attachment(await self.scope(), attachment)
        if read is None:
            raise Problem("not-found")
        head, part, info = read
        offset = number(request, "offset", 0, 0, 100_000_000)
        end = offset + _CHARACTERS
        return Response(
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


class RelatedView(MailView):
    """Messages on the same matter."""

    async def get(self, request: Request, message: str) -> HttpResponseBase:
        """Messages on the same matter as one, also of other threads."""
        hits = await related.find_related(await self.scope(), message, limit=number(request, "limit", 10, 1, 50))
        return found({"hits": [hit_json(hit) for hit in hits]} if hits is not None else None)


class ContactsView(MailView):
    """Who writes."""

    async def get(self, request: Request) -> HttpResponseBase:
        """Participants of the mail in scope whose name or address holds `query`."""
        query, limit = request.query_params.get("query", "")[:200], number(request, "limit", 20, 1, 100)
        people = await contacts.search(await self.scope(), query, limit=limit)
        return Response({"contacts": [contact_json(person) for person in people]})


class MeView(ApiView):
    """The caller, as the service sees it."""

    async def get(self, request: Request) -> HttpResponseBase:
        """Who the caller is, what it may do, which mail it may read, and what is left of its runs today."""
        about = await in_worker(_about, self.principal)
        return Response({**about, "agentic": await _usage(self.principal)})


class UsageView(ApiView):
    """How much was used."""

    async def get(self, request: Request) -> HttpResponseBase:
        """The tenant's runs of today and what is left of them."""
        return Response(await _usage(self.principal))


def number(request: Request, name: str, default: int, low: int, high: int) -> int:
    """A whole number from the address's query. Raises Problem."""
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        message = f"A whole number from {low} to {high}."
        raise Problem("invalid-request", errors=[{"field": name, "message": message}])
    return int(text)


async def _usage(principal: Principal) -> Json:
    policy = await in_worker(policies.effective, principal.tenant)
    async with session(Binding(tenant=principal.tenant)) as conn:
        today = await caps.today(conn, principal.tenant)
    return {
        "daily_cap": policy.caps.runs,
        "used_today": today.used,
        "left_today": max(0, policy.caps.runs - today.used),
        "daily_tokens": policy.caps.tokens,
        "tokens_today": today.tokens,
        "daily_cost_usd": float(policy.caps.cost_usd) if policy.caps.cost_usd is not None else None,
        "cost_usd_today": float(today.cost_usd),
        "key_share": policy.caps.key_share,
        "day_ends": today.ends.isoformat(),
        "max_steps": policy.max_steps,
        "max_seconds": policy.max_seconds,
    }


def _about(principal: Principal) -> Json:
    tenant = Tenant.objects.get(pk=principal.tenant)
    scope = scope_now(principal)
    folders = Folder.objects.filter(pk__in=scope.folder_ids).order_by("path")
    by_mailbox: dict[int, list[str]] = {}
    for folder in folders:
        by_mailbox.setdefault(folder.mailbox_id, []).append(folder.path)
    mailboxes: list[Any] = [
        {"mailbox": mailbox.slug, "folders": by_mailbox.get(mailbox.pk, [])}
        for mailbox in Mailbox.objects.filter(pk__in=scope.mailboxes).order_by("slug")
    ]
    return {
        "caller": principal.caller,
        "label": principal.label,
        "tenant": tenant.slug,
        "timezone": tenant.timezone,
        "permissions": sorted(principal.permissions),
        "mailboxes": mailboxes,
    }
