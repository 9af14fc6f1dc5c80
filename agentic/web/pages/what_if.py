"""The page that tells how a tenant's newest runs would have ended under other limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from agentic import policies, traces
from agentic.core.what_if import Ending
from agentic.limits import BY_NAME, OutOfBounds
from agentic.policies import EffectivePolicy
from agentic.traces import Rehearsal, Traced
from agentic.web.pages import wording
from agentic.web.pages.filters import text_of
from agentic.web.pages.readers import Reader
from agentic.web.pages.settings_forms import Proposal
from agentic.web.pages.settings_view import editable
from mailsearch.models import Tenant
from mailsearch.sessions import Binding, bound

_LISTED = 500
# More tenants than this are not rehearsed on the way to a change: their own pages tell.
_MOST = 5
ENDS: Mapping[Ending, str] = {
    "exhausted": "would have ended budget_exhausted: nothing to answer from, or no time to",
    "less": "would have had to answer before what they cite was found",
    "sooner": "would have had to answer sooner, with all that they cite at hand",
    "same": "would have ended as they did",
}


@dataclass(frozen=True, slots=True)
class End:
    """How many would have ended so, and where they are listed."""

    code: Ending
    words: str
    count: int
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Told:
    """What the newest runs of a tenant tell about other limits."""

    tenant: Tenant
    held: EffectivePolicy
    max_steps: int
    max_seconds: int
    total: int
    ends: tuple[End, ...]
    # Runs that reached a present limit: what more would have given them, no trace tells.
    exhausted_now: int
    errors: tuple[str, ...]
    listed: tuple[Traced, ...] = ()

    @property
    def lower(self) -> bool:
        return self.max_steps < self.held.max_steps or self.max_seconds < self.held.max_seconds

    @property
    def higher(self) -> bool:
        return self.max_steps > self.held.max_steps or self.max_seconds > self.held.max_seconds

    @property
    def exhausted(self) -> End:
        return self.ends[0]

    @property
    def outcomes(self) -> list[tuple[Traced, str]]:
        return [(one, wording.outcome(one.outcome)) for one in self.listed]


def load(reader: Reader, slug: str, sent: Mapping[str, str]) -> Told | None:
    """The page for the tenant *slug*; None where the reader may not see it."""
    tenant = next((one for one in editable(reader)[0] if one.slug == slug), None)
    if tenant is None:
        return None
    held = policies.effective(tenant.pk)
    steps, seconds, errors = held.max_steps, held.max_seconds, []
    for name in ("agentic_max_steps", "agentic_max_seconds"):
        try:
            value = BY_NAME[name].read(text_of(sent, name))
        except OutOfBounds as error:
            errors.append(str(error))
            continue
        if isinstance(value, int):
            steps, seconds = (value, seconds) if name == "agentic_max_steps" else (steps, value)
    return _told(tenant, held, steps, seconds, tuple(errors), text_of(sent, "end"))


def of_proposals(proposals: Sequence[Proposal]) -> list[Told]:
    """What a change of steps or seconds would have meant, for each tenant that it concerns; of a few tenants alone."""
    found = []
    for one in proposals if len(proposals) <= _MOST else ():
        after, tenant = one.after, one.wanted.owner
        if tenant is not None and (after.max_steps, after.max_seconds) != (
            one.before.max_steps,
            one.before.max_seconds,
        ):
            found.append(_told(tenant, one.before, after.max_steps, after.max_seconds, (), ""))
    return found


def _told(
    tenant: Tenant, held: EffectivePolicy, steps: int, seconds: int, errors: tuple[str, ...], chosen: str
) -> Told:
    with bound(Binding(audit=frozenset({tenant.pk}))):
        rehearsal = traces.rehearsed(traces.newest(tenant.pk), steps, seconds)
    return Told(
        tenant,
        held,
        steps,
        seconds,
        len(rehearsal.ends),
        tuple(_end(code, rehearsal, tenant, steps, seconds, chosen) for code in ENDS),
        sum(run.outcome == "budget_exhausted" for run, _ in rehearsal.ends),
        errors,
        tuple(run for run, end in rehearsal.ends if end == chosen)[:_LISTED],
    )


def _end(code: Ending, rehearsal: Rehearsal, tenant: Tenant, steps: int, seconds: int, chosen: str) -> End:
    asked = urlencode({"agentic_max_steps": steps, "agentic_max_seconds": seconds, "end": code})
    address = f"{reverse('settings-what-if', args=[tenant.slug])}?{asked}#runs"
    return End(code, ENDS[code], rehearsal.count(code), address, code == chosen)
