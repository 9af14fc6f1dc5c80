"""The best messages where there is one way to match, by one statement.

For a word by itself, messages were put into arrays, joined with those of a second way that there is none of, and
taken out of the arrays again to be folded. What is found by one way alone is now numbered by age, folded and sorted as
it comes.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0030_messages_for_themselves")
changed = import_module("mailsearch.migrations.0018_own_words").changed

ALONE = """    IF v_broad IS NULL THEN
        RETURN QUERY
            SELECT g.first & 1125899906842623, ((g.best >> 12) & 1073741823) / 1000::float8, g.copies,
                   (sum(g.copies) OVER ())::bigint
            FROM (SELECT max(f.points << 12 | (4095 - f.age)) AS best, max(f.age << 50 | f.message_id) AS first,
                         count(*) AS copies
                  FROM (SELECT n.*, row_number() OVER (ORDER BY n.received_at DESC, n.message_id DESC) AS age
                        FROM mail_search.newest(
                            p_folders, p_from, p_until, v_strict, NULL, v_own, v_terms, p_weights, p_forms, p_caps[1],
                            p_expected[1], p_small) AS n
                        ORDER BY n.received_at DESC, n.message_id DESC LIMIT p_caps[1]) AS f
                  GROUP BY CASE WHEN p_folded THEN f.key ELSE f.message_id END) AS g
            ORDER BY g.best DESC LIMIT p_depth;
        RETURN;
    END IF;
    IF v_broad IS NOT NULL THEN"""
BEST = changed(before.BEST, ("    IF v_broad IS NOT NULL THEN", ALONE))


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0031_ready_pages")]

    operations = [migrations.RunSQL(BEST, before.BEST)]
