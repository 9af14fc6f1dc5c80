"""Runs over a folder of mail in a Postgres of its own, and what they cost: `python -m bench._asking FOLDER`.

A process by itself, so that it has settings of its own. With BENCH_PROFILE a file's name, the runs that are timed alone
are profiled into it.
"""

import asyncio
import cProfile
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import psycopg

from bench._importing import _server_seconds as server_seconds

if TYPE_CHECKING:
    from agentic.callers import Principal
    from agentic.core.ports import Prompt, Reply
    from agentic.server.embedded import EmbeddedPostgres
    from mailsearch.hits import PartText
    from mailsearch.models import Tenant

RUNS = 80
_AT_ONCE = 8
_QUESTIONS = 500
_SHARE = 0.4
_DELAY = 1.0


@dataclass
class Quoting:
    """A model that searches if it is shown nothing, and else quotes the first thing that it is shown."""

    delay: float = 0.0
    # Seconds that the replies of this model took, so that they can be taken away.
    seconds: float = 0.0
    name: str = "quoting"

    async def reply(self, prompt: "Prompt", deadline: float) -> "Reply":
        """See agentic.core.ports.Model."""
        from agentic.core.ports import Reply, ToolCall, Usage

        began = time.perf_counter()
        if self.delay:
            await asyncio.sleep(self.delay)
        if prompt.shown:
            shown = prompt.shown[0]
            words = _beginning(shown.message.parts[1])
            quote = {"label": shown.label, "text": words}
            sentence = {"text": words, "citations": [shown.label], "quotes": [quote]}
            call = ToolCall("1", "answer", {"sentences": [sentence]})
        else:
            call = ToolCall("1", "search", {"query": prompt.question})
        self.seconds += time.perf_counter() - began
        return Reply(self.name, tool_calls=(call,), usage=Usage(1000, 0, 50))


def _beginning(body: "PartText") -> str:
    """The first words of the longest paragraph."""
    start, end = max(((one.start, one.end) for one in body.blocks), key=lambda span: span[1] - span[0])
    return " ".join(body.text[start:end].split()[:14])


async def _ask(principal: "Principal", question: str, delay: float = 0.0) -> float:
    """Milliseconds of one run from its request to its response, without those of the model."""
    from agentic import records, responses, runs

    model = Quoting(delay)
    began = time.perf_counter()
    started = await runs.begin(principal, runs.Ask(question), runs.Models(model))
    assert isinstance(started, runs.Started)
    record = await runs.wait(started, runs.launch(started))
    record = record or await records.load(principal, started.public_id)
    assert record is not None
    responses.build(record)
    return 1000 * (time.perf_counter() - began - model.seconds)


@dataclass
class Counted:
    """What psycopg was asked for: statements, and transactions that were begun. A run's numbers on any machine."""

    statements: int = 0
    transactions: int = 0
    _execute: Any = None

    @classmethod
    def begin(cls) -> "Counted":
        counted, execute = cls(), psycopg.AsyncCursor.execute

        async def counting(cursor: Any, query: Any, *more: Any, **named: Any) -> Any:
            counted.statements += 1
            text = query if isinstance(query, bytes) else b""
            counted.transactions += text.startswith(b"BEGIN")
            return await execute(cursor, query, *more, **named)

        counted._execute = execute
        psycopg.AsyncCursor.execute = counting  # type: ignore[method-assign,assignment]
        return counted

    def end(self) -> "Counted":
        psycopg.AsyncCursor.execute = self._execute  # type: ignore[method-assign]
        return self


async def _measure(principal: "Principal", questions: Sequence[str], data: Path) -> dict[str, object]:
    from mailsearch.sessions import pool

    draw = random.Random(7)
    async with pool():
        for question in questions[:10]:
            await _ask(principal, question)
        profile = cProfile.Profile() if "BENCH_PROFILE" in os.environ else None
        if profile:
            profile.enable()
        counted, server = Counted.begin(), server_seconds(data)
        processor = time.process_time()
        alone = [await _ask(principal, draw.choice(questions)) for _ in range(RUNS)]
        processor = time.process_time() - processor
        server, counts = server_seconds(data) - server, counted.end()
        if profile:
            profile.disable()
            profile.dump_stats(os.environ["BENCH_PROFILE"])
        began = time.perf_counter()
        await asyncio.gather(*(_several(principal, questions, RUNS // _AT_ONCE, n) for n in range(_AT_ONCE)))
        capacity = RUNS / (time.perf_counter() - began)
        arriving = await _arrivals(principal, questions, capacity * _SHARE, draw)
    return {
        "runs": RUNS,
        "p50_ms": _at(alone, 50),
        "p95_ms": _at(alone, 95),
        "processor_ms": round(1000 * processor / RUNS, 1),
        "server_processor_ms": round(1000 * server / RUNS, 1),
        "statements": round(counts.statements / RUNS, 1),
        "transactions": round(counts.transactions / RUNS, 1),
        "capacity_per_second": round(capacity, 1),
        "arrivals_per_second": round(capacity * _SHARE, 1),
        "open_p50_ms": _at(arriving, 50),
        "open_p95_ms": _at(arriving, 95),
        "open_ratio": round(_at(arriving, 95) / _at(alone, 95), 2),
    }


async def _several(principal: "Principal", questions: Sequence[str], count: int, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(count):
        await _ask(principal, draw.choice(questions))


async def _arrivals(
    principal: "Principal", questions: Sequence[str], rate: float, draw: random.Random
) -> Sequence[float]:
    """Runs that begin at random moments, *rate* a second, whether or not others have ended."""
    begun = []
    for _ in range(RUNS):
        begun.append(asyncio.create_task(_ask(principal, draw.choice(questions), _DELAY)))
        await asyncio.sleep(draw.expovariate(rate))
    return await asyncio.gather(*begun)


def _at(figures: Sequence[float], percent: int) -> float:
    return round(statistics.quantiles(figures, n=100)[percent - 1], 1)


def prepared(folder: Path) -> tuple["Principal", list[str], int]:
    """The mail stored, a caller who may read it all, and questions about it."""
    from agentic import admission
    from agentic.callers import Access, create_key, principal_of_key
    from agentic.models import AgentPolicy
    from mailsearch.models import Mailbox, Message, Permission
    from mailsearch.sessions import Binding, bound

    # How many may run at once is not what is measured.
    admission.TENANT_RUNS = admission.CALLER_RUNS = 10_000
    tenant = _largest() if os.environ.get("BENCH_STORE") else _own(folder)
    AgentPolicy.objects.get_or_create(
        tenant=tenant, defaults={"agentic_daily_cap": 1_000_000, "agentic_max_seconds": 60}
    )
    mailboxes = frozenset(Mailbox.objects.filter(tenant=tenant).values_list("pk", flat=True))
    with bound(Binding(tenant.pk, mailboxes)):
        messages = Message.objects.count()
        subjects = sorted(Message.objects.exclude(subject="").values_list("subject", flat=True).distinct())
        # The same ones in whatever order the server gives them.
        asked = random.Random(7).sample(subjects, min(len(subjects), _QUESTIONS))
        questions = [f"What do we know about {subject}?" for subject in asked]
    key, _ = create_key(tenant, "bench", Access((Permission.SEARCH_AGENTIC,), all_mailboxes=True))
    return principal_of_key(key), questions, messages


def _own(folder: Path) -> "Tenant":
    """A tenant with the mail of *folder*. What an earlier run has stored is found again."""
    from mailsearch.ingest import pipeline
    from mailsearch.ingest.sources import open_source
    from mailsearch.models import Mailbox, Tenant

    tenant, _ = Tenant.objects.get_or_create(slug="bench", defaults={"name": "Benchmark"})
    mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug="all")
    whole = folder / "stored"
    if not whole.exists():
        pipeline.ingest(open_source(folder / "mail"), mailbox=mailbox, read_attachments=False)
        whole.touch()
    return tenant


def _largest() -> "Tenant":
    """The tenant of the store that holds the most mail."""
    from mailsearch.models import Mailbox, Message, Tenant
    from mailsearch.sessions import Binding, bound

    sizes: dict[int, int] = {}
    for tenant in Tenant.objects.all():
        mailboxes = frozenset(Mailbox.objects.filter(tenant=tenant).values_list("pk", flat=True))
        with bound(Binding(tenant.pk, mailboxes)):
            sizes[tenant.pk] = Message.objects.count()
    return Tenant.objects.get(pk=max(sizes, key=lambda one: sizes[one]))


@contextmanager
def serving() -> Iterator["EmbeddedPostgres"]:
    """Django set up over a database of this process's own, with all its tables, and the process warm as in service."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from django.conf import settings

    from agentic.server import garbage
    from agentic.server.embedded import EmbeddedPostgres
    from agentic.server.setup import setup_database
    from mailsearch import embeddings

    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    try:
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)
        embeddings.warm()
        garbage.settle()
        yield server
    finally:
        server.stop()


def main(folder: str) -> None:
    with serving() as server:
        principal, questions, messages = prepared(Path(folder))
        figures = asyncio.run(_measure(principal, questions, server.data))
    sys.stdout.write(json.dumps({"messages": messages, **figures}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
