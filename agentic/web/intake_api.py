"""Putting mail in, and setting quarantine: the two acts on mail that the API knows."""

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from agentic.callers import Principal, scope_now
from agentic.mailjson import Json
from agentic.models import AdminAct
from agentic.web.problems import Problem
from agentic.web.serializers import QuarantineSerializer
from agentic.web.views import ApiView, found, validated
from agentic.workers import in_worker
from mailsearch.ingest import pipeline, quarantine
from mailsearch.ingest.sources.raw import RawMail
from mailsearch.models import Grant, Mailbox, Message, Permission
from mailsearch.sessions import Binding, bound

_LARGEST_MAIL = 50_000_000


class MessagesView(ApiView):
    """Mail that comes in."""

    permission = Permission.INGEST_WRITE

    async def post(self, request: Request) -> HttpResponseBase:
        """Put one message (`Content-Type: message/rfc822`, at most 50 MB) into `?mailbox=`, `&folder=` (INBOX)."""
        if request.content_type != "message/rfc822":
            raise Problem("unsupported-media-type", "Send Content-Type: message/rfc822.")
        return Response(await in_worker(_take_in, self.principal, request), status=201)


class QuarantineView(ApiView):
    """The quarantine of one message."""

    permission = Permission.QUARANTINE_WRITE

    async def post(self, request: Request, message: str) -> HttpResponseBase:
        """Put a message and all with the same words, and what is attached to them, into quarantine, or lift it."""
        given = await in_worker(validated, QuarantineSerializer, request)
        return found(await in_worker(_quarantine, self.principal, message, given["quarantined"], given["reason"]))


def _take_in(principal: Principal, request: Request) -> Json:
    scope = scope_now(principal, Permission.INGEST_WRITE)
    slug = request.query_params.get("mailbox", "")
    folder = request.query_params.get("folder", "")[:1000] or "INBOX"
    # A mailbox that is granted may still be empty, and then no folder shows it.
    granted = Mailbox.objects.filter(tenant=principal.tenant, slug=slug)
    mailbox = granted.filter(pk__in=scope.mailboxes | _granted(principal)).first()
    if mailbox is None:
        raise Problem("not-found")
    data = request._request.read(_LARGEST_MAIL + 1)
    if len(data) > _LARGEST_MAIL:
        raise Problem("too-large", "A message may have 50 MB.")
    if not data:
        raise Problem("invalid-request", "The body is empty.")
    summary = pipeline.ingest_one(RawMail(data, "API"), mailbox=mailbox, folder=folder)
    return {"new": summary.new, "known": summary.known, "defects": dict(summary.defects)}


def _granted(principal: Principal) -> frozenset[int]:
    grant = Grant.objects.get(pk=principal.grant)
    boxes = grant.tenant.mailboxes.all() if grant.all_mailboxes else grant.mailboxes.filter(tenant=grant.tenant)
    return frozenset(boxes.values_list("pk", flat=True))


def _quarantine(principal: Principal, public_id: str, quarantined: bool, reason: str) -> Json | None:
    scope = scope_now(principal, Permission.QUARANTINE_WRITE)
    binding = Binding(principal.tenant, scope.mailboxes, include_quarantined=True)
    with bound(binding):
        message = Message.objects.filter(public_id=public_id, folder__in=scope.folder_ids).first()
        if message is None:
            return None
        changed = quarantine.change(message, quarantined=quarantined)
        act = "message quarantined" if quarantined else "quarantine lifted"
        detail = {"message": public_id, "messages": len(changed)}
        AdminAct.objects.create(
            tenant_id=principal.tenant, actor=principal.caller, act=act, detail=detail, reason=reason
        )
    return {"message_id": public_id, "quarantined": quarantined, "messages": len(changed)}
