"""Nearest passages until there are enough messages, and first bearers of a page's names by a plan made once.

Four passages were asked of the index of vectors for each message that was wanted, since a message may have several; most
of them were of messages that nobody had asked for. Now the search stops when it has seen enough messages.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0012_ranking_in_one")

# Passages after which a search may stop. The index brings them nearly in order, so that a few more find better ones.
LEAST = 100
BRANCH = f"""
    WHEN {{size}} THEN
        FOR v_found IN
            SELECT v.message_id, v.passage_id,
                (v.embedding::public.halfvec({{size}}) OPERATOR(public.<=>) v_near::public.halfvec({{size}})) AS distance
            FROM public.mailsearch_passagevector v JOIN public.mailsearch_message m ON m.id = v.message_id
            WHERE v.model = p_model AND public.vector_dims(v.embedding) = {{size}} AND {before.BOUND}
          AND {before.NARROWED}{before.EXCLUDED}
            ORDER BY v.embedding::public.halfvec({{size}}) OPERATOR(public.<=>) v_near::public.halfvec({{size}})
            LIMIT p_limit
        LOOP
            message_id := v_found.message_id;
            passage_id := v_found.passage_id;
            distance := v_found.distance;
            RETURN NEXT;
            v_count := v_count + 1;
            v_seen := CASE WHEN message_id = ANY (v_seen) THEN v_seen ELSE v_seen || message_id END;
            EXIT WHEN v_count >= {LEAST} AND cardinality(v_seen) >= p_messages;
        END LOOP;
"""
NEAREST = f"""
-- The best passages of each message, nearest first, at most p_limit passages. Exact where p_exact, else by the index, and
-- then none beyond those of p_messages messages.
CREATE FUNCTION mail_search.nearest(
    p_narrow jsonb, p_model text, p_embedding text, p_limit integer, p_messages integer, p_exact boolean
) RETURNS TABLE (message_id bigint, passage_id bigint, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER {before.SETTINGS}
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 100 AS $$
#variable_conflict use_column
DECLARE
    {before.DECLARED}
    v_near public.halfvec := p_embedding::public.halfvec;
    v_found record;
    v_seen bigint[] := '{{{{}}}}';
    v_count integer := 0;
BEGIN
    IF p_exact THEN
        RETURN QUERY SELECT v.message_id, v.passage_id, (v.embedding OPERATOR(public.<=>) v_near) + 0 AS distance
        FROM public.mailsearch_passagevector v JOIN public.mailsearch_message m ON m.id = v.message_id
        WHERE v.model = p_model AND v.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])
          AND {before.BOUND}
          AND {before.NARROWED}{before.EXCLUDED}
        ORDER BY 3, 2 LIMIT p_limit;
        RETURN;
    END IF;
    CASE public.vector_dims(v_near)
    {{branches}}
    ELSE RAISE EXCEPTION 'no index for vectors of % dimensions', public.vector_dims(v_near);
    END CASE;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.nearest(jsonb, text, text, integer, integer, boolean) FROM PUBLIC;
DROP FUNCTION mail_search.nearest(jsonb, text, text, integer, boolean);
"""
FIRST_BEARERS = """
-- For each name on p_messages, the participant who bore it first in scope.
CREATE FUNCTION mail_search.first_bearers_of(
    p_messages bigint[], p_folders bigint[], p_from timestamptz, p_until timestamptz
) RETURNS TABLE (participant_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
BEGIN
    RETURN QUERY SELECT f.id FROM (
        SELECT DISTINCT left(lower(p.name), 100) AS name FROM public.mailsearch_participant p
        WHERE p.message_id = ANY (p_messages) AND p.tenant_id = v_tenant AND p.mailbox_id = ANY (v_mailboxes)
          AND NOT p.quarantined AND p.name <> '') AS n, LATERAL (
        SELECT first.id FROM unnest(v_mailboxes) AS b (id), LATERAL (
            SELECT p.id, p.received_at
            FROM public.mailsearch_participant p JOIN public.mailsearch_message m ON m.id = p.message_id
            WHERE p.mailbox_id = b.id AND left(lower(p.name), 100) = n.name
              AND p.name <> '' AND p.address <> '' AND p.tenant_id = v_tenant AND NOT p.quarantined
              AND NOT m.quarantined AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)
              AND (p_from IS NULL OR p.received_at >= p_from) AND (p_until IS NULL OR p.received_at < p_until)
            ORDER BY p.received_at, p.id LIMIT 1) AS first
        ORDER BY first.received_at, first.id LIMIT 1) AS f;
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.first_bearers_of(bigint[], bigint[], timestamptz, timestamptz) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0014_words_in_one_place")]

    operations = [
        # There is no way back: the release before can't call these functions either.
        migrations.RunSQL(
            before.LOADED
            + NEAREST.format(branches="".join(BRANCH.format(size=size) for size in before.SIZES))
            + FIRST_BEARERS
        ),
    ]
