"""The page of the benchmarks: figures against their limits, and what was not measured."""

import os
import subprocess
import sys

import pytest

from bench import __main__ as bench_main
from bench import _table


def test_figures_are_held_against_their_limits_and_what_is_missing_is_said() -> None:
    speeds = {"units_per_second_uncached": 49, "units_per_second_cached": 4_000}
    page = _table.told({"verify": {"subject": "verify", **speeds, "deep": {"er": [1.5, 2]}}})
    rows = {line.split(" | ")[1]: line for line in page.splitlines() if line.startswith("| verify |")}
    assert rows["units a second, message not read yet"].endswith("| 49 | ≥ 50 | **missed** |")
    assert rows["units a second, message read before"].endswith("| 4,000 | ≥ 3,000 | held |")
    assert "| api | p95 of a keyword search beside a request that does nothing | not measured | ≤ 3 | |" in page
    assert "| deep.er | 1.5, 2 |" in page


def test_the_page_in_the_docs_is_that_of_the_figures_beside_it() -> None:
    lines = _table.load()
    assert (_table.DOCS / "benchmarks.md").read_text(encoding="utf-8") == _table.told(lines)


def test_an_unknown_benchmark_is_named() -> None:
    done = subprocess.run([sys.executable, "-m", "bench", "weather"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "weather" in done.stderr
    assert "verify" in done.stderr


@pytest.mark.parametrize(
    ("names", "environment", "told"),
    [
        (("api", "loop"), {"BENCH_MESSAGES": "many"}, ("api ended without figures", "loop ended without figures")),
        (("verify",), {"BENCH_LONGEST": "0.2"}, ("verify took longer",)),
        (("verify", "api"), {"BENCH_ALTOGETHER": "0.2"}, ("verify took longer", "api was not measured")),
    ],
)
def test_one_that_fails_or_hangs_is_named_and_the_next_begins(
    names: tuple[str, ...], environment: dict[str, str], told: tuple[str, ...]
) -> None:
    command = [sys.executable, "-m", "bench", *names]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    for words in (*told, f"Failed: {', '.join(names)}."):
        assert words in done.stderr


def test_what_was_never_kept_comes_first_and_then_what_took_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "load", lambda: {"slow": {"seconds": 300.5}, "quick": {"seconds": 2}})
    assert bench_main._in_order(["slow", "new", "quick"]) == ["new", "quick", "slow"]
