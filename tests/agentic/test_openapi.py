"""The description of the API names every address, what it takes and how it fails."""

import re
from typing import Any

import pytest
from django.contrib.staticfiles import finders

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
    paths = {f"/v1/{one.pattern}".replace("<str:", "{").replace(">", "}") for one in urlpatterns if str(one.pattern)}
    assert set(described["paths"]) == paths - {"/v1/openapi.json", "/v1/docs", "/v1/problems"}
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
    assert body["additionalProperties"] is False
    assert body["properties"]["filters"]["additionalProperties"] is False
    assert "read the evidence" in described["info"]["description"]


@pytest.mark.django_db(transaction=True)
def test_the_description_is_a_page_that_needs_nothing_from_elsewhere(service: Service) -> None:
    with service.client({}) as client:
        for path, telling in (("/v1/docs", "/v1/attachments/{attachment}/file"), ("/v1/problems", "key-in-address")):
            page = client.get(path)
            assert page.status_code == 200
            assert page.headers["cache-control"] == "private, no-store"
            assert "'unsafe" not in page.headers["content-security-policy"]
            assert telling in page.text
            linked = re.findall(r'(?:src|href|action)="([^"#]*)"', page.text)
            assert linked
            assert not [one for one in linked if "//" in one]
            assert "<script" not in page.text
            assert [one for one in linked if one.endswith(".css")] == ["/static/api/docs.css"]
    assert finders.find("api/docs.css")
