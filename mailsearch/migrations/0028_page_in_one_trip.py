"""A page of what words find in one trip to the database.

What a search asked of its words first (their stems, how common they are) took a trip by itself, whose answer only went
back into the next one. Now the query comes as it was cut, and stems, weights and both ways to match are made where the
page is ranked.
"""

from importlib import import_module

from django.db import migrations

page = import_module("mailsearch.migrations.0023_page_in_one")
latest = import_module("mailsearch.migrations.0019_latest_by_folder")
changed = import_module("mailsearch.migrations.0018_own_words").changed

# As many messages stand for all where words are counted in a window, and so many that hold a word make it common.
WHOLE, COMMON = 10_000, 1_000
# A scope of so little of the store that mail of others is better kept away from in the index of words.
SMALL = 0.25
# Messages that hold any of the rarest words are looked at up to so many.
BROAD = 2_000
# The query as it was cut. `%n$s` in it stands for the forms of p_words[n].
CUT = """
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_words text[], p_known text[], p_silent integer[],
    p_terms text[], p_owns text[], p_required boolean[], p_alone integer[], p_slots text[], p_slot_terms integer[],
    p_excluded text[], p_question boolean"""
GIVEN = """p_folders, p_from, p_until, p_words, p_known, p_silent, p_terms, p_owns, p_required, p_alone, p_slots,
        p_slot_terms, p_excluded, p_question"""
TYPES = """bigint[], timestamptz, timestamptz, text[], text[], integer[], text[], text[], boolean[], integer[], text[],
    integer[], text[], boolean"""
STEMS = ",\n            ".join(f"(ts_lexize('{one}_stem', v_word))[1]" for one in page.STEMMERS)
ENGLISH = page.STEMMERS.index("english")

# What mail_search.standing tells, asked where it is needed.
_STANDING = latest.standing()
STANDING = changed(
    _STANDING[_STANDING.index("SELECT\n") : _STANDING.rindex(";\nEND")],
    ("unnest(p_lexemes)", "unnest(coalesce(lexemes, '{}'))"),
)

WEIGHED = f"""
-- What a query asks of a scope. Of its words p_known are the forms where they are known (each by all dictionaries, apart
-- by spaces), and p_silent the dictionaries (one bit each, in the order of their names) in which they say nothing.
-- p_terms are its terms, p_owns the same in a message's own words; p_required says which must be there, p_alone which is
-- a word by itself; p_slots are the words in a row that each of p_slot_terms is made of, by all lexemes that will do.
-- `complete` is all terms, `broad` every required one and any of the rarest others where that is something else; a word
-- that says nothing in the language of the query is none of them, unless all do. `weights` are BM25's idf, by counts of
-- the scope's mailboxes, and where the scope has a window by counts in it.
CREATE FUNCTION mail_search.weighed({CUT},
    OUT indexed_until timestamptz, OUT may_leave text, OUT small boolean, OUT complete text, OUT broad text, OUT own text,
    OUT terms text[], OUT weights float8[], OUT forms float8[], OUT expected bigint[], OUT lexemes text[],
    OUT worths float8[], OUT known text[], OUT silent integer[]
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_sort = off AS $$
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_word text;
    v_made text[];
    -- Of each word, as they stand in a tsquery.
    v_forms text[];
    v_own_forms text[];
    v_stops text[];
    -- Of each term that says something: its number, and whether it must be there.
    v_kept integer[] := '{{}}';
    v_required boolean[] := '{{}}';
    v_owns text[] := '{{}}';
    v_text text;
    v_at integer;
    -- Where the lexemes of each slot end.
    v_ends integer[] := '{{}}';
    v_of integer[] := '{{}}';
    v_documents bigint[];
    v_counted bigint;
    v_stored bigint;
    v_most bigint := 0;
    v_counts bigint[];
    v_total bigint;
    v_within bigint[];
    v_pieces text[] := '{{}}';
    v_rarest text[] := '{{}}';
    v_excluded text[] := '{{}}';
    v_sum bigint := 0;
    v_any boolean := false;
    v_least bigint;
BEGIN
    known := p_known;
    silent := p_silent;
    FOR n IN 1..cardinality(p_words) LOOP
        IF known[n] IS NULL THEN
            v_word := p_words[n];
            v_made := ARRAY[
            {STEMS}];
            SELECT v_word || coalesce(string_agg(DISTINCT ' ' || s.stem, '') FILTER (
                                          WHERE length(s.stem) >= 3 AND s.stem <> v_word), ''),
                   coalesce(sum(1 << (s.n - 1)::integer) FILTER (WHERE s.stem IS NULL), 0)
            INTO v_text, v_at FROM unnest(v_made) WITH ORDINALITY AS s (stem, n);
            known[n] := v_text;
            silent[n] := v_at;
        END IF;
        v_text := '''' || replace(replace(replace(known[n], '\\', '\\\\'), '''', ''''''), ' ', ''' | ''') || '''';
        v_forms[n] := v_text;
        v_own_forms[n] := replace(v_text, ''' | ''', ''':ABC | ''') || ':ABC';
    END LOOP;
    IF 0 <> ANY (silent) THEN
        -- The language of the query is the one in which most of its words say nothing.
        SELECT d INTO v_at FROM generate_series(0, {len(page.STEMMERS) - 1}) AS d, unnest(silent) AS s
        GROUP BY d ORDER BY sum(s >> d & 1) DESC, d = {ENGLISH} DESC, d LIMIT 1;
        v_stops := ARRAY(SELECT w FROM unnest(p_words, silent) AS one (w, s) WHERE s >> v_at & 1 = 1);
    END IF;
    IF cardinality(p_terms) = 1 THEN
        terms := ARRAY[format(p_terms[1], VARIADIC v_forms)];
        own := '(' || format(p_owns[1], VARIADIC v_own_forms) || ')';
        v_kept := '{{1}}';
        v_required := p_required;
    ELSE
        terms := '{{}}';
        -- A query of nothing but words that say nothing ("to be or not to be") means them.
        IF cardinality(v_stops) > 0 THEN
            v_any := EXISTS (SELECT FROM unnest(p_alone) AS a WHERE a = 0 OR p_words[a] <> ALL (v_stops));
        END IF;
        FOR n IN 1..cardinality(p_terms) LOOP
            CONTINUE WHEN v_any AND NOT p_required[n] AND p_alone[n] > 0 AND p_words[p_alone[n]] = ANY (v_stops);
            v_text := format(p_terms[n], VARIADIC v_forms);
            v_at := array_position(terms, v_text);
            IF v_at IS NULL THEN
                terms := terms || v_text;
                v_owns := v_owns || format(p_owns[n], VARIADIC v_own_forms);
                v_kept := v_kept || n;
                v_required := v_required || p_required[n];
            ELSE
                v_required[v_at] := p_required[n];
            END IF;
        END LOOP;
        own := '(' || nullif(array_to_string(v_owns, ' | '), '') || ')';
    END IF;
    FOR n IN 1..cardinality(p_slots) LOOP
        v_at := array_position(v_kept, p_slot_terms[n]);
        CONTINUE WHEN v_at IS NULL;
        lexemes := lexemes || string_to_array(format(p_slots[n], VARIADIC known), ' ');
        v_of := v_of || v_at;
        v_ends := v_ends || cardinality(lexemes);
    END LOOP;
    {STANDING}
    INTO indexed_until, may_leave, v_documents, v_counted, v_stored;
    v_counted := coalesce(v_counted, 0);
    small := v_counted < {SMALL} * v_stored;
    -- A word is as common as its commonest form, a phrase as rare as its rarest word.
    v_at := 1;
    FOR n IN 1..cardinality(v_ends) LOOP
        v_most := v_documents[v_at];
        FOR l IN v_at + 1..v_ends[n] LOOP
            v_most := greatest(v_most, v_documents[l]);
        END LOOP;
        v_at := v_ends[n] + 1;
        v_counts[v_of[n]] := least(v_counts[v_of[n]], v_most);
    END LOOP;
    IF cardinality(terms) > 1 THEN
        v_within := v_counts;
        v_total := greatest(v_counted, (SELECT max(c) FROM unnest(v_counts) AS c));
        IF p_from IS NOT NULL OR p_until IS NOT NULL THEN
            -- Counts by mailbox would tell about mail outside of the window.
            SELECT f.whole, f.documents INTO v_total, v_within
            FROM mail_search.frequent(p_folders, p_from, p_until, terms, {WHOLE}, {COMMON}) AS f;
        END IF;
        v_within := ARRAY(
            SELECT least(c, v_total) FROM unnest(v_within) WITH ORDINALITY AS one (c, n) ORDER BY one.n);
        weights := ARRAY(
            SELECT ln(1 + (v_total - c + 0.5::float8) / (c + 0.5::float8))
            FROM unnest(v_within) WITH ORDINALITY AS one (c, n) ORDER BY one.n);
    ELSE
        -- There is nothing to weigh it against.
        weights := array_fill(1::float8, ARRAY[cardinality(terms)]);
        v_within := array_fill(0::bigint, ARRAY[cardinality(terms)]);
    END IF;
    -- ts_rank shares what one form is worth among all of them, unless some must be there together.
    forms := '{{}}';
    FOR n IN 1..cardinality(terms) LOOP
        forms[n] := CASE WHEN terms[n] ~ '[<&]' THEN 1 ELSE (numnode(terms[n]::tsquery) + 1) / 2 END;
    END LOOP;
    IF NOT v_required[1] AND cardinality(terms) = 1 THEN
        v_rarest := terms;
        expected := ARRAY[v_counts[1], v_counts[1]];
    ELSE
        expected := ARRAY[coalesce((SELECT min(c) FROM unnest(v_counts) AS c), 0), 0];
        v_any := false;
        v_most := 0;
        FOR v_at IN SELECT t.n FROM unnest(v_required, v_within) WITH ORDINALITY AS t (required, documents, n)
                    WHERE NOT t.required ORDER BY t.documents, t.n LOOP
            v_sum := v_sum + v_within[v_at];
            EXIT WHEN v_sum > {BROAD} AND v_any;
            v_any := v_any OR v_within[v_at] > 0;
            v_rarest := v_rarest || terms[v_at];
            v_most := v_most + v_counts[v_at];
        END LOOP;
        SELECT array_agg(t.term ORDER BY t.n), min(t.c) INTO v_pieces, v_least
        FROM unnest(v_required, terms, v_counts) WITH ORDINALITY AS t (required, term, c, n) WHERE t.required;
        expected[2] := CASE WHEN v_most = 0 THEN coalesce(v_least, 0) ELSE least(v_least, v_most) END;
    END IF;
    IF cardinality(v_rarest) > 0 THEN
        v_pieces := v_pieces || CASE WHEN cardinality(v_rarest) = 1 THEN v_rarest[1]
                                     ELSE '(' || array_to_string(v_rarest, ' | ') || ')' END;
    END IF;
    IF cardinality(p_excluded) > 0 THEN
        v_excluded := ARRAY(SELECT '!' || format(one, VARIADIC v_forms) FROM unnest(p_excluded) AS one);
    END IF;
    complete := '(' || nullif(array_to_string(terms || v_excluded, ' & '), '') || ')';
    broad := nullif('(' || nullif(array_to_string(v_pieces || v_excluded, ' & '), '') || ')', complete);
    IF p_question AND cardinality(terms) > 1 THEN
        broad := coalesce(broad, complete);
        complete := NULL;
    END IF;
    IF cardinality(terms) > 1 OR cardinality(v_stops) > 0 THEN
        -- What says nothing shows in no excerpt.
        v_at := 1;
        FOR n IN 1..cardinality(v_ends) LOOP
            worths := worths || array_fill(weights[v_of[n]], ARRAY[v_ends[n] - v_at + 1]);
            v_at := v_ends[n] + 1;
        END LOOP;
        SELECT array_agg(one.lexeme ORDER BY one.n), array_agg(one.worth ORDER BY one.n) INTO lexemes, worths
        FROM unnest(lexemes, worths) WITH ORDINALITY AS one (lexeme, worth, n)
        WHERE one.lexeme <> ALL (coalesce(v_stops, '{{}}'));
    ELSE
        worths := array_fill(1::float8, ARRAY[coalesce(cardinality(lexemes), 0)]);
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.weighed({TYPES}) FROM PUBLIC;
"""

PLANNED = f"""
-- The same as a statement that binds itself.
CREATE FUNCTION mail_search.planned(p_tenant text, p_mailboxes text,{CUT}
) RETURNS TABLE (
    indexed_until timestamptz, may_leave text, small boolean, complete text, broad text, own text, terms text[],
    weights float8[], forms float8[], expected bigint[], lexemes text[], worths float8[], known text[], silent integer[]
)
LANGUAGE plpgsql ROWS 1 SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off AS $$
BEGIN{page.BIND}
    RETURN QUERY SELECT w.* FROM mail_search.weighed({GIVEN}) AS w;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.planned(text, text, {TYPES}) FROM PUBLIC;

-- One page of what a query finds: its messages in order, how many copies each stands for, how many messages match, how
-- many hits there are as far as the page's end and one more; and what was learnt of the query on the way. Messages are
-- those of p_among, of the scope's folders; NULL stands for one that the session does not let be seen. The session sees
-- what is named until the statement ends. Runs with the rights of whoever calls it; mail_search.written reads on.
CREATE FUNCTION mail_search.found(p_tenant text, p_mailboxes text,{CUT},
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
    v_messages bigint[];
    v_copies bigint[];
    v_total bigint;
BEGIN{page.BIND}
    v := mail_search.weighed({GIVEN});
    IF p_narrow IS NULL THEN
        SELECT array_agg(f.message_id), array_agg(f.copies), max(f.total) INTO v_messages, v_copies, v_total
        FROM mail_search.best(p_among, p_from, p_until, v.complete, v.broad, v.own, v.terms, v.weights, v.forms, p_caps,
                              v.expected, v.small, p_depth, true) AS f;
    ELSE
        SELECT array_agg(f.message_id ORDER BY f.place), array_agg(f.copies ORDER BY f.place), max(f.total)
        INTO v_messages, v_copies, v_total
        FROM mail_search.ranked(p_narrow, v.complete, v.broad, v.own, v.terms, v.weights, p_caps, p_depth, true) AS f;
    END IF;
    -- Row-level security is asked before anything is read.
    messages := '{{}}';
    IF cardinality(v_messages) > p_offset THEN
        messages := ARRAY(
            SELECT m.id FROM unnest(v_messages[p_offset + 1:p_offset + p_limit]) WITH ORDINALITY AS u (id, place)
            LEFT JOIN LATERAL (
                SELECT m.id FROM public.mailsearch_message m
                WHERE m.id = u.id AND m.folder_id = ANY (p_folders) AND m.deleted_at_source IS NULL
                  AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)
                OFFSET 0) AS m ON true
            ORDER BY u.place);
    END IF;
    copies := coalesce(v_copies[p_offset + 1:p_offset + p_limit], '{{}}');
    total := coalesce(v_total, 0);
    hits := coalesce(cardinality(v_messages), 0);
    indexed_until := v.indexed_until;
    lexemes := v.lexemes;
    worths := v.worths;
    known := v.known;
    silent := v.silent;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.found(text, text, {TYPES}, bigint[], jsonb, integer[], integer, integer, integer)
    FROM PUBLIC;
"""
UNDO = f"""
DROP FUNCTION mail_search.found(text, text, {TYPES}, bigint[], jsonb, integer[], integer, integer, integer);
DROP FUNCTION mail_search.planned(text, text, {TYPES});
DROP FUNCTION mail_search.weighed({TYPES});
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0027_counts_in_window")]

    operations = [migrations.RunSQL(WEIGHED + PLANNED, UNDO)]
