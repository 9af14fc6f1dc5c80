"""What finding by meaning costs and finds: recall on real text, rows under narrow filters, both ways together, answers.

Recall is that of the index alone, asked for real mail among mixtures, beside the comparison with every passage.
"""

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import psycopg

from bench import _search_compare, search_quality
from bench._search_store import PROJECT, REAL, SHARED, TENANTS, scope_of
from bench._tantivy import Index

if TYPE_CHECKING:
    from mailsearch.embeddings import Vectors
    from mailsearch.scope import Scope
    from mailsearch.search.narrowing import Narrowing

QUESTIONS = {"sample": PROJECT / "sample" / "questions.jsonl", "shared": SHARED / "questions.jsonl"}
_DEPTH = 20
# Vectors are stored as halves.
_SAME = 5e-4
_ASKED = 60
_LARGEST = next(iter(TENANTS))
_PLAIN = """
SELECT v.message_id, v.passage_id, v.embedding::halfvec(512) <=> %(near)s::halfvec(512) AS distance
FROM mailsearch_passagevector v JOIN mailsearch_message m ON m.id = v.message_id
WHERE v.model = %(model)s AND vector_dims(v.embedding) = 512 AND m.tenant_id = %(tenant)s
  AND m.mailbox_id = ANY(%(mailboxes)s) AND NOT m.quarantined AND m.deleted_at_source IS NULL
  AND m.folder_id = ANY(%(folders)s)
ORDER BY 3 LIMIT %(limit)s
"""


async def measure(owner: str) -> dict[str, object]:
    """All figures over the store that *owner* may look into."""
    from asgiref.sync import sync_to_async

    from mailsearch.embeddings import configured_embedder
    from mailsearch.sessions import pool

    asked = {name: search_quality.read(path) for name, path in QUESTIONS.items() if path.exists()}
    texts = [one.text for some in asked.values() for one in some][:: max(1, sum(map(len, asked.values())) // _ASKED)]
    real, largest = [await sync_to_async(scope_of)(slug) for slug in (REAL, _LARGEST)]
    vectors = configured_embedder().embed(texts)
    async with pool():
        return {
            "recall": await _recall(real, vectors, owner),
            "rows": await _rows(largest, vectors[0]),
            "vector_security": await _security(largest, vectors, owner),
            "hybrid": await _hybrid(largest, texts),
            "quality": await _quality(real, asked),
            "bm25": _bm25(owner, asked),
        }


async def _recall(scope: "Scope", vectors: "Vectors", owner: str) -> Mapping[str, object]:
    """Mean share of the truly nearest twenty messages that each way finds; the truth is computed here."""
    truth = _Truth(owner, scope.tenant)
    shares: dict[str, list[float]] = {"exact": [], "index": []}
    for vector in vectors:
        for name, most in (("exact", 10**9), ("index", 0)):
            shares[name].append(truth.share(vector, await _found(scope, vector, exact_up_to=most), _DEPTH))
    return {"passages": truth.passages, "questions": len(vectors)} | {
        name: round(statistics.fmean(some), 4) for name, some in shares.items()
    }


class _Truth:
    """Every passage of a tenant, compared in this process."""

    def __init__(self, owner: str, tenant: int) -> None:
        import numpy as np

        with psycopg.connect(owner) as conn:
            rows = conn.execute(
                "SELECT v.message_id, v.embedding::text FROM mailsearch_passagevector v"
                " JOIN mailsearch_message m ON m.id = v.message_id WHERE v.tenant_id = %s AND NOT v.quarantined",
                [tenant],
            ).fetchall()
        self._messages = [message for message, _ in rows]
        self._vectors = np.array([json.loads(text) for _, text in rows], dtype=np.float32)
        self._vectors /= np.linalg.norm(self._vectors, axis=1, keepdims=True)

    @property
    def passages(self) -> int:
        return len(self._messages)

    def share(self, vector: "Vectors", found: Sequence[int], count: int) -> float:
        """How much of the nearest *count* messages was found; what is as near as the last of them is as good."""
        best: dict[int, float] = {}
        for message, similarity in zip(self._messages, (self._vectors @ vector).tolist(), strict=True):
            best[message] = max(similarity, best.get(message, -1.0))
        last = sorted(best.values(), reverse=True)[:count][-1]
        return sum(best[one] >= last - _SAME for one in found) / min(count, len(best))


async def _found(
    scope: "Scope", vector: "Vectors", narrowing: "Narrowing | None" = None, *, exact_up_to: int, depth: int = _DEPTH
) -> list[int]:
    from mailsearch.embeddings import configured_embedder
    from mailsearch.search import semantic
    from mailsearch.search.narrowing import whole

    model = configured_embedder().name
    async with scope.reading() as conn:
        found = await semantic.search(
            conn, scope, vector.tolist(), model, narrowing or whole(scope), depth=depth, exact_up_to=exact_up_to
        )
    return [one.message_id for one in found]


async def _rows(scope: "Scope", vector: "Vectors") -> Mapping[str, object]:
    """Whether narrow filters get as many messages as there are, through the index as above."""
    from mailsearch.hits import Filters
    from mailsearch.search.narrowing import narrow
    from mailsearch.search.semantic import EXACT_UP_TO

    first = Filters(folders=("Archive/2024",), mailboxes=("box-0",))
    people = [Filters(senders=(name,)) for name in ("xbababa", "xfibaba", "xtade")]
    missing, asked = 0, 0
    for filters in (Filters(), first, Filters(has_attachment=True), *people):
        async with scope.reading() as conn:
            narrowing = await narrow(conn, scope, [filters])
        there = await _found(scope, vector, narrowing, exact_up_to=10**9, depth=1_000)
        for depth in (_DEPTH, 200):
            found = await _found(scope, vector, narrowing, exact_up_to=EXACT_UP_TO, depth=depth)
            missing += min(depth, len(there)) - len(found)
            asked += 1
    return {"asked": asked, "missing": missing}


async def _security(scope: "Scope", vectors: "Vectors", owner: str) -> Mapping[str, float]:
    """Median milliseconds of the nearest passages of a large scope: by the search function, and by a plain WHERE."""
    from mailsearch.embeddings import configured_embedder
    from mailsearch.search.semantic import vector_literal

    took: list[tuple[float, float]] = []
    with psycopg.connect(owner, autocommit=True, prepare_threshold=None) as conn:
        conn.execute("SET hnsw.iterative_scan = relaxed_order")
        conn.execute("SET hnsw.ef_search = 100")
        for vector in vectors:
            values = {
                "model": configured_embedder().name, "near": vector_literal(vector.tolist()), "tenant": scope.tenant,
                "mailboxes": sorted(scope.mailboxes), "folders": scope.folder_ids, "limit": 4 * _DEPTH,
            }  # fmt: skip
            conn.execute(_PLAIN, values).fetchall()
            began = time.perf_counter()
            conn.execute(_PLAIN, values).fetchall()
            between = time.perf_counter()
            await _found(scope, vector, exact_up_to=0)
            took.append((time.perf_counter() - between, between - began))
    mine, theirs = (1000 * statistics.median(side) for side in zip(*took, strict=True))
    return {"secured_ms": round(mine, 2), "plain_ms": round(theirs, 2), "ratio": round(mine / theirs, 2)}


async def _hybrid(scope: "Scope", texts: Sequence[str]) -> Mapping[str, float]:
    """Median milliseconds of a first page by each mode, over questions; and how often vectors were late."""
    from mailsearch.hits import SearchRequest
    from mailsearch.search import engine

    took: dict[str, list[float]] = {mode: [] for mode in search_quality.MODES}
    ratios = []
    for text in texts:
        for mode in search_quality.MODES:
            began = time.perf_counter()
            await engine.search(scope, SearchRequest(text, mode=mode), patience=60)
            took[mode].append(1000 * (time.perf_counter() - began))
        ratios.append(took["hybrid"][-1] / max(took["keyword"][-1], took["semantic"][-1]))
    figures = {f"{mode}_ms": round(statistics.median(some), 1) for mode, some in took.items()}
    slower = max(figures["keyword_ms"], figures["semantic_ms"])
    return figures | {
        "ratio": round(figures["hybrid_ms"] / slower, 2),
        "ratio_by_question": round(statistics.median(ratios), 2),
    }


async def _quality(scope: "Scope", asked: Mapping[str, Sequence[search_quality.Question]]) -> Mapping[str, object]:
    return {
        name: {mode: await search_quality.measure_mode(scope, mode, some) for mode in search_quality.MODES}
        for name, some in asked.items()
    }


def _bm25(owner: str, asked: Mapping[str, Sequence[search_quality.Question]]) -> Mapping[str, object]:
    """Tantivy's MRR@10 over the same messages, copies once, by the better of its tokenizers."""
    with psycopg.connect(owner) as conn:
        rows = conn.execute(
            "SELECT m.public_id, m.rfc_message_id, m.words_sha256 FROM mailsearch_message m"
            " JOIN mailsearch_tenant t ON t.id = m.tenant_id WHERE t.slug = %s ORDER BY m.received_at, m.id",
            [REAL],
        ).fetchall()
    first = {bytes(words): name for name, _, words in reversed(rows)}
    names: dict[str, set[str]] = {}
    for _, message, words in rows:
        names.setdefault(first[bytes(words)], set()).add(message)
    documents = [one for one in _search_compare.documents(owner, REAL) if one.name in names]
    figures: dict[str, dict[str, float]] = {name: {} for name in asked}
    for tokenizer in ("default", "en_stem"):
        index = Index(documents, tokenizer)
        for name, some in asked.items():
            for kind in ("question", "paraphrase"):
                ranks = [
                    next((n for n, hit in enumerate(index.best(one.text), 1) if names[hit] & one.gold), None)
                    for one in some
                    if one.kind == kind
                ]
                figures[name][kind] = max(figures[name].get(kind, 0.0), search_quality.figures(ranks)["mrr_10"])
    return figures
