"""An importer that is killed in the midst of its work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import _state
from mailsearch.ingest import pipeline
from mailsearch.ingest.sources import open_source
from mailsearch.models import Mailbox, Message
from tests.mailsearch.importing import mail, mbox, new_mailbox, seeing

pytestmark = pytest.mark.django_db(transaction=True)

MESSAGES = 600
IMPORT = """
import sys, pathlib, django
django.setup()
from mailsearch.ingest import pipeline
from mailsearch.ingest.sources import open_source
from mailsearch.models import Mailbox
pipeline.ingest(open_source(pathlib.Path(sys.argv[1])), mailbox=Mailbox.objects.get(pk=sys.argv[2]))
"""


def test_a_killed_import_is_finished_by_repeating_it(tmp_path: Path, owner_conninfo: str) -> None:
    path = tmp_path / "all.mbox"
    path.write_bytes(mbox(*(letter(number) for number in range(MESSAGES))))
    calm, killed = new_mailbox("calm"), new_mailbox("killed")
    pipeline.ingest(open_source(path), mailbox=calm)
    kill_midway(path, killed)
    summary = pipeline.ingest(open_source(path), mailbox=killed)
    assert summary.known > 0
    assert summary.known + summary.new == MESSAGES
    stored = [_state.fingerprint(owner_conninfo, mailbox.tenant_id) for mailbox in (calm, killed)]
    assert stored[0] == stored[1]


def letter(number: int) -> bytes:
    """Every third begins a thread, and the others answer it before and after it has come."""
    first = number - number % 3 + 1
    answers = {} if number == first else {"in_reply_to": f"<m{first}@abel.example>"}
    return mail(f"Crate {number} is on its way.", id_=f"m{number}@abel.example", subject=f"Crate {first}", **answers)


def kill_midway(path: Path, mailbox: Mailbox) -> None:
    """Import in a process of its own and kill that once its first batch is stored."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "agentic.server.settings"}
    importer = subprocess.Popen([sys.executable, "-c", IMPORT, str(path), str(mailbox.pk)], env=environment)
    while importer.poll() is None and not stored(mailbox):
        time.sleep(0.05)
    importer.send_signal(signal.SIGKILL)
    importer.wait()


def stored(mailbox: Mailbox) -> int:
    with seeing(mailbox.tenant):
        return Message.objects.filter(mailbox=mailbox).count()
