"""Widen attempts of callers who call tools themselves: written down though there is no run."""

from collections.abc import Sequence

from agentic.callers import Principal
from agentic.core.ports import WidenAttempt
from agentic.models import CallerAttempt
from agentic.rows import Sheet
from mailsearch.sessions import Binding, session


async def record(principal: Principal, attempts: Sequence[WidenAttempt]) -> None:
    """Add a row for each of *attempts* to the audit of the caller's tenant."""
    sheet = Sheet()
    for attempt in attempts:
        sheet.add(
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
    async with session(Binding(audit=frozenset({principal.tenant}))) as conn:
        await sheet.write(conn)
