"""What the description says is what a live service does, asked with made-up requests: no error of the server's, no
answer that is not described.

Bounded and without chance here; `SCHEMATHESIS_EXAMPLES=500 pytest tests/agentic/test_schemathesis.py` asks for longer.
"""

import os
from collections.abc import Mapping
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agentic.models import AgentPolicy
from agentic.web.description import described
from mailsearch.models import Attachment
from mailsearch.sessions import bound
from tests.agentic.asking import asked, insurer_accepts
from tests.agentic.cast import Caller, House, house
from tests.mailsearch.posting import Letter
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "6"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@schemathesis.serializer("message/rfc822")
def _as_mail(_: Any, value: Any) -> bytes:
    return str(value).encode("utf-8", "replace")


def _ids(home: House, jo: Caller) -> dict[str, str]:
    """Things that are there, for the places in addresses."""
    home.office.post("family", Letter("See the letter.", subject="Golf", attachments=(("letter.txt", "The letter."),)))
    with bound(home.office.binding()):
        attachment = Attachment.objects.get(tenant=home.office.tenant).public_id
    run = asked(jo.principal, insurer_accepts())["run_id"]
    return {
        "run": run,
        "message": home.golf.public_id,
        "attachment": attachment,
        "thread": home.thread(home.golf),
        "what": "widen_attempts",
    }


def _ask(operation: Any, headers: Mapping[str, str], ids: Mapping[str, str], seen: dict[str, set[int]]) -> None:
    """Every second request is about something that is there, and the first of them says nothing that it need not."""
    count = 0

    @given(case=operation.as_strategy())
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        nonlocal count
        count += 1
        if count % 2:
            case.path_parameters = {name: ids.get(name, value) for name, value in (case.path_parameters or {}).items()}
        if count == 1 and operation.method == "get":
            case.headers, case.query = {}, {"query": "Golf"} if operation.label == "GET /v1/contacts" else {}
        response = case.call(headers=headers)
        seen.setdefault(operation.label, set()).add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    ask()


# The service runs in threads of this process, and what they draw by chance meanwhile (the pool's patience) is taken for
# the strategies' own.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
def test_no_request_brings_an_error_of_the_servers_or_an_answer_that_is_not_described(
    service: Service, settings: Any
) -> None:
    settings.PM_RATE_CALLER = settings.PM_RATE_TENANT = 10_000
    home = house()
    jo = home.jo
    policy = AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=120)
    ids = _ids(home, jo)
    # Few and short: what runs do is looked at elsewhere.
    policy.agentic_max_seconds, policy.agentic_max_steps, policy.agentic_daily_cap = 1, 1, 4
    policy.save()
    schema = schemathesis.openapi.from_dict(dict(described()))
    schema.config.update(base_url=service.url)
    seen: dict[str, set[int]] = {}
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    # Last what takes the mail away that all others are asked about.
    for operation in sorted(operations, key=lambda one: one.label.endswith("/quarantine")):
        _ask(operation, jo.headers, ids, seen)
    assert len(seen) == sum(len(methods) for methods in described()["paths"].values())
    reached = {label for label, statuses in seen.items() if any(status < 300 for status in statuses)}
    assert {label for label in seen if label.startswith("GET ")} - reached == {"GET /v1/attachments/{attachment}/file"}
