"""How common words are in a window of time, counted where the words are and no further than it matters.

For a scope with a window every message of it was counted, and for each word every message that held it, each looked up
in another table. Now a word counts as common once a thousand messages hold it, of the ten thousand that stand for all.
"""

from importlib import import_module

from django.db import migrations

page = import_module("mailsearch.migrations.0023_page_in_one")
placed = import_module("mailsearch.migrations.0014_words_in_one_place")

# In a form that an index can serve.
WINDOW = "{0}.received_at >= v_from AND {0}.received_at < v_until"
FREQUENT = f"""
-- How many messages of a scope there are, p_whole at most, and how many hold each of p_terms, p_most at most. From mail
-- in scope alone: what else there is decides how they are looked for, not how many are found.
CREATE FUNCTION mail_search.frequent(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_terms text[], p_whole integer, p_most integer
) RETURNS TABLE (whole bigint, documents bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 SET jit = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_from timestamptz := coalesce(p_from, '-infinity');
    v_until timestamptz := coalesce(p_until, 'infinity');
    v_term tsquery;
    v_first bigint;
    v_last bigint;
    v_places bigint[];
    v_count bigint;
    v_documents bigint[] := '{{}}';
BEGIN
    SELECT greatest(min({placed.WEEK.format("oldest.received_at")}),
                    CASE WHEN p_from IS NOT NULL THEN {placed.WEEK.format("p_from")} END),
           least(max({placed.WEEK.format("newest.received_at")}),
                 CASE WHEN p_until IS NOT NULL THEN {placed.WEEK.format("p_until")} END)
    INTO v_first, v_last
    FROM unnest(v_mailboxes) AS b (id), LATERAL (
        SELECT m.received_at FROM public.mailsearch_message m WHERE m.tenant_id = v_tenant AND m.mailbox_id = b.id
        ORDER BY m.received_at DESC LIMIT 1) AS newest, LATERAL (
        SELECT m.received_at FROM public.mailsearch_message m WHERE m.tenant_id = v_tenant AND m.mailbox_id = b.id
        ORDER BY m.received_at LIMIT 1) AS oldest;
    IF (v_last - v_first + 1) * cardinality(v_mailboxes) <= {placed.MOST_PLACES} THEN
        v_places := ARRAY(SELECT b << 16 | w FROM unnest(v_mailboxes) AS b, generate_series(v_first, v_last) AS w);
    ELSE
        v_places := ARRAY(SELECT -b FROM unnest(v_mailboxes) AS b);
    END IF;
    FOREACH v_term IN ARRAY p_terms::tsquery[] LOOP
        SELECT count(*) INTO v_count FROM (
            SELECT FROM public.mailsearch_searchdocument d
            WHERE d.words @@ v_term AND d.places && v_places AND d.tenant_id = v_tenant
              AND d.mailbox_id + 0 = ANY (v_mailboxes) AND NOT d.quarantined AND NOT d.deleted
              AND d.folder_id = ANY (p_folders) AND {WINDOW.format("d")} LIMIT p_most) AS one;
        v_documents := v_documents || v_count;
    END LOOP;
    RETURN QUERY SELECT count(*), v_documents FROM (
        SELECT FROM unnest(v_mailboxes) AS b (id) JOIN public.mailsearch_message m
            ON m.tenant_id = v_tenant AND m.mailbox_id = b.id
        WHERE NOT m.quarantined
          AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders) AND {WINDOW.format("m")} LIMIT p_whole) AS one;
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.frequent(bigint[], timestamptz, timestamptz, text[], integer, integer) FROM PUBLIC;

-- The same as a statement that binds itself.
CREATE FUNCTION mail_search.counted(
    p_tenant text, p_mailboxes text, p_folders bigint[], p_from timestamptz, p_until timestamptz, p_terms text[],
    p_whole integer, p_most integer
) RETURNS TABLE (whole bigint, documents bigint[])
LANGUAGE plpgsql ROWS 1 SET search_path = pg_catalog, pg_temp AS $$
BEGIN{page.BIND}
    RETURN QUERY SELECT f.whole, f.documents
    FROM mail_search.frequent(p_folders, p_from, p_until, p_terms, p_whole, p_most) AS f;
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.counted(text, text, bigint[], timestamptz, timestamptz, text[], integer, integer) FROM PUBLIC;
"""
UNDO = """
DROP FUNCTION mail_search.counted(text, text, bigint[], timestamptz, timestamptz, text[], integer, integer);
DROP FUNCTION mail_search.frequent(bigint[], timestamptz, timestamptz, text[], integer, integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0026_moments_in_the_index")]

    operations = [migrations.RunSQL(FREQUENT, UNDO)]
