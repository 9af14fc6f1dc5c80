"""Faults of mail that importers are known to stumble over: taken in for real, and held against what is expected.

A folder holds one folder a fault, each with its mail and an `expected.json`: which messages must be stored with which
subject, sender, date, text, attachments, flags and folder; which of them form threads; what a keyword query must find;
what a question must be answered with. Keys that this module does not know are not checked.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic.evaluation.faults import asking, checks
from agentic.evaluation.faults.account import Account
from agentic.evaluation.report import BadInput, Gate, Report
from mailsearch.ingest.limits import Worker


@dataclass(frozen=True, slots=True)
class Tried:
    """One fault after it was taken in."""

    fault: str
    # What differs from what is expected, one sentence each; none: as expected.
    differences: tuple[str, ...]
    # Wanted, not required.
    wishes: tuple[str, ...] = ()


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Try every fault below the folder *file*. Raises BadInput where there is none or one can't be read."""
    folders = (
        [file] if (file / "expected.json").is_file() else sorted(path.parent for path in file.glob("*/expected.json"))
    )
    if not folders:
        raise BadInput(f"{file} holds no folder with an expected.json")
    with Worker() as worker:
        tried = [try_fault(folder, worker) for folder in folders[: options.get("limit")]]
    differ = tuple(one.fault for one in tried if one.differences)
    lines = [line for one in tried for line in _lines(one)]
    return Report(
        subject="faults",
        file=str(file),
        n=len(tried),
        agree=len(tried) - len(differ),
        differ=differ,
        gates={"differ": Gate(len(differ), 0)},
        figures={"wishes_missed": sum(len(one.wishes) for one in tried)},
        lines=tuple(lines),
    )


def try_fault(folder: Path, worker: Worker | None = None) -> Tried:
    """Take the mail of one fault into an empty account and compare. Raises BadInput."""
    try:
        expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        inputs = _inputs(folder, expected)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder / 'expected.json'} can't be used: {error!r}") from error
    with Account(worker) as account:
        account.take_in(inputs)
        differences = [
            *checks.counts(account, expected),
            *checks.messages(account, expected.get("messages", ())),
            *checks.threads(account, expected.get("threads", ())),
        ]
        missed = checks.searches(account, expected.get("search", ()))
        questions = asking.answers(account, expected.get("qa", ()))
        differences += [*missed.required, *questions, *checks.repeated(account, inputs, expected)]
    return Tried(str(expected.get("id", folder.name)), tuple(differences), tuple(missed.wished))


def _inputs(folder: Path, expected: Mapping[str, Any]) -> Sequence[Path]:
    names = [str(name) for name in expected["input"]]
    if expected.get("format") == "maildir":
        return sorted({folder / Path(name).parts[0] for name in names})
    return [folder / name for name in names]


def _lines(one: Tried) -> Sequence[str]:
    lines = [f"{one.fault}: {'differs' if one.differences else 'as expected'}"]
    lines += [f"  {difference}" for difference in one.differences]
    return [*lines, *(f"  (wished) {wish}" for wish in one.wishes)]
