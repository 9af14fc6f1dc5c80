"""What search costs and finds, at 10,000 and 100,000 messages, as ratios within the run.

Keyword search stands beside tantivy over the same documents in the process's memory, and both give a first page: heads
and excerpts with marks. Row-level security stands beside a plain WHERE, the index of vectors beside the comparison with
every vector, both ways together beside the slower of them, eight clients beside one, a new process's first page beside
its later ones, and the ranking beside tantivy's BM25. Figures of processor time mean something on a busy machine, too.

BENCH_SEARCH_LARGE=1000000 also measures keyword search over so many messages, which takes most of an hour to make.
Stores are kept under build/bench (or BENCH_CACHE); BENCH_MESSAGES changes how many the smaller one holds.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench._apart import figures

SMALL = int(os.environ.get("BENCH_MESSAGES", "10000"))
_PROJECT = Path(__file__).resolve().parents[1]
_CACHE = Path(os.environ.get("BENCH_CACHE", str(_PROJECT / "build" / "bench")))
_LONGEST = 14_400
_CLASSES = ("rare", "medium", "common")


def run(small: int = SMALL) -> Mapping[str, object]:
    """The ratios, and the figures that they are made of by the number of messages."""
    # Of the smaller store only the growth is asked.
    measured = {small: _measured(small, "words"), small * 10: _measured(small * 10)}
    large = int(os.environ.get("BENCH_SEARCH_LARGE", "0"))
    if large:
        measured[large] = _measured(large, "words")
    ratios = _ratios(measured[small * 10]) | {"growth": _growth(measured[small], measured[small * 10])}
    if large:
        ratios["growth_large"] = _growth(measured[small], measured[large])
    return {**ratios, "messages": {str(size): figures for size, figures in measured.items()}}


def _measured(messages: int, *options: str) -> dict[str, Any]:
    folder = _CACHE / f"search-{messages}"
    folder.mkdir(parents=True, exist_ok=True)
    # The server runs under an account of its own where root starts it.
    folder.chmod(0o711)
    return figures(
        "_searching", str(folder), str(messages), *options, data=folder / "data", longest=_LONGEST, settings={}
    )


def _growth(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, float]:
    return {name: _over(second[name]["ours"]["p50_ms"], first[name]["ours"]["p50_ms"]) for name in _CLASSES}


def _ratios(figures: Mapping[str, Any]) -> dict[str, Any]:
    beside, processor = {}, {}
    for name in _CLASSES:
        ours, theirs = figures[name]["ours"], figures[name]["tantivy_page"]
        beside[name] = _over(ours["p50_ms"], theirs["p50_ms"])
        processor[name] = _over(ours["processor_ms"], theirs["processor_ms"])
    secured = {name: figures["row_level_security"][name]["ratio"] for name in _CLASSES}
    return {
        "beside_tantivy": beside,
        "processor_beside_tantivy": processor,
        "row_level_security": {**secured, "vectors": figures["vector_security"]["ratio"]},
        "recall": {name: figures["recall"][name] for name in ("exact", "index")},
        "rows_missing": figures["rows"]["missing"],
        "hybrid_beside_slower": figures["hybrid"]["ratio"],
        "hybrid_over_better": {
            kind: _over_better(figures["quality"]["sample"], kind) for kind in ("english", "across")
        },
        "cold_first_page": figures["clients"]["cold_ratio"],
        "clients_by_core": figures["clients"]["ratio_by_core"],
        "mrr_beside_bm25": {name: _mrr(figures, name) for name in figures["bm25"]},
    }


def _mrr(figures: Mapping[str, Any], questions: str) -> float:
    """Our MRR@10 over tantivy's, questions and paraphrases together."""
    ours, theirs = figures["quality"][questions]["keyword"], figures["bm25"][questions]
    mine = sum(ours[kind]["mrr_10"] * ours[kind]["n"] for kind in theirs)
    return _over(mine, sum(mrr * ours[kind]["n"] for kind, mrr in theirs.items()))


def _over_better(quality: Mapping[str, Any], kind: str) -> float:
    """MRR@10 of both ways together without that of the better one; no less than -0.03 should it be."""
    mrr: dict[str, float] = {mode: found[kind]["mrr_10"] for mode, found in quality.items()}
    return round(mrr["hybrid"] - max(mrr["keyword"], mrr["semantic"]), 3)


def _over(one: float, other: float) -> float:
    return round(one / other, 3)
