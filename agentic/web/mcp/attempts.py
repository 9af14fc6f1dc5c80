"""Widen attempts of callers who call tools themselves: written down though there is no run."""

from collections.abc import Sequence

from agentic.audit import put
from agentic.callers import Principal
from agentic.core.ports import WidenAttempt
from agentic.models import CallerAttempt
from mailsearch.sessions import Binding, session


async def record(principal: Principal, attempts: Sequence[WidenAttempt]) -> None:
    """Add a row for each of *attempts* to the audit of the caller's tenant."""
    async with session(Binding(audit=frozenset({principal.tenant}))) as conn, conn.pipeline():
        for attempt in attempts:
            await put(
                conn,
                CallerAttempt,
                tenant=principal.tenant,
                caller=principal.caller,
                caller_label=principal.label,
                kind=attempt.kind,
                tool=attempt.tool[:40],
                argument=attempt.argument[:100],
                requested=attempt.requested[:2000],
                effective=attempt.effective,
            )
