"""What `make check` says of vulnerabilities and secrets, and when it says that it could not look."""

import json
from pathlib import Path

import pytest

from checks import secrets
from checks.dependencies import judge, told

FINE = {"name": "fine", "version": "1", "vulns": []}
VULNERABLE = {"name": "old", "version": "2", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-7"], "fix_versions": ["3"]}]}
UNKNOWN = {"name": "private", "skip_reason": "not found"}


def _report(*dependencies: object) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


@pytest.mark.parametrize(
    ("accepted", "refused"), [({}, 1), ({"CVE-7": "only in a part that is not installed"}, 0), ({"CVE-7": " "}, 1)]
)
def test_a_vulnerability_fails_unless_there_is_a_reason(accepted: dict[str, str], refused: int) -> None:
    finding = judge(_report(FINE, VULNERABLE), accepted)
    assert finding is not None
    assert len(finding.refused) == refused
    assert any("old 2: PYSEC-1, CVE-7" in line for line in told(finding))


@pytest.mark.parametrize("report", ["", "connection refused", "{}"])
def test_what_is_no_report_was_not_checked_and_says_so(report: str) -> None:
    assert judge(report, {}) is None
    assert "NOT CHECKED" in "".join(told(None))


def test_packages_that_the_service_does_not_know_are_told_as_not_checked() -> None:
    finding = judge(_report(FINE, UNKNOWN), {})
    assert finding is not None
    assert (finding.checked, finding.unknown) == (1, 1)
    assert "NOT CHECKED: 1 packages" in "".join(told(finding))


def test_a_secret_is_found_wherever_it_moves_and_not_told(tmp_path: Path) -> None:
    # Put together here, so that this file holds none.
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (tmp_path / "settings.py").write_text(f'TOKEN = "{secret}"\n')
    found = secrets.found_in(secrets.scan(tmp_path, ["settings.py"]))
    lines = secrets.told(set(), found)
    assert lines
    assert secret not in "".join(lines)
    (tmp_path / "settings.py").write_text(f'\n\nTOKEN = "{secret}"\n')
    assert secrets.told(found, secrets.found_in(secrets.scan(tmp_path, ["settings.py"]))) == []
