"""Two evaluations do not note into one file of results."""

from pathlib import Path

import pytest

from agentic.evaluation.noting import noting
from agentic.evaluation.report import BadInput
from agentic.evaluation.subjects import evaluate


def test_a_second_evaluation_is_told_that_another_notes_there(tmp_path: Path) -> None:
    cases, results = tmp_path / "injections.jsonl", tmp_path / "results.jsonl"
    cases.write_text("{}\n")
    results.write_text("{}\n")
    with noting(results), pytest.raises(BadInput, match="another evaluation"):
        evaluate("injections", cases, {"results": results})
    assert results.read_text() == "{}\n"


def test_whoever_comes_after_it_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        with noting(tmp_path / "results.jsonl"):
            assert (tmp_path / "results.jsonl").read_text() == ""


def test_where_nothing_can_be_noted_it_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="can't be written"), noting(tmp_path / "none" / "results.jsonl"):
        pytest.fail("nobody can note there")
