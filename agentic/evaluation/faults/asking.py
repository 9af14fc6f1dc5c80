"""Questions about a fault's mail, answered by the built-in extractive reader as a run like any other."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentic import answering, records, responses, runs
from agentic.callers import Access, create_key, principal_of_key
from agentic.evaluation.faults.account import Account
from agentic.workers import in_worker
from mailsearch.ingest import embedding
from mailsearch.models import Permission
from mailsearch.sessions import pool

_MOST_SECONDS = 20.0


def answers(account: Account, expected: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with the answer to each question of *expected*."""
    if not expected:
        return
    embedding.embed_pending(account.tenant)
    for row in expected:
        question = str(row["question"])
        response = asyncio.run(_ask(account, question))
        yield from (f"{question!r}: {difference}" for difference in _differences(response, row))


async def _ask(account: Account, question: str) -> Mapping[str, Any]:
    key, _ = await in_worker(
        create_key, account.tenant, "evaluation", Access((Permission.SEARCH_AGENTIC,), all_mailboxes=True)
    )
    principal = await in_worker(principal_of_key, key)
    async with pool():
        models = runs.Models(answering.reader(), chat=False)
        started = await runs.begin(principal, runs.Ask(question, max_seconds=_MOST_SECONDS), models)
        if isinstance(started, runs.Started):
            await runs.launch(started)
        record = await records.load(principal, started.public_id)
    return responses.build(record) if record else {}


def _differences(response: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    answer = response.get("answer") or {}
    text = str(answer.get("text", ""))
    for wanted in row.get("answer_contains", ()):
        if wanted.lower() not in text.lower():
            yield f"the answer ({response.get('outcome')}) lacks {wanted!r}"
    # Nothing of it may show anywhere, not only in the answer.
    shown = json.dumps(answer, ensure_ascii=False).lower()
    yield from (
        f"the answer has {unwanted!r}" for unwanted in row.get("answer_excludes", ()) if unwanted.lower() in shown
    )
    cited = {
        str(citation.get("rfc_message_id", "")).strip("<>")
        for sentence in answer.get("sentences", ())
        for citation in sentence.get("citations", ())
    }
    for name in _listed(row.get("cite", ())):
        if name.strip("<>") not in cited:
            yield f"{name} is not cited"
    yield from (f"{name} is cited" for name in _listed(row.get("must_not_cite", ())) if name.strip("<>") in cited)


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value
