"""A caller with a real key who tries for what is not its own: by ids, filters, cursors, runs, and odd input."""

import itertools
import json
from typing import Any

import httpx
import pytest

from tests.agentic.asking import QUESTION
from tests.agentic.cast import Caller, House, house
from tests.mailsearch.posting import Letter
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
ASK = {"query": QUESTION, "mode": "agentic"}
# Words of Jo's mail that are in no other caller's.
JO_ALONE = ("liability", "nordlicht", "77-4410", "roses", "abel.example", "family")
SQL = (
    "'; DROP TABLE agentic_run; --",
    '" OR 1=1 --',
    "\\'); SELECT pg_sleep(5); --",
    "%' OR '1'='1",
    "$$;--",
    "a\0b",
    "\ud800",
)


def _strangers(home: House) -> list[Caller]:
    """Another mailbox of the tenant, another tenant with all of its mail, and a key that may read nothing."""
    other = house()
    return [home.kim, other.caller(all_mailboxes=True), home.caller(name="Nobody")]


def _sees_nothing(response: httpx.Response) -> None:
    text = response.text.casefold()
    assert not [word for word in JO_ALONE if word in text], response.text[:500]


def test_no_filter_id_or_cursor_brings_anothers_mail(service: Service) -> None:
    home = house()
    golf, thread = home.golf.public_id, home.thread(home.golf)
    with service.client(home.jo.headers) as client:
        assert client.post("/v1/search", json={"query": "Golf", "filters": {"message": golf}}).json()["total"] == 1
        cursor = client.post("/v1/search", json={"query": "Golf", "limit": 1}).json()["next_cursor"]
    assert cursor
    searches: list[dict[str, Any]] = [
        {"query": "Golf claim", "filters": {"message": golf}},
        {"query": "", "filters": {"thread": thread}},
        {"query": f"id:{golf}"},
        {"query": f"thread:{thread} photos"},
        {"query": "photos", "filters": {"message": [golf, "msg_0000000000000000000000"]}},
        {"query": "Golf", "limit": 1, "cursor": cursor},
    ]
    for stranger in _strangers(home):
        with service.client(stranger.headers) as client:
            for body, mode in itertools.product(searches, ("keyword", "semantic", "hybrid")):
                response = client.post("/v1/search", json={**body, "mode": mode})
                assert response.status_code == (400 if "cursor" in body else 200)
                assert not response.json().get("hits")
                _sees_nothing(response)


def test_what_exists_elsewhere_is_answered_like_what_does_not(service: Service) -> None:
    home = house()
    real = {"message": home.golf.public_id, "thread": home.thread(home.golf), "mailbox": "family"}
    with service.client(home.kim.headers) as client:
        for name, value in real.items():
            unreal = value[:-2] + "zz"
            answers = [
                client.post("/v1/search", json={"query": "code", "filters": {name: one}}).text.replace(one, "")
                for one in (value, unreal)
            ]
            told = [{**json.loads(one), "took_ms": 0} for one in answers]
            assert told[0] == told[1]


def test_a_run_is_its_callers_alone(service: Service) -> None:
    home = house()
    jo = home.caller("family", permissions=("search:read", "search:agentic"))
    with service.client(jo.headers | {"Idempotency-Key": "mine"}) as client:
        run = client.post("/v1/search", json=ASK).json()["run_id"]
    for stranger in _strangers(home):
        plain = home if stranger.principal.tenant == home.office.tenant.pk else None
        caller = plain.caller("workshop", permissions=("search:read", "search:agentic")) if plain else stranger
        with service.client(caller.headers) as client:
            for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
                refused = client.request(method, f"/v1/runs/{run}{path}")
                nowhere = client.request(method, f"/v1/runs/run_0000000000000000000000{path}")
                assert refused.status_code == nowhere.status_code == 404
                assert {**refused.json(), "instance": ""} == {**nowhere.json(), "instance": ""}
            assert run not in client.get("/v1/runs").text
        with service.client(caller.headers | {"Idempotency-Key": "mine"}) as client:
            assert client.post("/v1/search", json=ASK).json()["run_id"] != run


def test_an_auditor_without_the_mail_sees_that_a_run_was_and_no_word_of_it(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        run = client.post("/v1/search", json=ASK).json()["run_id"]
    with service.client(home.kim.headers) as client:
        seen = client.get(f"/v1/runs/{run}")
    assert seen.status_code == 200
    text = json.dumps({**seen.json(), "searched": None, "trace": None}).casefold()
    assert not [word for word in ("liability", "nordlicht", "77-4410", "roses") if word in text]


def test_verification_finds_nothing_in_anothers_mail(service: Service) -> None:
    home = house()
    golf = home.golf.public_id
    quote = "we accept liability for the damage to the Golf"
    body = {
        "sentences": [{"text": "They accept it.", "citations": [golf], "quotes": [{"message": golf, "text": quote}]}]
    }
    with service.client(home.kim.headers) as client:
        told = client.post("/v1/verify", json=body)
    assert told.status_code == 200
    assert 'liability for the damage to the Golf",' not in told.text.replace(quote, "")
    assert "nordlicht" not in told.text


def test_counts_and_contacts_do_not_change_with_anothers_mail(service: Service) -> None:
    home = house()

    def seen() -> list[dict[str, Any]]:
        with service.client(home.kim.headers) as client:
            answers = [client.get("/v1/contacts", params={"query": one}).json() for one in ("a", "kim", "example")]
            answers += [client.post("/v1/search", json={"query": "Golf code"}).json()]
        return [{**one, "took_ms": 0} for one in answers]

    before = seen()
    home.office.post(
        "family", *(Letter(f"The Golf code {n}.", sender="Kim Wolf <kim@workshop.example>") for n in range(5))
    )
    assert seen() == before


@pytest.mark.parametrize("text", SQL)
def test_odd_text_is_text_wherever_it_stands(service: Service, text: str) -> None:
    home = house()
    with service.client(home.kim.headers) as client:
        bodies: list[dict[str, Any]] = [
            {"query": text},
            {"query": f'from:{text} "{text}" in:{text} after:{text}'},
            *({"query": "code", "filters": {name: text}} for name in ("from", "to", "subject", "folder", "message")),
            {"query": "code", "filters": {"after": text}},
            {"query": "code", "cursor": text},
            {"query": "code", "timezone": text},
        ]
        for body in bodies:
            response = client.post("/v1/search", content=json.dumps(body), headers={"Content-Type": "application/json"})
            assert response.status_code in (200, 400), (body, response.text)
            _sees_nothing(response)
        for path in ("messages", "threads", "runs", "attachments"):
            assert (
                client.get(
                    f"/v1/{path}/{httpx.URL('/').join('x').path}{'%00' if chr(0) in text else '%27'}"
                ).status_code
                == 404
            )
        if text.isprintable():
            assert client.get("/v1/contacts", params={"query": text}).status_code == 200


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "1e400", "NaN"])
def test_seconds_that_are_no_number_are_refused(service: Service, seconds: str) -> None:
    body = json.dumps({**ASK, "budget": {"max_seconds": "@"}})
    with service.client(house().jo.headers) as client:
        for written in (f'"{seconds}"', seconds):
            content = body.replace('"@"', written)
            refused = client.post("/v1/search", content=content, headers={"Content-Type": "application/json"})
            assert refused.status_code == 400, written


def test_a_name_with_line_ends_forges_no_event(service: Service) -> None:
    home = house()
    home.office.post(
        "workshop",
        Letter(
            "The Golf\u2028data: {}\u0085event: answer\r\n\r\nevent: done\ndata: {}\n\nliability",
            subject="Golf liability\u2028event: answer",
            sender="Eve\u2029event: done <eve@elsewhere.example>",
        ),
    )
    caller = home.caller("workshop", permissions=("search:agentic",))
    with service.client(caller.headers) as client:
        stream = client.post("/v1/search", json={**ASK, "stream": True}).text
    frames = [frame for frame in stream.split("\n\n") if frame and not frame.startswith(":")]
    for frame in frames:
        assert [line.partition(":")[0] for line in frame.splitlines()] == ["id", "event", "data"]
    assert [frame for frame in frames if "event: done" in frame.splitlines()[1]] == frames[-1:]
