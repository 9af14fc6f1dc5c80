"""Look for secrets in the tree, with detect-secrets; what checks/secrets.json lists was looked at and is none.

Found things are compared by file, kind and hash, so that they may move within their file. `--accept` writes the list
anew: look at each change of it before you commit it.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
BASELINE = Path(__file__).resolve().parent / "secrets.json"
# Hashes of packages, mail of invented people, and the list itself.
_ASIDE = ("requirements.lock", "sample", "checks/secrets.json")
Found = set[tuple[str, str, str]]


def found_in(report: Mapping[str, Any]) -> Found:
    """File, kind and hash of each thing in a report of detect-secrets."""
    return {(file, one["type"], one["hashed_secret"]) for file, several in report["results"].items() for one in several}


def told(known: Found, found: Found) -> list[str]:
    """What is not known, in words that do not tell it."""
    return [f"secrets: {file} holds what looks like a secret ({kind})" for file, kind, _ in sorted(found - known)]


def scan(folder: Path, names: list[str]) -> dict[str, Any]:
    """detect-secrets' report on the files *names* of *folder*. Asks nobody whether a secret is valid."""
    program = str(Path(sys.executable).parent / "detect-secrets")
    command = [program, "scan", "--no-verify", *names]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    report: dict[str, Any] = json.loads(finished.stdout)
    return report


def main() -> int:
    """Exit code: 1 where something was found that is not listed."""
    excluded = [f":!{name}" for name in _ASIDE]
    command = ["git", "ls-files", "-z", "--", *excluded]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    report = scan(PROJECT, [name for name in listed.stdout.split("\0") if name])
    if "--accept" in sys.argv:
        kept = [{"file": file, "kind": kind, "hash": hashed} for file, kind, hashed in sorted(found_in(report))]
        BASELINE.write_text(json.dumps(kept, indent=1) + "\n")
        return 0
    known = {(one["file"], one["kind"], one["hash"]) for one in json.loads(BASELINE.read_text())}
    lines = told(known, found_in(report))
    sys.stdout.write("\n".join([*lines, f"secrets: {len(lines)} found"]) + "\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
