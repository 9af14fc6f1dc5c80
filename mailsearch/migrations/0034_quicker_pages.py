"""A page of one word with fewer looks into indexes, and ranked by one statement that hands on nothing but the page.

What a word finds was put into a table, taken out to be folded, put into another one to be counted, and gathered into
arrays. Now it is folded as it is read. When the newest mail came in was looked for folder by folder, a page of an index
each; now in most folders nothing is left to look at, since two of them have told how new the newest is at least. Who bore
a name first was looked up in each mailbox; whoever may read all mailboxes of a tenant has it looked up once, in an index
of its own.
"""

from importlib import import_module

from django.db import migrations

ranking = import_module("mailsearch.migrations.0014_words_in_one_place")
changed = import_module("mailsearch.migrations.0018_own_words").changed
one_trip = import_module("mailsearch.migrations.0028_page_in_one_trip")
fewer = import_module("mailsearch.migrations.0029_fewer_plans")
ready = import_module("mailsearch.migrations.0031_ready_pages")

# The newest of a folder's mail that may be seen.
_IN_SCOPE = """m.tenant_id = v_tenant AND NOT m.quarantined
               AND m.deleted_at_source IS NULL AND m.mailbox_id = ANY (v_mailboxes)
               AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)"""
# A look into an index reads as much of a folder as stands together there. Beyond what the first and the last folder
# have, there is mostly nothing.
_LATEST = f"""(SELECT greatest(nullif(sure.imported_at, '-infinity'), (
             SELECT max(latest.imported_at) FROM unnest(p_folders[2:cardinality(p_folders) - 1]) AS f (id), LATERAL (
                 SELECT m.imported_at FROM public.mailsearch_message m
                 WHERE m.folder_id = f.id AND m.imported_at > sure.imported_at AND {_IN_SCOPE}
                 ORDER BY m.imported_at DESC LIMIT 1) AS latest))
         FROM (SELECT coalesce(max(latest.imported_at), '-infinity') AS imported_at
               FROM unnest(ARRAY[p_folders[1], p_folders[cardinality(p_folders)]]) AS f (id), LATERAL (
                   SELECT m.imported_at FROM public.mailsearch_message m
                   WHERE m.folder_id = f.id AND {_IN_SCOPE}
                   ORDER BY m.imported_at DESC LIMIT 1) AS latest) AS sure)"""


def _folded(where: str = "") -> str:
    """What mail_search.best makes of what is found by one way alone, with arrays for rows."""
    return f"""
        SELECT (array_agg(g.first & 1125899906842623))[1:p_depth], (array_agg(g.copies))[1:p_depth],
               coalesce(max(g.first >> 50), 0)
        INTO messages, copies, total
        FROM (SELECT max(f.age << 50 | f.message_id) AS first, count(*) AS copies
              FROM (SELECT n.*, row_number() OVER (ORDER BY n.received_at DESC, n.message_id DESC) AS age
                    FROM (SELECT d.message_id, d.received_at, d.key,
                                 (2 + d.own) * 1073741824::bigint
                                 + round(1000 * (1 - d.damping / (d.damping + v_forms * d.rank)))::bigint AS points
                          FROM (SELECT d.message_id, d.received_at, coalesce(d.words_key, d.message_id) AS key,
                                       CASE WHEN d.words @@ v_own THEN 1 ELSE 0 END AS own,
                                       {ranking.RANK.format(term="v_words")} AS rank,
                                       0.35::float8 * (0.4::float8 + 0.6::float8 * least(d.length, 4000) / 120) AS damping
                                FROM public.mailsearch_searchdocument d
                                WHERE d.words @@ v_words AND d.tenant_id = v_tenant AND d.mailbox_id + 0 = ANY (v_mailboxes)
                                  AND NOT d.quarantined AND NOT d.deleted AND d.folder_id = ANY (p_among)
                                  AND (p_from IS NULL OR d.received_at >= p_from)
                                  AND (p_until IS NULL OR d.received_at < p_until) {where}
                                OFFSET 0) AS d OFFSET 0) AS n
                    ORDER BY n.received_at DESC, n.message_id DESC LIMIT p_cap) AS f
              GROUP BY f.key ORDER BY max(f.points << 12 | (4095 - f.age)) DESC) AS g;"""


WORD = f"""
-- What mail_search.weighed and mail_search.best make of a single word, by fewer statements: the best p_depth messages of
-- p_among, best first, how many copies each stands for, how many were looked at, and what was learnt of the word.
-- `looked` is false, and nothing was looked for, where it says nothing in any language, or may stand in far more than
-- p_cap messages.
CREATE FUNCTION mail_search.word(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_word text, p_known text, p_silent integer,
    p_among bigint[], p_cap integer, p_depth integer, OUT looked boolean, OUT messages bigint[], OUT copies bigint[],
    OUT total bigint, OUT indexed_until timestamptz, OUT lexemes text[], OUT known text, OUT silent integer
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 SET jit = off SET enable_seqscan = off
SET enable_sort = off AS $$
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_word text := p_word;
    v_words tsquery;
    v_own tsquery;
    v_forms float8;
    v_text text;
    v_most bigint;
    v_counted bigint;
    v_stored bigint;
    v_small boolean;
    v_places bigint[];
BEGIN
    known := p_known;
    silent := p_silent;
    IF known IS NULL THEN
        SELECT v_word || coalesce(string_agg(DISTINCT ' ' || s.stem, '') FILTER (
                                      WHERE length(s.stem) >= 3 AND s.stem <> v_word), ''),
               coalesce(sum(1 << (s.n - 1)::integer) FILTER (WHERE s.stem IS NULL), 0)
        INTO known, silent FROM unnest(ARRAY[
            {one_trip.STEMS}]) WITH ORDINALITY AS s (stem, n);
    END IF;
    looked := silent = 0;
    IF NOT looked THEN
        RETURN;
    END IF;
    lexemes := string_to_array(known, ' ');
    SELECT {_LATEST}, counts.most, counts.whole,
        (SELECT c.reltuples::bigint FROM pg_class c WHERE c.oid = 'public.mailsearch_searchdocument'::regclass)
    INTO indexed_until, v_most, v_counted, v_stored
    FROM (SELECT max(one.documents) FILTER (WHERE one.lexeme <> '') AS most,
                 max(one.documents) FILTER (WHERE one.lexeme = '') AS whole
          FROM (SELECT c.lexeme, sum(c.documents) AS documents FROM public.mailsearch_termcount c
                WHERE c.mailbox_id = ANY (v_mailboxes) AND c.lexeme = ANY (lexemes || ''::text) AND c.tenant_id = v_tenant
                GROUP BY c.lexeme) AS one) AS counts;
    looked := coalesce(v_most, 0) <= 2 * p_cap;
    IF NOT looked THEN
        RETURN;
    END IF;
    v_text := '''' || replace(replace(replace(known, '\\', '\\\\'), '''', ''''''), ' ', ''' | ''') || '''';
    v_words := v_text;
    v_own := replace(v_text, ''' | ''', ''':ABC | ''') || ':ABC';
    v_forms := cardinality(lexemes);
    v_small := coalesce(v_counted, 0) < {one_trip.SMALL} * v_stored;
    IF v_small THEN
        v_places := ARRAY(SELECT -b FROM unnest(v_mailboxes) AS b);{_folded("AND d.places && v_places")}
    END IF;
    -- For nobody both are planned, so that no caller waits for it.
    IF NOT v_small OR cardinality(v_mailboxes) = 0 THEN{_folded()}
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.word(
    bigint[], timestamptz, timestamptz, text, text, integer, bigint[], integer, integer) FROM PUBLIC;
"""
FOUND = f"""
CREATE OR REPLACE FUNCTION mail_search.found(p_tenant text, p_mailboxes text,{one_trip.CUT},
    p_among bigint[], p_narrow jsonb, p_caps integer[], p_depth integer, p_offset integer, p_limit integer
) RETURNS TABLE (
    messages bigint[], copies bigint[], total bigint, hits integer, indexed_until timestamptz, lexemes text[],
    worths float8[], known text[], silent integer[]
)
LANGUAGE plpgsql ROWS 1 SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v record;
    v_looked boolean := false;
    v_known text[] := p_known;
    v_silent integer[] := p_silent;
    v_messages bigint[];
    v_copies bigint[];
    v_total bigint;
BEGIN
    PERFORM set_config('app.tenant', p_tenant, true), set_config('app.mailboxes', p_mailboxes, true),
            set_config('app.quarantined', '', true), set_config('app.audit', '', true);
    -- A word by itself, as a query is cut.
    IF p_narrow IS NULL AND p_terms = '{{((%1$s))}}' AND p_slots = '{{%1$s}}' AND p_excluded = '{{}}' THEN
        v := mail_search.word(p_folders, p_from, p_until, p_words[1], p_known[1], p_silent[1], p_among, p_caps[1], p_depth);
        v_known[1] := v.known;
        v_silent[1] := v.silent;
        v_looked := v.looked;
    END IF;
    IF v_looked THEN
        v_messages := v.messages;
        v_copies := v.copies;
        v_total := v.total;
        worths := array_fill(1::float8, ARRAY[cardinality(v.lexemes)]);
        known := v_known;
        silent := v_silent;
    ELSE
        v := mail_search.weighed(
            p_folders, p_from, p_until, p_words, v_known, v_silent, p_terms, p_owns, p_required, p_alone, p_slots,
            p_slot_terms, p_excluded, p_question);
        worths := v.worths;
        known := v.known;
        silent := v.silent;
        IF p_narrow IS NULL THEN
            SELECT array_agg(f.message_id), array_agg(f.copies), max(f.total) INTO v_messages, v_copies, v_total
            FROM mail_search.best(p_among, p_from, p_until, v.complete, v.broad, v.own, v.terms, v.weights, v.forms, p_caps,
                                  v.expected, v.small, p_depth, true) AS f;
        ELSE
            SELECT array_agg(f.message_id ORDER BY f.place), array_agg(f.copies ORDER BY f.place), max(f.total)
            INTO v_messages, v_copies, v_total
            FROM mail_search.ranked(p_narrow, v.complete, v.broad, v.own, v.terms, v.weights, p_caps, p_depth, true) AS f;
        END IF;
    END IF;
    -- Row-level security is asked before anything is read.
    messages := ARRAY(
        SELECT m.id FROM unnest(v_messages[p_offset + 1:p_offset + p_limit]) WITH ORDINALITY AS u (id, place)
        LEFT JOIN LATERAL (
            SELECT m.id FROM public.mailsearch_message m
            WHERE m.id = u.id AND m.folder_id = ANY (p_folders) AND m.deleted_at_source IS NULL
              AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)
            OFFSET 0) AS m ON true
        ORDER BY u.place);
    copies := coalesce(v_copies[p_offset + 1:p_offset + p_limit], '{{}}');
    total := coalesce(v_total, 0);
    hits := coalesce(cardinality(v_messages), 0);
    indexed_until := v.indexed_until;
    lexemes := v.lexemes;
    RETURN NEXT;
END $$;
"""
INDEX = """
CREATE INDEX participant_by_name_in_tenant ON mailsearch_participant
    (tenant_id, left(lower(name), 100), received_at, id) WHERE name <> '' AND address <> '';
"""
_BY_MAILBOX = fewer.WRITTEN[
    fewer.WRITTEN.index("    SELECT array_agg(f.name)") : fewer.WRITTEN.index("    IF NOT v_seen THEN")
]
# The same over all mailboxes at once.
_BY_TENANT = changed(
    _BY_MAILBOX,
    ("SELECT DISTINCT ON (n.name) lower", "SELECT lower"),
    ("            unnest(v_mailboxes) AS b (id), LATERAL (\n", "            LATERAL (\n"),
    ("p.mailbox_id = b.id AND left", "p.tenant_id = v_tenant AND left"),
    (
        "p.tenant_id + 0 = v_tenant AND NOT p.quarantined\n              AND (p_from",
        "p.mailbox_id + 0 = ANY (v_mailboxes) AND NOT p.quarantined\n              AND (p_from",
    ),
    ("\n        ORDER BY n.name, first.received_at, first.id) AS f", ") AS f"),
)
# For nobody both are planned.
_EITHER = f"""    v_whole := cardinality(v_mailboxes) > 1 AND NOT EXISTS (
        SELECT FROM public.mailsearch_mailbox b WHERE b.tenant_id = v_tenant AND b.id <> ALL (v_mailboxes));
    IF v_whole OR v_mailboxes IS NULL THEN
{_BY_TENANT}    END IF;
    IF NOT v_whole OR v_mailboxes IS NULL THEN
{_BY_MAILBOX}    END IF;
"""
WRITTEN = changed(
    fewer.WRITTEN,
    (_BY_MAILBOX, _EITHER),
    ("    v_seen boolean;\n", "    v_whole boolean;\n    v_seen boolean;\n"),
    (
        "    -- Of each name the first of what is first in each mailbox.",
        "    -- Of each name the first in the tenant, or where some mailboxes of it are not seen the first of what is first\n"
        "    -- in each mailbox.",
    ),
)
UNDO = """
DROP INDEX participant_by_name_in_tenant;
DROP FUNCTION mail_search.word(
    bigint[], timestamptz, timestamptz, text, text, integer, bigint[], integer, integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0033_newest_by_moment")]

    operations = [migrations.RunSQL(INDEX + WORD + FOUND + WRITTEN, fewer.WRITTEN + ready.FOUND + UNDO)]
