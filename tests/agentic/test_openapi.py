"""The description of the API names every address, what it takes and how it fails."""

from typing import Any

import pytest

from agentic.web.urls import urlpatterns
from tests.standins.service import Service


@pytest.fixture
def described(service: Service) -> Any:
    with service.client({}) as client:
        answer = client.get("/v1/openapi.json")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.django_db(transaction=True)
def test_every_address_is_described_with_its_problems(described: Any) -> None:
    assert described["openapi"].startswith("3.1")
    paths = {f"/v1/{pattern.pattern}".replace("<str:", "{").replace(">", "}") for pattern in urlpatterns}
    assert set(described["paths"]) == paths - {"/v1/openapi.json"}
    for operations in described["paths"].values():
        for operation in operations.values():
            assert {"401", "403", "429"} <= set(operation["responses"])
            assert operation["security"]
            assert operation["description"]


@pytest.mark.django_db(transaction=True)
def test_a_search_is_described_as_it_is_checked(described: Any) -> None:
    schema = described["paths"]["/v1/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert {"query", "mode", "filters", "budget", "stream", "timezone", "now", "limit", "cursor"} == set(
        body["properties"]
    )
    assert "read the evidence" in described["info"]["description"]
