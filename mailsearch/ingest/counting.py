"""In how many messages of a mailbox each lexeme occurs: kept beside the index, so that a query needs no counting.

Counted is what any scope can see: neither quarantined mail nor what was deleted at its source. Each mailbox remembers
up to which message it has counted; what an interrupted import left uncounted is counted by the next one. What changes
about counted messages afterwards (quarantine, erasure) is put right by triggers (migrations/0005).
"""

from contextlib import AbstractContextManager

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mailsearch.models import Mailbox
from mailsearch.sessions import Binding, bound


def count_new(mailbox: Mailbox) -> None:
    """Count the messages that came since the last time."""
    with _bound(mailbox), connection.cursor() as cursor:
        # The row's lock makes counters of one mailbox wait for each other; ids below `last` are all committed, since
        # writers of a tenant hold its lock from taking ids until they commit.
        cursor.execute("SELECT counted_until FROM mailsearch_mailbox WHERE id = %s FOR UPDATE", [mailbox.pk])
        (first,) = cursor.fetchone() or (0,)
        cursor.execute("SELECT max(id) FROM mailsearch_message WHERE mailbox_id = %s", [mailbox.pk])
        (last,) = cursor.fetchone() or (None,)
        if last is None or last <= first:
            return
        _add(cursor, mailbox, first, last)
        cursor.execute("UPDATE mailsearch_mailbox SET counted_until = %s WHERE id = %s", [last, mailbox.pk])


def recount(mailbox: Mailbox) -> None:
    """Count all messages of *mailbox* anew."""
    with _bound(mailbox), connection.cursor() as cursor:
        cursor.execute("UPDATE mailsearch_mailbox SET counted_until = 0 WHERE id = %s", [mailbox.pk])
        cursor.execute("DELETE FROM mailsearch_termcount WHERE mailbox_id = %s", [mailbox.pk])
    count_new(mailbox)


def _add(cursor: CursorWrapper, mailbox: Mailbox, first: int, last: int) -> None:
    # ts_stat takes a query as text; nothing stands in it but numbers.
    query = (
        "SELECT d.words FROM mailsearch_searchdocument d JOIN mailsearch_message m ON m.id = d.message_id"  # noqa: S608
        f" WHERE d.mailbox_id = {int(mailbox.pk)} AND d.message_id > {int(first)} AND d.message_id <= {int(last)}"
        " AND NOT d.quarantined AND m.deleted_at_source IS NULL"
    )
    cursor.execute(
        "INSERT INTO mailsearch_termcount AS counted (tenant_id, mailbox_id, lexeme, documents)"
        " SELECT %s, %s, word, ndoc FROM ts_stat(%s)"
        " ON CONFLICT (mailbox_id, lexeme) DO UPDATE SET documents = counted.documents + excluded.documents",
        [mailbox.tenant_id, mailbox.pk, query],
    )


def _bound(mailbox: Mailbox) -> AbstractContextManager[None]:
    return bound(Binding(mailbox.tenant_id, frozenset([mailbox.pk]), include_quarantined=True))
