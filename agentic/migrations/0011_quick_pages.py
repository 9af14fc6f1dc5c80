"""Pages over very many rows: words that stand in very many sentences, and the questions of one caller."""

from django.db import migrations, models

# As a page needs it: what is rare is found in the index; of what is common the newest sentences are looked through.
# Of a tenant with few sentences each one is, since others may have very many with the same words.
SEARCH = """
DROP FUNCTION mail_search.audited_sentences(text, integer);
CREATE FUNCTION mail_search.audited_sentences(words text, most integer, walked integer, below bigint)
RETURNS TABLE (sentence bigint, walked_to bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET work_mem = '64MB' SET enable_seqscan = off SET jit = off AS $$
DECLARE
    audited bigint[] := nullif(current_setting('app.audit', true), '')::bigint[];
    wanted tsquery := websearch_to_tsquery('simple', words);
    runs bigint[];
    texts uuid[];
    newest bigint[];
    few boolean := NOT EXISTS (
        SELECT FROM public.agentic_sentence s WHERE s.tenant_id = ANY (audited) OFFSET walked);
BEGIN
    IF few THEN
        below := 9223372036854775807;
    ELSE
        SELECT array_agg(p.run_id), array_agg(p.id) INTO runs, texts FROM (
            SELECT t.run_id, t.id FROM public.agentic_payloadtext t
            WHERE t.kind = 'sentence' AND t.tenant_id = ANY (audited) AND to_tsvector('simple', t.content) @@ wanted
            LIMIT most + 1) p;
        IF coalesce(cardinality(texts), 0) <= most THEN
            RETURN QUERY SELECT s.id, NULL::bigint FROM unnest(runs, texts) m (run_id, text)
                JOIN public.agentic_sentence s ON s.run_id = m.run_id AND s.payload_id = m.text;
            RETURN;
        END IF;
    END IF;
    newest := ARRAY(SELECT s.id FROM public.agentic_sentence s WHERE s.tenant_id = ANY (audited) AND s.id < below
        ORDER BY s.id DESC LIMIT walked);
    RETURN QUERY SELECT s.id, NULL::bigint FROM public.agentic_sentence s
        JOIN public.agentic_payloadtext p ON p.id = s.payload_id
        WHERE s.id = ANY (newest) AND to_tsvector('simple', p.content) @@ wanted;
    IF NOT few AND cardinality(newest) = walked THEN
        RETURN QUERY SELECT NULL::bigint, newest[walked];
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.audited_sentences(text, integer, integer, bigint) FROM PUBLIC;
"""
BEFORE = """
DROP FUNCTION mail_search.audited_sentences(text, integer, integer, bigint);
CREATE FUNCTION mail_search.audited_sentences(words text, most integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.id FROM public.agentic_payloadtext p
    JOIN public.agentic_sentence s ON s.run_id = p.run_id AND s.payload_id = p.id
    WHERE p.kind = 'sentence' AND p.tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])
        AND to_tsvector('simple', p.content) @@ websearch_to_tsquery('simple', words)
    ORDER BY s.id DESC LIMIT most
$$;
REVOKE EXECUTE ON FUNCTION mail_search.audited_sentences(text, integer) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("agentic", "0010_overview_indexes")]

    operations = [
        migrations.RunSQL(SEARCH, BEFORE),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["tenant", "caller", "-started_at"], name="run_by_caller"),
        ),
    ]
