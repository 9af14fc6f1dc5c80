"""Rows for the benchmark of the pages, and the pages over them: `python -m bench._page_rows FOLDER [RUNS]`.

A process by itself, because Django reads its settings once.
"""

import json
import os
import statistics
import sys
import time
import uuid
from typing import Any

import django
import psycopg

RUNS, SENTENCES = 100_000, 10
PAGES = {
    "runs": "/runs",
    "runs_by_outcome": "/runs?outcome=degraded",
    "review": "/review",
    "review_any": "/review?kind=all&reviewed=any",
    "review_rare_reason": "/review?reason=quilt",
    "review_words": "/review?q=number+777",
    "review_sample": "/review?kind=all&sample=benchmark:{last}",
    "widen_attempts": "/widen-attempts",
    "usage": "/usage",
    "overview": "/overview?days=90",
    "settings": "/settings",
    "what_if": "/settings/of/{slug}/what-if?agentic_max_steps=2",
}
# Numbers of texts: of runs from 0 on, of sentences after them.
_ROWS = """
SET session_replication_role = replica;
INSERT INTO agentic_run (id, tenant_id, public_id, caller, caller_label, timezone, asked_now, scope, max_steps,
    max_seconds, model, policy, removed_text, verifier_version, prompt_hashes, service_version, evaluation, started_at,
    payload_id)
SELECT n, {tenant}, 'run_' || md5(n::text), 'key:bench', 'bench', 'UTC', now(), '{{"folders": []}}', 6, 8, 'model',
    'standard', 'masked', '1', '{{}}', '0', false, now() - make_interval(mins => {runs} - n), md5('run' || n)::uuid
FROM generate_series(1, {runs}) n;
INSERT INTO agentic_runstate (run_id, tenant_id, status, cancel_requested, reserved_tokens, reserved_cost_usd)
SELECT id, tenant_id, 'finished', false, 0, 0 FROM agentic_run;
INSERT INTO agentic_runfinished (tenant_id, run_id, at, outcome, reason, steps, seconds, model_calls, tool_calls,
    prompt_tokens, cached_tokens, completion_tokens, cost_usd, kept, removed, model, coverage)
SELECT tenant_id, id, started_at, CASE WHEN id % 97 = 0 THEN 'degraded' ELSE 'answered' END, '', 3, 2.5, 3, 4, 900, 0,
    90, 0.001, 8, 2, 'model', '{{}}' FROM agentic_run;
INSERT INTO agentic_sentence (id, tenant_id, run_id, at, round, final, position, kept, structural, support, reason,
    qualified, translated, later_message, payload_id)
SELECT n, {tenant}, 1 + n / {each}, now(), 1, true, n % {each}, n % 5 <> 0, false, 'quote',
    CASE WHEN n % 5 <> 0 THEN '' WHEN n % 5000 = 0 THEN 'quilt' ELSE 'fact_not_found' END, false, false, '',
    md5('sentence' || n)::uuid
FROM generate_series(1, {sentences} - 1) n;
INSERT INTO agentic_payloadtext (id, tenant_id, run_id, message, kind, salt, content, at)
SELECT md5('run' || n)::uuid, {tenant}, n, '', 'question', '\\x00',
    json_build_object('question', 'What is number ' || n || '?', 'filters', '{{}}'::json), now()
FROM generate_series(1, {runs}) n;
INSERT INTO agentic_payloadtext (id, tenant_id, run_id, message, kind, salt, content, at)
SELECT md5('sentence' || n)::uuid, {tenant}, 1 + n / {each}, '', 'sentence', '\\x00', json_build_object('drafted',
    'The number ' || n || ' was paid.', 'text', 'The number ' || n || ' was paid.', 'detail', '{{}}'::json), now()
FROM generate_series(1, {sentences} - 1) n;
INSERT INTO agentic_widenattempt (tenant_id, run_id, at, kind, step, tool, argument, read_before)
SELECT tenant_id, id, started_at, 'outside_scope', 1, 'search', 'mailbox', '{{}}' FROM agentic_run WHERE id % 20 = 0;
SET session_replication_role = origin;
ANALYZE;
"""


def main(folder: str, runs: int) -> None:
    os.environ |= {"PM_DATA": folder, "DJANGO_SETTINGS_MODULE": "agentic.server.settings"}
    django.setup()
    from django.conf import settings

    from agentic.server.embedded import EmbeddedPostgres
    from agentic.server.setup import setup_database

    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    try:
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)
        client, tenant, slug = _auditor()
        began = time.perf_counter()
        with psycopg.connect(server.conninfo(settings.PM_DATABASE_NAME), autocommit=True) as conn:
            sentences = runs * SENTENCES
            conn.execute(_ROWS.format(tenant=tenant, runs=runs, each=SENTENCES, sentences=sentences).encode())
        made = time.perf_counter() - began
        figures = {name: _measured(client, path.format(last=sentences, slug=slug)) for name, path in PAGES.items()}
    finally:
        server.stop()
    slowest = max(figures.values())
    told = {"runs": runs, "sentences": sentences, "rows_seconds": round(made, 1), "median_ms": figures}
    sys.stdout.write(json.dumps({**told, "slowest_ms": slowest}) + "\n")


def _auditor() -> tuple[Any, int, str]:
    """Somebody who administers a new tenant, signed in; and the tenant's id and slug."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from agentic.callers import Access, add_member
    from mailsearch.models import Tenant

    tenant = Tenant.objects.create(slug=f"bench-{uuid.uuid4().hex[:8]}", name="Benchmark")
    user = get_user_model().objects.create_user("auditor", password=None)
    add_member(tenant, user, "administrator", Access(("search:read",)))
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    return client, tenant.pk, tenant.slug


def _measured(client: Any, path: str) -> float:
    """Median milliseconds of five loads after one that warms up."""
    times = []
    for number in range(6):
        began = time.perf_counter()
        response = client.get(path)
        assert response.status_code == 200, (path, response.status_code)
        if number:
            times.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(times), 1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else RUNS)
