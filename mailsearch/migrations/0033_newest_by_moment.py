"""The newest of many messages found by when they came in, where that costs less than by the weeks that they are from.

What stands in far more messages than are ranked is looked for in the newest weeks alone, each a key of the index. In
the mail of twenty years these are hundreds of keys, and each match is compared with each of them. So where the weeks are
many and the matches are not, the moment is looked up first since which just enough of them came in; and where matches
of several terms are few enough to be looked at all, but not few enough to be ranked all.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0018_own_words")
ranking = import_module("mailsearch.migrations.0014_words_in_one_place")

# To look at a message costs as much as to compare one with so many keys: 1.1 µs beside 12 ns.
_KEYS = 90
# So many times the messages that are ranked pay for a look at each before; to rank one by several terms costs five.
_ENOUGH = 1.3
_FIRST = "    IF p_expected <= 2 * p_most AND NOT p_small THEN"
_DIRECT = before.NEWEST[before.NEWEST.index(_FIRST) : before.NEWEST.index("    IF p_expected > 2 * p_most THEN")]
_SINCE = f"""v_width := 1 + (v_last - v_first) * p_most / p_expected;
        v_by_moment := NOT p_small AND v_width * cardinality(v_mailboxes) * p_most > {_KEYS} * p_expected;
    END IF;
    IF v_by_moment OR (v_count > 1 AND NOT p_small AND p_expected > {_ENOUGH} * p_most AND p_expected <= 2 * p_most) THEN
        SELECT d.received_at INTO v_since
        FROM public.mailsearch_searchdocument d
        WHERE d.words @@ p_words AND d.tenant_id = v_tenant AND d.mailbox_id + 0 = ANY (v_mailboxes)
          AND NOT d.quarantined AND NOT d.deleted AND d.folder_id = ANY (p_folders)
          AND (p_from IS NULL OR d.received_at >= p_from) AND (p_until IS NULL OR d.received_at < p_until)
        ORDER BY d.received_at DESC OFFSET p_most - 1 LIMIT 1;
    END IF;
"""
OLD = before.NEWEST.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
NEWEST = before.changed(
    OLD,
    (_DIRECT, ""),
    (
        "v_width := 1 + (v_last - v_first) * p_most / p_expected;\n    END IF;\n",
        _SINCE
        + before.changed(
            _DIRECT,
            (_FIRST, "    IF v_by_moment OR p_expected <= 2 * p_most AND NOT p_small THEN"),
            (
                "AND (p_from IS NULL OR d.received_at >= p_from)",
                "AND (p_from IS NULL OR d.received_at >= p_from) AND (v_since IS NULL OR d.received_at >= v_since)",
            ),
        ),
    ),
    (
        "    v_before timestamptz;\n",
        "    v_before timestamptz;\n    -- Whether they are found by the moment since which so many match, and that.\n"
        "    v_by_moment boolean := false;\n    v_since timestamptz;\n",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0032_one_way_to_match")]

    operations = [migrations.RunSQL(NEWEST, OLD)]
