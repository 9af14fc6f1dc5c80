"""What a source is not told, whom it does not believe, and what its owner is told to do."""

import io
import socket
import sys
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from agentic.server.roles import role_names
from mailsearch.ingest import syncing
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sync_failures import SyncFailed
from mailsearch.models import MailSource, SourceSecret
from tests.mailsearch.importing import mail, new_mailbox, new_source, seeing
from tests.standins import dovecot, imap_script
from tests.standins.dovecot import Dovecot

pytestmark = pytest.mark.django_db(transaction=True)

_worker = Worker()
PLAIN = {"host": "localhost", "tls": "none"}
OFFERS = "* CAPABILITY IMAP4rev1 AUTH=PLAIN\n{tag} OK done"


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    with dovecot.running() as found:
        yield found


def at(server: Dovecot, **more: object) -> dict[str, object]:
    return {"host": "localhost", "port": server.tls, "ca_file": str(server.certificate), **more}


def refusal(source: MailSource) -> str:
    """The state in which a failed sync leaves *source*, whose error is what was raised."""
    with pytest.raises(SyncFailed) as failed:
        syncing.sync(source, worker=_worker)
    assert source.error == str(failed.value)
    return source.state


def test_a_wrong_password_says_what_to_do(server: Dovecot) -> None:
    source = new_source("ann", "not-the-password", **at(server))
    assert refusal(source) == "auth-failed"
    assert "add_source" in source.error
    assert "not-the-password" not in source.error


def test_a_certificate_that_nobody_vouches_for_is_refused(server: Dovecot) -> None:
    source = new_source("ann", dovecot.PASSWORD, **at(server, ca_file=""))
    assert refusal(source) == "tls-failed"
    assert "self-signed certificate" in source.error


def test_a_certificate_of_another_name_is_refused(server: Dovecot) -> None:
    source = new_source("ann", dovecot.PASSWORD, **at(server, host="127.0.0.1"))
    assert refusal(source) == "tls-failed"


def test_starttls_is_as_good_as_tls(server: Dovecot) -> None:
    source = new_source("ann", dovecot.PASSWORD, **at(server, port=server.starttls, tls="starttls"))
    assert syncing.sync(source, worker=_worker).new == 0
    assert source.state == "ok"


def test_where_starttls_was_taken_out_nothing_is_said() -> None:
    with imap_script.serving({"CAPABILITY": OFFERS}) as script:
        source = new_source("ann", dovecot.PASSWORD, host="localhost", port=script.port, tls="starttls")
        assert refusal(source) == "tls-failed"
    assert [line.split(" ")[1] for line in script.heard] == ["CAPABILITY"]


def test_a_greeting_that_skips_the_login_does_not_skip_tls() -> None:
    with imap_script.serving({"CAPABILITY": OFFERS}, "* PREAUTH welcome") as script:
        source = new_source("ann", dovecot.PASSWORD, host="localhost", port=script.port, tls="starttls")
        assert refusal(source) == "tls-failed"


def test_without_tls_no_other_machine_is_spoken_to() -> None:
    source = new_source("ann", dovecot.PASSWORD, host="192.0.2.1", tls="none", port=143)
    assert refusal(source) == "tls-failed"


def test_a_server_that_is_not_there_is_a_matter_of_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source = new_source("ann", "secret", port=port, **PLAIN)
    assert refusal(source) == "network-failed"
    assert "Connection refused" in source.error


def test_what_a_server_says_is_not_repeated() -> None:
    answers = {"CAPABILITY": OFFERS, "AUTHENTICATE": "{tag} OK in", "LIST": "{tag} NO <script>pass it on</script>"}
    with imap_script.serving(answers) as script:
        source = new_source("ann", "secret", port=script.port, **PLAIN)
        assert refusal(source) == "protocol-failed"
    assert "script" not in source.error


def test_a_token_comes_from_a_command(server: Dovecot) -> None:
    source = new_source("olga", f"echo {dovecot.TOKEN}", **at(server, login="xoauth2"))
    assert syncing.sync(source, worker=_worker).new == 0
    stale = new_source("olga", "echo token-of-yesterday", **at(server, login="xoauth2"))
    assert refusal(stale) == "auth-failed"
    broken = new_source("olga", "cat /no/such/token", **at(server, login="xoauth2"))
    assert refusal(broken) == "secret-failed"
    assert "/no/such" not in broken.error


def test_a_secret_may_stand_in_the_environment(server: Dovecot, monkeypatch: pytest.MonkeyPatch) -> None:
    source = new_source("ann", "ignored", **at(server, secret_env="ANNS_PASSWORD"))
    assert refusal(source) == "secret-failed"
    assert "ANNS_PASSWORD" in source.error
    monkeypatch.setenv("ANNS_PASSWORD", dovecot.PASSWORD)
    syncing.sync(source, worker=_worker)
    assert (source.state, source.error) == ("ok", "")


def test_a_secret_opens_for_its_own_server_alone(server: Dovecot) -> None:
    source = new_source("ann", dovecot.PASSWORD, **at(server))
    MailSource.objects.filter(pk=source.pk).update(host="localhost.", port=server.starttls)
    source.refresh_from_db()
    assert refusal(source) == "secret-failed"


def test_secrets_are_sealed_and_nobody_elses(owner_conninfo: str) -> None:
    source = new_source("ann", "a-secret-to-keep", host="localhost")
    assert not SourceSecret.objects.filter(source=source).exists()
    with seeing(source.tenant):
        assert b"a-secret-to-keep" not in bytes(SourceSecret.objects.get(source=source).sealed)
    names = role_names(str(connection.settings_dict["NAME"]))
    with psycopg.connect(owner_conninfo) as conn:
        for role in (names.auditor, names.eraser):
            for table in ("sourcesecret", "mailsource"):
                row = conn.execute("SELECT has_table_privilege(%s, %s, 'SELECT')", (role, f"mailsearch_{table}"))
                assert row.fetchone() == (False,)


def test_commands_add_a_source_and_follow_it(
    server: Dovecot, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mailbox = new_mailbox()
    where = {"tenant": mailbox.tenant.slug, "mailbox": mailbox.slug}
    address = f"imaps://ann@shop.example@localhost:{server.tls}"
    for given in ("wrong", dovecot.PASSWORD):
        monkeypatch.setattr(sys, "stdin", io.StringIO(given + "\n"))
        call_command("add_source", address, secret_stdin=True, ca_file=str(server.certificate), **where)
        if given == "wrong":
            with pytest.raises(CommandError, match="1 of 1"):
                call_command("sync", **where)
    with server.client("ann@shop.example") as client:
        client.append("INBOX", mail("Hello."))
    call_command("sync", **where)
    told = capsys.readouterr()
    assert "1 new" in told.out
    assert dovecot.PASSWORD not in told.out + told.err
    source = MailSource.objects.get(mailbox=mailbox)
    assert (source.account, source.state, source.location) == ("ann@shop.example", "ok", address)


@pytest.mark.parametrize(
    ("address", "options", "advice"),
    [
        ("imaps://ann:secret@mail.example", {}, "leave it out"),
        ("imaps://mail.example", {}, "imaps://account@host"),
        ("pop3://ann@mail.example", {}, "imaps://"),
        ("imaps://ann@mail.example:99999", {}, "port"),
        ("imaps://ann@[::1", {}, "imaps://account@host"),
        ("imaps://ann%00@mail.example", {}, "imaps://account@host"),
        ("imaps://ann@127.0.0.1", {"plain": True}, "imap://"),
        ("imap://ann@192.0.2.1", {"plain": True}, "this machine alone"),
        ("imaps://ann@mail.example", {"secret_env": "PM_SECRET_KEY"}, "another one"),
        ("/no/such/mail", {}, "can't be opened"),
    ],
)
def test_an_address_that_makes_no_sense_is_explained(address: str, options: dict[str, object], advice: str) -> None:
    mailbox = new_mailbox()
    with pytest.raises(CommandError, match=advice):
        call_command("add_source", address, tenant=mailbox.tenant.slug, mailbox=mailbox.slug, **options)
    assert not MailSource.objects.filter(mailbox=mailbox).exists()
