"""What becomes of mail that is taken in: nothing is lost, and the same mail again changes nothing."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.utils import timezone

from mailsearch.ingest import pipeline, store
from mailsearch.ingest.drafts import content_hash
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.sources import RawMail, open_source
from mailsearch.models import (
    Attachment,
    ErasedMessage,
    Folder,
    Mailbox,
    Message,
    Participant,
    Passage,
    RawMessage,
    SearchDocument,
    TermCount,
)
from tests.mailsearch.importing import Mails, mail, mbox, new_mailbox, seeing, source, threads, write

# One child for all tests: starting it is most of the time that an import of three messages takes.
_worker = Worker()
ingest = partial(pipeline.ingest, worker=_worker)

pytestmark = pytest.mark.django_db(transaction=True)

WITH_FILE = """--cut
Content-Type: text/plain; charset=utf-8

The offer is attached.
--cut
Content-Type: text/csv; name="prices.csv"
Content-Disposition: attachment; filename="prices.csv"

article,price
bittern,3
--cut--"""
WITH_MAIL = """--cut
Content-Type: text/plain

See below.
--cut
Content-Type: message/rfc822

From: eve@heron.example
To: ann@abel.example
Subject: Colony
Message-ID: <inner@heron.example>

The heron colony has moved.
--cut--"""
MIXED = 'multipart/mixed; boundary="cut"'


def found_by(mailbox: Mailbox, tsquery: str) -> list[str]:
    with seeing(mailbox.tenant), connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.subject FROM mailsearch_searchdocument d JOIN mailsearch_message m ON m.id = d.message_id"
            " WHERE d.words @@ %s::tsquery ORDER BY m.id",
            [tsquery],
        )
        return [subject for (subject,) in cursor.fetchall()]


def test_a_folder_of_messages_and_mboxes_becomes_rows(tmp_path: Path) -> None:
    mailbox = new_mailbox()
    write(tmp_path, one__eml=mail(WITH_FILE, id_="one@x.example", content_type=MIXED, cc="Cy <Cy@Shop.example>"))
    write(tmp_path / "Sent", old__mbox=mbox(mail("Two.", id_="two@x.example"), mail("Three.", id_="three@x.example")))
    write(tmp_path, notes__json=b"{}", secret__txt=b"no mail at all")
    summary = ingest(open_source(tmp_path), mailbox=mailbox)
    assert (summary.read, summary.new, summary.known, summary.lost) == (3, 3, 0, 0)
    assert summary.bytes_read == summary.bytes_total > 0
    with seeing(mailbox.tenant):
        one = Message.objects.get(rfc_message_id="one@x.example")
        assert one.folder.path == "INBOX"
        assert one.sent_at == datetime(2026, 3, 4, 8, tzinfo=UTC)
        assert one.sent_offset == 3600
        assert [(p.role, p.name, p.address) for p in one.participants.order_by("position")] == [
            ("from", "Ann Abel", "ann@abel.example"),
            ("to", "", "bob@shop.example"),
            ("cc", "Cy", "cy@shop.example"),
        ]
        attachment = one.attachments.get()
        assert (attachment.filename, attachment.state) == ("prices.csv", "ok")
        assert "bittern" in attachment.text
        assert {passage.attachment_id for passage in one.passages.all()} == {None, attachment.pk}
        two = Message.objects.get(rfc_message_id="two@x.example")
        assert two.folder.path == "Sent/old"
        # The From_ line says when it came; the message itself does not.
        assert two.received_at == datetime(2026, 3, 4, 8, tzinfo=UTC)
        assert Folder.objects.filter(mailbox=mailbox).count() == 2


def test_the_same_mail_again_changes_nothing(tmp_path: Path) -> None:
    mailbox = new_mailbox()
    write(tmp_path, one__eml=mail("One.", id_="one@x.example"), copy__eml=mail("One.", id_="one@x.example"))
    # On the way between mail systems line ends change.
    write(tmp_path, crlf__eml=mail("One.", id_="one@x.example").replace(b"\n", b"\r\n"))
    first = ingest(open_source(tmp_path), mailbox=mailbox)
    again = ingest(open_source(tmp_path), mailbox=mailbox)
    assert (first.new, first.known) == (1, 2)
    assert (again.new, again.known, again.lost) == (0, 3, 0)
    with seeing(mailbox.tenant):
        assert Message.objects.count() == RawMessage.objects.count() == SearchDocument.objects.count() == 1
        assert Participant.objects.count() == 2


def test_messages_can_come_one_by_one() -> None:
    mailbox = new_mailbox()
    assert pipeline.ingest_one(RawMail(mail("One."), "API"), mailbox=mailbox, folder="Work").new == 1
    assert pipeline.ingest_one(RawMail(mail("One."), "API"), mailbox=mailbox).known == 1
    assert Folder.objects.get(mailbox=mailbox).path == "Work"


def test_two_mailboxes_keep_the_same_mail_apart_and_one_thread() -> None:
    ann = new_mailbox("ann")
    bob = new_mailbox("bob", ann.tenant)
    for mailbox in (ann, bob):
        assert ingest(source(mail(id_="a@x.example")), mailbox=mailbox).new == 1
    assert threads(ann.tenant) == {frozenset({"a@x.example"})}
    with seeing(ann.tenant):
        assert Message.objects.count() == 2


def test_words_identifiers_and_attached_text_are_in_the_index() -> None:
    mailbox = new_mailbox()
    quoted = "Agreed.\n\nOn 3 March 2026 Bob wrote:\n> The bridges are closed."
    ingest(
        source(
            mail("The offers for part PN-4711A were sent.", subject="Offers"),
            mail(WITH_FILE, subject="Prices", content_type=MIXED),
            mail("来週の会議は東京です。", subject="Tokyo", content_type="text/plain; charset=utf-8"),
            mail(quoted, subject="Answer"),
        ),
        mailbox=mailbox,
    )
    assert found_by(mailbox, "'offer'") == ["Offers", "Prices"]
    assert found_by(mailbox, "'offer':A") == ["Offers"]
    assert found_by(mailbox, "'pn4711a'") == found_by(mailbox, "'4711'") == ["Offers"]
    assert found_by(mailbox, "'prices.csv':B") == ["Prices"]
    assert found_by(mailbox, "'bittern':C") == ["Prices"]
    assert found_by(mailbox, "'東京'") == ["Tokyo"]
    assert found_by(mailbox, "'bridges':D") == ["Answer"]
    assert found_by(mailbox, "'bridges':C") == []


def test_a_message_that_the_database_refuses_is_kept_bare_and_costs_no_other() -> None:
    mailbox = new_mailbox()
    mails = [RawMail(mail(f"Number {number}."), f"test:{number}") for number in range(7)]
    mails[3] = RawMail(mail("Odd."), "odd", flags=("x" * 50,))
    summary = ingest(Mails(mails), mailbox=mailbox)
    assert (summary.new, summary.lost) == (7, 0)
    assert summary.defects["not-stored"] == 1
    with seeing(mailbox.tenant):
        assert RawMessage.objects.count() == 7
        assert Message.objects.filter(subject="A letter").count() == 6


def test_more_words_than_the_index_takes_are_a_defect_and_the_first_are_found() -> None:
    mailbox = new_mailbox()
    # A tsvector takes a megabyte. Long words fill it sooner than many.
    words = ["heron" * 34 + "".join(end) for end in itertools.product("abcdefghijklmnopqrst", repeat=3)]
    summary = ingest(source(mail(f"Firstly {' '.join(words)} lastly", subject="Long"), mail("Short.")), mailbox=mailbox)
    assert (summary.new, summary.defects["index-capped"]) == (2, 1)
    assert found_by(mailbox, "'firstly'") == found_by(mailbox, f"'{words[100]}'") == ["Long"]
    assert found_by(mailbox, f"'{words[-1]}'") == []
    assert found_by(mailbox, "'lastly'") == ["Long"]


def test_a_message_inside_a_message_is_a_message_in_its_container() -> None:
    mailbox = new_mailbox()
    summary = ingest(source(mail(WITH_MAIL, subject="Fwd", content_type=MIXED)), mailbox=mailbox)
    assert (summary.new, summary.nested) == (1, 1)
    with seeing(mailbox.tenant):
        outer, inner = Message.objects.order_by("id")
        assert (inner.container, inner.thread, inner.folder) == (outer, outer.thread, outer.folder)
        assert (inner.subject, inner.dmarc) == ("Colony", "unknown")
        assert "heron colony" in inner.body_text
        # It is embedded as itself, not once more as an attachment.
        assert not Passage.objects.filter(message=outer, attachment__isnull=False).exists()
        assert Attachment.objects.filter(message=outer).count() == 1


@pytest.mark.parametrize(
    "kind",
    ["message/rfc822", 'application/octet-stream; name="colony.eml"', "message/global"],
    ids=lambda kind: kind.split(";")[0],
)
def test_a_message_inside_a_message_is_readable_in_both_and_found_once(kind: str) -> None:
    mailbox = new_mailbox()
    body = WITH_MAIL.replace("message/rfc822", kind)
    ingest(source(mail(body, subject="Fwd", content_type=MIXED)), mailbox=mailbox)
    assert found_by(mailbox, "'heron' & 'colony'") == ["Colony"]
    assert found_by(mailbox, "'below'") == ["Fwd"]
    with seeing(mailbox.tenant):
        outer, inner = Message.objects.order_by("id")
        assert "heron colony" in inner.body_text
        assert "heron colony" in Attachment.objects.get(message=outer).text
        assert set(Passage.objects.filter(attachment__isnull=False)) == set()
        assert Passage.objects.filter(message=inner).count() == 1


def test_an_interrupted_import_is_finished_by_repeating_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCH", 20)
    mails = [mail(f"Number {number}.", id_=f"{number}@x.example") for number in range(50)]

    def stop(summary: pipeline.Summary) -> None:
        if summary.new:
            raise KeyboardInterrupt

    mailbox, undisturbed = new_mailbox(), new_mailbox()
    with pytest.raises(KeyboardInterrupt):
        ingest(source(*mails), mailbox=mailbox, progress=stop)
    rest = ingest(source(*mails), mailbox=mailbox)
    assert 0 < rest.new < 50
    assert rest.new + rest.known == 50
    ingest(source(*mails), mailbox=undisturbed)
    assert counts(mailbox) == counts(undisturbed)
    assert threads(mailbox.tenant) == threads(undisturbed.tenant)


def counts(mailbox: Mailbox) -> dict[str, int]:
    with seeing(mailbox.tenant):
        return dict(TermCount.objects.filter(mailbox=mailbox).values_list("lexeme", "documents"))


def test_lexemes_are_counted_once_a_message_and_without_quarantined_mail() -> None:
    mailbox = new_mailbox()
    ingest(source(mail("Heron heron."), mail("Heron and bittern.")), mailbox=mailbox)
    ingest(source(mail("Heron again.")), mailbox=mailbox)
    ingest(source(mail("Heron, hidden.")), mailbox=mailbox, quarantine=True)
    found = counts(mailbox)
    assert (found["heron"], found["bittern"], found.get("hidden")) == (3, 1, None)


def test_importers_of_one_tenant_can_run_at_once() -> None:
    mailbox = new_mailbox()
    thread = [mail("Start.", id_="0@x.example")]
    thread += [
        mail(f"Reply {number}.", id_=f"{number}@x.example", in_reply_to=f"<{number - 1}@x.example>")
        for number in range(1, 60)
    ]

    def run(mails: list[bytes]) -> pipeline.Summary:
        try:
            return pipeline.ingest(source(*mails), mailbox=mailbox)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as executor:
        summaries = list(executor.map(run, [thread, thread[::-1], thread[::2]]))
    assert sum(one.new for one in summaries) == 60
    assert all(one.lost == 0 for one in summaries)
    assert len(threads(mailbox.tenant)) == 1
    assert counts(mailbox)["reply"] == 59


@pytest.fixture(scope="module", autouse=True)
def _end_of_the_child() -> Iterator[None]:
    yield
    _worker.close()


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::3])
def test_the_order_of_arrival_changes_no_thread(order: tuple[int, ...]) -> None:
    mails = [
        mail("A", id_="a@x.example"),
        mail("B", id_="b@x.example", references="<a@x.example>"),
        mail("D", id_="d@x.example", references="<b@x.example> <c@x.example>"),
        mail("X", id_="x@y.example", references="<a@x.example> <lone@y.example>"),
    ]
    mailbox = new_mailbox()
    for number in order:
        ingest(source(mails[number]), mailbox=mailbox)
    ingest(source(mail("Alone", id_="lone@y.example")), mailbox=mailbox)
    assert threads(mailbox.tenant) == {
        frozenset({"a@x.example", "b@x.example", "d@x.example"}),
        frozenset({"x@y.example", "lone@y.example"}),
    }


def test_an_id_that_only_a_denied_claim_named_is_forgotten() -> None:
    mails = [
        mail("A", id_="a@x.example", references="<c@x.example> <b@x.example>"),
        mail("B", id_="b@x.example"),
        mail("E", id_="e@x.example", references="<c@x.example>"),
    ]
    mailbox = new_mailbox()
    for one in mails:
        ingest(source(one), mailbox=mailbox)
    assert threads(mailbox.tenant) == {frozenset({"a@x.example", "b@x.example"}), frozenset({"e@x.example"})}


def test_a_reply_without_references_is_placed_by_its_subject_among_the_same_people() -> None:
    mailbox = new_mailbox()
    ann, bob, eve = "ann@abel.example", "bob@shop.example", "eve@else.example"
    first = [
        mail(id_="1@x.example", subject="Appointment", sender=ann, to=bob),
        mail(id_="2@x.example", subject="Re: Appointment", sender=eve, to=bob, date="Thu, 05 Mar 2026 09:00:00 +0000"),
        mail(id_="3@x.example", subject="AW: Appointment", sender=bob, to=ann, date="Thu, 05 Mar 2026 10:00:00 +0000"),
    ]
    later = mail(id_="4@x.example", subject="Re: appointment", sender=ann, to=bob, date="6 Mar 2026 10:00:00 +0000")
    ingest(source(*first), mailbox=mailbox)
    ingest(source(later), mailbox=mailbox)
    assert threads(mailbox.tenant) == {
        frozenset({"1@x.example", "3@x.example", "4@x.example"}),
        frozenset({"2@x.example"}),
    }


def test_mail_is_quarantined_by_rule_by_request_and_by_equal_words() -> None:
    said = "This text is long enough that nobody else says the same by chance, " * 3
    mailbox = new_mailbox(rules="# spam\nX-Spam-Flag: yes*\n")
    first = ingest(source(mail(WITH_MAIL, x_spam_flag="YES (9.1)", content_type=MIXED), mail("Fine.")), mailbox=mailbox)
    assert first.quarantined == 1
    assert ingest(source(mail(said)), mailbox=mailbox, quarantine=True).quarantined == 1
    assert ingest(source(mail(said, sender="eve@else.example")), mailbox=mailbox).quarantined == 1
    with seeing(mailbox.tenant):
        assert Message.objects.filter(quarantined=False).count() == 1
        assert Message.objects.filter(quarantined=True).count() == 4
        assert SearchDocument.objects.filter(quarantined=True).count() == 4


def test_short_words_are_equal_only_from_one_sender_and_files_count() -> None:
    mailbox = new_mailbox()
    other_file = WITH_FILE.replace("bittern,3", "bittern,4")
    ingest(
        source(
            mail("Yes."), mail("Yes.", subject="Again"), mail("Yes.", sender="eve@else.example"),
            mail(WITH_FILE, content_type=MIXED), mail(other_file, content_type=MIXED),
        ),
        mailbox=mailbox,
    )  # fmt: skip
    with seeing(mailbox.tenant):
        hashes = [bytes(one) for one in Message.objects.order_by("id").values_list("words_sha256", flat=True)]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 4


def test_what_was_erased_does_not_come_back() -> None:
    mailbox = new_mailbox()
    gone, kept = mail("Gone."), mail("Kept.")
    with seeing(mailbox.tenant):
        ErasedMessage.objects.create(
            tenant=mailbox.tenant, salt=b"s" * 16, salted_sha256=store.salted(b"s" * 16, content_hash(gone))
        )
    summary = ingest(source(gone, kept), mailbox=mailbox)
    assert (summary.new, summary.erased, summary.lost) == (1, 1, 0)


def test_received_is_what_the_border_said_else_the_source_else_now() -> None:
    mailbox = new_mailbox()
    hint = datetime(2026, 3, 5, 12, tzinfo=UTC)
    border = "from a.example by b.example; Wed, 04 Mar 2026 10:00:00 +0000"
    mails = [
        RawMail(mail("1", received=border), "1", delivered_at=hint),
        RawMail(mail("2"), "2", delivered_at=hint),
        RawMail(mail("3"), "3"),
        RawMail(mail("4", received=border), "4", received_at=hint),
        RawMail(mail("5"), "5", delivered_at=datetime(2099, 1, 1, tzinfo=UTC)),
    ]
    before = timezone.now()
    ingest(Mails(mails), mailbox=mailbox)
    with seeing(mailbox.tenant):
        rows = {one.body_text.strip(): one for one in Message.objects.all()}
    assert rows["1"].received_at == datetime(2026, 3, 4, 10, tzinfo=UTC)
    assert rows["2"].received_at == rows["4"].received_at == hint
    assert rows["3"].received_at >= before
    assert rows["5"].received_at >= before
    assert [rows[name].date_disputed for name in "12345"] == [False, False, True, False, True]


def test_the_command_reports_and_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mailbox = new_mailbox()
    write(tmp_path, one__eml=mail("One.", date="never"), two__eml=mail("Two."))
    tenant = mailbox.tenant.slug
    call_command("ingest", str(tmp_path), tenant=tenant, mailbox="ann", folder="Archive/2026")
    said = capsys.readouterr().out
    assert "2 messages read" in said
    assert "2 new, 0 known, 0 lost" in said
    assert "date-invalid" in said
    assert Folder.objects.get(mailbox=mailbox).path == "Archive/2026"
    with pytest.raises(CommandError, match=r"manage\.py create_tenant nobody"):
        call_command("ingest", str(tmp_path), tenant="nobody", mailbox="ann")
    with pytest.raises(CommandError, match=r"manage\.py create_mailbox bob"):
        call_command("ingest", str(tmp_path), tenant=tenant, mailbox="bob")
    with pytest.raises(CommandError, match="can't be opened"):
        call_command("ingest", str(tmp_path / "none"), tenant=tenant, mailbox="ann")
