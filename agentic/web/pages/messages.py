"""The page of a message: who wrote it, its text with the cited span marked, its attachments and its thread."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.views.decorators.http import require_POST, require_safe

from agentic import accesses
from agentic.callers import Principal, principal_of_member
from agentic.reviewers import Right, mail_scope, rights
from agentic.web import intake_api
from agentic.web.pages import message_text, results
from agentic.web.pages.message_text import Span
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.hits import NO_LINKS, Filters, MessageHead, MessageText, PartText
from mailsearch.models import Membership, Message
from mailsearch.scope import Scope
from mailsearch.search import listing, reading

_LARGEST_OFFSET = 100_000_000
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Opened:
    """A message that the reader may read, with the scope and membership through which."""

    text: MessageText
    scope: Scope
    membership: Membership


@dataclass(frozen=True, slots=True)
class Unseen:
    """What is known of a message beside what it shows."""

    defects: tuple[dict[str, str], ...]
    hidden_characters: int
    alternatives_differ: bool


@require_safe
@opened(Right.READ_MAIL)
async def message(request: HttpRequest, reader: Reader, message: str) -> HttpResponseBase:
    """One message; `?part=`, `start` and `end` open it at a cited span, `at` further on in a long text."""
    found = await _open(reader, message)
    principal = principal_of_member(found.membership)
    await accesses.record(principal, "message", [message], "page")
    text, scope = found.text, found.scope
    part = text.part(request.GET.get("part", "body")) or text.part("body")
    assert part is not None
    start, end = _offset(request, "start"), _offset(request, "end")
    span = Span(start, end) if start is not None and end is not None and start < end <= len(part.text) else None
    links = (await reading.links(scope, [message])).get(message, {}).get(part.name, NO_LINKS)
    thread = await listing.messages(scope, Filters(threads=(text.head.thread_id,)), limit=listing.MOST)
    if others := [head.message_id for head in thread.heads if head.message_id != message]:
        # Beside it stand who wrote in its thread, and when.
        await accesses.record(principal, "list", others, "page")
    held = rights(found.membership)
    context = {
        "head": text.head,
        "part": part,
        "subject_span": span if part.name == "subject" else None,
        "window": message_text.window(part, span, _offset(request, "at") or 0, links.kept),
        "links_left_out": links.more,
        "span": span,
        "unseen": await in_worker(_unseen, scope, text),
        "attachments": _attachments(text),
        "thread": [_in_thread(head) for head in reversed(thread.heads)],
        "raw": Right.READ_RAW in held,
        "quarantine": Right.QUARANTINE in held,
        "address": results.message_address(message),
    }
    return shown(request, reader, "message.html", context)


@require_safe
@opened(Right.READ_RAW)
async def raw(request: HttpRequest, reader: Reader, message: str) -> HttpResponseBase:
    """The message as it came, to be saved and not to be shown."""
    found = await _open(reader, message, Right.READ_RAW)
    data = await reading.raw(found.scope, message)
    if data is None:
        raise Http404
    await accesses.record(principal_of_member(found.membership), "raw", [message], "page")
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = 'attachment; filename="message.eml"'
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


@require_POST
@opened(Right.QUARANTINE)
async def quarantine(request: HttpRequest, reader: Reader, message: str) -> HttpResponseBase:
    """Take a message out of every scope, as a recorded act with its reason."""
    reason = request.POST.get("reason", "").strip()[:_LONGEST_REASON]
    if not reason:
        context = {"words": "Say why: the reason stands in the record of this act."}
        return shown(request, reader, "refused.html", context, status=400)
    for membership in reader.memberships:
        if Right.QUARANTINE in rights(membership) and await in_worker(_set, membership, message, reason):
            return HttpResponseRedirect(_back(request))
    raise Http404


async def _open(reader: Reader, message: str, needs: Right = Right.READ_MAIL) -> Opened:
    """The message, through whichever membership of the reader's shows it. Raises Http404."""
    for membership in reader.memberships:
        if needs not in rights(membership):
            continue
        scope = await in_worker(mail_scope, reader.user, membership.tenant_id)
        text = None if scope.empty else await reading.message(scope, message)
        if text is not None:
            return Opened(text, scope, membership)
    raise Http404


def _unseen(scope: Scope, text: MessageText) -> Unseen:
    with scope.reading_orm():
        row = Message.objects.only("defects", "alternatives_differ").get(public_id=text.head.message_id)
    return Unseen(tuple(row.defects), len(text.hidden_text), row.alternatives_differ)


def _attachments(text: MessageText) -> list[dict[str, Any]]:
    """Each attachment with the address of its text, where it has one."""
    address = results.message_address(text.head.message_id)
    listed = []
    for one in text.head.attachments:
        part = text.part(f"attachment:{one.attachment_id}")
        listed.append({"info": one, "pages": _pages(part), "address": f"{address}?part={part.name}" if part else ""})
    return listed


def _pages(part: PartText | None) -> int:
    return len(part.page_starts) if part is not None else 0


def _in_thread(head: MessageHead) -> dict[str, Any]:
    return {"head": head, "address": results.message_address(head.message_id)}


def _set(membership: Membership, message: str, reason: str) -> bool:
    principal: Principal = principal_of_member(membership)
    return intake_api.set_quarantine(principal, message, True, reason) is not None


def _offset(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
    return number if number is None or number <= _LARGEST_OFFSET else None


def _back(request: HttpRequest) -> str:
    """Where the form says to go on, if that lies within this service."""
    then = request.POST.get("then", "")
    return then if then.startswith("/") and not then.startswith("//") and "\\" not in then else "/"
