"""Settings refuse nonsense with one sentence, and a server of one's own is never left open by default."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
OWN_DATABASE = {"PM_DATABASE_URL": "postgresql://mail_app@db.example/mail", "PM_ALLOWED_HOSTS": "mail.example"}
SECRET = {"PM_SECRET_KEY": "k" * 40}
AUDIT = {"PM_AUDIT_KEY": base64.b64encode(bytes(32)).decode()}


def _start(tmp_path: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    """Read the settings in a process of its own, as a start would."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PM_")}
    return subprocess.run(
        [sys.executable, "-c", "import agentic.server.settings"],
        env={**clean, "PM_DATA": str(tmp_path), **settings},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (OWN_DATABASE, "PM_SECRET_KEY must be set where PM_DATABASE_URL is."),
        ({**OWN_DATABASE, "PM_SECRET_KEY": "short"}, "PM_SECRET_KEY must have at least 32 characters."),
        ({**OWN_DATABASE, **SECRET, "PM_ALLOWED_HOSTS": ""}, "PM_ALLOWED_HOSTS must name the hosts"),
        ({**OWN_DATABASE, **SECRET, "PM_ALLOWED_HOSTS": "*"}, "'*' would serve any."),
        ({**OWN_DATABASE, **SECRET, "PM_DEBUG": "1"}, "PM_DEBUG must be off where PM_DATABASE_URL is set."),
        ({**OWN_DATABASE, **SECRET}, "PM_AUDIT_KEY must be set where PM_DATABASE_URL is: 32 random bytes in base64"),
        ({"PM_AUDIT_KEY": "c2hvcnQ="}, "PM_AUDIT_KEY must be 32 bytes in base64."),
        ({"PM_AUDIT_FORMER_KEYS": "no key"}, "PM_AUDIT_FORMER_KEYS must be 32 bytes in base64."),
        ({"PM_DEBUG": "perhaps"}, "PM_DEBUG must be 1 or 0, not 'perhaps'."),
        ({"PM_POOL_SIZE": "many"}, "PM_POOL_SIZE must be a whole number from 1 to 100, not 'many'."),
    ],
)
def test_nonsense_stops_the_start_with_a_sentence(tmp_path: Path, settings: dict[str, str], sentence: str) -> None:
    started = _start(tmp_path, **settings)
    assert started.returncode != 0
    assert sentence in started.stderr


def test_a_server_of_ones_own_starts_with_secret_and_hosts(tmp_path: Path) -> None:
    assert _start(tmp_path, **OWN_DATABASE, **SECRET, **AUDIT).returncode == 0


@pytest.mark.parametrize("name", ["secret-key", "audit-key"])
def test_on_embedded_defaults_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path, name: str) -> None:
    assert _start(tmp_path).returncode == 0
    made = (tmp_path / name).read_text()
    assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert _start(tmp_path).returncode == 0
    assert (tmp_path / name).read_text() == made
    assert len(made) >= 32
