"""Rights that end while streams are open: what comes after is told by the rights of now, in every stream of the run."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from agentic.models import AgentPolicy
from mailsearch.ingest import erasing
from mailsearch.models import Grant
from tests.agentic.asking import QUESTION
from tests.agentic.cast import Caller, House, house
from tests.standins.model_server import message, stream
from tests.standins.service import Service, answers_golf, configured, events

pytestmark = pytest.mark.django_db(transaction=True)
ASK = {"query": QUESTION, "mode": "agentic", "stream": True}
# Of the mail and of nothing else: neither the question nor the model has these.
OF_THE_MAIL = ("nordlicht", "77-4410", "Claims desk", "photos")
Told = tuple[str, str, dict[str, Any]]


def _narrow(home: House, jo: Caller) -> None:
    Grant.objects.get(pk=jo.key.grant_id).mailboxes.set([home.office.mailbox("workshop")])


def _erase(home: House, jo: Caller) -> None:
    assert erasing.erase(home.office.tenant, home.golf.public_id)


CHANGES: Mapping[str, Callable[[House, Caller], None]] = {"narrowed": _narrow, "erased": _erase}


def _shown(told: list[Told]) -> set[str]:
    """The events that hold anything of the mail."""
    return {name for _, name, data in told if any(word in str(data) for word in OF_THE_MAIL)}


def _until_evidence(stream: Iterator[Told]) -> list[Told]:
    told = [next(stream)]
    while told[-1][1] != "evidence":
        told.append(next(stream))
    return told


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_withdrawn_while_streams_are_open_is_told_no_more_in_any_of_them(
    service: Service, settings: Any, change: str
) -> None:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    # Without audit:read, as most who ask are.
    jo = home.caller("family", permissions=("search:read", "search:agentic"))

    def waits(handler: Any) -> None:
        handler.released.wait(60)
        answers_golf()(handler)

    looks = stream(message(None, ("search", '{"query": "Golf"}')), "tool_calls")
    with configured(settings, looks, waits) as model, Service() as other, ExitStack() as opened:

        def follow(where: Service, method: str, path: str, **more: Any) -> httpx.Response:
            client = opened.enter_context(where.client(jo.headers, timeout=120))
            response = opened.enter_context(client.stream(method, path, **more))
            assert response.status_code == 200
            return response

        posted = follow(service, "POST", "/v1/search", json=ASK)
        path = f"/v1/runs/{posted.headers['x-run-id']}/events"
        responses = [posted, follow(service, "GET", path), follow(other, "GET", path)]
        streams = [events(response.iter_lines()) for response in responses]
        before = [_until_evidence(one) for one in streams]
        assert [_shown(told) for told in before] == [{"evidence"}] * 3
        CHANGES[change](home, jo)
        model.released.set()
        after = [list(one) for one in streams]
    assert [_shown(told) for told in after] == [set()] * 3
    assert after[0] == after[1] == after[2]
    name, done = after[0][-1][1:]
    assert name == "done"
    assert [item["withheld"] for item in done["evidence"] if item["message_id"] == home.golf.public_id] == [True]
    assert done["answer"] is None
