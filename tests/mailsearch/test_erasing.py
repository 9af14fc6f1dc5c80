"""What is quarantined or erased leaves no trace where others could see it."""

import psycopg
import pytest

from mailsearch.ingest import embedding, erasing, pipeline, quarantine
from mailsearch.ingest.counting import recount
from mailsearch.ingest.limits import Worker
from mailsearch.models import Mailbox, Message, SearchDocument, TermCount
from tests.mailsearch.importing import mail, new_mailbox, seeing, source
from tests.mailsearch.test_embeddings import Counting
from tests.mailsearch.test_ingest_pipeline import MIXED, WITH_MAIL, counts

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = """--cut
Content-Type: text/plain

The zwkqjxbody canary sings.
--cut
Content-Type: text/plain; name="zwkqjxfile.txt"
Content-Disposition: attachment; filename="zwkqjxfile.txt"

zwkqjxattached
--cut
Content-Type: message/rfc822

Subject: zwkqjxinner
From: zwkqjxname <zwkqjxaddress@x.example>

zwkqjxinside
--cut--"""

WITH_FILE = """--cut
Content-Type: text/plain

Words.
--cut
Content-Type: text/plain
Content-Disposition: attachment; filename="file.txt"

More words.
--cut--"""


def take(mailbox: Mailbox, *messages: bytes) -> pipeline.Summary:
    with Worker() as worker:
        return pipeline.ingest(source(*messages), mailbox=mailbox, worker=worker)


def tables_with(conninfo: str, word: bytes) -> list[str]:
    """Tables of ours whose rows, as a dump would write them, hold *word*."""
    with psycopg.connect(conninfo) as conn:
        rows = conn.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'mailsearch%'"
        ).fetchall()
        return [name for (name,) in rows if word in dumped(conn, name)]


def dumped(conn: "psycopg.Connection[tuple[object, ...]]", table: str) -> bytes:
    with conn.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(map(bytes, copy))


def test_an_erased_message_is_nowhere_in_the_store_and_stays_away(owner_conninfo: str) -> None:
    ann = new_mailbox("ann")
    bob = new_mailbox("bob", ann.tenant)
    canary = mail(CANARY, subject="zwkqjxsubject", sender="zwkqjxname <zwkqjxaddress@x.example>", content_type=MIXED)
    take(ann, canary, mail("Something else sings."))
    take(bob, canary)
    embedding.embed_pending(ann.tenant, embedder=Counting("one"))
    assert len(tables_with(owner_conninfo, b"zwkqjx")) >= 5
    with seeing(ann.tenant):
        public_id = Message.objects.get(mailbox=ann, subject="zwkqjxsubject").public_id
    erased = erasing.erase(ann.tenant, public_id)
    assert erased is not None
    assert public_id in erased.messages
    # Of both mailboxes, with the message inside.
    assert (len(erased.messages), len(erased.attachments)) == (4, 4)
    assert tables_with(owner_conninfo, b"zwkqjx") == []
    assert counts(ann)["sings"] == 1
    again = take(ann, canary)
    assert (again.new, again.erased) == (0, 1)
    assert tables_with(owner_conninfo, b"zwkqjx") == []
    assert erasing.erase(ann.tenant, public_id) is None


def test_quarantine_covers_copies_and_what_is_inside_and_can_be_lifted() -> None:
    mailbox = new_mailbox()
    other = new_mailbox("other").tenant
    take(mailbox, mail(WITH_MAIL, content_type=MIXED), mail(WITH_MAIL, id_="copy@x.example", content_type=MIXED))
    take(mailbox, mail("The heron stays."))
    before = counts(mailbox)
    with seeing(mailbox.tenant):
        message = Message.objects.filter(container=None).earliest("id")
        assert len(quarantine.change(message, quarantined=True)) == 4
        assert SearchDocument.objects.filter(quarantined=True).count() == 4
    assert counts(mailbox)["heron"] == 1
    with seeing(mailbox.tenant):
        assert len(quarantine.change(message, quarantined=False)) == 4
        assert not Message.objects.filter(quarantined=True).exists()
    assert counts(mailbox) == before
    recount(mailbox)
    assert counts(mailbox) == before
    with seeing(other):
        assert not TermCount.objects.exists()


def test_no_message_goes_while_something_hangs_on_it(owner_conninfo: str) -> None:
    parts = ("rawmessage", "participant", "passage", "attachment", "searchdocument")
    mailbox = new_mailbox("ann")
    take(mailbox, mail(WITH_FILE, content_type=MIXED))
    with seeing(mailbox.tenant):
        message = Message.objects.get().pk
    for left in parts:
        with psycopg.connect(owner_conninfo) as conn:
            for table in (one for one in parts if one != left):
                conn.execute(f"DELETE FROM mailsearch_{table} WHERE message_id = %s", [message])
            with pytest.raises(psycopg.errors.ForeignKeyViolation, match="hangs on a message"):
                conn.execute("DELETE FROM mailsearch_message WHERE id = %s", [message])
            conn.rollback()
    with psycopg.connect(owner_conninfo) as conn:
        for table in (*parts, "message"):
            column = "id" if table == "message" else "message_id"
            assert conn.execute(f"DELETE FROM mailsearch_{table} WHERE {column} = %s", [message]).rowcount > 0
