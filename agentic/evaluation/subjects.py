"""What can be evaluated, each alone or all in one go."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from agentic import versions
from agentic.evaluation.noting import noting
from agentic.evaluation.report import BadInput, Report

SUBJECTS = ("faults", "injections", "questions", "support", "twins", "verifier")
ALL = "all"
# Where each subject's cases lie in a folder of cases.
_FILES = {
    "faults": "mail/faults",
    "injections": "injections.jsonl",
    "questions": "questions.jsonl",
    "support": "units.jsonl",
    "twins": "questions.jsonl",
    "verifier": "verifier.jsonl",
}


def evaluate(subject: str, file: Path, options: Mapping[str, Any]) -> tuple[list[Report], list[str]]:
    """The reports on *subject*, and the names of what could not be measured. Raises BadInput.

    `all` takes every subject whose cases lie in the folder *file*: `questions.jsonl` (also for the twins),
    `injections.jsonl`, `verifier.jsonl`, `mail/faults`, and labelled units in `units.jsonl`.
    """
    if subject not in (*SUBJECTS, ALL):
        raise BadInput(f"{subject} is no subject; there are {', '.join((*SUBJECTS, ALL))}")
    if not file.exists():
        raise BadInput(f"{file} does not exist")
    if subject != ALL:
        return [_run(subject, file, options)], []
    there = [one for one in SUBJECTS if (file / _FILES[one]).exists()]
    if not there:
        raise BadInput(f"{file} holds none of {', '.join(_FILES.values())}")
    within = {**options, "mail": options.get("mail") or file}
    reports = [_run(one, file / _FILES[one], {**within, "results": _results(one, options)}) for one in there]
    wanting = [f"{one}: there is no {_FILES[one]}" for one in SUBJECTS if one not in there]
    if options.get("model") != "http":
        wanting.append("anything with a chat model: --model http was not chosen")
    return reports, wanting


def made_with(options: Mapping[str, Any]) -> dict[str, object]:
    """What decides the figures besides the cases: sample, seed, model, budget, versions and hashes of prompts."""
    return {
        "sample": options.get("limit") or "all cases",
        "seed": int(options.get("seed") or 0),
        "seconds": options.get("seconds") or "the default",
        "steps": options.get("steps") or "the default",
        "result_characters": settings.PM_AGENT_RESULT_CHARACTERS,
        "alone": bool(options.get("alone")),
        "policy": options.get("policy") or "the subject's own",
        "model": options.get("model") or "extractive",
        "service": versions.service(),
        "verifier": versions.verifier(),
        "prompts_sha256": dict(versions.prompts_sha256()),
    }


def _results(subject: str, options: Mapping[str, Any]) -> Path | None:
    """A file of results of the subject's own, beside the one that was named."""
    named: Path | None = options.get("results")
    return named.with_name(f"{named.stem}.{subject}{named.suffix}") if named else None


def _run(subject: str, file: Path, options: Mapping[str, Any]) -> Report:
    module = importlib.import_module(f"agentic.evaluation.{subject}")
    with noting(options.get("results")):
        report: Report = module.run(file, options)
    return report
