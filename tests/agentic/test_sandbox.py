"""The sandbox: fixed questions end as they must over REST, as a stream and over MCP, and for nobody else."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError

from agentic.llm.sandbox import NAME, QUESTIONS, FixedQuestion, find
from agentic.models import Run
from mailsearch.models import Permission, Tenant
from mailsearch.sessions import Binding, bound
from tests.agentic.cast import house
from tests.mailsearch.posting import Letter
from tests.standins.mcp_client import call, text_of
from tests.standins.service import Service, events

pytestmark = pytest.mark.django_db(transaction=True)
NewKey = Callable[..., str]
# The one that takes all its seconds is asked with few of them.
LEAST = {"max_seconds": 2}
ADMITTED = [question for question in QUESTIONS if question.outcome]
REFUSED = next(question for question in QUESTIONS if not question.outcome)
ANSWERED, REMOVED, _, _, SLOW, _, WIDENED = ADMITTED


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def body_of(question: FixedQuestion) -> dict[str, Any]:
    budget = LEAST if question is SLOW else {}
    return {"query": question.text, "mode": "agentic", "budget": budget}


def test_every_fixed_question_ends_as_it_must_over_all_three_ways(service: Service, sandbox_key: NewKey) -> None:
    headers = bearer(sandbox_key())
    with service.client(headers) as client:
        for question in ADMITTED:
            body = body_of(question)
            plain = client.post("/v1/search", json=body).json()
            with client.stream("POST", "/v1/search", json={**body, "stream": True}) as response:
                *told, (_, name, done) = events(response.iter_lines())
            over_mcp = call(service.url, headers, "ask_mail", query=question.text, budget=body["budget"])
            for whole in (plain, done, over_mcp.structured_content):
                assert whole["outcome"] == question.outcome, (question.text, whole["reason"])
                assert whole["model"] == NAME
                assert bool(whole["answer"]) == (question.outcome == "answered")
                assert [one["reason"] for one in whole["removed_sentences"]] == [
                    one["reason"] for one in plain["removed_sentences"]
                ]
            assert name == "done"
            assert "evidence" in {one for _, one, _ in told}
            assert not over_mcp.is_error


def test_one_question_shows_a_removed_sentence_and_one_a_widen_attempt(service: Service, sandbox_key: NewKey) -> None:
    with service.client(bearer(sandbox_key())) as client:
        removed = client.post("/v1/search", json=body_of(REMOVED)).json()
        widened = client.post("/v1/search", json=body_of(WIDENED)).json()
    assert [one["reason"] for one in removed["removed_sentences"]] == ["quote_not_found"]
    (kept,) = removed["answer"]["sentences"]
    assert kept["support"] == "quote"
    assert kept["citations"][0]["from"]["address"].endswith("@nordlicht.example")
    assert [(one["kind"], one["argument"]) for one in widened["widen_attempts"]] == [("outside_scope", "mailbox")]


def test_one_question_is_refused_with_429_and_says_when_to_ask_again(service: Service, sandbox_key: NewKey) -> None:
    headers = bearer(sandbox_key())
    with service.client(headers) as client:
        refused = client.post("/v1/search", json=body_of(REFUSED))
        streamed = client.post("/v1/search", json={**body_of(REFUSED), "stream": True})
        after = client.post("/v1/search", json=body_of(ANSWERED))
    for answer in (refused, streamed):
        assert answer.status_code == 429
        assert answer.json()["type"].endswith("/daily-cap-reached")
        assert 0 < int(answer.headers["retry-after"]) <= 86_400
    assert after.status_code == 200
    over_mcp = call(service.url, headers, "ask_mail", query=REFUSED.text)
    assert over_mcp.is_error
    assert "Try again in" in text_of(over_mcp)


def test_too_many_runs_at_once_are_refused_as_for_every_key(service: Service, sandbox_key: NewKey) -> None:
    body = {"query": SLOW.text, "mode": "agentic"}
    with service.client(bearer(sandbox_key()) | {"Prefer": "respond-async"}) as client:
        answers = [client.post("/v1/search", json=body) for _ in range(5)]
        assert [answer.status_code for answer in answers[:4]] == [202] * 4
        assert answers[4].status_code == 429
        assert answers[4].headers["retry-after"] == "1"
        for answer in answers[:4]:
            client.post(f"/v1/runs/{answer.json()['run_id']}/cancel")


def test_me_says_what_is_a_sandbox_and_what_is_not(service: Service, sandbox_key: NewKey) -> None:
    with service.client(bearer(sandbox_key())) as client:
        me = client.get("/v1/me").json()
    assert (me["sandbox"], me["tenant"]) == (True, "sandbox")
    assert [one["mailbox"] for one in me["mailboxes"]] == ["family", "workshop"]
    with service.client(house().jo.headers) as client:
        assert client.get("/v1/me").json()["sandbox"] is False


def test_runs_of_the_sandbox_are_an_evaluations_and_stay_out_of_figures(service: Service, sandbox_key: NewKey) -> None:
    with service.client(bearer(sandbox_key())) as client:
        run = client.post("/v1/search", json=body_of(ANSWERED)).json()["run_id"]
    tenant = Tenant.objects.get(slug="sandbox")
    with bound(Binding(audit=frozenset({tenant.pk}))):
        assert Run.objects.get(public_id=run).evaluation is True


def test_a_fixed_question_of_another_key_is_asked_of_its_own_model(service: Service) -> None:
    home = house()
    home.office.post("family", Letter("Nothing was decided yet.", subject="Golf"))
    with service.client(home.jo.headers) as client:
        bodies = [client.post("/v1/search", json=body_of(one)) for one in (ANSWERED, REFUSED)]
    assert [body.status_code for body in bodies] == [200, 200]
    assert all("extractive" in body.json()["model"] for body in bodies)


def test_any_other_question_of_the_sandbox_is_read_by_the_built_in_reader(
    service: Service, sandbox_key: NewKey
) -> None:
    with service.client(bearer(sandbox_key())) as client:
        body = client.post("/v1/search", json={"query": "When is the spring concert?", "mode": "agentic"}).json()
    assert "extractive" in body["model"]
    assert body["status"] == "finished"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--mailbox", "claims"], "--mailbox"),
        (["--all-mailboxes"], "--all-mailboxes"),
        (["--permission", "ingest:write"], "ingest:write"),
    ],
)
def test_a_sandbox_key_reads_what_is_fixed_and_nothing_else(
    sandbox_key: NewKey, arguments: list[str], told: str
) -> None:
    with pytest.raises(CommandError, match=told):
        sandbox_key(*arguments)


def test_a_sandbox_key_may_have_fewer_permissions(service: Service, sandbox_key: NewKey) -> None:
    with service.client(bearer(sandbox_key("--permission", Permission.SEARCH_READ))) as client:
        refused = client.post("/v1/search", json=body_of(ANSWERED))
    assert (refused.status_code, refused.json()["permission"]) == (403, "search:agentic")


def test_questions_are_known_by_their_words() -> None:
    assert find(f"  {ANSWERED.text.upper()}\n") is ANSWERED
    assert find("anything else") is None


def test_the_docs_list_the_questions_as_they_are() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "sandbox.md").read_text()
    rows = [f"| {one.text} | {one.outcome or '429'} | {one.shows} |" for one in QUESTIONS]
    assert re.findall(r"^\| [A-Z].*\?.*\|$", text, re.MULTILINE) == rows
