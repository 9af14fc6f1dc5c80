"""An IMAP account followed at a real server: new mail, flags, moves, deletions, interruptions."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import settings
from imapclient import IMAPClient

from mailsearch.ingest import erasing, syncing
from mailsearch.ingest.intake import Total
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sync_watch import Watch
from mailsearch.models import Folder, MailSource, Message, Placement
from tests.mailsearch.importing import mail, new_source, seeing
from tests.standins import dovecot
from tests.standins.dovecot import Dovecot

pytestmark = pytest.mark.django_db(transaction=True)

# One child for all tests: starting it takes longer than parsing all their mail.
_worker = Worker()
_numbers = itertools.count(1)
ARRIVED = datetime(2026, 3, 5, 7, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with dovecot.running() as found:
        yield found


def source_at(server: Dovecot) -> MailSource:
    """A source of an account of its own, in a tenant of its own."""
    place = {"host": "localhost", "port": server.tls, "ca_file": str(server.certificate)}
    return new_source(f"ann{next(_numbers)}", dovecot.PASSWORD, **place)


def sync(source: MailSource) -> Total:
    return syncing.sync(source, worker=_worker)


def letter(name: str, **more: str) -> bytes:
    return mail(f"The {name} has come.", id_=f"{name}@abel.example", subject=name, **more).replace(b"\n", b"\r\n")


def stored(source: MailSource) -> dict[str, tuple[str, list[str], bool]]:
    """Folder, flags and "is it there still" by subject."""
    with seeing(source.tenant):
        rows = Message.objects.values_list("subject", "folder__path", "flags", "deleted_at_source")
        return {subject: (path, flags, deleted is None) for subject, path, flags, deleted in rows}


def uid_of(client: IMAPClient, name: str) -> list[int]:
    found: list[int] = client.search(["SUBJECT", name])
    return found


def test_an_account_is_taken_in_and_then_only_what_is_new(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.create_folder("Projekte.Möwen & Co")
        client.append("INBOX", letter("bittern"), [b"\\Flagged"], ARRIVED)
        client.append("Projekte.Möwen & Co", letter("gull"))
    assert sync(source).new == 2
    assert stored(source) == {
        "bittern": ("INBOX", ["flagged"], True),
        "gull": ("Projekte/Möwen & Co", [], True),
    }
    with seeing(source.tenant):
        assert Message.objects.get(subject="bittern").received_at == ARRIVED
    assert Folder.objects.get(mailbox=source.mailbox, path="Weggeworfen").role == "trash"
    with server.client(source.account) as client:
        client.append("INBOX", letter("crane"))
        # Nothing was read on the way: looking at mail leaves no trace.
        client.select_folder("INBOX", readonly=True)
        assert len(client.search("UNSEEN")) == 2
    again = sync(source)
    assert (again.new, again.known) == (1, 0)
    assert (source.state, source.error, source.last_sync_at is not None) == ("ok", "", True)


def test_flags_moves_and_deletions_are_followed(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.create_folder("Done")
        for name in ("avocet", "curlew", "dunlin"):
            client.append("INBOX", letter(name))
        sync(source)
        client.select_folder("INBOX")
        client.add_flags(uid_of(client, "avocet"), [b"\\Answered"])
        client.move(uid_of(client, "curlew"), "Done")
        client.delete_messages(uid_of(client, "dunlin"))
        client.expunge()
    total = sync(source)
    assert (total.new, total.moved, total.deleted, total.reflagged) == (0, 1, 1, 1)
    assert stored(source) == {
        "avocet": ("INBOX", ["answered"], True),
        "curlew": ("Done", [], True),
        "dunlin": ("INBOX", [], False),
    }
    with server.client(source.account) as client:
        client.append("Done", letter("dunlin"))
    assert (sync(source).restored, stored(source)["dunlin"]) == (1, ("Done", [], True))


def test_a_copy_that_is_left_keeps_a_message(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.create_folder("Copies")
        client.append("INBOX", letter("knot"))
        client.append("Copies", letter("knot"))
        sync(source)
        client.delete_folder("Copies")
    assert sync(source).deleted == 0
    assert stored(source) == {"knot": ("INBOX", [], True)}


def test_renamed_folders_and_new_uids_make_no_duplicates(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        for name in ("Old", "Reborn"):
            client.create_folder(name)
        client.append("Old", letter("ruff"))
        client.append("Reborn", letter("sanderling"))
        client.append("Reborn", letter("stint"))
        sync(source)
        client.rename_folder("Old", "New")
        client.delete_folder("Reborn")
        client.create_folder("Reborn")
        client.append("Reborn", letter("stint"))
    total = sync(source)
    assert (total.new, total.deleted) == (0, 1)
    assert stored(source) == {
        "ruff": ("New", [], True),
        "sanderling": ("Reborn", [], False),
        "stint": ("Reborn", [], True),
    }


def test_an_interrupted_sync_goes_on_where_it_was(server: Dovecot) -> None:
    source = source_at(server)
    server.deliver(source.account, *(letter(f"m{number}") for number in range(130)))

    def interrupt(total: Total) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        syncing.sync(source, worker=_worker, progress=interrupt)
    assert source.state == "new"
    already = len(stored(source))
    assert 0 < already < 130
    first, second = sync(source), sync(source)
    # The portion that was stored but not yet written down is fetched again, and known by its content.
    assert (first.new, first.known) == (130 - already, already)
    assert (second.new, second.known) == (0, 0)
    with seeing(source.tenant):
        assert Placement.objects.count() == 130


def test_of_a_huge_message_the_header_is_kept(server: Dovecot) -> None:
    source = source_at(server)
    server.deliver(source.account, letter("whale") + b"x" * 70 + b"\r\n" * 25_500_000)
    assert (sync(source).new, sync(source).new) == (1, 0)
    with seeing(source.tenant):
        message = Message.objects.get(subject="whale")
    assert (message.body_text, [one["code"] for one in message.defects]) == ("", ["too-large"])
    assert message.size < 1_000


def test_an_erased_message_is_not_taken_again(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.append("INBOX", letter("heron"))
    sync(source)
    with seeing(source.tenant):
        public_id = Message.objects.get().public_id
    assert erasing.erase(source.tenant, public_id) is not None
    with server.client(source.account) as client:
        client.create_folder("Elsewhere")
        client.append("Elsewhere", letter("heron"))
    total = sync(source)
    assert (total.new, total.erased, stored(source)) == (0, 1, {})


def test_a_bell_tells_of_new_mail(server: Dovecot) -> None:
    source = source_at(server)
    # It would take an hour to look again without being told.
    watch = Watch([source], poll=3_600)
    try:
        for _ in range(2):
            assert watch.due() == [source]
            sync(source)
            watch.report(source, ok=True)
        with server.client(source.account) as client:
            client.append("INBOX", letter("whimbrel"))
        assert watch.due() == [source]
        assert sync(source).new == 1
    finally:
        watch.close()


def test_a_folder_that_is_refused_keeps_its_mail(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.create_folder("Locked")
        client.append("Locked", letter("merlin"))
        sync(source)
        client.append("INBOX", letter("hobby"))
    folder = server.home / "mail" / source.account / ".Locked"
    folder.chmod(0)
    total = sync(source)
    assert (total.new, total.deleted, source.state) == (1, 0, "partial")
    assert "Locked" in source.error
    folder.chmod(0o755)
    assert (sync(source).deleted, source.state, source.error) == (0, "ok", "")


def test_the_command_watches_until_it_is_told_to_stop(server: Dovecot) -> None:
    source = source_at(server)
    command = [sys.executable, "manage.py", "sync", "--watch", "--tenant", source.tenant.slug]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR) as process:
        assert process.stdout is not None
        assert "0 new." in process.stdout.readline()
        with server.client(source.account) as client:
            client.append("INBOX", letter("osprey"))
        while "1 new" not in process.stdout.readline():
            assert process.poll() is None
        process.terminate()
        assert process.stdout.read().endswith("Stopped.\n")
    assert process.returncode == 0


def test_only_one_at_a_time_follows_a_source(server: Dovecot) -> None:
    source = source_at(server)
    with server.client(source.account) as client:
        client.append("INBOX", letter("godwit"))
    refused: list[str] = []

    def try_too(total: Total) -> None:
        if not refused:
            with pytest.raises(syncing.AlreadySyncing) as busy:
                sync(source)
            refused.append(str(busy.value))

    assert syncing.sync(source, worker=_worker, progress=try_too).new == 1
    assert "already" in refused[0]
