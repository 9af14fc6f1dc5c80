"""Whether it lives, whether it can serve, and who may read its figures."""

import asyncio
from typing import Any

import httpx
import pytest
from django.conf import settings

from agentic.server import health, metrics
from agentic.server.embedded import EmbeddedPostgres
from mailsearch.models import MailSource
from tests.agentic.cast import house
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "0123456789abcdef-metrics"


def _states(checks: tuple[health.Check, ...]) -> dict[str, str]:
    return {check.name: check.state for check in checks}


def _checked(looked_at: health.Health) -> tuple[health.Check, ...]:
    return asyncio.run(looked_at.checks())


def test_a_service_that_runs_is_alive_and_ready(service: Service) -> None:
    # As a probe does: by address, without TLS, and without a key.
    with httpx.Client(base_url=service.url, headers={"Host": "10.0.0.7"}) as probe:
        assert probe.get("/healthz").json() == {"alive": True}
        ready = probe.get("/readyz")
        assert probe.head("/readyz").content == b""
        assert probe.post("/readyz").status_code == 405
    assert ready.status_code == 200, ready.text
    assert ready.json()["ready"] is True
    assert ready.json()["checks"]["database"] == {"state": "ok", "word": "answers"}
    assert set(ready.json()["checks"]) == {"database", "migrations", "sources", "model", "embeddings"}


def test_without_its_database_it_lives_and_is_not_ready() -> None:
    checks = _checked(health.Health(lambda: "host=127.0.0.1 port=1 dbname=x user=x password=hush"))
    assert _states(checks)["database"] == "fail"
    assert not health.is_ready(checks)
    assert "hush" not in str(checks)


def test_a_database_without_tables_is_not_ready() -> None:
    checks = _checked(health.Health(lambda: EmbeddedPostgres(settings.PM_DATA).conninfo()))
    assert _states(checks) | {"database": "ok", "migrations": "fail"} == _states(checks)
    assert not health.is_ready(checks)


def test_what_only_makes_answers_worse_is_a_warning() -> None:
    home = house()
    source = MailSource.objects.create(
        tenant=home.office.tenant, mailbox=home.office.mailbox("family"), kind="imap", location="x", error="secret"
    )
    try:
        checks = _checked(health.Health())
    finally:
        source.delete()
    assert _states(checks)["sources"] == "warn"
    assert health.is_ready(checks)
    assert "secret" not in str(checks)
    assert home.office.tenant.slug not in str(checks)


def test_what_waits_to_be_embedded_is_counted_for_every_tenant() -> None:
    # As many tenants as other tests have made.
    looked_at = health.Health(backlog_seconds=300)
    asyncio.run(looked_at.look_up_backlog())
    before = looked_at.backlog or 0
    for home in (house(), house()):
        # Embedded, but not by the model that serves.
        home.office.embed("family", "another", {home.golf.pk: [1.0, 0.0], home.garden.pk: [0.0, 1.0]})
    asyncio.run(looked_at.look_up_backlog())
    assert looked_at.backlog == before + 4


def test_figures_are_for_nobody_without_a_token(service: Service, settings: Any) -> None:
    with httpx.Client(base_url=service.url) as reader:
        guessed = {"Authorization": "Bearer x"}
        assert reader.get("/metrics").status_code == 404
        assert reader.get("/metrics", headers=guessed).status_code == 404
        settings.PM_METRICS_TOKEN = TOKEN
        assert reader.get("/metrics", headers=guessed).status_code == 404
        assert reader.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 404
        assert "mailsearch_runs_total" in reader.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text


def test_an_address_of_its_own_tells_figures_and_nothing_else(settings: Any) -> None:
    settings.PM_METRICS_BIND = ("127.0.0.1", 0)
    asyncio.run(metrics.listen())
    try:
        url = f"http://127.0.0.1:{metrics.port()}"
        assert "mailsearch_streams_open" in httpx.get(f"{url}/metrics").text
        assert httpx.get(f"{url}/v1/me").status_code == 404
        settings.PM_METRICS_TOKEN = TOKEN
        assert httpx.get(f"{url}/metrics").status_code == 404
    finally:
        metrics.leave()


def test_labels_stay_few_whatever_comes() -> None:
    from agentic import meters

    for number in range(300):
        meters.closed("degraded", f"reason_{'x' * (number % 30)}{chr(97 + number % 26)}", 1.0)
    meters.closed("degraded", "words of a mail", 1.0)
    samples = next(iter(meters.RUNS.collect())).samples
    reasons = {sample.labels["reason"] for sample in samples}
    assert len(reasons) < 70
    assert "words of a mail" not in reasons
