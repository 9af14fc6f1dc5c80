"""The verifier against the own cases: sentences of many languages and layouts, each kept or removed by rule."""

from pathlib import Path

import pytest

from agentic.evaluation import verifier

CASES = Path(__file__).parents[2] / "sample" / "verifier.jsonl"


@pytest.fixture(scope="module")
def results() -> list[verifier.Compared]:
    return [verifier.compare(case) for case in verifier.read(CASES)]


def test_no_sentence_is_kept_that_must_go(results: list[verifier.Compared]) -> None:
    assert [result.case_id for result in results if result.false_keeps] == []


def test_at_most_two_in_a_hundred_sentences_are_removed_that_stand(results: list[verifier.Compared]) -> None:
    lost = [result.case_id for result in results if result.wrong_removals]
    total = sum(result.sentences for result in results)
    assert total > 1000
    assert sum(result.wrong_removals for result in results) <= 0.02 * total, lost


def test_every_case_has_a_name_of_its_own() -> None:
    cases = list(verifier.read(CASES))
    assert len({case.case_id for case in cases}) == len(cases)


def test_a_line_separator_inside_a_case_ends_no_row(tmp_path: Path) -> None:
    row = '{"id": "a", "sources": {"m1": {"text": "x\u2028y"}}, "evidence_ids": ["m1"], "answer": "", "expected": []}'
    (tmp_path / "cases.jsonl").write_text(row, encoding="utf-8")
    assert [case.case_id for case in verifier.read(tmp_path / "cases.jsonl")] == ["a"]
