"""A run as a stream: complete, in order, resumable, byte-equal, and for nobody but its caller."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from agentic.callers import revoke_key
from tests.agentic.asking import QUESTION
from tests.agentic.cast import house
from tests.standins.model_server import slow
from tests.standins.service import Service, answers_golf, configured, events

pytestmark = pytest.mark.django_db(transaction=True)
BODY = {"query": QUESTION, "mode": "agentic", "stream": True}


def _ask(client: httpx.Client, **more: Any) -> str:
    with client.stream("POST", "/v1/search", json={**BODY, **more}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return "".join(response.iter_text())


def _follow(client: httpx.Client, run: str, last: str = "") -> str:
    headers = {"Last-Event-ID": last} if last else {}
    with client.stream("GET", f"/v1/runs/{run}/events", headers=headers) as response:
        assert response.status_code == 200
        return "".join(response.iter_text())


def _without_comments(text: str) -> str:
    return "".join(block + "\n\n" for block in text.split("\n\n") if block and not block.startswith(":"))


def test_a_stream_tells_steps_evidence_answer_and_ends_with_the_whole_response(service: Service, settings: Any) -> None:
    with configured(settings, answers_golf()), service.client(house().jo.headers) as client:
        told = list(events(iter(_ask(client).split("\n"))))
        run = told[0][2]["run_id"]
        whole = client.get(f"/v1/runs/{run}").json()
    names = [name for _, name, _ in told]
    assert names[0] == "step"
    assert "evidence" in names
    assert names[-2:] == ["answer", "done"]
    assert [int(id_.rpartition(":")[2]) for id_, _, _ in told] == list(range(1, len(told) + 1))
    assert {id_.rpartition(":")[0] for id_, _, _ in told} == {run}
    done = told[-1][2]
    assert {name: value for name, value in done.items() if name != "seq"} == whole


def test_both_addresses_of_a_stream_are_byte_equal(service: Service, settings: Any) -> None:
    with configured(settings, answers_golf()), service.client(house().jo.headers) as client:
        posted = _ask(client)
        run = next(events(iter(posted.split("\n"))))[2]["run_id"]
        assert _without_comments(_follow(client, run)) == _without_comments(posted)


def test_a_stream_goes_on_after_any_event(service: Service, settings: Any) -> None:
    with configured(settings, answers_golf()), service.client(house().jo.headers) as client:
        whole = _without_comments(_ask(client))
        blocks = whole.split("\n\n")[:-1]
        run = next(events(iter(whole.split("\n"))))[2]["run_id"]
        for number in range(1, len(blocks)):
            rest = "".join(block + "\n\n" for block in blocks[number:])
            last = str(number) if number % 2 else f"{run}:{number}"
            assert _without_comments(_follow(client, run, last)) == rest


def test_a_watcher_sees_events_of_a_run_as_they_happen(service: Service, settings: Any) -> None:
    with configured(settings, slow(answers_golf(), 0.5)), service.client(house().jo.headers) as client:
        with client.stream("POST", "/v1/search", json=BODY) as response:
            run = response.headers["x-run-id"]
            first = next(events(response.iter_lines()))
            assert first[1] == "step"
            # The first connection is cut here; the run goes on.
        told = [name for _, name, _ in events(iter(_follow(client, run).split("\n")))]
        assert told[-1] == "done"
        assert client.get(f"/v1/runs/{run}").json()["outcome"] == "answered"


def test_nobody_else_can_follow_a_run(service: Service, settings: Any) -> None:
    home, other = house(), house()
    with configured(settings, answers_golf()), service.client(home.jo.headers) as client:
        run = next(events(iter(_ask(client).split("\n"))))[2]["run_id"]
    for stranger in (home.kim, home.caller("family"), other.jo):
        with service.client(stranger.headers) as client:
            missing = client.get("/v1/runs/run_0000000000000000000000/events")
            refused = client.get(f"/v1/runs/{run}/events")
        assert refused.status_code == missing.status_code == 404
        assert refused.text.replace(run, "") == missing.text.replace("run_0000000000000000000000", "")


@pytest.mark.parametrize("last", ["x", "run_1:1:2", "-1", "1.5", "run_0000000000000000000000:1", "٣"])
def test_a_last_event_id_that_names_no_event_is_refused(service: Service, settings: Any, last: str) -> None:
    with configured(settings, answers_golf()), service.client(house().jo.headers) as client:
        run = next(events(iter(_ask(client).split("\n"))))[2]["run_id"]
        refused = client.get(f"/v1/runs/{run}/events", headers=[(b"Last-Event-ID", last.encode())])
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "Last-Event-ID"


@pytest.mark.parametrize("query", ["?es-meta=abc", "?channel=1-run_x", "?link=next", "?recover=true", "?lastEventId=9"])
def test_parameters_of_the_streaming_library_change_nothing(service: Service, settings: Any, query: str) -> None:
    with configured(settings, answers_golf()), service.client(house().jo.headers) as client:
        posted = _without_comments(_ask(client))
        run = next(events(iter(posted.split("\n"))))[2]["run_id"]
        with client.stream("GET", f"/v1/runs/{run}/events{query}") as response:
            assert _without_comments("".join(response.iter_text())) == posted


def test_a_run_without_an_answer_streams_no_answer(service: Service, settings: Any) -> None:
    with configured(settings, answers_golf()), service.client(house().kim.headers) as client:
        names = [name for _, name, _ in events(iter(_ask(client, budget={"max_steps": 2}).split("\n")))]
    assert "answer" not in names
    assert names[-1] == "done"


def test_plain_searches_cannot_be_streamed(service: Service) -> None:
    with service.client(house().jo.headers) as client:
        refused = client.post("/v1/search", json={"query": "golf", "mode": "hybrid", "stream": True})
    assert refused.status_code == 400
    assert refused.json()["type"].endswith("/stream-needs-agentic")


def test_a_stream_goes_on_when_the_listening_connection_is_killed(
    service: Service, settings: Any, owner_conninfo: str
) -> None:
    with (
        configured(settings, slow(answers_golf(), 1.0)),
        service.client(house().jo.headers) as client,
        client.stream("POST", "/v1/search", json=BODY) as response,
        psycopg.connect(owner_conninfo, autocommit=True) as conn,
    ):
        told = events(response.iter_lines())
        assert next(told)[1] == "step"
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
        names = [name for _, name, _ in told]
    assert names[-2:] == ["answer", "done"]


def test_a_watcher_whose_key_is_revoked_hears_no_more(service: Service, settings: Any) -> None:
    jo = house().jo
    with (
        configured(settings, slow(answers_golf(), 1.5)),
        service.client(jo.headers) as client,
        client.stream("POST", "/v1/search", json=BODY) as response,
    ):
        told = events(response.iter_lines())
        assert next(told)[1] == "step"
        revoke_key(jo.key)
        names = [name for _, name, _ in told]
    assert "answer" not in names
    assert "done" not in names


def test_many_watchers_hear_every_event_once_and_in_order(service: Service, settings: Any) -> None:
    jo = house().jo
    with configured(settings, slow(answers_golf(), 0.7)), service.client(jo.headers) as client:
        run = client.post("/v1/search", json={**BODY, "stream": False}, headers={"Prefer": "respond-async"}).json()
        with ThreadPoolExecutor(10) as watchers:
            heard = list(watchers.map(lambda _: _followed(service, jo.headers, run["run_id"]), range(10)))
    assert len(set(heard)) == 1
    assert heard[0].rstrip().rpartition("event: ")[2].startswith("done")


def _followed(service: Service, headers: dict[str, str], run: str) -> str:
    with service.client(headers) as client:
        return _without_comments(_follow(client, run))
