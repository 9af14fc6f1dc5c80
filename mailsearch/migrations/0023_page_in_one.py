"""One statement a page: a search's page is ranked and read in one trip to the database, and what it asks of the query's
words first in another.

A page took nine statements in five trips, each of which cost more than what the server did for it. Now the scope is
bound, the words are ranked and the messages are read with all that stands on a page in one statement, which is a
transaction by itself. What reads messages runs with the rights of whoever calls it, so under row-level security.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0015_near_enough")

# For whom a statement that is a transaction by itself looks at mail: the same four settings as `sessions.bind` makes,
# with the same rights, and gone at its end.
BIND = """
    PERFORM set_config('app.tenant', p_tenant, true);
    PERFORM set_config('app.mailboxes', p_mailboxes, true);
    PERFORM set_config('app.quarantined', '', true);
    PERFORM set_config('app.audit', '', true);"""
# Rows are joined one by one, by plans that are made once a session: there are few, whatever the store holds.
SETTINGS = """SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET max_parallel_workers_per_gather = 0 SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off"""
STEMMERS = (
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek",
    "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese",
    "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip

UNDERSTOOD = f"""
-- What a search asks of its scope first (mail_search.standing), and what every dictionary (in the order of their names)
-- makes of each of p_words: its stem, or NULL where it says nothing. `documents` are those of `lexemes`, which are
-- p_lexemes and all stems.
CREATE FUNCTION mail_search.understood(
    p_tenant text, p_mailboxes text, p_folders bigint[], p_from timestamptz, p_until timestamptz, p_lexemes text[],
    p_words text[]
) RETURNS TABLE (
    indexed_until timestamptz, may_leave text, documents bigint[], counted bigint, stored bigint, lexemes text[],
    stems text[]
)
LANGUAGE plpgsql ROWS 1 SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_word text;
    v_stems text[] := '{{}}';
    v_lexemes text[] := p_lexemes;
BEGIN{BIND}
    FOREACH v_word IN ARRAY p_words LOOP
        v_stems := v_stems || ARRAY[ARRAY[
            {", ".join(f"(ts_lexize('{one}_stem', v_word))[1]" for one in STEMMERS)}]];
    END LOOP;
    IF cardinality(v_stems) > 0 THEN
        v_lexemes := ARRAY(SELECT unnest(p_lexemes) UNION SELECT s.stem FROM unnest(v_stems) AS s (stem)
                           WHERE s.stem IS NOT NULL);
    END IF;
    RETURN QUERY SELECT s.indexed_until, s.may_leave, s.documents, s.counted, s.stored, v_lexemes, v_stems
    FROM mail_search.standing(p_folders, p_from, p_until, v_lexemes) AS s;
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.understood(text, text, bigint[], timestamptz, timestamptz, text[], text[]) FROM PUBLIC;
"""

PAGE = f"""
-- One page of what words find: its messages in order, how many copies each stands for, how many messages match and how
-- many hits there are as far as the page's end and one more. The session sees what is named until the statement ends.
CREATE FUNCTION mail_search.page(
    p_tenant text, p_mailboxes text, p_folders bigint[], p_from timestamptz, p_until timestamptz, p_narrow jsonb,
    p_strict text, p_broad text, p_own text, p_terms text[], p_weights float8[], p_forms float8[], p_caps integer[],
    p_expected bigint[], p_small boolean, p_depth integer, p_offset integer, p_limit integer
) RETURNS TABLE (messages bigint[], copies bigint[], total bigint, hits integer)
LANGUAGE plpgsql ROWS 1 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_messages bigint[];
    v_copies bigint[];
    v_total bigint;
BEGIN{BIND}
    IF p_narrow IS NULL THEN
        SELECT array_agg(f.message_id), array_agg(f.copies), max(f.total) INTO v_messages, v_copies, v_total
        FROM mail_search.best(p_folders, p_from, p_until, p_strict, p_broad, p_own, p_terms, p_weights, p_forms, p_caps,
                              p_expected, p_small, p_depth, true) AS f;
    ELSE
        SELECT array_agg(f.message_id ORDER BY f.place), array_agg(f.copies ORDER BY f.place), max(f.total)
        INTO v_messages, v_copies, v_total
        FROM mail_search.ranked(p_narrow, p_strict, p_broad, p_own, p_terms, p_weights, p_caps, p_depth, true) AS f;
    END IF;
    RETURN QUERY SELECT coalesce(v_messages[p_offset + 1:p_offset + p_limit], '{{}}'),
                        coalesce(v_copies[p_offset + 1:p_offset + p_limit], '{{}}'),
                        coalesce(v_total, 0), coalesce(cardinality(v_messages), 0);
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.page(
    text, text, bigint[], timestamptz, timestamptz, jsonb, text, text, text, text[], float8[], float8[], integer[],
    bigint[], boolean, integer, integer, integer) FROM PUBLIC;
"""

HEADS = f"""
-- Of p_messages those that the session and the rest of the scope let be seen, each with its place among them, its
-- people (in their order, each with the address that bore the name first in scope) and its attachments; with p_texts
-- also with what they say. Runs with the rights of whoever calls it.
CREATE FUNCTION mail_search.heads(
    p_messages bigint[], p_folders bigint[], p_from timestamptz, p_until timestamptz, p_deleted boolean, p_texts boolean
) RETURNS TABLE (
    place bigint, message_id bigint, public_id varchar, thread_id varchar, rfc_message_id text, mailbox varchar,
    folder varchar, subject text, sent_at timestamptz, sent_offset integer, received_at timestamptz, date_disputed boolean,
    language varchar, spf varchar, dkim varchar, dmarc varchar, nested boolean, carrier_name text, carrier_address text,
    roles varchar[], names text[], addresses text[], bearers text[],
    attachment_ids varchar[], filenames text[], content_types varchar[], sizes integer[], states varchar[],
    body_text text, body_blocks jsonb, body_regions jsonb, hidden_text text,
    texts text[], blocks jsonb[], page_starts jsonb[], hidden_texts text[]
)
LANGUAGE plpgsql STABLE ROWS 20 {SETTINGS} AS $$
#variable_conflict use_column
DECLARE
    v_names text[];
    v_addresses text[];
BEGIN
    SELECT array_agg(lower(p.name)), array_agg(p.address) INTO v_names, v_addresses
    FROM mail_search.first_bearers_of(p_messages, p_folders, p_from, p_until) AS b
    JOIN public.mailsearch_participant p ON p.id = b.participant_id;
    RETURN QUERY SELECT
        u.place, m.id, m.public_id, CASE WHEN t.merged_into_id IS NULL THEN t.public_id ELSE coalesce((
            WITH RECURSIVE up AS (
                SELECT one.public_id, one.merged_into_id FROM public.mailsearch_thread one WHERE one.id = t.id
                UNION
                SELECT one.public_id, one.merged_into_id
                FROM up JOIN public.mailsearch_thread one ON one.id = up.merged_into_id
            ) SELECT up.public_id FROM up WHERE up.merged_into_id IS NULL), t.public_id) END,
        m.rfc_message_id, b.slug, f.path, m.subject, m.sent_at, m.sent_offset, m.received_at, m.date_disputed,
        m.language, m.spf, m.dkim, m.dmarc, m.container_id IS NOT NULL, c.name, c.address,
        p.roles, p.names, p.addresses, p.bearers,
        a.ids, a.filenames, a.content_types, a.sizes, a.states,
        CASE WHEN p_texts THEN m.body_text END, CASE WHEN p_texts THEN m.body_blocks END,
        CASE WHEN p_texts THEN m.body_regions END, CASE WHEN p_texts THEN m.hidden_text END,
        a.texts, a.blocks, a.page_starts, a.hidden_texts
    FROM unnest(p_messages) WITH ORDINALITY AS u (id, place)
    JOIN public.mailsearch_message m ON m.id = u.id
    JOIN public.mailsearch_thread t ON t.id = m.thread_id
    LEFT JOIN public.mailsearch_mailbox b ON b.id = m.mailbox_id
    LEFT JOIN public.mailsearch_folder f ON f.id = m.folder_id
    LEFT JOIN LATERAL (
        SELECT one.name, one.address FROM public.mailsearch_participant one
        WHERE one.message_id = m.container_id AND one.role IN ('from', 'sender')
        ORDER BY one.role, one.position, one.id LIMIT 1) AS c ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(one.role) AS roles, array_agg(one.name) AS names, array_agg(one.address) AS addresses,
               array_agg(CASE WHEN one.name <> '' THEN v_addresses[array_position(v_names, lower(one.name))] END) AS bearers
        FROM (SELECT p.role, p.name, p.address FROM public.mailsearch_participant p
              WHERE p.message_id = m.id ORDER BY p.position, p.id) AS one) AS p ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(one.public_id) AS ids, array_agg(one.filename) AS filenames,
               array_agg(one.content_type) AS content_types, array_agg(one.size) AS sizes, array_agg(one.state) AS states,
               array_agg(one.text) FILTER (WHERE p_texts) AS texts, array_agg(one.blocks) FILTER (WHERE p_texts) AS blocks,
               array_agg(one.page_starts) FILTER (WHERE p_texts) AS page_starts,
               array_agg(one.hidden_text) FILTER (WHERE p_texts) AS hidden_texts
        FROM (SELECT a.public_id, a.filename, a.content_type, a.size, a.state, a.text, a.blocks,
                     to_jsonb(a.page_starts) AS page_starts, a.hidden_text
              FROM public.mailsearch_attachment a WHERE a.message_id = m.id ORDER BY a.position, a.id) AS one) AS a ON true
    WHERE m.folder_id = ANY (p_folders) AND (p_deleted OR m.deleted_at_source IS NULL)
      AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until);
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.heads(bigint[], bigint[], timestamptz, timestamptz, boolean, boolean) FROM PUBLIC;
"""
# One sort for all names instead of one each.
FIRST_BEARERS = """
CREATE OR REPLACE FUNCTION mail_search.first_bearers_of(
    p_messages bigint[], p_folders bigint[], p_from timestamptz, p_until timestamptz
) RETURNS TABLE (participant_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_memoize = off
AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
BEGIN
    RETURN QUERY SELECT f.id FROM (
        SELECT DISTINCT ON (n.name) n.name, first.id FROM (
            SELECT DISTINCT left(lower(p.name), 100) AS name FROM public.mailsearch_participant p
            WHERE p.message_id = ANY (p_messages) AND p.tenant_id = v_tenant AND p.mailbox_id = ANY (v_mailboxes)
              AND NOT p.quarantined AND p.name <> '') AS n, unnest(v_mailboxes) AS b (id), LATERAL (
            SELECT p.id, p.received_at
            FROM public.mailsearch_participant p JOIN public.mailsearch_message m ON m.id = p.message_id
            WHERE p.mailbox_id = b.id AND left(lower(p.name), 100) = n.name
              AND p.name <> '' AND p.address <> '' AND p.tenant_id = v_tenant AND NOT p.quarantined
              AND NOT m.quarantined AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)
              AND (p_from IS NULL OR p.received_at >= p_from) AND (p_until IS NULL OR p.received_at < p_until)
            ORDER BY p.received_at, p.id LIMIT 1) AS first
        ORDER BY n.name, first.received_at, first.id) AS f;
END $$;
"""
UNDO = """
DROP FUNCTION mail_search.heads(bigint[], bigint[], timestamptz, timestamptz, boolean, boolean);
DROP FUNCTION mail_search.page(
    text, text, bigint[], timestamptz, timestamptz, jsonb, text, text, text, text[], float8[], float8[], integer[],
    bigint[], boolean, integer, integer, integer);
DROP FUNCTION mail_search.understood(text, text, bigint[], timestamptz, timestamptz, text[], text[]);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0022_by_hand")]

    operations = [
        migrations.RunSQL(
            UNDERSTOOD + PAGE + HEADS + FIRST_BEARERS,
            UNDO + before.FIRST_BEARERS.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
        )
    ]
