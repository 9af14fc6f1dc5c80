"""Rows for the benchmark of the pages, and the pages over them: `python -m bench._page_rows FOLDER [RUNS]`.

A process by itself, because Django reads its settings once. With BENCH_PROFILE a folder, pages are profiled into it.
"""

import asyncio
import cProfile
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench._asking import Quoting, serving
from bench._importing import _server_seconds as server_seconds

RUNS, SENTENCES, KEPT, LOADS = 100_000, 10, 100, 5
PAGES = {
    "sign_in": "/sign-in",
    "ask": "/ask",
    "ask_of_many": "mine:/ask",
    "ask_run": "/ask?run={run}",
    "message": "/messages/{message}",
    "message_at": "/messages/{message}?part=body&start=3&end=20#cited",
    "runs": "/runs",
    "runs_later": "/runs?before=50000",
    "runs_by_outcome": "/runs?outcome=degraded",
    "runs_of_no_outcome": "/runs?outcome=budget_exhausted",
    "runs_unfinished": "/runs?outcome=unfinished",
    "runs_by_model": "/runs?model=rare",
    "runs_of_no_model": "/runs?model=none",
    "runs_of_few": "/runs?tenant={small}",
    "runs_by_day": "/runs?since=2000-01-01&until=2000-12-31",
    "runs_without_quotes": "/runs?outcome=answered&quotes=none",
    "runs_of_my_own": "mine:/runs",
    "run": "/runs/{run}",
    "run_evidence": "/runs/{run}?tab=evidence",
    "run_made_up": "/runs/{made_up}",
    "review": "/review",
    "review_any": "/review?kind=all&reviewed=any",
    "review_done": "/review?kind=all&reviewed=yes",
    "review_later": "/review?kind=all&reviewed=any&before=500000",
    "review_rare_reason": "/review?reason=quilt",
    "review_no_reason": "/review?reason=marker_leak",
    "review_by_model": "/review?kind=all&reviewed=any&model=rare",
    "review_of_no_model": "/review?kind=all&reviewed=any&model=none",
    "review_by_version": "/review?kind=kept&reviewed=any&version=2",
    "review_of_no_version": "/review?version=none",
    "review_by_day": "/review?kind=all&reviewed=any&since=2000-01-01&until=2000-12-31",
    "review_kept_by_day": "/review?kind=kept&since={yesterday}",
    "review_of_few": "/review?kind=all&reviewed=any&tenant={small}",
    "review_words": "/review?q=number+777",
    "review_common_words": "/review?kind=all&q=number+paid",
    "review_words_of_none": "/review?q=unheardof",
    "review_sample": "/review?kind=all&sample=benchmark:{last}",
    "review_sample_rare": "/review?kind=all&model=rare&sample=benchmark:{last}",
    "review_rates": "/review/rates",
    "widen_attempts": "/widen-attempts",
    "widen_by_day": "/widen-attempts?seen=any&since=2000-01-01&until=2000-12-31",
    "widen_of_no_kind": "/widen-attempts?seen=any&kind=marker",
    "usage": "/usage",
    "overview": "/overview",
    "overview_90": "/overview?days=90",
    "settings": "/settings",
    "settings_of": "/settings/of/{slug}",
    "what_if": "/settings/of/{slug}/what-if?agentic_max_steps=2",
    "onboarding": "root:/settings/new",
    "accesses": "/audit/accesses",
    "accesses_of_reader": "/audit/accesses?of=user:{person}",
    "accesses_of_mail": "/audit/accesses?of={message}",
    "acts": "/audit/acts",
}


@dataclass
class Scene:
    """Who looks, and what the addresses of the pages name."""

    clients: Mapping[str, Any]
    names: Mapping[str, object]
    rows: Mapping[str, object]


def main(folder: str, runs: int) -> None:
    os.environ["PM_DATA"] = folder
    with serving() as server:
        from django.conf import settings

        made = _scene(runs)
        began = time.perf_counter()
        with psycopg.connect(server.conninfo(settings.PM_DATABASE_NAME), autocommit=True) as conn:
            conn.execute(Path(__file__).with_name("_page_rows.sql").read_text().format(**made.rows).encode())
            conn.execute("VACUUM")
        seconds = time.perf_counter() - began
        figures = {name: _measured(made, name, path, server.data) for name, path in PAGES.items()}
    slowest = max(figures, key=lambda name: figures[name][0])
    told = {"runs": runs, "sentences": made.rows["sentences"], "rows_seconds": round(seconds, 1)}
    medians = {name: median for name, (median, _) in figures.items()}
    processor = {name: own for name, (_, own) in figures.items()}
    told |= {"median_ms": medians, "processor_ms": processor, "slowest": slowest, "slowest_ms": medians[slowest]}
    sys.stdout.write(json.dumps(told) + "\n")


def _scene(runs: int) -> Scene:
    """A tenant with mail and a few runs that were really asked, a small one beside it, and who looks at them."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from agentic.callers import Access, add_member, principal_of_member
    from agentic.models import AgentPolicy, Run, Sentence
    from mailsearch.ingest import pipeline
    from mailsearch.ingest.sources import open_source
    from mailsearch.models import Mailbox, Membership, Permission, Tenant
    from mailsearch.sessions import Binding, bound

    tenant = Tenant.objects.create(slug="bench", name="Benchmark")
    small = Tenant.objects.create(slug="small", name="Small")
    AgentPolicy.objects.create(tenant=tenant, agentic_max_seconds=60)
    box = Mailbox.objects.create(tenant=tenant, slug="all")
    pipeline.ingest(open_source(Path(__file__).parent.parent / "sample" / "mail"), mailbox=box, read_attachments=False)
    users = get_user_model().objects
    people = {
        "": users.create_user("auditor"),
        "mine": users.create_user("asker"),
        "root": users.create_superuser("root"),
    }
    whole = Access(tuple(Permission.values), all_mailboxes=True)
    add_member(tenant, people[""], "administrator", whole)
    add_member(small, people[""], "administrator", whole)
    add_member(tenant, people["mine"], "member", whole)
    clients = {name: Client(SERVER_NAME="localhost") for name in people}
    for name, client in clients.items():
        client.force_login(people[name])
    asker = principal_of_member(Membership.objects.select_related("user").get(user=people[""], tenant=tenant))
    asked = asyncio.run(_ask(asker))
    with bound(Binding(tenant.pk, frozenset([box.pk]), audit=frozenset([tenant.pk]))):
        mail = _heads(box.pk)
        first = Run.objects.order_by("-pk")[0].pk
        kept = Sentence.objects.order_by("-pk")[0].pk
    names = {
        "run": asked, "message": mail[0]["public_id"], "slug": tenant.slug, "small": small.slug,
        "person": people[""].pk, "last": runs * SENTENCES, "made_up": "run_a87ff679a2f3e71d9181a67b7542122c",
        "yesterday": f"{time.strftime('%Y-%m-%d', time.gmtime(time.time() - 86_400))}",
    }  # fmt: skip
    rows = {
        "tenant": tenant.pk, "small": small.pk, "first": first, "kept": max(kept, KEPT), "runs": runs,
        "each": SENTENCES, "sentences": runs * SENTENCES, "person": people[""].pk,
        "caller": f"user:{people['mine'].pk}", "mail": json.dumps(mail).replace("'", "''"),
    }  # fmt: skip
    return Scene(clients, names, rows)


async def _ask(principal: Any) -> str:
    """The public id of a run that was really asked."""
    from agentic import runs
    from mailsearch.sessions import pool

    async with pool():
        started = await runs.start(principal, runs.Ask("What do we know about the repair?"), runs.Models(Quoting()))
        assert isinstance(started, runs.Started)
        await runs.wait(started, runs.launch(started))
    return started.public_id


def _heads(mailbox: int) -> list[dict[str, Any]]:
    """Public ids of messages, each with what is kept of it as evidence."""
    from mailsearch.models import Message

    found = Message.objects.filter(mailbox=mailbox).order_by("pk")[:200]
    return [{"public_id": one.public_id, "head": _head(one, number)} for number, one in enumerate(found)]


def _head(message: Any, number: int) -> dict[str, Any]:
    person = {"name": "Somebody", "address": f"p{number % 40}@shop.example", "name_conflict": False}
    return {
        "message_id": message.public_id, "thread_id": "thr_1", "rfc_message_id": "<1@shop.example>", "mailbox": "all",
        "folder": "INBOX", "subject": message.subject, "from": person, "to": [person], "cc": [], "sent_at": None,
        "received_at": "2026-03-14T08:00:00Z", "date_disputed": False, "attached_to": None, "attachments": [],
        "authentication": {"spf": "unknown", "dkim": "unknown", "dmarc": "unknown"},
    }  # fmt: skip


def _measured(made: Scene, name: str, page: str, data: Path) -> tuple[float, float]:
    """Of five loads after one that warms up, the median in milliseconds; and those of processors for one, all told."""
    who, _, path = page.rpartition(":") if page.partition(":")[0] in made.clients else ("", "", page)
    path = path.format(**made.names)
    _load(made.clients[who], path)
    began = time.process_time() + server_seconds(data)
    took = [_load(made.clients[who], path) for _ in range(LOADS)]
    processors = time.process_time() + server_seconds(data) - began
    if folder := os.environ.get("BENCH_PROFILE"):
        profile = cProfile.Profile()
        profile.runcall(_load, made.clients[who], path)
        profile.dump_stats(Path(folder) / f"{name}.prof")
    return round(statistics.median(took), 1), round(1000 * processors / LOADS, 1)


def _load(client: Any, path: str) -> float:
    """Milliseconds of one load."""
    began = time.perf_counter()
    response = client.get(path)
    assert response.status_code == 200, (path, response.status_code)
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else RUNS)
