"""A real IMAP server, Dovecot, on loopback with a certificate and mail of its own, in a folder that goes with it."""

import datetime
import grp
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from imapclient import IMAPClient

PASSWORD = "heron&grebe-17"
TOKEN = "token-of-the-day"
# Debian puts it where ordinary users' PATH does not look.
_PROGRAM = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_CONFIGURATION = """
base_dir = {home}/run
state_dir = {home}/state
protocols = imap
listen = 127.0.0.1
log_path = {home}/log
ssl = yes
ssl_cert = <{home}/certificate.pem
ssl_key = <{home}/key.pem
mail_location = maildir:{home}/mail/%u
disable_plaintext_auth = yes
auth_mechanisms = plain login xoauth2
auth_failure_delay = 0
default_login_user = {nobody}
default_internal_user = {nobody}
default_internal_group = {nogroup}
first_valid_uid = 1
first_valid_gid = 0
mailbox_idle_check_interval = 1 secs
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {home}/oauth2.conf
}}
passdb {{
  driver = static
  mechanisms = plain login
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={home}/mail/%u
}}
namespace inbox {{
  inbox = yes
  mailbox Weggeworfen {{
    auto = create
    special_use = \\Trash
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {starttls}
  }}
  inet_listener imaps {{
    port = {tls}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


class Dovecot:
    """The running server. Every account exists; all have one password."""

    def __init__(self, home: Path, tls: int, starttls: int) -> None:
        self.home, self.tls, self.starttls = home, tls, starttls
        self.certificate = home / "certificate.pem"
        self._owner = _mail_owner()

    @contextmanager
    def client(self, account: str) -> Iterator[IMAPClient]:
        """The account as its owner has it, to change what is there."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        with IMAPClient("localhost", self.tls, ssl_context=context, timeout=30) as client:
            client.plain_login(account, PASSWORD)
            yield client

    def deliver(self, account: str, *messages: bytes) -> None:
        """Put messages into INBOX by its files, which is how many or large ones get there fast."""
        folder = self.home / "mail" / account
        for made in (folder, folder / "tmp", folder / "new", folder / "cur"):
            made.mkdir(exist_ok=True)
            self._own(made)
        for number, message in enumerate(messages):
            path = folder / "cur" / f"{1_772_000_000 + number}.M{number}.test:2,"
            path.write_bytes(message)
            self._own(path)

    def _own(self, path: Path) -> None:
        if os.getuid() == 0:
            os.chown(path, *self._owner)


@contextmanager
def running() -> Iterator[Dovecot]:
    """Dovecot, or a skipped test where there is none."""
    if _PROGRAM is None:
        pytest.skip("needs Dovecot: apt-get install dovecot-imapd")
    with tempfile.TemporaryDirectory(prefix="dovecot-") as folder, _tokens() as tokens:
        # Not only root passes here: the mail belongs to another user.
        home = Path(folder)
        home.chmod(0o755)
        server = Dovecot(home, _free_port(), _free_port())
        _configure(server, tokens)
        with subprocess.Popen([_PROGRAM, "-F", "-c", str(home / "dovecot.conf")]) as process:
            try:
                _wait(server, process)
                yield server
            finally:
                process.terminate()
                process.wait(20)


def _configure(server: Dovecot, tokens: int) -> None:
    home, root = server.home, os.getuid() == 0
    uid, gid = _mail_owner()
    (home / "mail").mkdir()
    os.chown(home / "mail", uid, gid)
    me = pwd.getpwuid(os.getuid()).pw_name
    text = _CONFIGURATION.format(
        home=home, password=PASSWORD, uid=uid, gid=gid, tls=server.tls, starttls=server.starttls,
        nobody="nobody" if root else me, nogroup="nogroup" if root else _group_name(),
    )  # fmt: skip
    (home / "dovecot.conf").write_text(text)
    (home / "oauth2.conf").write_text(
        f"tokeninfo_url = http://127.0.0.1:{tokens}/?token=\nusername_attribute = email\n"
    )
    _certify(home)


def _group_name() -> str:
    return grp.getgrgid(os.getgid()).gr_name


def _mail_owner() -> tuple[int, int]:
    """Whose the mail is: Dovecot gives none to root."""
    if os.getuid() == 0:
        found = pwd.getpwnam("mail")
        return found.pw_uid, found.pw_gid
    return os.getuid(), os.getgid()


def _certify(home: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (home / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (home / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def _wait(server: Dovecot, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            with server.client("nobody-yet"):
                return
        except (OSError, IMAPClient.Error):
            time.sleep(0.1)
    log = server.home / "log"
    raise AssertionError(log.read_text() if log.exists() else "Dovecot did not start")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class _TokenInfo(BaseHTTPRequestHandler):
    """Knows one token, of one account: what Dovecot asks about tokens that it is shown."""

    def do_GET(self) -> None:
        known = self.path.endswith(f"token={TOKEN}")
        body = b'{"email": "olga", "active": true}' if known else b'{"error": "invalid_token"}'
        self.send_response(200 if known else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _tokens() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _TokenInfo) as server:
        worker = threading.Thread(target=server.serve_forever, args=(0.05,))
        worker.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            worker.join()
