"""`manage.py evaluate SUBJECT FILE`: try one part of the service on a file of cases."""

import importlib
import pkgutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from agentic import evaluation
from agentic.evaluation.report import BAD_INPUT, BadInput, Report, failed_line


def subjects() -> list[str]:
    """The subjects that can be evaluated: modules beside the report."""
    return sorted(module.name for module in pkgutil.iter_modules(evaluation.__path__) if module.name != "report")


class Command(BaseCommand):
    """Runs a subject's module, prints its lines, and ends with one line of JSON and the exit code that it earns."""

    help = "Try one part of the service on cases; the last line is JSON. Exit: 0 ok, 1 a gate was missed, 2 bad input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("subject", help="one of: " + ", ".join(subjects()))
        parser.add_argument("file", type=Path, help="the file (or folder) of cases")
        parser.add_argument("--mail", type=Path, help="folder of mail that the cases are about")
        parser.add_argument("--model", choices=["extractive", "obey", "http"], default="extractive")
        parser.add_argument("--policy", choices=["standard", "strict"], help="how answers are verified")
        parser.add_argument("--limit", type=int, help="try only so many cases")
        parser.add_argument("--seed", type=int, default=0, help="which sample --limit draws, where it draws one")
        parser.add_argument("--results", type=Path, help="where injections are noted, to go on from later")

    def handle(self, *args: Any, **options: Any) -> None:
        subject, file = options["subject"], options["file"]
        try:
            report = self._run(subject, file, options)
        except BadInput as error:
            self.stderr.write(str(error))
            self.stdout.write(failed_line(subject, str(file), str(error)))
            raise SystemExit(BAD_INPUT) from error
        for line in report.lines:
            self.stdout.write(line)
        self.stdout.write(report.last_line())
        if report.exit_code:
            raise SystemExit(report.exit_code)

    def _run(self, subject: str, file: Path, options: dict[str, Any]) -> Report:
        if subject not in subjects():
            raise BadInput(f"{subject} is no subject; there are {', '.join(subjects())}")
        if not file.exists():
            raise BadInput(f"{file} does not exist")
        module = importlib.import_module(f"agentic.evaluation.{subject}")
        report: Report = module.run(file, options)
        return report
