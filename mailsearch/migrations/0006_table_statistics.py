"""Statistics for the planner right after an import, without waiting for autovacuum.

Until a table was analysed, the planner guesses, and searches take about twice as long. The application's role owns no
table and so may analyse none; the owner lends it this function, which can do nothing else.
"""

from django.db import migrations

STATISTICS = """
-- Analyses the tables of mail of which more than a tenth has changed since the last time; returns how many. A table
-- that somebody else works on is left for the next call.
CREATE FUNCTION mail_search.refresh_statistics() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_table regclass;
    v_count integer := 0;
BEGIN
    FOR v_table IN
        SELECT c.oid FROM pg_class c
        WHERE c.oid = ANY (ARRAY[
            'public.mailsearch_message', 'public.mailsearch_participant', 'public.mailsearch_attachment',
            'public.mailsearch_passage', 'public.mailsearch_passagevector', 'public.mailsearch_searchdocument',
            'public.mailsearch_thread', 'public.mailsearch_termcount', 'public.mailsearch_folder']::regclass[])
          AND (c.reltuples < 0
               OR coalesce(pg_stat_get_mod_since_analyze(c.oid), 0) > 200 + 0.1 * c.reltuples)
        ORDER BY c.relname
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', v_table);
        v_count := v_count + 1;
    END LOOP;
    RETURN v_count;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.refresh_statistics() FROM PUBLIC;
"""
UNDO = "DROP FUNCTION mail_search.refresh_statistics();"


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0005_term_counts")]

    operations = [migrations.RunSQL(STATISTICS, UNDO)]
