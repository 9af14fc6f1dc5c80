"""The description's examples are what a service really answers, and what they are described to be.

`WRITE_DOCS=1 pytest tests/agentic/test_described_examples.py` writes them anew.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agentic.web.openapi import examples
from agentic.web.problems import CATALOGUE, REMEDIES
from tests.agentic import answering
from tests.agentic.answering import shape_of
from tests.standins.service import Service, events

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "agentic" / "web" / "examples.json"
# What is different from one time to another though nothing is: how many steps and events a run had.
VARYING = ("trace", "stream", "searched", "coverage", "usage", "evidence", "took_ms")


def _shape(body: Any) -> Any:
    if isinstance(body, str):
        return sorted({name for _, name, _ in events(iter(body.split("\n")))})
    return {name: one for name, one in shape_of(body).items() if name not in VARYING}


def _shown_in(description: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, schema, example) of each example in the description."""
    return [
        (name, content["schema"], one["value"])
        for methods in description["paths"].values()
        for operation in methods.values()
        for response in operation["responses"].values()
        for content in response.get("content", {}).values()
        for name, one in content.get("examples", {}).items()
    ]


def test_examples_are_what_is_answered(service: Service, settings: Any) -> None:
    told = answering.gather(service, settings)
    if os.environ.get("WRITE_DOCS"):
        EXAMPLES.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
        examples.cache_clear()
    kept = examples()
    assert set(told) == set(kept)
    assert {name: one["status"] for name, one in told.items()} == {name: one["status"] for name, one in kept.items()}
    differing = {name: (_shape(told[name]["body"]), _shape(kept[name]["body"])) for name in told}
    assert {name: both for name, both in differing.items() if both[0] != both[1]} == {}


def test_every_outcome_and_every_problem_has_an_example() -> None:
    kept = examples()
    bodies = [one["body"] for one in kept.values() if isinstance(one["body"], dict)]
    outcomes = {body["outcome"] for body in bodies if "outcome" in body}
    assert {"answered", "insufficient_evidence", "budget_exhausted", "degraded"} <= outcomes
    assert {f"problem {kind}" for kind in CATALOGUE} == {name for name in kept if name.startswith("problem ")}
    for kind, (status, title) in CATALOGUE.items():
        body = kept[f"problem {kind}"]["body"]
        assert (body["status"], body["title"], body["type"].rpartition("/")[2]) == (status, title, kind)
    assert set(REMEDIES) == set(CATALOGUE)


def test_each_example_is_what_it_is_described_to_be(service: Service) -> None:
    with service.client({}) as client:
        description = client.get("/v1/openapi.json").json()
    shown = _shown_in(description)
    assert len({name for name, _, _ in shown}) > 30
    for name, schema, example in shown:
        whole = {**schema, "components": description["components"]}
        errors = [error.message for error in jsonschema.Draft202012Validator(whole).iter_errors(example)]
        assert errors == [], name
