"""Ask pip-audit whether a locked dependency has a known vulnerability.

A vulnerability fails, unless checks/accepted.toml gives a reason for it. Where the service that knows them can't be
reached, or does not know a package, the check says `NOT CHECKED` and passes: a registry mirror may have no such
service.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
ACCEPTED = Path(__file__).resolve().parent / "accepted.toml"
_COMMAND = ("--requirement", "requirements.lock", "--require-hashes", "--disable-pip", "--format", "json")
_QUIET = ("--progress-spinner", "off", "--timeout", "15")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the report says: vulnerabilities by `name version: id`, and how many packages were looked at."""

    refused: tuple[str, ...]
    accepted: tuple[str, ...]
    checked: int
    unknown: int


def judge(report: str, accepted: Mapping[str, str]) -> Finding | None:
    """The finding in pip-audit's JSON *report*; None where it is no report. *accepted*: id or alias to reason."""
    try:
        dependencies = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return None
    refused: list[str] = []
    kept: list[str] = []
    for name, ids in _vulnerabilities(dependencies):
        reason = next((accepted[one] for one in ids if accepted.get(one, "").strip()), "")
        (kept if reason else refused).append(f"{name}: {', '.join(ids)}" + (f" ({reason})" if reason else ""))
    unknown = sum("skip_reason" in one for one in dependencies)
    return Finding(tuple(refused), tuple(kept), len(dependencies) - unknown, unknown)


def _vulnerabilities(dependencies: list[dict[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    for one in dependencies:
        for found in one.get("vulns", ()):
            yield f"{one['name']} {one.get('version', '')}", [found["id"], *found.get("aliases", ())]


def main() -> int:
    """Exit code: 1 where a vulnerability was found that nobody accepted."""
    accepted = tomllib.loads(ACCEPTED.read_text())["vulnerabilities"]
    program = str(Path(sys.executable).parent / "pip-audit")
    try:
        asked = subprocess.run(  # noqa: S603 - a program of ours with arguments of ours
            [program, *_COMMAND, *_QUIET], cwd=PROJECT, capture_output=True, text=True, check=False, timeout=180
        )
        finding = judge(asked.stdout, accepted)
    except subprocess.TimeoutExpired:
        finding = None
    for line in told(finding):
        sys.stdout.write(line + "\n")
    return 1 if finding and finding.refused else 0


def told(finding: Finding | None) -> Iterator[str]:
    """The finding in words."""
    if finding is None:
        yield "dependencies: NOT CHECKED, the vulnerability service can't be reached"
        return
    for line in finding.refused:
        yield f"dependencies: vulnerable: {line}"
    for line in finding.accepted:
        yield f"dependencies: accepted: {line}"
    if finding.unknown:
        yield f"dependencies: NOT CHECKED: {finding.unknown} packages of which the service knows nothing"
    yield f"dependencies: {finding.checked} checked, {len(finding.refused)} vulnerabilities"


if __name__ == "__main__":
    sys.exit(main())
