"""Files followed: what was renamed, moved or deleted there."""

from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command

from mailsearch.ingest import pipeline, syncing
from mailsearch.ingest.intake import Total
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sources import open_source
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.models import Folder, MailSource, Message
from mailsearch.scope import Scope
from mailsearch.search import coverage
from tests.mailsearch.importing import mail, mbox, new_mailbox, seeing, write

pytestmark = pytest.mark.django_db(transaction=True)

_worker = Worker()


def source_of(path: Path, kind: str) -> MailSource:
    mailbox = new_mailbox()
    return MailSource.objects.create(tenant=mailbox.tenant, mailbox=mailbox, kind=kind, location=str(path))


def sync(source: MailSource) -> Total:
    return syncing.sync(source, worker=_worker)


def stored(source: MailSource) -> dict[str, tuple[str, list[str], bool]]:
    with seeing(source.tenant):
        rows = Message.objects.values_list("subject", "folder__path", "flags", "deleted_at_source")
        return {subject: (path, flags, deleted is None) for subject, path, flags, deleted in rows}


def letter(name: str) -> bytes:
    return mail(f"The {name} has come.", id_=f"{name}@abel.example", subject=name)


def maildir(path: Path, *names: str) -> Path:
    for folder in ("cur", "new", "tmp"):
        (path / folder).mkdir(parents=True)
    for number, name in enumerate(names):
        (path / "cur" / f"17720000{number:02}.M1.test:2,").write_bytes(letter(name))
    return path


def test_a_maildir_is_followed(tmp_path: Path) -> None:
    top = maildir(tmp_path / "mail", "avocet", "curlew", "dunlin")
    done = maildir(top / ".Done")
    source = source_of(top, "maildir")
    assert sync(source).new == 3
    first, second, third = sorted((top / "cur").iterdir())
    first.rename(first.with_name(first.name + "S"))
    second.rename(done / "cur" / second.name)
    third.unlink()
    total = sync(source)
    assert (total.new, total.reflagged, total.moved, total.deleted) == (0, 1, 1, 1)
    assert stored(source) == {
        "avocet": ("INBOX", ["seen"], True),
        "curlew": ("Done", [], True),
        "dunlin": ("INBOX", [], False),
    }
    third.write_bytes(letter("dunlin"))
    assert (sync(source).restored, stored(source)["dunlin"][2]) == (1, True)


def test_mail_within_deleted_mail_goes_with_it(tmp_path: Path) -> None:
    inner = "Content-Type: message/rfc822\n\nFrom: eve@heron.example\nSubject: inner\n\nThe colony has moved."
    outer = mail(f"--cut\n{inner}\n--cut--", subject="outer", content_type='multipart/mixed; boundary="cut"')
    write(tmp_path, outer__eml=outer, other__eml=letter("other"))
    source = source_of(tmp_path, "folder")
    sync(source)
    (tmp_path / "outer.eml").unlink()
    assert sync(source).deleted == 1
    assert {subject: there for subject, (_, _, there) in stored(source).items()} == {
        "outer": False, "inner": False, "other": True,
    }  # fmt: skip


def test_an_mbox_written_anew_loses_what_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "all.mbox"
    path.write_bytes(mbox(letter("knot"), letter("ruff"), letter("ruff")))
    source = source_of(path, "mbox")
    sync(source)
    path.write_bytes(mbox(letter("ruff"), letter("stint")))
    total = sync(source)
    assert (total.new, total.deleted) == (1, 1)
    assert [name for name, (_, _, there) in sorted(stored(source).items()) if there] == ["ruff", "stint"]


def test_a_disk_that_is_not_mounted_deletes_nothing(tmp_path: Path) -> None:
    top = maildir(tmp_path / "mail", "godwit")
    source = source_of(top, "maildir")
    sync(source)
    next((top / "cur").iterdir()).unlink()
    with pytest.raises(SyncFailed, match="not mounted"):
        sync(source)
    assert (source.state, stored(source)["godwit"][2]) == ("files-failed", True)
    top.rename(tmp_path / "elsewhere")
    with pytest.raises(SyncFailed, match="can't be opened"):
        sync(source)
    assert stored(source)["godwit"][2]


def test_mail_that_was_only_imported_is_left_alone(tmp_path: Path) -> None:
    source = source_of(maildir(tmp_path / "mail", "plover"), "maildir")
    write(tmp_path / "old", one__eml=letter("lapwing"))
    pipeline.ingest(open_source(tmp_path / "old"), mailbox=source.mailbox, worker=_worker)
    assert sync(source).deleted == 0
    assert stored(source)["lapwing"][2]


def test_an_import_by_hand_follows_deletions_where_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mailbox = new_mailbox()
    whose = {"tenant": mailbox.tenant.slug, "mailbox": "ann"}
    top = maildir(tmp_path / "mail", "shrike", "wryneck", "serin")
    call_command("ingest", str(top), **whose)
    first, second, third = sorted((top / "cur").iterdir())
    third.unlink()
    # What an import without the option took in is no matter of what is there later.
    call_command("ingest", str(top), **whose)
    call_command("ingest", str(top), **whose, folder="Old", follow_deletions=True)
    second.unlink()
    call_command("ingest", str(top), **whose, folder="Old")
    source = MailSource.objects.get(mailbox=mailbox)
    assert {name: (path, there) for name, (path, _, there) in stored(source).items()} == {
        "shrike": ("Old", True), "wryneck": ("Old", True), "serin": ("INBOX", True),
    }  # fmt: skip
    capsys.readouterr()
    call_command("ingest", str(top), **whose, folder="Old", follow_deletions=True)
    said = capsys.readouterr().out
    assert "1 known, 0 lost" in said
    assert "1 deleted at the source" in said
    assert not stored(source)["wryneck"][2]
    first.unlink()
    with pytest.raises(CommandError, match="not mounted"):
        call_command("ingest", str(top), **whose, follow_deletions=True)


def test_sync_passes_over_what_is_imported_by_hand_until_it_is_told_to_follow_it(tmp_path: Path) -> None:
    mailbox = new_mailbox()
    whose = {"tenant": mailbox.tenant.slug, "mailbox": "ann"}
    top = maildir(tmp_path / "mail", "siskin")
    call_command("ingest", str(top), **whose, follow_deletions=True, quarantine=True)
    with seeing(mailbox.tenant):
        assert Message.objects.get().quarantined
    with pytest.raises(CommandError, match="no such source"):
        call_command("sync", **whose)
    call_command("add_source", str(top), **whose)
    call_command("sync", **whose)
    call_command("ingest", str(top), **whose, follow_deletions=True)
    assert not MailSource.objects.get(mailbox=mailbox).by_hand


def test_how_a_source_does_is_part_of_the_coverage(tmp_path: Path) -> None:
    source = source_of(tmp_path / "missing", "maildir")
    with pytest.raises(SyncFailed):
        sync(source)
    folder = Folder.objects.create(tenant=source.tenant, mailbox=source.mailbox, path="INBOX")
    found = async_to_sync(coverage.of)(Scope(source.tenant_id, frozenset({(folder.pk, source.mailbox_id)})))
    assert found.sources == (
        {"mailbox": source.mailbox.slug, "kind": "maildir", "state": "files-failed", "last_sync_at": None},
    )
