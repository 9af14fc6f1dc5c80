"""The clients that people use follow a run: curl, httpx-sse, and EventSource in a browser. And what only some send."""

import asyncio
import json
import shutil
import subprocess
from typing import Any

import httpx_sse
import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from agentic import runs
from agentic.callers import Access, add_member, resolve_person, revoke_key
from agentic.models import AgentPolicy
from tests.agentic.asking import asked, insurer_accepts
from tests.agentic.cast import Caller, House, house
from tests.standins.service import Service, events

pytestmark = pytest.mark.django_db(transaction=True)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LISTEN = """async address => new Promise(resolve => {
    const heard = [];
    const source = new EventSource(address);
    for (const name of ["step", "evidence", "answer", "done"])
        source.addEventListener(name, event => heard.push([event.lastEventId, name, JSON.parse(event.data).seq]));
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve(heard); };
})"""


def _house() -> House:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    return home


def _told(service: Service, jo: Caller, run: str) -> list[tuple[str, str, Any]]:
    with service.client(jo.headers) as client:
        return list(events(iter(client.get(f"/v1/runs/{run}/events").text.split("\n"))))


def test_curl_and_httpx_sse_hear_the_same(service: Service) -> None:
    jo = _house().jo
    run = asked(jo.principal, insurer_accepts())["run_id"]
    told = _told(service, jo, run)
    address = f"{service.url}/v1/runs/{run}/events"
    key = ["-H", f"Authorization: Bearer {jo.token}", "-H", "Last-Event-ID: 2"]
    heard = subprocess.run(["curl", "-sN", address, *key], capture_output=True, text=True, timeout=60, check=True)
    assert list(events(iter(heard.stdout.split("\n")))) == told[2:]
    with service.client(jo.headers) as client, httpx_sse.connect_sse(client, "GET", address) as source:
        parsed = [(one.id, one.event, json.loads(one.data)) for one in source.iter_sse() if one.data]
    assert parsed == told


def test_after_the_end_there_is_nothing_to_tell(service: Service) -> None:
    jo = _house().jo
    run = asked(jo.principal, insurer_accepts())["run_id"]
    last = _told(service, jo, run)[-1][0]
    with service.client(jo.headers) as client:
        for after in (last, "999999999"):
            ended = client.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": after})
            assert (ended.status_code, ended.text) == (204, "")


def test_head_and_options_open_no_stream(service: Service) -> None:
    jo = _house().jo
    run = asked(jo.principal, insurer_accepts())["run_id"]
    with service.client(jo.headers) as client:
        head = client.head(f"/v1/runs/{run}/events")
        assert (head.status_code, head.text) == (200, "")
        assert head.headers["content-type"].startswith("text/event-stream")
        options = client.options(f"/v1/runs/{run}/events")
        assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, OPTIONS")
        assert client.head("/v1/runs/run_0000000000000000000000/events").status_code == 404


def test_a_quiet_streams_key_is_looked_at_again(service: Service, settings: Any) -> None:
    """The run never ends and nothing happens in it: only the look at the key can end the stream."""
    settings.PM_STREAM_SECONDS = 1
    jo = _house().jo
    started = asyncio.run(runs.start(jo.principal, runs.Ask("Who?"), runs.Models(insurer_accepts())))
    with service.client(jo.headers) as client, client.stream("GET", f"/v1/runs/{started.public_id}/events") as response:
        lines = response.iter_lines()
        assert next(line for line in lines if line) == ": heartbeat"
        revoke_key(jo.key)
        assert {line for line in lines if line} <= {": heartbeat"}


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium on this machine")
def test_a_browsers_eventsource_hears_every_event_once_and_stops(service: Service) -> None:
    from playwright.sync_api import sync_playwright

    home = _house()
    person = get_user_model().objects.create_user(f"jo-{home.office.tenant.slug}")
    add_member(
        home.office.tenant, person, "member",
        Access(("search:read", "search:agentic"), mailboxes=(home.office.mailbox("family"),)),
    )  # fmt: skip
    run = asked(resolve_person(person), insurer_accepts())["run_id"]
    signed_in = Client()
    signed_in.force_login(person)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            context = browser.new_context()
            cookie = signed_in.cookies["sessionid"].value
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": service.url}])
            page = context.new_page()
            page.goto(f"{service.url}/v1/openapi.json")
            heard = page.evaluate(LISTEN, f"/v1/runs/{run}/events?es-meta=x")
        finally:
            browser.close()
    assert [number for _, _, number in heard] == list(range(1, len(heard) + 1))
    assert [id_ for id_, _, _ in heard] == [f"{run}:{number}" for number in range(1, len(heard) + 1)]
    assert heard[-1][1] == "done"
