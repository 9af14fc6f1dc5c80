"""`manage.py evaluate SUBJECT FILE`: try one part of the service, or all of it, on files of cases."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from agentic.evaluation.page import NOT_MEASURED, page
from agentic.evaluation.report import BAD_INPUT, HELD, MISSED, BadInput, Report, failed_line
from agentic.evaluation.subjects import ALL, SUBJECTS, evaluate, made_with


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"takes a whole number from 1 on, not {text!r}")
    return int(text)


class Command(BaseCommand):
    """Runs a subject's module, prints its lines, and ends with one line of JSON and the exit code that it earns."""

    help = "Try one part of the service on cases; the last line is JSON. Exit: 0 ok, 1 a gate was missed, 2 bad input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subject", help="one of: " + ", ".join((*SUBJECTS, ALL)))
        parser.add_argument("file", type=Path, help="the file of cases; a folder for faults and all")
        parser.add_argument("--mail", type=Path, help="folder of mail that the cases are about")
        parser.add_argument("--model", choices=["extractive", "obey", "http"], default="extractive")
        parser.add_argument("--policy", choices=["standard", "strict"], help="how answers are verified")
        parser.add_argument("--limit", type=int, help="try only a sample of so many cases")
        parser.add_argument("--seed", type=int, default=0, help="of what is drawn: samples, intervals, plants")
        parser.add_argument("--seconds", type=float, help="the budget of one question")
        parser.add_argument("--steps", type=_positive, help="the replies that one question may take, 1 or more")
        parser.add_argument("--alone", action="store_true", help="questions without twins and the simpler ways beside")
        parser.add_argument("--results", type=Path, help="where questions and injections are noted, to go on from")
        parser.add_argument("--units", type=Path, help="write the units of all drafts for readers, and a key beside")
        parser.add_argument("--html", type=Path, help="write a report with plots to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        subject, file = options["subject"], options["file"]
        try:
            reports, wanting = evaluate(subject, file, options)
            self._write_page(reports, wanting, options)
        except BadInput as error:
            self.stderr.write(str(error))
            self.stdout.write(failed_line(subject, str(file), str(error)))
            raise SystemExit(BAD_INPUT) from error
        for report in reports:
            for line in report.lines:
                self.stdout.write(line)
            self.stdout.write(report.last_line())
        for name in wanting:
            self.stdout.write(f"{NOT_MEASURED}: {name}")
        if subject == ALL:
            self.stdout.write(_together(file, reports, wanting, options))
        code = HELD if all(report.ok for report in reports) else MISSED
        if code:
            raise SystemExit(code)

    def _write_page(self, reports: list[Report], wanting: list[str], options: dict[str, Any]) -> None:
        file: Path | None = options.get("html")
        if file is None:
            return
        try:
            file.write_text(page(reports, made_with(options), wanting, datetime.now(UTC)), encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{file} can't be written: {error.strerror}") from error


def _together(file: Path, reports: list[Report], wanting: list[str], options: dict[str, Any]) -> str:
    """The last line where several subjects were tried: the same keys, with gates named after their subjects."""
    gates = {
        f"{report.subject}.{name}": {"value": gate.value, "limit": gate.limit, "ok": gate.ok}
        for report in reports
        for name, gate in report.gates.items()
    }
    return json.dumps(
        {
            "subject": ALL,
            "file": str(file),
            "n": sum(report.n for report in reports),
            "agree": sum(report.agree for report in reports),
            "differ": [f"{report.subject}.{one}" for report in reports for one in report.differ],
            "gates": gates,
            "ok": all(report.ok for report in reports),
            NOT_MEASURED.replace(" ", "_"): wanting,
            "made_with": made_with(options),
        },
        ensure_ascii=False,
    )
