"""The verifier against the shared cases, where they are."""

from pathlib import Path

from agentic.evaluation import verifier


def test_every_shared_case_is_decided_as_it_says(shared_cases: Path) -> None:
    report = verifier.run(shared_cases / "verifier.jsonl", {})
    assert report.differ == ()
    assert report.ok
