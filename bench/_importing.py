"""One import into a Postgres of its own, and its cost: `python -m bench._importing FOLDER [--attachments] [--state]`.

A process by itself, so that settings and caches of one measurement don't reach into the next. Counted are the importer,
its parsing child with its start, and all of the server's processes; not the importer's start, nor making the tables.
Says `started` where counting begins. With `--state` a hash of all that is stored comes along.
"""

import json
import os
import resource
import sys
from pathlib import Path

import django


def main(folder: str, *, read_attachments: bool, state: bool) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentic.server.settings")
    django.setup()
    from django.conf import settings

    from agentic.server.embedded import EmbeddedPostgres
    from agentic.server.setup import setup_database
    from bench import _state
    from mailsearch.ingest import pipeline
    from mailsearch.ingest.sources import open_source
    from mailsearch.models import Mailbox, Tenant

    server = EmbeddedPostgres(settings.PM_DATA)
    server.start()
    try:
        setup_database(server.conninfo(), settings.PM_DATABASE_NAME)
        tenant, _ = Tenant.objects.get_or_create(slug="bench", defaults={"name": "Benchmark"})
        mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug="all")
        before = _own_seconds(), _server_seconds(server.data)
        sys.stdout.write("started\n")
        sys.stdout.flush()
        summary = pipeline.ingest(open_source(Path(folder)), mailbox=mailbox, read_attachments=read_attachments)
        after = _own_seconds(), _server_seconds(server.data)
        stored = server.conninfo(settings.PM_DATABASE_NAME)
        figures = {
            "messages": summary.new,
            "lost": summary.lost,
            "importer_seconds": round(after[0] - before[0], 2),
            "postgres_seconds": round(after[1] - before[1], 2),
            "wall_seconds": round(summary.seconds, 2),
            "peak_megabytes": _peak(),
            "bytes_a_message": _state.size(stored),
            **({"state": _state.fingerprint(stored, tenant.pk)} if state else {}),
        }
    finally:
        server.stop()
    sys.stdout.write(json.dumps(figures) + "\n")


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
    main(sys.argv[1], read_attachments="--attachments" in sys.argv[2:], state="--state" in sys.argv[2:])
