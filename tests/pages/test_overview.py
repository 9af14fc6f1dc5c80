"""The overview: its figures, whose runs are in them, where they lead, and how many queries they take."""

import html
import re
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from agentic.models import AgentPolicy, DailyUse, Sentence, WidenAttempt
from agentic.web.pages import overview
from agentic.web.pages.overview import Overview
from mailsearch.models import Mailbox, MailSource, Tenant
from mailsearch.sessions import Binding, bound
from tests.pages.ended_runs import ended
from tests.pages.people import joins, person, reader_of, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def _tenant(name: str = "Kiln & Co", **more: bool) -> Tenant:
    return Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name=name, **more)


def _load(user: User, **sent: str) -> Overview:
    found = overview.load(reader_of(user), sent)
    assert found is not None
    return found


def test_figures_are_those_of_the_runs_and_lead_to_them() -> None:
    tenant = _tenant()
    ada = person(tenant, "auditor")
    AgentPolicy.objects.create(tenant=tenant, agentic_max_seconds=4)
    run = ended(tenant, prompt_tokens=900, completion_tokens=100, cost_usd=0.25)
    ended(tenant, outcome="degraded", asks=(("plan", 1, 10, 3500),), found_ms=())
    ended(tenant, at=now() - timedelta(days=3))
    ended(tenant, at=now() - timedelta(days=20))
    with bound(Binding(audit=frozenset({tenant.pk}))):
        WidenAttempt.objects.create(tenant=tenant, run=run, kind="unseen_id", tool="search", argument="mailbox")
        for reason in ("quilt", "quilt", "elided"):
            Sentence.objects.create(tenant=tenant, run=run, round=1, final=True, position=2, kept=False, reason=reason)
    found = _load(ada)
    assert (found.runs, [one.count for one in found.outcomes]) == (3, [2, 0, 0, 1])
    assert [(one.code, one.count) for one in found.removed] == [("quilt", 2), ("elided", 1)]
    assert [(one.code, one.count) for one in found.widened] == [("unseen_id", 1)]
    outcomes, seconds, evidence, tokens, cost = found.charts
    assert len(outcomes.columns) == 14
    assert outcomes.columns[-1].cells == (
        "Answered 1", "The mail does not answer this 0", "Ran out of budget 0", "The model was unavailable 1",
    )  # fmt: skip
    assert outcomes.columns[-4].cells[0] == "Answered 1"
    assert (seconds.limit_words, seconds.columns[-2].cells) == ("budget 4 s", ())
    assert evidence.columns[-1].values == ("0.30 s", "0.30 s")
    assert (tokens.columns[-1].values, cost.columns[-1].values) == (("1,000",), ("0.25 USD",))
    # 95 % of 2, 2 and 3.5 s lie within 3.35 s.
    assert [(title, use.percent) for _, title, use in found.near] == [("search.agentic_max_seconds", 84)]
    client = signed_in(ada)
    page = client.get("/overview").content.decode()
    for address in set(re.findall(r'href="(/(?:runs|review|widen-attempts)\?[^"]+)"', page)):
        assert client.get(html.unescape(address)).status_code == 200
    listed = client.get(outcomes.columns[-1].address).content.decode()
    assert (listed.count("run-page"), run.public_id in listed, listed.count("<tr><td")) == (0, True, 2)
    assert _load(ada, days="30").runs == 4


def test_an_answer_without_an_extracted_quote_raises_the_alarm() -> None:
    tenant = _tenant()
    client = signed_in(person(tenant, "auditor"))
    ended(tenant)
    assert "No alarm." in client.get("/overview").content.decode()
    blind = ended(tenant, quoted=False)
    page = client.get("/overview").content.decode()
    assert "1 of the newest 2 answers rest on no extracted quote" in page
    listed = client.get(f"/runs?tenant={tenant.slug}&outcome=answered&quotes=none").content.decode()
    assert blind.public_id in listed
    assert listed.count("<tr><td") == 1


def test_caps_and_sources_tell_what_is_amiss() -> None:
    tenant = _tenant()
    AgentPolicy.objects.create(tenant=tenant, agentic_daily_cap=10)
    DailyUse.objects.create(tenant=tenant, day=now().date(), used=8)
    box = Mailbox.objects.create(tenant=tenant, slug="claims")
    MailSource.objects.create(
        tenant=tenant, mailbox=box, kind="imap", location="imaps://x@mail.example:993", error="<b>refused</b>"
    )
    page = signed_in(person(tenant, "auditor")).get("/overview").content.decode()
    assert "<code>search.agentic_daily_cap</code> is near its limit, today 8, 80 %" in page
    assert "&lt;b&gt;refused" in page
    assert "never" in page


def test_sandboxes_evaluations_and_tenants_of_others_are_left_out() -> None:
    real, other = _tenant("Real"), _tenant("Other")
    ada = person(real, "auditor")
    for tenant in (_tenant("Try", sandbox=True), _tenant("Test", evaluation=True)):
        joins(ada, tenant, "auditor")
        ended(tenant)
    ended(real)
    ended(other)
    found = _load(ada)
    assert (found.runs, [house.tenant.name for house in found.houses]) == (1, ["Real"])
    client = signed_in(ada)
    assert client.get(f"/overview?tenant={other.slug}").status_code == 404
    for role, opens in (("administrator", 200), ("operator", 404), ("member", 404)):
        assert signed_in(person(real, role)).get("/overview").status_code == opens


def test_more_tenants_and_runs_take_no_more_queries() -> None:
    tenant = _tenant()
    ada = person(tenant, "auditor")
    counted = []
    for more in (1, 12):
        for number in range(more):
            another = _tenant(f"House {number}")
            joins(ada, another, "auditor")
            ended(another)
        with CaptureQueriesContext(connection) as queries:
            _load(ada)
        counted.append(len(queries))
    assert counted[0] == counted[1]
    assert counted[0] <= 20
