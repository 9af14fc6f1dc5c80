"""Every page for every role: what may be opened, and that a refusal says nothing of what is there."""

import uuid

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.pages.people import READER, person, signed_in
from tests.pages.scene import scene

pytestmark = pytest.mark.django_db(transaction=True)
# Page to those who may open it. Whoever is not named must get the answer that a page gets that does not exist.
TABLE = {
    "/ask": {"jo", "max", "checker"},
    "/runs": {"jo", "ada", "max", "checker"},
    "/runs/{run}": {"jo", "ada", "checker"},
    "/runs/{run}?tab=events": {"jo", "ada", "checker"},
    "/runs/{run}/events": {"jo"},
    "/ask?run={run}": {"jo"},
    "/messages/{message}": {"jo", "ada", "max", "checker"},
    "/messages/{message}/raw": {"jo", "max", "checker"},
    "/messages/{secret}": set(),
    "/review": {"jo", "ada", "checker"},
    "/review?q=repair": {"jo", "ada", "checker"},
    "/review?sample=abcd:1": {"jo", "ada", "checker"},
    "/review/rates": {"jo", "ada", "checker"},
    "/widen-attempts": {"jo", "ada", "checker"},
    "/usage": {"jo", "olga"},
    "/overview": {"jo", "ada", "checker"},
    "/settings": {"jo"},
    "/settings/of/{tenant}": {"jo"},
    "/settings/of/{tenant}/what-if": {"jo"},
    "/settings/defaults": set(),
    "/settings/new": set(),
}
ACTS = {
    "/runs/{run}/cancel": {"jo"},
    "/review/verdict": {"jo", "ada", "checker"},
    "/widen-attempts/seen": {"jo", "ada", "checker"},
    "/messages/{message}/quarantine": {"jo"},
}


def test_each_page_opens_for_its_roles_and_is_not_there_for_all_others() -> None:
    made = scene()
    tenant = made.home.office.tenant
    checker = person(tenant, "member", (*READER, "audit:read"), (made.home.office.mailbox("family"),))
    nobody = get_user_model().objects.create_user(f"nobody-{uuid.uuid4().hex[:8]}", password=None)
    people = {"jo": made.jo, "ada": made.ada, "olga": made.olga, "max": made.max, "checker": checker}
    clients = {name: signed_in(user) for name, user in (people | {"sue": made.sue, "nobody": nobody}).items()}
    values = {
        "run": made.runs["answered"],
        "message": made.home.golf.public_id,
        "secret": made.home.secret.public_id,
        "tenant": tenant.slug,
    }
    unknown = clients["jo"].get("/no-such-page").content
    sent = {"sentence": made.removed(), "attempt": made.attempt(), "verdict": "rightly", "reason": "planted"}

    def ways(address: str, names: set[str], method: str) -> dict[str, bool]:
        opened = {}
        for name, client in clients.items():
            response = getattr(client, method)(address, sent if method == "post" else None)
            opened[name] = response.status_code in (200, 302)
            assert opened[name] or (response.status_code, response.content) == (404, unknown), (address, name)
            if opened[name]:
                assert response.headers["Cache-Control"] == "private, no-store"
        return opened

    for table, method in ((TABLE, "get"), (ACTS, "post")):
        for page, may in table.items():
            found = {name for name, opens in ways(page.format(**values), may, method).items() if opens}
            # Sue's own tenant has these pages, too; of this tenant she sees nothing on them.
            assert found - {"sue"} == may, page
            assert "{" not in page or "sue" not in found, page


def test_whoever_is_not_signed_in_is_asked_to_and_learns_nothing() -> None:
    client = Client()
    for page in TABLE:
        response = client.get(page.format(run="run_none", message="msg_none", secret="msg_none", tenant="none"))
        assert response.headers["Location"].startswith("/sign-in")
    for act in ACTS:
        assert client.post(act.format(run="run_none", message="msg_none")).headers["Location"] == "/sign-in"


def test_the_lists_of_one_tenant_show_nothing_of_another() -> None:
    made = scene()
    sue = signed_in(made.sue)
    for page in ("/runs", "/review", "/review?kind=all&reviewed=any", "/widen-attempts?seen=any", "/usage"):
        shown = sue.get(page).content.decode()
        assert "Golf" not in shown
        assert "1,450" not in shown
        assert made.runs["answered"] not in shown


def test_an_operator_sees_numbers_and_no_content() -> None:
    made = scene()
    shown = signed_in(made.olga).get("/usage").content.decode()
    assert "Answered 1" in shown
    assert "Golf" not in shown
    assert "garden" not in shown


def test_the_admin_is_not_there_for_people_who_are_no_staff() -> None:
    made = scene(runs=False)
    ada = signed_in(made.ada)
    assert ada.get("/admin/").status_code == 404
    assert ada.get("/admin/agentic/agentpolicy/").content == ada.get("/no-such-page").content
