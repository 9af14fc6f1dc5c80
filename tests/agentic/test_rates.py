"""A caller may ask so fast and no faster, and is told how long to wait."""

import pytest

from agentic.web.rates import Rates
from tests.agentic.cast import house
from tests.standins.service import Service


def test_a_bucket_holds_twice_its_rate_and_fills_with_time() -> None:
    now = [100.0]
    rates = Rates(clock=lambda: now[0])
    assert [rates.take("jo", 10.0) for _ in range(20)] == [0.0] * 20
    assert rates.take("jo", 10.0) == pytest.approx(0.1)
    assert rates.take("kim", 10.0) == 0.0
    now[0] += 0.25
    assert rates.left("kim", 10.0) == 19
    assert [rates.take("jo", 10.0) for _ in range(3)][:2] == [0.0, 0.0]
    now[0] += 3600
    assert sum(rates.take("jo", 10.0) == 0.0 for _ in range(30)) == 20


@pytest.mark.django_db(transaction=True)
def test_too_many_requests_at_once_are_told_when_to_come_again(service: Service) -> None:
    with service.client(house().jo.headers) as client:
        answers = [client.get("/v1/runs", params={"limit": "x"}) for _ in range(60)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert answers[0].headers["ratelimit-policy"] == '"caller";q=20;w=2, "tenant";q=100;w=2'
    assert answers[0].headers["ratelimit"] == '"caller";r=19;t=1, "tenant";r=99;t=1'
    assert refused
    for answer in refused:
        assert answer.json()["type"].endswith("/rate-limited")
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.headers["ratelimit"].startswith('"caller";r=0;t=2, ')
