"""The best messages where no copies are folded, without what only folding needs.

A question ranks a thousand messages and more to take the best two hundred of them. They were put into arrays, numbered
by age, grouped by their own number and sorted, all to find out that each of them stands for itself.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0018_own_words")

APART = """BEGIN
    -- Each for itself and by one way to match: it is sorted by what decides on its place, and no more.
    IF v_strict IS NULL AND NOT p_folded THEN
        RETURN QUERY
            SELECT f.message_id, (f.points & 1073741823) / 1000::float8, 1::bigint, count(*) OVER ()
            FROM (SELECT * FROM mail_search.newest(
                      p_folders, p_from, p_until, v_broad, NULL, v_own, v_terms, p_weights, p_forms, p_caps[2],
                      p_expected[2], p_small)
                  ORDER BY received_at DESC, message_id DESC LIMIT p_caps[2]) AS f
            ORDER BY f.points DESC, f.received_at DESC, f.message_id DESC LIMIT p_depth;
        RETURN;
    END IF;
    IF v_broad IS NOT NULL THEN"""
OLD = before.BEST.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
BEST = before.changed(OLD, ("BEGIN\n    IF v_broad IS NOT NULL THEN", APART))


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0029_fewer_plans")]

    operations = [migrations.RunSQL(BEST, OLD)]
