"""The six mail tools as the loop has them, for callers who call them themselves."""

import secrets
import time

from django.utils import timezone

from agentic import accesses
from agentic.callers import scope_at_once
from agentic.core.evidence import FoundBy
from agentic.core.ledger import Ledger
from agentic.core.ports import ToolCall, ToolResult, ToolUnavailable
from agentic.core.question import Question
from agentic.tools import NOT_FOUND, MailTools
from agentic.web.mcp import attempts
from agentic.web.mcp.calls import Call, Said
from agentic.web.mcp.rendering import ROOM, mail_said
from agentic.web.problems import Problem
from agentic.workers import in_worker
from mailsearch.models import Permission, Tenant
from mailsearch.scope import Scope

_SECONDS = 15.0
_NOT_THERE = (
    "not found: it does not exist, or this key may not read it. Take ids from earlier results, and filters that name"
    " mailboxes and folders of this key."
)


async def call_mail_tool(name: str, call: Call) -> Said:
    """Call the mail tool *name*. Raises Problem in words that say what to do."""
    principal = call.principal

    async def now() -> Scope:
        return await scope_at_once(principal, Permission.SEARCH_READ)

    question = Question("", timezone.now(), await in_worker(_zone_of, principal.tenant))
    tools = MailTools(now, question, any_id=True)
    try:
        result = await tools.call(ToolCall("mcp", name, call.arguments), frozenset(), time.monotonic() + _SECONDS)
    except ToolUnavailable as error:
        raise Problem("search-unavailable", "Call the tool again.", retry_after=1) from error
    if result.widen:
        await attempts.record(principal, result.widen)
    if result.finding:
        raise _problem(result)
    read = [one.message.head.message_id for one in result.messages]
    await accesses.record(principal, name, read, "mcp")
    ledger = Ledger("", secrets.randbelow)
    admission = ledger.admit(result, FoundBy(None, name, ""), ROOM)
    return mail_said(result, admission, question, int(call.arguments.get("offset") or 0))


def _problem(result: ToolResult) -> Problem:
    if result.finding == NOT_FOUND:
        return Problem("not-found", _NOT_THERE)
    # What follows it names the arguments that there are: nothing is missing but one of those.
    return Problem("invalid-request", result.finding.removeprefix(f"{NOT_FOUND}: "))


def _zone_of(tenant: int) -> str:
    return Tenant.objects.values_list("timezone", flat=True).get(pk=tenant)
