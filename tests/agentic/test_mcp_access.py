"""Who may call what over MCP: every tool by every kind of key, hosts and origins, sizes and rates."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone

from agentic.callers import revoke_key
from agentic.models import AgentPolicy
from mailsearch.models import ApiKey
from tests.agentic.asking import QUESTION
from tests.agentic.cast import ALL, Caller, House, house
from tests.standins.mcp_client import call, post, result_in, text_of
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
ANY = "Golf"


def _read(home: House) -> dict[str, Any]:
    return {"message": home.golf.public_id}


# Each tool, what it needs, and arguments that give something of the family's mail.
TOOLS: list[tuple[str, tuple[str, ...], Callable[[House], dict[str, Any]]]] = [
    ("search", ("search:read",), lambda home: {"query": "liability"}),
    ("read_thread", ("search:read",), lambda home: {"thread": home.thread(home.golf)}),
    ("read_message", ("search:read",), _read),
    ("read_attachment_text", ("search:read",), lambda home: {"attachment": "att_0000000000000000000000"}),
    ("find_related", ("search:read",), _read),
    ("contacts", ("search:read",), lambda home: {"query": "nordlicht"}),
    ("ask_mail", ("search:agentic",), lambda home: {"query": QUESTION, "budget": {"max_steps": 2}}),
    (
        "verify_answer",
        ("verify", "search:read"),
        lambda home: {"text": f'"we accept liability for the damage" [{home.golf.public_id}]'},
    ),
]
each_tool = pytest.mark.parametrize(("tool", "needs", "arguments"), TOOLS, ids=[tool for tool, _, _ in TOOLS])


@each_tool
def test_a_tool_opens_to_exactly_the_permissions_that_it_needs(
    service: Service, tool: str, needs: tuple[str, ...], arguments: Callable[[House], dict[str, Any]]
) -> None:
    home = house()
    given = arguments(home)
    allowed = result_in(post(service.url, home.caller("family", permissions=needs).headers, tool, given))
    assert "permission" not in allowed["structuredContent"]
    for missing in needs:
        others = tuple(one for one in ALL if one != missing)
        refused = result_in(post(service.url, home.caller("family", permissions=others).headers, tool, given))
        assert refused["isError"] is True
        assert refused["structuredContent"]["permission"] == missing
        assert f"This needs the permission {missing}." in refused["content"][0]["text"]


@each_tool
def test_no_key_and_keys_that_are_none_are_told_nothing(
    service: Service, tool: str, needs: tuple[str, ...], arguments: Callable[[House], dict[str, Any]]
) -> None:
    home = house()
    expired, revoked = home.jo, home.kim
    ApiKey.objects.filter(pk=expired.key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    revoke_key(revoked.key)
    token = home.jo.token
    keys = [
        {},
        {"Authorization": "Bearer pm_0000000000_" + "A" * 43},
        {"Authorization": f"Basic {token}"},
        {"Authorization": f"Bearer {token[:-1]}"},
        {"X-Api-Key": token},
        {"Cookie": f"sessionid={token}"},
        expired.headers,
        revoked.headers,
    ]
    answers = [post(service.url, headers, tool, arguments(home)) for headers in keys]
    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.text for answer in answers}) == 1
    in_address = httpx.post(f"{service.url}/mcp?key={token}", json={}, timeout=30)
    assert in_address.status_code == 401


@each_tool
def test_keys_of_others_reach_nothing_of_the_familys_mail(
    service: Service, tool: str, needs: tuple[str, ...], arguments: Callable[[House], dict[str, Any]]
) -> None:
    home, other = house(), house()
    given = arguments(home)
    strangers: list[Caller] = [home.kim, other.caller(all_mailboxes=True), home.caller()]
    told = [result_in(post(service.url, stranger.headers, tool, given)) for stranger in strangers]
    for stranger, result in zip(strangers, told, strict=True):
        if stranger.principal.tenant == home.office.tenant.pk:
            assert home.golf.public_id not in str(result).replace(str(given), "") or tool == "verify_answer"
            assert "accept liability for the damage to the Golf" not in str(result)
        data = result["structuredContent"]
        assert home.golf.public_id not in [one["message_id"] for one in data.get("messages", ())]
        assert tool != "verify_answer" or data["answer"] is None


def test_a_key_that_is_revoked_between_two_calls_reads_no_more(service: Service) -> None:
    home = house()
    jo = home.jo
    assert not result_in(post(service.url, jo.headers, "search", {"query": "Golf"})).get("isError")
    revoke_key(jo.key)
    assert post(service.url, jo.headers, "search", {"query": "Golf"}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Host": "127.0.0.1.evil.example"}, 400),
        ({"Host": "127.0.0.1:80@evil.example"}, 400),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:9", "Host": "localhost:8000"}, 403),
        ({"Origin": "http://localhost:8000", "Host": "localhost:8000"}, 200),
        # A name that was bound to this machine a moment ago.
        ({"Origin": "http://evil.example", "Host": "evil.example"}, 400),
    ],
)
def test_pages_that_reach_us_by_another_name_are_refused(
    service: Service, headers: dict[str, str], status: int
) -> None:
    answer = post(service.url, {**house().jo.headers, **headers}, "search", {"query": ANY})
    assert answer.status_code == status, answer.text
    assert "no-store" in answer.headers["cache-control"]


def test_only_post_is_taken(service: Service) -> None:
    with service.client(house().jo.headers) as client:
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            answer = client.request(method, "/mcp")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_bodies_have_a_limit_whether_or_not_they_say_how_long_they_are(service: Service) -> None:
    headers = house().jo.headers | {"Content-Type": "application/json"}

    def pieces() -> Any:
        for _ in range(30):
            yield b" " * 50_000

    for content in (b" " * 1_000_001, pieces()):
        with service.client(headers) as client:
            answer = client.post("/mcp", content=content)
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("/too-large")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1}'])
def test_what_is_no_request_is_refused(service: Service, body: bytes) -> None:
    accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    for version in ({}, {"MCP-Protocol-Version": "2026-07-28"}, {"MCP-Protocol-Version": "1999-01-01"}):
        with service.client(house().jo.headers | accept | version) as client:
            assert client.post("/mcp", content=body).status_code == 400


def test_a_caller_that_calls_too_fast_is_told_when_to_go_on(service: Service, settings: Any) -> None:
    # So slow that not even the first call passes.
    settings.PM_RATE_CALLER = 0.01
    answer = post(service.url, house().jo.headers, "search", {"query": ANY})
    result = result_in(answer)
    assert result["isError"] is True
    assert result["structuredContent"]["type"].endswith("/rate-limited")
    assert result["structuredContent"]["retry_after"] > 90
    assert "Try again in" in result["content"][0]["text"]
    assert "r=0" in answer.headers["ratelimit"]


def test_asking_counts_to_the_daily_cap_and_searching_does_not(service: Service) -> None:
    home = house()
    policy = AgentPolicy.objects.create(tenant=home.office.tenant, agentic_daily_cap=1)
    headers = home.jo.headers
    assert not call(service.url, headers, "ask_mail", query=QUESTION).is_error
    full = call(service.url, headers, "ask_mail", query=QUESTION)
    assert full.is_error
    assert full.structured_content["type"].endswith("/daily-cap-reached")
    assert f"Try again in {full.structured_content['retry_after']} s" in text_of(full)
    assert not call(service.url, headers, "search", query=ANY).is_error
    policy.agentic_daily_cap = 0
    policy.save()
    off = call(service.url, headers, "ask_mail", query=QUESTION)
    assert off.structured_content["type"].endswith("/agentic-search-off")
