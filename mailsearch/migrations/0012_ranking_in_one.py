"""Ranking at a third of its cost, an order of time to walk along for common words, and filters that exclude.

A term's rank was worked out in a query of its own for each message; now the terms stand side by side in one expression,
of which the planner drops those that are not asked for. The search function sorts, counts and cuts off, so that only
what may be shown is joined back to the tables under row-level security. A word that stands in most mail is looked for
from the newest message backwards until there are enough, however much mail there is.
"""

from django.db import migrations

BOUND = """m.tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
          AND m.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])
          AND NOT m.quarantined AND m.deleted_at_source IS NULL"""
# The same again where other tenants' messages would else be looked up just to be left out.
OF_DOCUMENT = """d.tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
          AND d.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])"""

# What `p_narrow` may hold; each key that is missing narrows nothing, an empty list leaves nothing. Of people, subjects
# and file names every group must have one pattern that is there. Keys that begin with `not_` take out what they name.
DECLARED = """
    folders bigint[] := mail_search.numbers(p_narrow -> 'folders');
    messages bigint[] := CASE WHEN p_narrow ? 'messages' THEN mail_search.numbers(p_narrow -> 'messages') END;
    threads bigint[] := CASE WHEN p_narrow ? 'threads' THEN mail_search.numbers(p_narrow -> 'threads') END;
    received_from timestamptz := p_narrow ->> 'received_from';
    received_until timestamptz := p_narrow ->> 'received_until';
    sent_after timestamptz := p_narrow ->> 'after';
    sent_before timestamptz := p_narrow ->> 'before';
    has_attachment boolean := p_narrow ->> 'has_attachment';
    unread boolean := p_narrow ->> 'unread';
    larger bigint := p_narrow ->> 'larger';
    people jsonb := p_narrow -> 'people';
    subjects jsonb := p_narrow -> 'subjects';
    filenames jsonb := p_narrow -> 'filenames';
    not_messages bigint[] := CASE WHEN p_narrow ? 'not_messages' THEN mail_search.numbers(p_narrow -> 'not_messages') END;
    not_threads bigint[] := CASE WHEN p_narrow ? 'not_threads' THEN mail_search.numbers(p_narrow -> 'not_threads') END;
    not_larger bigint := p_narrow ->> 'not_larger';
    not_people jsonb := p_narrow -> 'not_people';
    not_subjects jsonb := p_narrow -> 'not_subjects';
    not_filenames jsonb := p_narrow -> 'not_filenames';
"""
NARROWED = """m.folder_id = ANY (folders)
          AND (messages IS NULL OR m.id = ANY (messages))
          AND (threads IS NULL OR m.thread_id = ANY (threads))
          AND (received_from IS NULL OR m.received_at >= received_from)
          AND (received_until IS NULL OR m.received_at < received_until)
          AND (sent_after IS NULL OR coalesce(m.sent_at, m.received_at) >= sent_after)
          AND (sent_before IS NULL OR coalesce(m.sent_at, m.received_at) < sent_before)
          AND (has_attachment IS NULL OR (m.attachment_count > 0) = has_attachment)
          AND (unread IS NULL OR (m.flags && ARRAY['\\Seen', 'seen', 'S']::varchar[]) <> unread)
          AND (larger IS NULL OR m.size > larger)
          AND (people IS NULL OR NOT EXISTS (
              SELECT FROM jsonb_array_elements(people) AS g WHERE NOT EXISTS (
                  SELECT FROM public.mailsearch_participant p, jsonb_array_elements_text(g -> 'any') AS part
                  WHERE p.message_id = m.id AND NOT p.quarantined AND g -> 'roles' ? p.role
                    AND position(part IN p.folded) > 0)))
          AND (subjects IS NULL OR NOT EXISTS (
              SELECT FROM jsonb_array_elements(subjects) AS g WHERE NOT EXISTS (
                  SELECT FROM jsonb_array_elements_text(g) AS part
                  WHERE position(part IN m.subject_folded) > 0)))
          AND (filenames IS NULL OR NOT EXISTS (
              SELECT FROM jsonb_array_elements(filenames) AS g WHERE NOT EXISTS (
                  SELECT FROM public.mailsearch_attachment a, jsonb_array_elements_text(g) AS part
                  WHERE a.message_id = m.id AND NOT a.quarantined
                    AND position(part IN a.filename_folded) > 0)))"""
EXCLUDED = """
          AND (not_messages IS NULL OR m.id <> ALL (not_messages))
          AND (not_threads IS NULL OR m.thread_id <> ALL (not_threads))
          AND (not_larger IS NULL OR m.size <= not_larger)
          AND (not_people IS NULL OR NOT EXISTS (
              SELECT FROM jsonb_array_elements(not_people) AS g, public.mailsearch_participant p,
                     jsonb_array_elements_text(g -> 'any') AS part
              WHERE p.message_id = m.id AND g -> 'roles' ? p.role AND position(part IN p.folded) > 0))
          AND (not_subjects IS NULL OR NOT EXISTS (
              SELECT FROM jsonb_array_elements_text(not_subjects) AS part
              WHERE position(part IN m.subject_folded) > 0))
          AND (not_filenames IS NULL OR NOT EXISTS (
              SELECT FROM public.mailsearch_attachment a, jsonb_array_elements_text(not_filenames) AS part
              WHERE a.message_id = m.id AND position(part IN a.filename_folded) > 0))"""
# Workers take longer to start than a search takes, and other searches need the cores.
SETTINGS = (
    "SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan"
    " SET max_parallel_workers_per_gather = 0"
)
# Terms that stand side by side; those beyond are ranked one by one.
SIDE_BY_SIDE = 12
RANK = "ts_rank('{{0.15, 0.5, 0.5, 0.7}}', d.words, {term})"
# weight * r / (r + damping), with r in it once.
SIDE = "p_weights[{n}] * (1 - d.damping / (d.damping + v_forms[{n}] * {rank}))"


def sides():
    return "\n                   + ".join(
        f"CASE WHEN v_count >= {n} THEN {SIDE.format(n=n, rank=RANK.format(term=f'v_terms[{n}]'))} ELSE 0 END"
        for n in range(1, SIDE_BY_SIDE + 1)
    )


RANKED = f"""
-- The best p_depth of the messages that match, in order, and how many match. p_strict and p_broad are two ways to
-- match, of which only the newest p_caps[1] and p_caps[2] messages are looked at; with both NULL every message matches.
CREATE FUNCTION mail_search.ranked(
    p_narrow jsonb, p_strict text, p_broad text, p_terms text[], p_weights float8[], p_caps integer[], p_depth integer
) RETURNS TABLE (place bigint, message_id bigint, score float8, total bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER {SETTINGS} AS $$
#variable_conflict use_column
DECLARE
    {DECLARED}
    v_strict tsquery := p_strict::tsquery;
    v_broad tsquery := p_broad::tsquery;
    v_words tsquery;
    v_terms tsquery[] := p_terms::tsquery[];
    v_count integer := cardinality(p_terms);
    -- ts_rank shares a word's occurrences among the forms that it is asked for in; this takes that back.
    v_forms float8[] := ARRAY(
        SELECT CASE WHEN t::text ~ '<|&' THEN 1 ELSE (numnode(t) + 1) / 2 END
        FROM unnest(v_terms) WITH ORDINALITY AS u (t, number) ORDER BY number);
    v_ids bigint[] := '{{}}';
    v_times timestamptz[] := '{{}}';
    v_found bigint[];
    v_found_times timestamptz[];
BEGIN
    IF v_strict IS NULL AND v_broad IS NULL THEN
        RETURN QUERY SELECT row_number() OVER (ORDER BY f.received_at DESC, f.id DESC), f.id, 0::float8,
                            count(*) OVER ()
        FROM (SELECT m.id, m.received_at FROM public.mailsearch_message m
              WHERE {BOUND}
          AND {NARROWED}{EXCLUDED}
              ORDER BY m.received_at DESC, m.id DESC LIMIT p_caps[1]) AS f
        ORDER BY 1 LIMIT p_depth;
        RETURN;
    END IF;
    FOR i IN 1 .. 2 LOOP
        v_words := CASE i WHEN 1 THEN v_strict ELSE v_broad END;
        CONTINUE WHEN v_words IS NULL;
        SELECT array_agg(f.id), array_agg(f.received_at) INTO v_found, v_found_times
        FROM (SELECT m.id, m.received_at
              FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
              WHERE d.words @@ v_words AND {OF_DOCUMENT} AND {BOUND}
          AND {NARROWED}{EXCLUDED}
              ORDER BY m.received_at DESC, m.id DESC LIMIT p_caps[i]) AS f;
        v_ids := v_ids || v_found;
        v_times := v_times || v_found_times;
    END LOOP;
    -- Okapi BM25's form over ts_rank of each term, which already saturates with the number of occurrences and knows
    -- the fields' weights (D quoted, C text, B people and file names, A subject). 120 words stand for the average
    -- length: a real average would tell about mail outside the caller's scope.
    RETURN QUERY
        SELECT row_number() OVER (
                   ORDER BY r.complete DESC, round(r.score * 1000) DESC, r.received_at DESC, r.id DESC),
               r.id, r.score, count(*) OVER ()
        FROM (
            SELECT d.id, d.received_at,
                   {sides()}
                   + CASE WHEN v_count > {SIDE_BY_SIDE} THEN (
                       SELECT sum(t.weight * (1 - d.damping / (d.damping + t.forms * {RANK.format(term="t.term")})))
                       FROM unnest(v_terms[{SIDE_BY_SIDE + 1}:], p_weights[{SIDE_BY_SIDE + 1}:],
                                   v_forms[{SIDE_BY_SIDE + 1}:]) AS t (term, weight, forms)) ELSE 0 END AS score,
                   CASE WHEN v_broad IS NULL THEN true WHEN v_strict IS NULL THEN false
                        ELSE d.words @@ v_strict END AS complete
            FROM (SELECT u.id, u.received_at, 0.35 * (0.4 + 0.6 * least(c.length, 4000) / 120.0) AS damping,
                         -- Deleting nothing unpacks the words once, instead of once for each term.
                         CASE WHEN v_count > 1 THEN ts_delete(c.words, ''::text) ELSE c.words END AS words
                  FROM (SELECT DISTINCT one.id, one.received_at FROM unnest(v_ids, v_times) AS one (id, received_at)
                  ) AS u JOIN public.mailsearch_searchdocument c ON c.message_id = u.id OFFSET 0) AS d
            -- Else every mention of the score ranks anew.
            OFFSET 0
        ) AS r ORDER BY 1 LIMIT p_depth;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.ranked(jsonb, text, text, text[], float8[], integer[], integer) FROM PUBLIC;
"""

FREQUENCIES = f"""
CREATE OR REPLACE FUNCTION mail_search.frequencies(p_narrow jsonb, p_terms text[])
RETURNS TABLE (term integer, documents bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER {SETTINGS} AS $$
#variable_conflict use_column
DECLARE
    {DECLARED}
    v_term tsquery;
BEGIN
    FOR i IN 1 .. coalesce(array_length(p_terms, 1), 0) LOOP
        v_term := p_terms[i]::tsquery;
        RETURN QUERY SELECT i, count(*)
        FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
        WHERE d.words @@ v_term AND {OF_DOCUMENT} AND {BOUND}
          AND {NARROWED}{EXCLUDED};
    END LOOP;
END $$;
"""

NEAREST = f"""
-- The best passages of each message, nearest first, at most p_limit passages. Exact where p_exact, else by the index.
CREATE OR REPLACE FUNCTION mail_search.nearest(
    p_narrow jsonb, p_model text, p_embedding text, p_limit integer, p_exact boolean
) RETURNS TABLE (message_id bigint, passage_id bigint, distance float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER {SETTINGS}
SET hnsw.iterative_scan = relaxed_order SET hnsw.ef_search = 100 AS $$
#variable_conflict use_column
DECLARE
    {DECLARED}
    v_near public.halfvec := p_embedding::public.halfvec;
BEGIN
    IF p_exact THEN
        RETURN QUERY SELECT v.message_id, v.passage_id, (v.embedding OPERATOR(public.<=>) v_near) + 0 AS distance
        FROM public.mailsearch_passagevector v JOIN public.mailsearch_message m ON m.id = v.message_id
        WHERE v.model = p_model AND v.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])
          AND {BOUND}
          AND {NARROWED}{EXCLUDED}
        ORDER BY 3, 2 LIMIT p_limit;
        RETURN;
    END IF;
    CASE public.vector_dims(v_near)
    {{branches}}
    ELSE RAISE EXCEPTION 'no index for vectors of % dimensions', public.vector_dims(v_near);
    END CASE;
END $$;
"""
BRANCH = f"""
    WHEN {{size}} THEN
        RETURN QUERY SELECT v.message_id, v.passage_id,
            (v.embedding::public.halfvec({{size}}) OPERATOR(public.<=>) v_near::public.halfvec({{size}})) AS distance
        FROM public.mailsearch_passagevector v JOIN public.mailsearch_message m ON m.id = v.message_id
        WHERE v.model = p_model AND public.vector_dims(v.embedding) = {{size}} AND {BOUND}
          AND {NARROWED}{EXCLUDED}
        ORDER BY v.embedding::public.halfvec({{size}}) OPERATOR(public.<=>) v_near::public.halfvec({{size}})
        LIMIT p_limit;
"""
SIZES = (384, 512, 768, 1024, 1536)
# A session knows the settings of the extension once it has used something of it.
LOADED = "SELECT '[1]'::halfvec;"
INDEX = "CREATE INDEX message_by_time ON mailsearch_message (tenant_id, received_at DESC, id DESC);"
OLD = "DROP FUNCTION mail_search.ranked(jsonb, text, text, text[], float8[], integer);"


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0011_lighter_load")]

    operations = [
        # There is no way back: the release before can't call these functions either.
        migrations.RunSQL(
            LOADED
            + INDEX
            + OLD
            + RANKED
            + FREQUENCIES
            + NEAREST.format(branches="".join(BRANCH.format(size=size) for size in SIZES))
        ),
    ]
