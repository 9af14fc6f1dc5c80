"""Every kind of answer that the API gives, as a running service gives it: by name, with its status and body."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from django.contrib.auth import get_user_model
from django.test import Client

from agentic.callers import Access, add_member
from agentic.models import AgentPolicy
from agentic.web import problems
from agentic.web.problems import CATALOGUE, Problem
from mailsearch.models import Attachment, Message
from mailsearch.sessions import bound
from tests.agentic.asking import QUESTION
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Letter
from tests.standins import model_server
from tests.standins.service import ANSWERED, QUOTED, Service, answers_golf, configured

ASK = {"query": QUESTION, "mode": "agentic"}
MAIL = b"From: a@x.example\r\nSubject: Hello\r\n\r\nHello there.\r\n"
Told = dict[str, dict[str, Any]]
# What only a fault brings; its words are those of the catalogue.
FAULTS = {
    "internal-error": Problem("internal-error", "It was recorded; try again later."),
    "audit-unavailable": Problem("audit-unavailable", "Try again.", retry_after=1),
    "search-unavailable": Problem("search-unavailable", "Try again.", retry_after=1),
    "store-unavailable": Problem("store-unavailable", "Try again.", retry_after=1),
    "too-slow": Problem("too-slow", "Send the body at once, and on a better line try again."),
    "too-many-runs": Problem(
        "too-many-runs", "4 runs of this caller are under way; wait for one to end.", retry_after=1
    ),
}


def gather(service: Service, settings: Any) -> Told:
    """All of them, over one house's mail."""
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant)
    home.office.post("family", Letter("See the letter.", subject="Golf", attachments=(("letter.txt", "The letter."),)))
    told: Told = {}
    with service.client(home.jo.headers) as client:
        _keep(told, "me", client.get("/v1/me"))
        settings.PM_RATE_CALLER = settings.PM_RATE_TENANT = 10_000
        _outcomes(told, client, home, settings)
        _plain(told, client, home)
        _refused(told, service, client, home)
    with service.client(home.caller("family").headers) as fast:
        settings.PM_RATE_CALLER = 1
        _keep(told, "problem rate-limited", next(one for one in _again_and_again(fast) if one.status_code == 429))
    for kind in CATALOGUE:
        if f"problem {kind}" not in told:
            body = problems.as_json(FAULTS.get(kind) or Problem(kind), "/v1/search")
            told[f"problem {kind}"] = {"status": body["status"], "body": body}
    return told


def _again_and_again(client: httpx.Client) -> Iterator[httpx.Response]:
    for _ in range(100):
        yield client.options("/v1/me")


def _keep(told: Told, name: str, response: httpx.Response) -> Any:
    streamed = response.headers["content-type"].startswith("text/event-stream")
    told[name] = {"status": response.status_code, "body": response.text if streamed else response.json()}
    return told[name]["body"]


def _outcomes(told: Told, client: httpx.Client, home: House, settings: Any) -> None:
    searching = model_server.stream(model_server.message(None, ("search", '{"query": "Golf liability"}')), "tool_calls")
    giving_up = model_server.stream(
        model_server.message(None, ("insufficient", '{"missing": "nothing says so"}')), "tool_calls"
    )
    with configured(settings, answers_golf()):
        _keep(told, "answered", client.post("/v1/search", json=ASK))
        _keep(told, "stream", client.post("/v1/search", json={**ASK, "stream": True}))
        run = _keep(told, "respond_async", client.post("/v1/search", json=ASK, headers={"Prefer": "respond-async"}))
        _keep(told, "cancel", client.post(f"/v1/runs/{run['run_id']}/cancel"))
    with configured(settings, giving_up):
        _keep(told, "insufficient_evidence", client.post("/v1/search", json=ASK))
    with configured(settings, searching):
        _keep(told, "budget_exhausted", client.post("/v1/search", json={**ASK, "budget": {"max_steps": 1}}))
    with configured(settings, _fails):
        _keep(told, "degraded", client.post("/v1/search", json={**ASK, "budget": {"max_seconds": 4}}))
    _keep(told, "runs", client.get("/v1/runs"))
    with _hidden(home, home.golf):
        _keep(told, "withheld", client.get(f"/v1/runs/{told['answered']['body']['run_id']}"))


def _fails(handler: Any) -> None:
    model_server.fails(500)(handler)
    # Else the connection is kept for a next request, and the server waits for that before it ends.
    handler.close_connection = True


@contextmanager
def _hidden(home: House, message: Message) -> Iterator[None]:
    with bound(home.office.binding()):
        Message.objects.filter(pk=message.pk).update(quarantined=True)
    yield
    with bound(home.office.binding()):
        Message.objects.filter(pk=message.pk).update(quarantined=False)


def _plain(told: Told, client: httpx.Client, home: House) -> None:
    golf = home.golf.public_id
    with bound(home.office.binding()):
        attachment = Attachment.objects.get(tenant=home.office.tenant).public_id
    quote = {"message": golf, "text": QUOTED}
    claims = [
        {"text": ANSWERED, "citations": [golf], "quotes": [quote]},
        {"text": "They pay 9,999 EUR.", "citations": [golf]},
    ]
    _keep(told, "hybrid", client.post("/v1/search", json={"query": "golf from:nordlicht"}))
    for name, path in {
        "messages": "messages",
        "message": f"messages/{golf}",
        "related": f"messages/{golf}/related",
        "thread": f"threads/{home.thread(home.golf)}",
        "attachment": f"attachments/{attachment}",
        "contacts": "contacts?query=nordlicht",
        "usage": "usage",
    }.items():
        _keep(told, name, client.get(f"/v1/{path}"))
    _keep(told, "verified", client.post("/v1/verify", json={"sentences": claims}))
    for name in ("put_in", "put_in_again"):
        as_mail = {"Content-Type": "message/rfc822"}
        _keep(told, name, client.post("/v1/messages?mailbox=family", content=MAIL, headers=as_mail))
    body = {"quarantined": False, "reason": "It is what it says."}
    _keep(told, "quarantine", client.post(f"/v1/messages/{golf}/quarantine", json=body))


def _refused(told: Told, service: Service, client: httpx.Client, home: House) -> None:
    def keep(response: httpx.Response) -> None:
        _keep(told, f"problem {response.json()['type'].rpartition('/')[2]}", response)

    keep(client.post("/v1/search", json={"query": "golf", "limit": 0}))
    keep(client.post("/v1/search", json={"query": "golf", "stream": True}))
    keep(client.get("/v1/me?key=x"))
    keep(client.get("/v1/messages/msg_0000000000000000000000"))
    keep(client.delete("/v1/me"))
    keep(client.post("/v1/search", content=b"x" * 1_000_001, headers={"Content-Type": "application/json"}))
    keep(client.post("/v1/search", content=b"golf", headers={"Content-Type": "text/plain"}))
    for budget in (2, 3):
        last = client.post(
            "/v1/search",
            json={**ASK, "budget": {"max_steps": budget}},
            headers={"Idempotency-Key": "one", "Prefer": "respond-async"},
        )
    keep(last)
    policy = AgentPolicy.objects.get(tenant=home.office.tenant)
    policy.agentic_daily_cap = 1
    policy.save()
    keep(client.post("/v1/search", json=ASK))
    policy.agentic_daily_cap = 0
    policy.save()
    keep(client.post("/v1/search", json=ASK))
    with service.client({}) as nobody:
        keep(nobody.get("/v1/me"))
    with service.client(home.caller("family", permissions=("verify",)).headers) as lesser:
        keep(lesser.post("/v1/search", json={"query": "golf"}))
    keep(_of_two_tenants(service, home))


def _of_two_tenants(service: Service, home: House) -> httpx.Response:
    person = get_user_model().objects.create_user(f"ann-{home.office.tenant.slug}")
    for one in (home, house()):
        add_member(one.office.tenant, person, "member", Access(("search:read",), all_mailboxes=True))
    browser = Client()
    browser.force_login(person)
    cookies = {"sessionid": browser.cookies["sessionid"].value}
    with httpx.Client(base_url=service.url, cookies=cookies, timeout=30) as client:
        return client.get("/v1/me")


def shape_of(value: Any) -> Any:
    """Names and kinds without what is different every time; the shapes in a list are put together.

    Of values that may be missing (null) only the name is kept.
    """
    if isinstance(value, dict):
        return {name: shape_of(one) for name, one in value.items() if one is not None and one != [] and one != {}}
    if isinstance(value, list):
        shapes = [shape_of(one) for one in value]
        return sorted({json.dumps(one, sort_keys=True) for one in shapes})
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
