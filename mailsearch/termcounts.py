"""In how many messages of a mailbox each word occurs: what ranking needs to know of rarity.

Whoever puts mail in calls `count_new` when a batch is stored; what changes later (quarantine, deletion, erasure, new
text) is corrected by the database itself (migrations/0005_term_counts). Nothing else writes these rows.
"""

from django.db import connection


def count_new(mailbox_id: int) -> int:
    """Count the words of messages that came into the mailbox since the last call; returns how many messages.

    Runs within a transaction that is bound to the mailbox (`mailsearch.sessions.bound`). The empty word's row counts
    the messages themselves. One call takes at most 20,000 messages, so call until it returns 0.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT mail_search.count_new_words(%s)", [mailbox_id])
        row = cursor.fetchone()
    return int(row[0]) if row else 0
