"""What the documents say about settings, tests and deployment is so."""

import base64
import configparser
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import get_commands

from agentic.server.catalogue import SETTINGS, written_anew

PROJECT = Path(__file__).resolve().parent.parent
DEPLOY = PROJECT / "docs" / "deploy"
UNITS = sorted(path for path in DEPLOY.iterdir() if path.suffix in {".service", ".timer"})
DOCUMENTS = [*sorted((PROJECT / "docs").glob("*.md")), PROJECT / "README.md", PROJECT / "CHANGELOG.md"]
# For measuring and for tests alone.
_ASIDE = {"PM_BENCH_QUESTIONS", "PM_BENCH_TENANT", "PM_TEST_DATA", "PM_EMBEDDED"}


def test_the_table_of_settings_is_that_of_the_code() -> None:
    document = (PROJECT / "docs" / "settings.md").read_text()
    assert written_anew(document) == document, "write it anew: python -m agentic.server.catalogue"


def test_every_setting_that_code_names_is_in_the_table() -> None:
    code = [path for folder in ("agentic", "mailsearch") for path in (PROJECT / folder).rglob("*.py")]
    read = {name for path in code for name in re.findall(r"""["'](PM_[A-Z_]+)["']""", path.read_text())}
    assert read - _ASIDE - set(SETTINGS) == set()


@pytest.mark.parametrize("name", ["security.md", "requirements.md"])
def test_every_test_that_a_document_names_is_there(name: str) -> None:
    named = re.findall(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`", (PROJECT / "docs" / name).read_text())
    assert named
    missing = [f"{file}::{test}" for file, test in named if f"def {test}(" not in (PROJECT / file).read_text()]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_link_within_the_documents_leads_nowhere(path: Path) -> None:
    led = re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", path.read_text())
    assert [link for link in led if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "docs/pages.md"])
def test_every_picture_that_a_document_shows_is_there_small_and_described(name: str) -> None:
    document = PROJECT / name
    shown = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", document.read_text())
    assert shown
    for words, path in shown:
        assert words
        assert (document.parent / path).stat().st_size <= 150_000, path


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_can_be_read_and_starts_commands_that_exist(path: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(path.read_text())
    assert unit["Unit"]["Description"]
    if path.suffix == ".timer":
        assert path.with_suffix(".service") in UNITS
        return
    started = unit["Service"]["ExecStart"].split()
    assert unit["Service"]["User"] == "mailsearch"
    assert started[0] == f"{unit['Service']['WorkingDirectory']}/.venv/bin/python"
    if "manage.py" in started:
        assert started[started.index("manage.py") + 1] in get_commands()


def test_systemd_takes_the_units_and_finds_them_closed_in(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze")
    for path in UNITS:
        # It looks whether what a unit starts is there, too.
        started = re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", path.read_text())
        (tmp_path / path.name).write_text(started.replace("/opt/mailsearch", str(PROJECT)))
    placed = sorted(map(str, tmp_path.iterdir()))
    checked = subprocess.run([program, "verify", "--man=no", *placed], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    services = [path for path in placed if path.endswith(".service")]
    # Of 100: how much a service could still do that systemd could have taken from it.
    command = [program, "security", "--offline=true", "--threshold=20", "--no-pager", *services]
    exposed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert exposed.returncode == 0, exposed.stdout[-300:]


def test_the_example_of_an_environment_names_settings_that_exist() -> None:
    lines = (DEPLOY / "environment").read_text().splitlines()
    named = {line.partition("=")[0] for line in lines if line and not line.startswith("#")}
    assert named <= set(SETTINGS)
    assert {"PM_DATABASE_URL", "PM_SECRET_KEY", "PM_AUDIT_KEY", "PM_ALLOWED_HOSTS"} <= named


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if nginx is None:
        pytest.skip("needs nginx")
    _certificate(tmp_path)
    given = (DEPLOY / "nginx.conf").read_text()
    placed = given.replace("/etc/mailsearch/tls", str(tmp_path)).replace("/var/log/nginx", str(tmp_path))
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{placed}\n}}\n")
    command = [nginx, "-t", "-q", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path), "-e", str(tmp_path / "log")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_production_settings_pass_djangos_own_checks(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PM_")}
    settings = {
        "PM_DATABASE_URL": "postgresql://mail_app@127.0.0.1:1/mail",
        "PM_ALLOWED_HOSTS": "mail.example",
        # Of many different characters, as a check asks for.
        "PM_SECRET_KEY": base64.b64encode(bytes(range(60))).decode(),
        "PM_AUDIT_KEY": base64.b64encode(bytes(32)).decode(),
        "PM_DATA": str(tmp_path),
    }
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    checked = subprocess.run(
        command, env={**clean, **settings}, cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert "no issues (0 silenced)" in checked.stdout


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.example")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    now = datetime.now(UTC)
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    signed = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / "fullchain.pem").write_bytes(signed)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "privkey.pem").write_bytes(key.private_bytes(*form))
