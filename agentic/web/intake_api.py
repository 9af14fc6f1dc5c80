"""Putting mail in, and setting quarantine: the two acts on mail that the API knows."""

from django.http import HttpResponseBase
from rest_framework.request import Request

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


class QuarantineView(ApiView):
    """The quarantine of one message."""

    permission = Permission.QUARANTINE_WRITE
    serializer_class = QuarantineSerializer

    async def post(self, request: Request, message: str) -> HttpResponseBase:
        """Put a message and all with the same words, and what is attached to them, into quarantine, or lift it."""
        given = await in_worker(validated, QuarantineSerializer, request)
        return found(await in_worker(set_quarantine, self.principal, message, given["quarantined"], given["reason"]))


def take_in(principal: Principal, data: bytes, mailbox_slug: str, folder: str) -> Json:
    """Put one raw message into a mailbox that the caller was granted. Raises Problem."""
    scope = scope_now(principal, Permission.INGEST_WRITE)
    # A mailbox that is granted may still be empty, and then no folder shows it.
    granted = Mailbox.objects.filter(tenant=principal.tenant, slug=mailbox_slug)
    mailbox = granted.filter(pk__in=scope.mailboxes | _granted(principal)).first()
    if mailbox is None:
        raise Problem("not-found")
    summary = pipeline.ingest_one(RawMail(data, "API"), mailbox=mailbox, folder=folder)
    return {"new": summary.new, "known": summary.known, "defects": dict(summary.defects)}


def _granted(principal: Principal) -> frozenset[int]:
    grant = Grant.objects.get(pk=principal.grant)
    boxes = grant.tenant.mailboxes.all() if grant.all_mailboxes else grant.mailboxes.filter(tenant=grant.tenant)
    return frozenset(boxes.values_list("pk", flat=True))


def set_quarantine(principal: Principal, public_id: str, quarantined: bool, reason: str) -> Json | None:
    """Set or lift a message's quarantine, as a recorded act; None where the caller may not read the message."""
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
