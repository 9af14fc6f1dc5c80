"""The API from outside: real HTTP, real keys, two tenants, two scopes of one of them."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from agentic import callers
from agentic.callers import revoke_key
from agentic.models import AgentPolicy
from mailsearch.models import ApiKey, Permission
from tests.agentic.asking import QUESTION, asked, insurer_accepts
from tests.agentic.cast import ALL, Caller, House, house
from tests.mailsearch.posting import Letter
from tests.standins.service import ANSWERED, QUOTED, Service, answers_golf, configured

pytestmark = pytest.mark.django_db(transaction=True)
ASK = {"query": QUESTION, "mode": "agentic"}
MAIL = b"From: a@x.example\r\nTo: b@y.example\r\nSubject: Hello\r\nMessage-ID: <1@x.example>\r\n\r\nHello there.\r\n"


def test_a_question_over_http_is_answered_like_the_example(service: Service, settings: Any) -> None:
    home = house()
    with configured(settings, answers_golf()), service.client(home.jo.headers) as client:
        response = client.post("/v1/search", json=ASK)
        again = client.get(f"/v1/runs/{response.json()['run_id']}")
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "private, no-store"
    body = response.json()
    assert body == again.json()
    assert body["outcome"] == "answered"
    assert body["model"] == "scripted-http"
    assert body["answer"]["sentences"][0]["text"] == ANSWERED
    assert body["answer"]["sentences"][0]["citations"][0]["quote"] == QUOTED


def test_without_a_model_the_built_in_reader_answers_and_says_so(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        body = client.post("/v1/search", json=ASK).json()
    assert body["status"] == "finished"
    assert "extractive" in body["model"]


@dataclass(frozen=True)
class Address:
    """An address, what it needs, and what it gives whoever may."""

    method: str
    path: str
    needs: tuple[str, ...] = ()
    gives: int = 200
    body: Any = None
    content: bytes | None = None

    def send(self, client: httpx.Client, home: House) -> httpx.Response:
        path = self.path.format(message=home.golf.public_id, thread=home.thread(home.golf))
        if self.content is not None:
            return client.request(self.method, path, content=self.content, headers={"Content-Type": "message/rfc822"})
        return client.request(self.method, path, json=self.body)


ADDRESSES = [
    Address("POST", "/v1/search", ("search:read",), body={"query": "golf"}),
    Address("POST", "/v1/search", ("search:read",), body={"query": "golf", "mode": "keyword"}),
    Address("POST", "/v1/search", ("search:agentic",), body=ASK),
    Address("GET", "/v1/messages/{message}", ("search:read",)),
    Address("GET", "/v1/messages/{message}/related", ("search:read",)),
    Address("GET", "/v1/messages/{message}/raw", ("message:raw",)),
    Address("GET", "/v1/threads/{thread}", ("search:read",)),
    Address("GET", "/v1/contacts?query=nordlicht", ("search:read",)),
    Address("POST", "/v1/verify", ("verify", "search:read"), body={"text": "So it is."}),
    Address("POST", "/v1/messages?mailbox=family", ("ingest:write",), 201, content=MAIL),
    Address(
        "POST", "/v1/messages/{message}/quarantine", ("quarantine:write",), body={"quarantined": True, "reason": "spam"}
    ),
    Address("GET", "/v1/runs"),
    Address("GET", "/v1/me"),
    Address("GET", "/v1/usage"),
]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda one: f"{one.method} {one.path} {one.needs}")
def test_an_address_opens_to_exactly_the_permissions_that_it_needs(service: Service, address: Address) -> None:
    home = house()
    with service.client(home.caller("family", permissions=address.needs).headers) as client:
        assert address.send(client, home).status_code == address.gives
    for missing in address.needs:
        others = tuple(one for one in ALL if one != missing)
        with service.client(home.caller("family", permissions=others).headers) as client:
            refused = address.send(client, home)
        assert refused.status_code == 403
        assert refused.json()["permission"] == missing
    with service.client({}) as client:
        nobody = address.send(client, home)
    assert nobody.status_code == 401
    assert nobody.headers["content-type"] == "application/problem+json"
    assert nobody.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "path",
    ["/v1/messages/{message}", "/v1/messages/{message}/raw", "/v1/messages/{message}/related", "/v1/threads/{thread}"],
)
def test_what_is_not_in_scope_is_answered_like_what_is_not_there(service: Service, path: str) -> None:
    home, other = house(), house()
    there = path.format(message=home.golf.public_id, thread=home.thread(home.golf))
    nowhere = path.format(message="msg_0000000000000000000000", thread="thr_0000000000000000000000")
    for stranger in (home.kim, other.jo, other.caller(all_mailboxes=True)):
        with service.client(stranger.headers) as client:
            refused, missing = client.get(there), client.get(nowhere)
        assert refused.status_code == missing.status_code == 404
        assert {**refused.json(), "instance": ""} == {**missing.json(), "instance": ""}


def _bad(home: House, how: str) -> dict[str, str]:
    caller = home.jo
    if how == "expired":
        ApiKey.objects.filter(pk=caller.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "revoked":
        revoke_key(caller.key)
    told = {"no secret": caller.token[:14], "basic": "eDp5", "other": caller.token[:-4] + "AAAA"}.get(how, caller.token)
    return {"Authorization": f"Basic {told}" if how == "basic" else f"Bearer {told}"}


@pytest.mark.parametrize("how", ["expired", "revoked", "no secret", "other", "basic"])
def test_keys_that_are_none_are_answered_alike(service: Service, how: str) -> None:
    home = house()
    with service.client(_bad(home, how)) as client:
        refused = client.get("/v1/me")
    with service.client({"Authorization": "Bearer pm_0000000000_x"}) as client:
        unknown = client.get("/v1/me")
    assert refused.status_code == 401
    assert refused.json() == unknown.json()


@pytest.mark.parametrize("name", ["token", "key", "api_key", "access_token", "Api_Key", "authorization"])
def test_a_key_in_the_address_is_refused_whatever_else_is_sent(service: Service, name: str) -> None:
    jo = house().jo
    for headers in ({}, jo.headers):
        with service.client(headers) as client:
            for path in ("/v1/me", "/v1/runs/run_0000000000000000000000/events", "/v1/nowhere"):
                refused = client.get(path, params={name: jo.token})
                assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (400, "key-in-address")
                assert jo.token not in refused.text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": "golf", "tenant": 1}, "tenant"),
        ({"query": "golf", "budget": {"max_steps": 3, "max_tokens": 9}}, "budget.max_tokens"),
        ({"query": "golf", "filters": {"quarantined": True}}, "filters.quarantined"),
        ({"query": "golf", "filters": {"after": "someday"}}, "filters.after"),
        ({"query": "golf", "filters": {"larger": "big"}}, "filters.larger"),
        ({"query": "golf", "mode": "magic"}, "mode"),
        ({"query": "golf", "limit": 101}, "limit"),
        ({"query": "golf", "cursor": "abc"}, "cursor"),
        ({"query": "golf", "timezone": "Mars/Olympus"}, "timezone"),
        ({"query": "golf", "budget": {"max_steps": 21}}, "budget.max_steps"),
        ({"query": "golf", "budget": {"max_seconds": 0}}, "budget.max_seconds"),
        ({"query": "x" * 2001}, "query"),
        ({"query": "", "mode": "agentic"}, "query"),
        ({"mode": "hybrid"}, "query"),
        ([1, 2], "(body)"),
    ],
)
def test_a_wrong_request_is_refused_by_the_name_of_what_is_wrong(service: Service, body: Any, field: str) -> None:
    with service.client(house().jo.headers) as client:
        refused = client.post("/v1/search", json=body)
    assert refused.status_code == 400
    problem = refused.json()
    assert problem["type"].endswith("/problems/invalid-request")
    assert [error["field"] for error in problem["errors"]] == [field]


def test_everything_that_is_wrong_with_a_body_is_told_at_once_and_what_there_is_beside(service: Service) -> None:
    flood = {f"no{number:03}": 1 for number in range(500)}
    body = {
        "query": 7,
        "budget": {"max_steps": 0, "max_secs": 1},
        "limit": "x",
        "modee": "keyword",
        "filters": {"frm": 1},
    }
    with service.client(house().jo.headers) as client:
        errors = client.post("/v1/search", json=body).json()["errors"]
        flooded = client.post("/v1/search", json={"query": "golf", **flood}).json()["errors"]
    told = {error["field"]: error["message"] for error in errors}
    assert set(told) == {"limit", "filters.frm", "budget.max_steps", "budget.max_secs", "modee"}
    assert told["budget.max_secs"] == "There is no such field; there are: max_steps, max_seconds."
    assert "there are: query, mode, filters" in told["modee"]
    assert "there are: mailbox, folder, from" in told["filters.frm"]
    assert [error["field"] for error in flooded] == sorted(flood)[:20]


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b'{"query": "' + b"x" * 1_100_000 + b'"}', "application/json", 413),
        (b"\xff\xfe", "application/json", 400),
    ],
)
def test_a_body_that_is_no_small_json_is_refused(
    service: Service, content: bytes, content_type: str, status: int
) -> None:
    with service.client(house().jo.headers) as client:
        refused = client.post("/v1/search", content=content, headers={"Content-Type": content_type})
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"query": "golf",\n "mode": keyword}', " It can't be read from line 2 column 10 on."),
        (b"{", " It can't be read from line 1 column 2 on."),
        (b'{"query": NaN}', ""),
        (b"\xff\xfe", ""),
    ],
)
def test_where_a_body_ends_to_be_json_is_told(service: Service, content: bytes, place: str) -> None:
    with service.client({**house().jo.headers, "Content-Type": "application/json"}) as client:
        refused = client.post("/v1/search", content=content).json()
    assert refused["detail"] == f"The body is no JSON object.{place}"


def test_a_used_up_cap_and_a_switched_off_search_are_told_as_problems(service: Service, settings: Any) -> None:
    home = house()
    policy = AgentPolicy.objects.create(tenant=home.office.tenant, agentic_daily_cap=1)
    with configured(settings, answers_golf()), service.client(home.jo.headers) as client:
        client.post("/v1/search", json=ASK)
        full = client.post("/v1/search", json=ASK)
        policy.agentic_daily_cap = 0
        policy.save()
        off = client.post("/v1/search", json=ASK)
        left = client.get("/v1/usage").json()
    assert (full.status_code, full.json()["type"].rpartition("/")[2]) == (429, "daily-cap-reached")
    assert full.json()["detail"].startswith("1 of 1 used; the count starts again at 20")
    assert int(full.headers["retry-after"]) == full.json()["retry_after"] > 0
    assert (off.status_code, off.json()["type"].rpartition("/")[2]) == (403, "agentic-search-off")
    assert (left["used_today"], left["left_today"]) == (1, 0)


def test_the_same_idempotency_key_answers_with_the_same_run(service: Service, settings: Any) -> None:
    headers = house().jo.headers | {"Idempotency-Key": "order-1"}
    with configured(settings, answers_golf()), service.client(headers) as client:
        first, second = client.post("/v1/search", json=ASK), client.post("/v1/search", json=ASK)
        other = client.post("/v1/search", json={**ASK, "budget": {"max_steps": 2}})
    assert first.json() == second.json()
    assert (other.status_code, other.json()["type"].rpartition("/")[2]) == (422, "idempotency-conflict")


def test_runs_are_listed_for_their_caller_alone_page_by_page(service: Service) -> None:
    home = house()
    jo = home.jo
    made = [asked(jo.principal, insurer_accepts())["run_id"] for _ in range(3)]
    with service.client(jo.headers) as client:
        first = client.get("/v1/runs", params={"limit": 2}).json()
        second = client.get("/v1/runs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [one["run_id"] for one in first["runs"] + second["runs"]] == made[::-1]
    assert second["next_cursor"] is None
    with service.client(home.caller("family").headers) as client:
        assert client.get("/v1/runs").json()["runs"] == []


def test_me_says_what_the_key_may_do_and_read(service: Service) -> None:
    with service.client(house().jo.headers) as client:
        me = client.get("/v1/me").json()
    assert me["mailboxes"] == [{"mailbox": "family", "folders": ["INBOX"]}]
    assert me["permissions"] == sorted(Permission.values)
    assert me["agentic"]["left_today"] == 500


def test_a_plain_search_has_the_shape_of_the_example_and_counts_its_scope_alone(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        body = client.post("/v1/search", json={"query": "golf", "filters": {"from": ["nordlicht"]}}).json()
        everything = client.post("/v1/search", json={"query": "golf"}).json()
        elsewhere = client.post("/v1/search", json={"query": "golf", "filters": {"mailbox": "workshop"}}).json()
    (hit,) = body["hits"]
    assert hit["message_id"] == home.golf.public_id
    assert hit["untrusted"] is True
    assert body["query"]["applied"] == {"from": ["nordlicht"]}
    assert (everything["total"], elsewhere["total"]) == (2, 0)
    assert elsewhere["why_empty"]


def test_mail_outside_of_the_scope_changes_no_byte_of_a_response(service: Service) -> None:
    home = house()

    def responses() -> list[str]:
        with service.client(home.jo.headers) as client:
            found = [
                client.post(
                    "/v1/search", json={"query": "golf claim", "mode": mode, "now": "2026-04-01T00:00:00Z"}
                ).json()
                for mode in ("keyword", "hybrid")
            ]
            for one in found:
                one.pop("took_ms")
            told = [client.get("/v1/contacts").text, client.get(f"/v1/messages/{home.golf.public_id}").text]
        return [json.dumps(found), *told]

    before = responses()
    home.office.post(
        "workshop", *(Letter(f"Golf claim {n}", sender="Claims <claims@nordlicht.example>") for n in range(5))
    )
    assert responses() == before


def test_a_session_needs_a_csrf_token_and_a_membership(service: Service) -> None:
    home = house()
    person = get_user_model().objects.create_user(f"jo-{home.office.tenant.slug}", password="x" * 14)
    browser = Client()
    browser.force_login(person)
    cookies = {"sessionid": browser.cookies["sessionid"].value}
    with httpx.Client(base_url=service.url, cookies=cookies, timeout=30) as client:
        assert client.get("/v1/me").status_code == 401
        access = callers.Access(("search:read",), mailboxes=(home.office.mailbox("family"),))
        callers.add_member(home.office.tenant, person, "member", access)
        assert client.get("/v1/me").json()["tenant"] == home.office.tenant.slug
        assert client.post("/v1/search", json={"query": "golf"}).status_code == 403
        client.cookies["csrftoken"] = "a" * 32
        allowed = client.post("/v1/search", json={"query": "golf"}, headers={"X-CSRFToken": "a" * 32})
        assert allowed.status_code == 200


def test_an_answer_of_somebody_else_is_verified_by_the_same_rules(service: Service) -> None:
    home = house()
    mine, secret = home.golf.public_id, home.secret.public_id
    sentences = [
        {"text": ANSWERED, "citations": [mine], "quotes": [{"message": mine, "text": QUOTED}]},
        {"text": "They pay 9,999 EUR.", "citations": [mine], "quotes": [{"message": mine, "text": "pay 9,999 EUR"}]},
        {"text": "The code is 99-4471.", "citations": [secret], "quotes": [{"message": secret, "text": "is 99-4471"}]},
    ]
    with service.client(home.jo.headers) as client:
        body = client.post("/v1/verify", json={"sentences": sentences}).json()
        prose = client.post(
            "/v1/verify", json={"text": f'The insurer accepts the liability for the damage: "{QUOTED}" [{mine}].'}
        ).json()
    assert [one["text"] for one in body["answer"]["sentences"]] == [ANSWERED]
    assert body["answer"]["sentences"][0]["citations"][0]["message_id"] == mine
    assert [one["reason"] for one in body["removed_sentences"]] == ["quote_not_found", "unknown_label"]
    assert prose["answer"]["sentences"][0]["support"] == "quote"


def test_mail_that_is_put_in_is_found_and_quarantine_hides_it(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        put = {
            "content": MAIL.replace(b"Hello there", b"A marmot was seen"),
            "headers": {"Content-Type": "message/rfc822"},
        }
        assert client.post("/v1/messages?mailbox=family", **put).json()["new"] == 1  # type: ignore[arg-type]
        assert client.post("/v1/messages?mailbox=family", **put).json() == {"new": 0, "known": 1, "defects": {}}  # type: ignore[arg-type]
        assert client.post("/v1/messages?mailbox=workshop", **put).status_code == 404  # type: ignore[arg-type]
        (hit,) = client.post("/v1/search", json={"query": "marmot", "mode": "keyword"}).json()["hits"]
        path = f"/v1/messages/{hit['message_id']}"
        for quarantined, status in ((True, 404), (False, 200)):
            set_ = client.post(f"{path}/quarantine", json={"quarantined": quarantined, "reason": "looks odd"})
            assert set_.status_code == 200
            assert client.get(path).status_code == status


def test_methods_and_addresses_that_are_none_are_problems(service: Service) -> None:
    caller: Caller = house().jo
    with service.client(caller.headers) as client:
        assert client.get("/v1/search").status_code == 405
        assert client.delete("/v1/runs").status_code == 405
        assert client.post("/v1/runs/run_0000000000000000000000/cancel").status_code == 404
