"""`POST /v1/verify` from outside: who may, how much, and what is told of each unit."""

from typing import Any

import pytest

from tests.agentic.cast import ACCEPTED, house
from tests.standins.service import QUOTED, Service

pytestmark = pytest.mark.django_db(transaction=True)


def _reasons(told: dict[str, Any]) -> list[str]:
    return [one["reason"] for one in told["removed_sentences"]]


def test_both_permissions_are_needed(service: Service) -> None:
    home = house()
    body = {"text": f"So it is [{home.golf.public_id}]."}
    for permissions, status in ((("verify",), 403), (("search:read",), 403), (("verify", "search:read"), 200)):
        with service.client(home.caller("family", permissions=permissions).headers) as client:
            assert client.post("/v1/verify", json=body).status_code == status


def test_prose_and_statements_get_the_same_verdict_with_spans_into_the_stored_text(service: Service) -> None:
    home = house()
    golf = home.golf.public_id
    claim = "The insurer accepts the liability for the damage"
    prose = {"text": f'{claim}: "{QUOTED}" [{golf}]. They pay 9,999 EUR [{golf}].'}
    quotes = [{"message": golf, "text": QUOTED}]
    statements = [
        {"text": f"{claim}.", "citations": [golf], "quotes": quotes},
        {"text": "They pay 9,999 EUR.", "citations": [golf]},
    ]
    with service.client(home.jo.headers) as client:
        told = [client.post("/v1/verify", json=body).json() for body in (prose, {"sentences": statements})]
    for one in told:
        (kept,) = one["answer"]["sentences"]
        (citation,) = kept["citations"]
        assert (kept["position"], kept["support"], citation["part"]) == (1, "quote", "body")
        assert home.golf.body_text[citation["start"] : citation["end"]] == citation["quote"] == QUOTED
        assert citation["context"].endswith(ACCEPTED)
        assert _reasons(one) == ["fact_not_found"]
        assert one["removed_sentences"][0]["position"] == 2
        assert one["verifier_version"]


def test_a_message_that_is_anothers_or_nobodys_is_one_unknown_citation(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        for cited in (home.secret.public_id, "msg_0000000000000000000000"):
            told = client.post("/v1/verify", json={"text": f"The code is 99-4471 [{cited}]."}).json()
            assert (told["answer"], _reasons(told)) == (None, ["unknown_label"])
            assert "Safe" not in str(told)


def test_a_hundred_units_and_two_hundred_quotes_are_the_most(service: Service) -> None:
    home = house()
    golf = home.golf.public_id
    unit = f'It says "{QUOTED}" [{golf}]. '
    quote = {"message": golf, "text": QUOTED}
    claim = {"text": "So it is.", "citations": [golf]}

    def sentences(count: int, quotes: int = 0) -> dict[str, Any]:
        return {"sentences": [{**claim, "quotes": [quote] * quotes}] * count}

    with service.client(home.jo.headers) as client:
        long = client.post("/v1/verify", json={"text": unit * 102}).json()
        statuses = [
            client.post("/v1/verify", json=body).status_code
            for body in (sentences(100), sentences(101), sentences(25, 8), sentences(26, 8))
        ]
    assert (len(long["answer"]["sentences"]), _reasons(long)) == (100, ["too_long"])
    assert statuses == [200, 400, 200, 400]
