"""One import into a Postgres of its own, and its cost: `python -m bench._importing SOURCE [OPTION …]`.

A process by itself, so that settings and caches of one measurement don't reach into the next. Counted are the importer
with its start, its parsing child with its start, and all of the server's processes; not making the tables. Says
`started` where the import begins, and how many messages are stored after each batch.

`--attachments`: read their text. `--state`: a hash of all that is stored comes along. `--batch=N`: N messages in each.
"""

import json
import os
import resource
import sys
from pathlib import Path

import django


def main(source: str, *options: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from django.conf import settings

    from agentic.server.embedded import EmbeddedPostgres
    from agentic.server.setup import setup_database
    from bench import _state
    from mailsearch.ingest import pipeline
    from mailsearch.ingest.sources import open_source
    from mailsearch.models import Mailbox, Tenant

    pipeline.BATCH = next((int(one.partition("=")[2]) for one in options if one.startswith("--batch=")), pipeline.BATCH)
    start = _own_seconds()
    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    try:
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)
        tenant, _ = Tenant.objects.get_or_create(slug="bench", defaults={"name": "Benchmark"})
        mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug="all")
        before = _own_seconds(), _server_seconds(server.data)
        _say("started")
        summary = pipeline.ingest(
            open_source(Path(source)),
            mailbox=mailbox,
            read_attachments="--attachments" in options,
            progress=lambda so_far: _say(str(so_far.new)),
        )
        after = _own_seconds(), _server_seconds(server.data)
        stored = server.conninfo(settings.PM_DATABASE_NAME)
        figures = {
            "messages": summary.new,
            "lost": summary.lost,
            "importer_seconds": round(start + after[0] - before[0], 2),
            "start_seconds": round(start, 2),
            "postgres_seconds": round(after[1] - before[1], 2),
            "wall_seconds": round(summary.seconds, 2),
            "peak_megabytes": _peak(),
            "bytes_a_message": _state.size(stored),
            **({"state": _state.fingerprint(stored, tenant.pk)} if "--state" in options else {}),
        }
    finally:
        server.stop()
    _say(json.dumps(figures))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _own_seconds() -> float:
    """User and system seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak() -> int:
    """The most memory that this process and its largest child held, in MB."""
    return sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024


def _server_seconds(data: Path) -> float:
    """User and system seconds of the processes of the server over *data*, those that have ended included."""
    first = int((data / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            # It has ended since; its parent counts it.
            continue
        process, parent = int(stat.parent.name), int(fields[1])
        if process == first:
            ticks += sum(map(int, fields[11:15]))
        elif parent == first:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(*sys.argv[1:])
