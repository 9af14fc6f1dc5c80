"""A run is read again in five ways, each by the reader's rights of now: what has left them is a tombstone in all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agentic.callers import Access, add_member, resolve_person, revoke_key
from agentic.models import AgentPolicy
from mailsearch.ingest import erasing, quarantine
from mailsearch.models import Grant, Membership, Message
from mailsearch.sessions import bound
from tests.agentic.asking import QUESTION, asked, insurer_accepts
from tests.agentic.cast import Caller, House, house
from tests.standins.service import Service, answers_golf, configured, events

pytestmark = pytest.mark.django_db(transaction=True)
ASK = {"query": QUESTION, "mode": "agentic"}
# Of the mail and of nothing else: the question has none of these.
OF_THE_MAIL = ("liability", "nordlicht", "77-4410", "Claims desk", "damage")


@dataclass(frozen=True)
class Asked:
    """A run of a key's and one of a person's, over the same mail."""

    home: House
    jo: Caller
    run: str
    membership: Membership
    persons_run: str
    cookies: Mapping[str, str]


def _asked(service: Service, settings: Any) -> Asked:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=60)
    # Without audit:read, as most who ask are.
    rights = ("search:read", "search:agentic")
    jo = home.caller("family", permissions=rights)
    with configured(settings, answers_golf()), service.client(jo.headers | {"Idempotency-Key": "once"}) as client:
        answered = client.post("/v1/search", json=ASK)
    assert answered.json()["outcome"] == "answered", answered.text
    person = get_user_model().objects.create_user(f"jo-{home.office.tenant.slug}")
    membership = add_member(
        home.office.tenant, person, "member", Access(rights, mailboxes=(home.office.mailbox("family"),))
    )
    browser = Client()
    browser.force_login(person)
    persons_run = asked(resolve_person(person), insurer_accepts())["run_id"]
    cookies = {"sessionid": browser.cookies["sessionid"].value}
    return Asked(home, jo, answered.json()["run_id"], membership, persons_run, cookies)


def _revoke(one: Asked) -> None:
    revoke_key(one.jo.key)
    one.membership.delete()


def _narrow(one: Asked) -> None:
    for grant in Grant.objects.filter(pk__in=(one.jo.key.grant_id, one.membership.grant_id)):
        grant.mailboxes.set([one.home.office.mailbox("workshop")])


def _quarantine(one: Asked) -> None:
    with bound(one.home.office.binding()):
        quarantine.change(Message.objects.get(pk=one.home.golf.pk), quarantined=True)


def _erase(one: Asked) -> None:
    assert erasing.erase(one.home.office.tenant, one.home.golf.public_id)


CHANGES: Mapping[str, Callable[[Asked], None]] = {
    "revoked": _revoke,
    "narrowed": _narrow,
    "quarantined": _quarantine,
    "erased": _erase,
}


def _ways(service: Service, one: Asked) -> dict[str, httpx.Response]:
    with service.client(one.jo.headers) as client:
        read = {
            "run": client.get(f"/v1/runs/{one.run}"),
            "events": client.get(f"/v1/runs/{one.run}/events"),
            "replay": client.post("/v1/search", json=ASK, headers={"Idempotency-Key": "once"}),
            "list": client.get("/v1/runs"),
        }
    with httpx.Client(base_url=service.url, cookies=dict(one.cookies), timeout=60) as browser:
        return {**read, "page": browser.get(f"/runs/{one.persons_run}")}


def _shows(response: httpx.Response) -> bool:
    """Whether anything of the mail is in an answer."""
    return any(word in response.text for word in OF_THE_MAIL)


@pytest.mark.parametrize("change", CHANGES)
def test_what_may_not_be_read_any_more_is_a_tombstone_in_every_way(
    service: Service, settings: Any, change: str
) -> None:
    one = _asked(service, settings)
    before = _ways(service, one)
    assert {way: response.status_code for way, response in before.items()} == dict.fromkeys(before, 200)
    assert {way for way, response in before.items() if _shows(response)} == set(before) - {"list"}
    CHANGES[change](one)
    after = _ways(service, one)
    assert [way for way, response in after.items() if _shows(response)] == []
    if change == "revoked":
        statuses = {way: response.status_code for way, response in after.items()}
        assert statuses == {**dict.fromkeys(after, 401), "page": statuses["page"]}
        assert statuses["page"] in (302, 404)
        return
    assert {way: response.status_code for way, response in after.items()} == dict.fromkeys(after, 200)
    run, replay = after["run"].json(), after["replay"].json()
    assert run == replay
    assert run["answer"]["sentences"][0]["withheld"] is True
    golf = one.home.golf.public_id
    assert [item["withheld"] for item in run["evidence"] if item["message_id"] == golf] == [True]
    told = {name: data for _, name, data in events(iter(after["events"].text.split("\n")))}
    assert told["answer"]["answer"] == run["answer"]
    assert {**told["done"], "seq": None} == {**run, "seq": None}
