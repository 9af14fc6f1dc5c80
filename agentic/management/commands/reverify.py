"""`manage.py reverify RUN --tenant T`: look the kept sentences of old runs up again, and change nothing."""

import asyncio
import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError

from agentic import reverifying
from agentic.management.commands.create_tenant import tenant_of
from agentic.reverifying import SentenceNow
from mailsearch.models import Tenant

DIFFERS, BAD_INPUT = 1, 2
_WORDS = {
    "source_gone": "a source is gone",
    "text_re_extracted": "a source's text is another one",
    "verifier_changed": "newer rules decide otherwise",
    "verdict_differs": "decided otherwise, because other mail has changed",
    "not_verified": "verification did not end in its time",
}


class Command(BaseCommand):
    """Reads the runs and all mail that the tenant still keeps; the record stays as it is."""

    help = (
        "Look the kept sentences of finished runs up again in the mail of today, with the rules of today."
        " Exit: 0 all are still true, 1 something differs, 2 bad input."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("run", nargs="?", default="", metavar="RUN", help="the run's id")
        which.add_argument("--since", default="", metavar="DATE", help="all runs from this day or moment on")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="one line of JSON a sentence, and one of counts")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant = tenant_of(options["tenant"])
            since = _moment(options["since"], tenant) if options["since"] else None
        except CommandError as error:
            raise CommandError(str(error), returncode=BAD_INPUT) from error
        runs = reverifying.finished_runs(tenant.pk, since, options["run"])
        if options["run"] and not runs:
            raise CommandError(f"{tenant.slug} has no finished run {options['run']!r}.", returncode=BAD_INPUT)
        found: list[SentenceNow] = []
        for run in runs:
            sentences = asyncio.run(reverifying.reverify(tenant.pk, run))
            self._tell(run, sentences, as_json=options["json"])
            found.extend(sentences)
        counted = reverifying.counts(found)
        self.stdout.write(_summary(len(runs), counted, as_json=options["json"]))
        if len(found) > counted["still_true"]:
            raise SystemExit(DIFFERS)

    def _tell(self, run: str, sentences: Sequence[SentenceNow], *, as_json: bool) -> None:
        if as_json:
            for one in sentences:
                self.stdout.write(json.dumps(asdict(one), ensure_ascii=False))
            return
        for one in sentences:
            if one.status != "still_true":
                self.stdout.write(f"{run} sentence {one.position}: {_WORDS[one.status]} ({_detail(one)})")


def _detail(one: SentenceNow) -> str:
    told = [
        f"{citation.message_id} {citation.part}: {citation.place.replace('_', ' ')}"
        for citation in one.citations
        if citation.text_changed or citation.place in ("gone", "quarantined", "not_found")
    ]
    if one.status not in ("source_gone", "not_verified"):
        told.append(f"kept as {one.support}" if one.kept else f"removed: {one.reason or 'parted otherwise'}")
    if one.verifier_then != one.verifier_now:
        told.append(f"verifier {one.verifier_then}, now {one.verifier_now}")
    return "; ".join(told)


def _summary(runs: int, counted: dict[str, int], *, as_json: bool) -> str:
    if as_json:
        return json.dumps({"runs": runs, "sentences": sum(counted.values()), **counted})
    parts = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counted.items() if count)
    return f"{runs} runs, {sum(counted.values())} kept sentences" + (f": {parts}." if parts else ".")


def _moment(text: str, tenant: Tenant) -> datetime:
    """A day or moment; without an offset it is meant on the tenant's clock. Raises CommandError."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandError(f"--since must be a date such as 2026-12-31, not {text!r}.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(tenant.timezone))
