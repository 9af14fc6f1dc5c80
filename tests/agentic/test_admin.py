"""The admin leads to where limits are changed; and nobody can change what was written down."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from agentic.models import AgentPolicy, Evidence, Run, RunFinished, Sentence, WidenAttempt
from mailsearch.models import Grant, Membership, Tenant
from mailsearch.sessions import Binding, bound

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<script>alert(1)</script> Golf & more"


@dataclass
class Cast:
    """A tenant with one run; Ada audits it, Bob administers it, Eve is a member without rights there."""

    tenant: Tenant
    run: Run
    ada: Client
    bob: Client
    eve: Client


def _person(tenant: Tenant, role: str) -> Client:
    user = get_user_model().objects.create_user(f"{role}-{uuid.uuid4().hex[:8]}", password=None, is_staff=True)
    grant = Grant.objects.create(tenant=tenant)
    Membership.objects.create(tenant=tenant, user=user, role=role, grant=grant)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def cast() -> Cast:
    tenant = Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name="Kiln & Co")
    AgentPolicy.objects.create(tenant=tenant)
    with bound(Binding(audit=frozenset({tenant.pk}))):
        run = Run.objects.create(
            tenant=tenant, caller="key:abc", question=HOSTILE, timezone="UTC", asked_now=now(), scope={},
            max_steps=6, max_seconds=8, model="m", policy="standard", verifier_version="1",
        )  # fmt: skip
        Sentence.objects.create(
            tenant=tenant, run=run, round=1, final=True, position=1, drafted="The fee is 9 EUR [a1b2c3].",
            text="The fee is 9 EUR.", kept=False, reason="fact_not_found", detail={"fact": "9 EUR"},
        )  # fmt: skip
        Evidence.objects.create(
            tenant=tenant, run=run, seq=2, label="a1b2c3", message_id="msg_unreadable", text_sha256="0" * 64,
            head={"subject": "secret subject", "from": {"name": "", "address": ""}},
            excerpts=[{"text": "secret words"}],
        )  # fmt: skip
        WidenAttempt.objects.create(
            tenant=tenant, run=run, kind="outside_scope", step=1, tool="search", argument="mailboxes",
            requested="board@kiln.example",
        )  # fmt: skip
        RunFinished.objects.create(
            tenant=tenant, run=run, outcome="insufficient_evidence", reason="all_removed", steps=2, seconds=1.5,
            model_calls=2, tool_calls=1, model="m", removed=1,
        )  # fmt: skip
    return Cast(tenant, run, _person(tenant, "auditor"), _person(tenant, "administrator"), _person(tenant, "member"))


def _list(name: str) -> str:
    return reverse(f"admin:agentic_{name}_changelist")


def test_the_admin_leads_to_the_page_where_limits_are_changed(cast: Cast) -> None:
    policy = AgentPolicy.objects.get(tenant=cast.tenant)
    assert cast.bob.get(_list("agentpolicy")).headers["Location"] == "/settings"
    address = reverse("admin:agentic_agentpolicy_change", args=[policy.pk])
    for response in (cast.bob.get(address), cast.bob.post(address, {"agentic_max_steps": "4"})):
        assert response.headers["Location"] == f"/settings/of/{cast.tenant.slug}"
    policy.refresh_from_db()
    assert policy.agentic_max_steps is None


def test_limits_are_not_there_in_the_admin_for_an_auditor(cast: Cast) -> None:
    policy = AgentPolicy.objects.get(tenant=cast.tenant)
    for address in (_list("agentpolicy"), reverse("admin:agentic_agentpolicy_change", args=[policy.pk])):
        assert cast.ada.get(address).status_code == 404


def test_nothing_written_to_the_audit_can_be_changed_or_deleted(cast: Cast) -> None:
    with bound(Binding(audit=frozenset({cast.tenant.pk}))):
        acts: tuple[Callable[[], object], ...] = (
            lambda: Run.objects.filter(pk=cast.run.pk).update(model="another"),
            lambda: Sentence.objects.filter(run=cast.run).delete(),
        )
        for act in acts:
            with pytest.raises(DatabaseError), transaction.atomic():
                act()
        assert Run.objects.get(pk=cast.run.pk).question == HOSTILE
