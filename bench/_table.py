"""What the benchmarks found, kept as `docs/benchmarks.json` and told as a table in `docs/benchmarks.md`."""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
_JSON, _TABLE = DOCS / "benchmarks.json", DOCS / "benchmarks.md"
_INTRODUCTION = """# Benchmarks

`make bench` runs all of them one after the other, in less than 40 minutes, and writes this page, but for `soak`: it
then lasts five minutes, and this page has what half an hour of it has shown. `.venv/bin/python -m bench --write NAME …`
runs some and leaves the rows of the others. Stores of mail are made once and kept. Every figure is of one run on one
machine that did nothing else. Ratios were measured within one run, so they say something on other machines, too;
seconds and rates are those of the machine named in the row. What each benchmark does stands at the head of its file in
`bench/`.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """One figure of a benchmark that is held against a limit. `path` leads to it through the benchmark's figures."""

    path: str
    words: str
    limit: float
    most: bool = True

    def held(self, value: float) -> bool:
        """Whether *value* is within the limit."""
        compare: Callable[[float, float], bool] = operator.le if self.most else operator.ge
        return compare(value, self.limit)


LIMITS: Mapping[str, tuple[Limit, ...]] = {
    "api": (Limit("ratio", "p95 of a keyword search beside a request that does nothing", 3),),
    "deadline": (Limit("late", "runs that left after their seconds", 0),),
    "ingest": (
        Limit("ratio", "messages per CPU second beside notmuch, attachment text off", 1, most=False),
        Limit("bytes_a_message", "bytes a message, without raw copy and vectors", 8_192),
    ),
    "interrupted": (
        Limit("same", "an import that was killed ten times ends in the state of a calm one", 1, most=False),
    ),
    "latency": (Limit("kept_share", "answered within 8 s, of those within 60 s", 0.9, most=False),),
    "loop": (
        Limit("p50_ms", "overhead of a run, p50 in ms", 60),
        Limit("p95_ms", "overhead of a run, p95 in ms", 120),
        Limit("open_ratio", "p95 under open arrivals beside one alone", 3),
    ),
    "memory": (Limit("peak_megabytes", "memory of an import of a 1 GB mbox, in MB", 600),),
    "pages": (Limit("slowest_ms", "the slowest page in ms", 500),),
    "search": (
        Limit("beside_tantivy.rare", "p50 of a first page by a rare word beside tantivy's", 10),
        Limit("beside_tantivy.medium", "the same by a word of medium rarity", 10),
        Limit("beside_tantivy.common", "the same by a common word", 40),
        Limit("growth.rare", "p50 by a rare word at ten times the mail", 2),
        Limit("growth.medium", "the same by a word of medium rarity", 2),
        Limit("growth.common", "the same by a common word", 2),
        Limit("row_level_security.rare", "row-level security beside a plain WHERE, rare word", 3),
        Limit("row_level_security.medium", "the same, word of medium rarity", 3),
        Limit("row_level_security.common", "the same, common word", 3),
        Limit("row_level_security.vectors", "the same, nearest vectors", 3),
        Limit("recall.exact", "recall of the nearest twenty, comparing all", 1, most=False),
        Limit("recall.index", "the same by the index, real mail among mixtures", 0.95, most=False),
        Limit("rows_missing", "messages that a narrow filter by meaning leaves out", 0),
        Limit("hybrid_beside_slower", "both ways together beside the slower one", 1.3),
        Limit("cold_first_page", "first page of a new process beside a later one", 2),
        Limit("clients_by_core", "eight clients by core beside one", 0.8, most=False),
        Limit("mrr_beside_bm25.sample", "MRR of keyword search beside tantivy's, sample questions", 0.95, most=False),
        Limit("mrr_beside_bm25.shared", "the same, shared questions", 0.95, most=False),
    ),
    "soak": (
        Limit("growth_percent", "growth of a worker's own memory after warm-up, per cent", 5),
        Limit("lost", "runs or answers lost, with the database restarted in the middle", 0),
        Limit("doubled", "runs that are there twice", 0),
        Limit("wrong", "runs that ended otherwise than in peace", 0),
    ),
    "streams": (Limit("events_missed", "events that reached a watcher late or never", 0),),
    "verify": (
        Limit("units_per_second_uncached", "units a second, message not read yet", 50, most=False),
        Limit("units_per_second_cached", "units a second, message read before", 3_000, most=False),
    ),
    "verify_mutations": (Limit("false_keeps", "forgeries that were kept", 0),),
}


def load() -> dict[str, dict[str, Any]]:
    """The lines kept so far, by subject."""
    if not _JSON.exists():
        return {}
    lines: dict[str, dict[str, Any]] = json.loads(_JSON.read_text(encoding="utf-8"))
    return lines


def write(lines: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep *lines* and tell them."""
    _JSON.write_text(json.dumps(dict(sorted(lines.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _TABLE.write_text(told(lines), encoding="utf-8")


def told(lines: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: figures with a limit first, then all of them."""
    rows = ["| benchmark | figure | value | limit | |", "| --- | --- | --- | --- | --- |"]
    for subject, limits in LIMITS.items():
        for limit in limits:
            value = dict(_flat(lines.get(subject, {}))).get(limit.path)
            rows.append(_row(subject, limit, value))
    parts = [_INTRODUCTION, "\n".join(rows)]
    for subject, line in sorted(lines.items()):
        table = [f"| {name} | {_short(value)} |" for name, value in _flat(line) if name != "subject"]
        parts.append("\n".join([f"## {subject}\n", "| figure | value |", "| --- | --- |", *table]))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _row(subject: str, limit: Limit, value: Any) -> str:
    sign = "≤" if limit.most else "≥"
    if not isinstance(value, (int, float)):
        return f"| {subject} | {limit.words} | not measured | {sign} {_short(limit.limit)} | |"
    verdict = "held" if limit.held(value) else "**missed**"
    return f"| {subject} | {limit.words} | {_short(value)} | {sign} {_short(limit.limit)} | {verdict} |"


def _flat(line: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in line.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    return f"{value:,}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)
