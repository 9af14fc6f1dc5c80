"""The overview: what became of the runs of tenants, how near their limits are, and whether something is amiss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import quote, urlencode

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from agentic import figures, trends
from agentic.figures import Used
from agentic.limits import BY_NAME, LIMITS
from agentic.policies import EffectivePolicy, composed, rows_of
from agentic.reviewers import Right
from agentic.trends import OUTCOMES, Trends, Watched
from agentic.web.pages import wording
from agentic.web.pages.charts import Chart, Series, chart
from agentic.web.pages.filters import Choices, text_of
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.web.pages.settings_view import Use, use_of
from agentic.workers import in_worker
from mailsearch.models import MailSource, Tenant
from mailsearch.sessions import Binding, bound

WINDOWS = ("14", "30", "90")
_CAPS = ("agentic_daily_cap", "agentic_daily_tokens", "agentic_daily_cost_usd", "agentic_key_share")


@dataclass(frozen=True, slots=True)
class Counted:
    """A number of something with where it is listed, and its share of the largest in per cent."""

    words: str
    code: str
    count: int
    address: str
    share: int


@dataclass(frozen=True, slots=True)
class House:
    """One tenant in the table of all."""

    tenant: Tenant
    address: str
    # Where its runs of these days are listed.
    listed: str
    outcomes: tuple[Counted, ...]
    chart: Chart
    seconds_p95: float | None
    budget: Use | None
    caps: tuple[tuple[str, Use], ...]
    watched: Watched
    unquoted: str

    @property
    def limits(self) -> tuple[tuple[str, Use], ...]:
        return (*self.caps, ("search.agentic_max_seconds", self.budget)) if self.budget else self.caps

    @property
    def runs(self) -> int:
        return sum(one.count for one in self.outcomes)


@dataclass(frozen=True, slots=True)
class Overview:
    """The page. `tenant` is the one that was chosen, None for all."""

    tenant: Tenant | None
    days: int
    runs: int
    outcomes: tuple[Counted, ...]
    charts: tuple[Chart, ...]
    removed: tuple[Counted, ...]
    widened: tuple[Counted, ...]
    houses: tuple[House, ...]
    sources: tuple[MailSource, ...]
    choices: tuple[Choices, ...]

    @property
    def alarms(self) -> list[House]:
        return [one for one in self.houses if one.watched.unquoted]

    @property
    def near(self) -> list[tuple[House, str, Use]]:
        """Limits that are nearly used up."""
        return [(one, title, use) for one in self.houses for title, use in one.limits if use.alerts]


@require_safe
@opened(Right.AUDIT)
async def overview(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Every tenant that the reader audits, or the one that `?tenant=` names; `?days=` back."""
    found = await in_worker(load, reader, request.GET.dict())
    if found is None:
        raise Http404
    return shown(request, reader, "overview.html", {"found": found, "watched": trends.WATCHED})


def load(reader: Reader, sent: Mapping[str, str]) -> Overview | None:
    """The page that an address asks for; None for a tenant that is not there for the reader."""
    # Made-up runs would only blur the figures of real ones.
    seen = [one for one in reader.audited if not one.evaluation and not one.sandbox]
    slug = text_of(sent, "tenant")
    chosen = [one for one in seen if one.slug == slug] if slug else seen
    if slug and not chosen:
        return None
    window = text_of(sent, "days") if text_of(sent, "days") in WINDOWS else WINDOWS[0]
    ids = [one.pk for one in chosen]
    with bound(Binding(audit=frozenset(ids))):
        read = trends.read(ids, int(window))
        used = figures.used(ids, runs=False)
    rows = rows_of(ids)
    held = {one.pk: composed(rows.get(one.pk), rows.get(None)) for one in chosen}
    since = urlencode({"since": read.days[0]})
    sources = MailSource.objects.filter(tenant__in=ids).select_related("tenant", "mailbox")
    return Overview(
        chosen[0] if slug else None,
        int(window),
        read.whole.runs,
        tuple(_outcomes(read, slug)),
        _charts(read, slug, held),
        _counted(read.removed, wording.REMOVALS, f"{reverse('review')}?reviewed=any&tenant={slug}&{since}&reason="),
        _counted(read.widened, wording.WIDENING, f"{reverse('widen-attempts')}?seen=any&tenant={slug}&{since}&kind="),
        tuple(_house(one, read, used.get(one.pk, Used()), held[one.pk]) for one in chosen),
        tuple(sources.order_by("tenant__slug", "mailbox__slug", "pk")),
        _choices(seen, slug, window),
    )


def _charts(read: Trends, slug: str, held: Mapping[int, EffectivePolicy]) -> tuple[Chart, ...]:
    days = [(_day(day), _runs(slug, since=day, until=day)) for day in read.days]
    daily = [read.daily.get(day) for day in read.days]
    whole = read.whole
    seconds = [(one.seconds if one else None) for one in daily]
    evidence = [(one.evidence if one else None) for one in daily]
    budgets = {one.max_seconds for one in held.values()}
    budget = max(budgets, default=None)
    of = f"budget {budget} s" if len(budgets) == 1 else f"the largest budget {budget} s"
    return (
        _outcome_chart("outcomes", read, days, None),
        chart(
            "seconds", "Seconds a run", _middle(whole.seconds),
            [_series("p50", "half within", seconds, 0), _series("p95", "95 % within", seconds, 1)],
            days, unit=" s", digits=1, stacked=False, limit=budget, limit_words=of,
        ),
        chart(
            "evidence", "Until the first evidence", _middle(whole.evidence),
            [_series("p50", "half within", evidence, 0), _series("p95", "95 % within", evidence, 1)],
            days, unit=" s", digits=2, stacked=False,
        ),
        chart(
            "tokens", "Tokens", f"{whole.tokens:,} in all",
            [Series("plain", "tokens", [one.tokens if one else 0 for one in daily])], days,
        ),
        chart(
            "cost", "Cost by list prices", f"{whole.cost_usd:,.2f} USD in all",
            [Series("plain", "cost", [one.cost_usd if one else 0.0 for one in daily])], days, unit=" USD", digits=2,
        ),
    )  # fmt: skip


def _outcome_chart(name: str, read: Trends, days: Sequence[tuple[str, str]], tenant: int | None) -> Chart:
    series = [
        Series(code, wording.outcome(code), [read.on(day, code, tenant) for day in read.days]) for code in OUTCOMES
    ]
    runs = int(sum(sum(value or 0 for value in one.values) for one in series))
    return chart(name, "Runs by outcome", f"{runs:,} in all", series, days)


def _series(code: str, words: str, pairs: Sequence[tuple[float, float] | None], which: int) -> Series:
    return Series(code, words, [pair[which] if pair else None for pair in pairs])


def _middle(pair: tuple[float, float] | None) -> str:
    return f"half within {pair[0]:.2f} s, 95 % within {pair[1]:.2f} s" if pair else "no run tells"


def _house(tenant: Tenant, read: Trends, used: Used, held: EffectivePolicy) -> House:
    days = [(_day(day), _runs(tenant.slug, since=day, until=day)) for day in read.days]
    p95 = read.seconds_p95.get(tenant.pk)
    caps = [(limit.title, use_of(limit.name, held, used)) for limit in LIMITS if limit.name in _CAPS]
    return House(
        tenant,
        f"{reverse('overview')}?{urlencode({'tenant': tenant.slug, 'days': len(read.days)})}",
        _runs(tenant.slug, since=read.days[0]),
        tuple(_outcomes(read, tenant.slug, tenant.pk)),
        _outcome_chart(f"outcomes-{tenant.slug}", read, days, tenant.pk),
        p95,
        use_of(BY_NAME["agentic_max_seconds"].name, held, Used(seconds_p95=p95)),
        tuple((title, use) for title, use in caps if use is not None),
        read.watched.get(tenant.pk, Watched()),
        _runs(tenant.slug, outcome="answered", quotes="none"),
    )


def _outcomes(read: Trends, slug: str, tenant: int | None = None) -> list[Counted]:
    counts = [(code, read.total(code, tenant)) for code in OUTCOMES]
    most = sum(count for _, count in counts) or 1
    since = read.days[0]
    return [
        Counted(wording.outcome(code), code, count, _runs(slug, outcome=code, since=since), round(100 * count / most))
        for code, count in counts
    ]


def _counted(rows: Sequence[tuple[str, int]], words: Mapping[str, str], address: str) -> tuple[Counted, ...]:
    most = max((count for _, count in rows), default=1)
    return tuple(
        Counted(words.get(code, code), code, count, address + quote(code), round(100 * count / most))
        for code, count in rows
    )


def _runs(slug: str, **asked: object) -> str:
    """Where runs are listed, of one tenant or of all."""
    given = {"tenant": slug} if slug else {}
    return f"{reverse('runs-page')}?{urlencode({**given, **asked})}"


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _choices(seen: Sequence[Tenant], slug: str, window: str) -> tuple[Choices, ...]:
    days = Choices("days", "Days", [(one, f"the last {one}") for one in WINDOWS], window)
    if len(seen) < 2:
        return (days,)
    return (Choices("tenant", "Tenant", [("", "all"), *((one.slug, one.name) for one in seen)], slug), days)
