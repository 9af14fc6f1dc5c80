"""`manage.py export_audit WHAT --tenant T`: a tenant's runs, sentences, widen attempts or accesses as a file."""

import asyncio
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError

from agentic import batches, exporting
from agentic.callers import COMMAND_LINE
from agentic.exporting import Exporter
from agentic.management.commands.create_tenant import tenant_of
from mailsearch.models import Tenant


class Command(BaseCommand):
    """The operator's: it leaves nothing out but what was erased. The act is recorded."""

    help = (
        "Write a tenant's audit to standard output or a file, row by row. The last line is where the tenant's chain"
        " stood: its number, head and signature. Cells that a spreadsheet could take for formulas are made text."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=exporting.WHAT)
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--format", choices=exporting.FORMS, default="csv", dest="form")
        parser.add_argument("--since", default="", metavar="DATE", help="rows from this day or moment on")
        parser.add_argument("--output", type=Path, metavar="FILE", help="write here (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant = tenant_of(options["tenant"])
        since = _moment(options["since"], tenant) if options["since"] else None
        exporter = Exporter(tenant.pk, COMMAND_LINE, COMMAND_LINE, "command")
        try:
            if options["output"]:
                with options["output"].open("w", encoding="utf-8", newline="") as file:
                    asyncio.run(_write(exporter, options, since, file))
            else:
                asyncio.run(_write(exporter, options, since, self.stdout))
        except OSError as error:
            raise CommandError(f"{options['output'] or 'standard output'}: {error.strerror}.") from error


class _Out(Protocol):
    def write(self, text: str, /) -> Any: ...


async def _write(exporter: Exporter, options: dict[str, Any], since: datetime | None, out: _Out) -> None:
    # So that the accesses in it stand in the chain whose head it ends with.
    await batches.seal_new()
    async for line in exporting.export(exporter, options["what"], options["form"], since):
        out.write(line)


def _moment(text: str, tenant: Tenant) -> datetime:
    """A day or moment; without an offset it is meant on the tenant's clock. Raises CommandError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"--since must be a date such as 2026-12-31, not {text!r}.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(tenant.timezone))
