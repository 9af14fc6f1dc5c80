"""Functions that search on a caller's behalf, and the indexes they need.

Row-level security keeps Postgres from using a full-text index, since matching is no leakproof operation. So the
owner of the tables lends its eyes to a few functions. They read tenant and mailboxes from the session's own settings
and never from an argument, leave out quarantined mail and mail deleted at its source, and return nothing but ids and
numbers; callers join those back to the tables under row-level security, which makes two fences. Arguments only narrow.
"""

from django.db import migrations

BOUND = """m.tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
          AND m.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])
          AND NOT m.quarantined AND m.deleted_at_source IS NULL"""

# What `p_narrow` may hold; each key that is missing narrows nothing, an empty list leaves nothing. Of people, subjects
# and file names every group must have one pattern that is there.
DECLARED = """
    folders bigint[] := mail_search.numbers(p_narrow -> 'folders');
    messages bigint[] := mail_search.numbers(p_narrow -> 'messages');
    threads bigint[] := mail_search.numbers(p_narrow -> 'threads');
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

SETTINGS = "SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan"

FOLDING = """
CREATE FUNCTION mail_search.fold(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(regexp_replace(normalize(p_text, NFKD), '[\u0300-\u036f]', '', 'g'));

CREATE FUNCTION mail_search.numbers(p_list jsonb) RETURNS bigint[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN p_list IS NULL OR p_list = 'null' THEN NULL
           ELSE ARRAY(SELECT one::bigint FROM jsonb_array_elements_text(p_list) AS one) END
$$;
"""

# Folding costs some ten microseconds a text: far too much to do again for each passage that a filter looks at.
FOLDED = """
ALTER TABLE mailsearch_participant
    ADD COLUMN folded text GENERATED ALWAYS AS (address || chr(10) || mail_search.fold(name)) STORED;
ALTER TABLE mailsearch_message
    ADD COLUMN subject_folded text GENERATED ALWAYS AS (mail_search.fold(subject)) STORED;
ALTER TABLE mailsearch_attachment
    ADD COLUMN filename_folded text GENERATED ALWAYS AS (mail_search.fold(filename)) STORED;
"""
UNDO_FOLDED = """
ALTER TABLE mailsearch_participant DROP COLUMN folded;
ALTER TABLE mailsearch_message DROP COLUMN subject_folded;
ALTER TABLE mailsearch_attachment DROP COLUMN filename_folded;
"""

CANDIDATES = f"""
-- Messages that match, newest first and at most p_cap of each pass; ranked by p_terms and p_weights.
-- p_strict and p_broad are two ways to match; with both NULL every message matches.
CREATE FUNCTION mail_search.ranked(
    p_narrow jsonb, p_strict text, p_broad text, p_terms text[], p_weights float8[], p_cap integer
) RETURNS TABLE (message_id bigint, score float8, complete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER {SETTINGS} AS $$
#variable_conflict use_column
DECLARE
    {DECLARED}
    v_strict tsquery := p_strict::tsquery;
    v_broad tsquery := p_broad::tsquery;
    v_terms tsquery[] := p_terms::tsquery[];
    -- ts_rank shares a word's occurrences among the forms that it is asked for in; this takes that back.
    v_forms float8[] := ARRAY(
        SELECT CASE WHEN t::text ~ '<|&' THEN 1 ELSE (numnode(t) + 1) / 2 END
        FROM unnest(v_terms) WITH ORDINALITY AS u (t, place) ORDER BY place);
    v_ids bigint[];
BEGIN
    IF v_strict IS NULL AND v_broad IS NULL THEN
        RETURN QUERY SELECT m.id, 0::float8, true FROM public.mailsearch_message m
        WHERE {BOUND}
          AND {NARROWED}
        ORDER BY m.received_at DESC, m.id DESC LIMIT p_cap;
        RETURN;
    END IF;
    IF v_strict IS NOT NULL THEN
        v_ids := ARRAY(
            SELECT m.id FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
            WHERE d.words @@ v_strict AND {BOUND}
          AND {NARROWED}
            ORDER BY m.received_at DESC, m.id DESC LIMIT p_cap);
    END IF;
    IF v_broad IS NOT NULL THEN
        v_ids := v_ids || ARRAY(
            SELECT m.id FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
            WHERE d.words @@ v_broad AND {BOUND}
          AND {NARROWED}
            ORDER BY m.received_at DESC, m.id DESC LIMIT p_cap);
    END IF;
    -- Okapi BM25's form over ts_rank of each term, which already saturates with the number of occurrences and knows
    -- the fields' weights (D quoted, C text, B people and file names, A subject). 120 words stand for the average
    -- length: a real average would tell about mail outside the caller's scope.
    RETURN QUERY
        SELECT d.message_id,
               (SELECT coalesce(sum(t.weight * r.rank / (r.rank + d.damping)), 0)
                FROM unnest(v_terms, p_weights, v_forms) AS t (term, weight, forms),
                LATERAL (SELECT t.forms * ts_rank('{{0.15, 0.5, 0.5, 0.7}}', d.words, t.term) AS rank) AS r),
               coalesce(d.words @@ v_strict, false)
        -- Deleting nothing unpacks the words once, instead of once for each term.
        FROM (SELECT c.message_id, 0.35 * (0.4 + 0.6 * least(c.length, 4000) / 120.0) AS damping,
                     ts_delete(c.words, ''::text) AS words
              FROM public.mailsearch_searchdocument c
              WHERE c.message_id IN (SELECT unnest(v_ids)) OFFSET 0) AS d;
END $$;

-- In how many messages each term occurs; exact, for scopes that the counts by mailbox do not describe.
CREATE FUNCTION mail_search.frequencies(p_narrow jsonb, p_terms text[])
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
        WHERE d.words @@ v_term AND {BOUND}
          AND {NARROWED};
    END LOOP;
END $$;
"""

NEAREST = f"""
-- The best passages of each message, nearest first, at most p_limit passages. Exact where p_exact, else by the index.
CREATE FUNCTION mail_search.nearest(
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
          AND {NARROWED}
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
          AND {NARROWED}
        ORDER BY v.embedding::public.halfvec({{size}}) OPERATOR(public.<=>) v_near::public.halfvec({{size}})
        LIMIT p_limit;
"""
SIZES = (384, 512, 768, 1024, 1536)

NAMES = """
-- For each name, the first row of a participant in scope that bore it.
CREATE FUNCTION mail_search.first_bearers(p_names text[], p_folders bigint[], p_from timestamptz, p_until timestamptz)
RETURNS TABLE (participant_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT f.id FROM unnest(p_names) AS n (name), LATERAL (
        SELECT p.id FROM public.mailsearch_participant p JOIN public.mailsearch_message m ON m.id = p.message_id
        WHERE left(lower(p.name), 100) = left(lower(n.name), 100) AND p.address <> ''
          AND p.tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
          AND p.mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[]) AND NOT p.quarantined
          AND NOT m.quarantined AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)
          AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)
        ORDER BY m.received_at, p.id LIMIT 1) AS f
$$;
"""

INDEXES = """
CREATE INDEX vector_by_mailbox ON mailsearch_passagevector (mailbox_id, model);
CREATE INDEX participant_by_name ON mailsearch_participant (tenant_id, left(lower(name), 100));
CREATE INDEX message_by_import ON mailsearch_message (mailbox_id, imported_at DESC);
""" + "\n".join(
    f"CREATE INDEX vector_near_{size} ON mailsearch_passagevector USING hnsw"
    f" ((embedding::halfvec({size})) halfvec_cosine_ops) WHERE vector_dims(embedding) = {size};"
    for size in SIZES
)
FUNCTIONS = (
    "fold(text)",
    "numbers(jsonb)",
    "ranked(jsonb, text, text, text[], float8[], integer)",
    "frequencies(jsonb, text[])",
    "nearest(jsonb, text, text, integer, boolean)",
    "first_bearers(text[], bigint[], timestamptz, timestamptz)",
)
PRIVATE = "\n".join(f"REVOKE EXECUTE ON FUNCTION mail_search.{function} FROM PUBLIC;" for function in FUNCTIONS)
UNDO_FUNCTIONS = "\n".join(f"DROP FUNCTION mail_search.{function};" for function in reversed(FUNCTIONS))
UNDO_INDEXES = "DROP INDEX vector_by_mailbox, participant_by_name, message_by_import;" + "".join(
    f"DROP INDEX vector_near_{size};" for size in SIZES
)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0003_thread_arrival")]

    operations = [
        migrations.RunSQL(INDEXES, UNDO_INDEXES),
        migrations.RunSQL(
            FOLDING
            + FOLDED
            + CANDIDATES
            + NEAREST.format(branches="".join(BRANCH.format(size=size) for size in SIZES))
            + NAMES
            + PRIVATE,
            UNDO_FOLDED + UNDO_FUNCTIONS,
        ),
    ]
