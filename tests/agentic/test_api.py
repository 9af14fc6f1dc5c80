"""The API from outside: real HTTP, real keys, two tenants, two scopes of one of them."""

from typing import Any

import pytest

from tests.agentic.cast import house
from tests.standins.service import ANSWERED, QUOTED, Service, answers_golf, configured

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_question_over_http_is_answered_like_the_example(service: Service, settings: Any) -> None:
    home = house()
    with configured(settings, answers_golf()), service.client(home.jo.headers) as client:
        response = client.post("/v1/search", json={"query": "Golf claim accepted?", "mode": "agentic"})
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "private, no-store"
    body = response.json()
    assert body["outcome"] == "answered"
    assert body["answer"]["sentences"][0]["text"] == ANSWERED
    assert body["answer"]["sentences"][0]["citations"][0]["quote"] == QUOTED
