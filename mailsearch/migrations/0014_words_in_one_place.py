"""Keyword search that reads one table: what a ranking needs of a message stands beside its words, all in one piece.

To find the newest and best, each message that held a word was looked up in another table, and its words in a third,
where long values lie in pieces. Now scope, time and fold stand in the row of the words, which is kept whole in its page,
and triggers carry changes there. The word index knows mailboxes and weeks, too, so that mail of others is not touched,
and a common word is looked for from the newest week backwards until there are enough.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

# The number of a week since 1970, in bounds.
WEEK = "least(greatest(floor(extract(epoch FROM {}) / 604800), 0), 65535)::bigint"
# Of a message: the beginning of the hash that it shares with its copies, and where the word index has it.
KEY = "CASE WHEN m.words_sha256 <> '' THEN ('x' || encode(substr(m.words_sha256, 1, 8), 'hex'))::bit(64)::bigint END"
PLACES = f"ARRAY[m.mailbox_id << 16 | {WEEK.format('m.received_at')}, -m.mailbox_id]"
# Rows that are there already are written anew, the words in one piece.
FILL = f"""
ALTER TABLE mailsearch_searchdocument SET (toast_tuple_target = 8160);
ALTER TABLE mailsearch_searchdocument DISABLE TRIGGER USER;
UPDATE mailsearch_searchdocument d SET folder_id = m.folder_id, received_at = m.received_at,
    deleted = m.deleted_at_source IS NOT NULL, words_key = {KEY}, places = {PLACES}
FROM mailsearch_message m WHERE m.id = d.message_id;
ALTER TABLE mailsearch_searchdocument ALTER COLUMN words TYPE tsvector USING ts_delete(words, ''::text);
ALTER TABLE mailsearch_searchdocument ENABLE TRIGGER USER;
"""
FACTS = f"""
CREATE FUNCTION mail_search.place_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT m.folder_id, m.received_at, m.deleted_at_source IS NOT NULL, {KEY}, {PLACES}
    INTO NEW.folder_id, NEW.received_at, NEW.deleted, NEW.words_key, NEW.places
    FROM public.mailsearch_message m WHERE m.id = NEW.message_id;
    RETURN NEW;
END $$;
CREATE FUNCTION mail_search.move_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE public.mailsearch_searchdocument SET folder_id = NEW.folder_id, deleted = NEW.deleted_at_source IS NOT NULL
    WHERE message_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.place_words(), mail_search.move_words() FROM PUBLIC;
CREATE TRIGGER place_words BEFORE INSERT ON mailsearch_searchdocument
FOR EACH ROW EXECUTE FUNCTION mail_search.place_words();
CREATE TRIGGER move_words AFTER UPDATE OF folder_id, deleted_at_source ON mailsearch_message
FOR EACH ROW WHEN (OLD.folder_id <> NEW.folder_id
                   OR (OLD.deleted_at_source IS NULL) IS DISTINCT FROM (NEW.deleted_at_source IS NULL))
EXECUTE FUNCTION mail_search.move_words();

-- Words are counted anew where they or their quarantine changed, and not where their message only moved.
CREATE FUNCTION mail_search.words_replaced() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mail_search.count_words(array_agg(c.message_id), array_agg(c.words), c.by)
    FROM (
        SELECT o.message_id, o.words, o.quarantined, -1 AS by FROM before o JOIN after n USING (message_id)
        WHERE o.quarantined <> n.quarantined OR o.words <> n.words
        UNION ALL
        SELECT n.message_id, n.words, n.quarantined, 1 FROM before o JOIN after n USING (message_id)
        WHERE o.quarantined <> n.quarantined OR o.words <> n.words
    ) AS c JOIN public.mailsearch_message m ON m.id = c.message_id
    JOIN public.mailsearch_mailbox b ON b.id = m.mailbox_id
    WHERE NOT c.quarantined AND m.deleted_at_source IS NULL AND m.id <= b.counted_until
    GROUP BY c.by ORDER BY c.by;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.words_replaced() FROM PUBLIC;
DROP TRIGGER count_changed_old ON mailsearch_searchdocument;
DROP TRIGGER count_changed_new ON mailsearch_searchdocument;
CREATE TRIGGER count_replaced AFTER UPDATE ON mailsearch_searchdocument
REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION mail_search.words_replaced();
"""
# Terms that stand side by side; those beyond are ranked one by one.
SIDE_BY_SIDE = 12
# Weeks of mailboxes that are looked at together, at most.
MOST_PLACES = 2000
RANK = "ts_rank('{{0.15, 0.5, 0.5, 0.7}}', d.words, {term})"
# Okapi BM25's form over ts_rank of each term, which already saturates with the number of occurrences and knows the
# fields' weights (D quoted, C text, B people and file names, A subject): weight * r / (r + damping), with r in it once.
# ts_rank shares a word's occurrences among the forms that it is asked for in; p_forms takes that back.
SIDE = "p_weights[{n}] * (1 - d.damping / (d.damping + p_forms[{n}] * {rank}))"


def side(n: int) -> str:
    return SIDE.format(n=n, rank=RANK.format(term=f"p_terms[{n}]"))


SEVERAL = (
    "\n                  + ".join(
        f"CASE WHEN v_count >= {n} THEN {side(n)} ELSE 0 END" for n in range(1, SIDE_BY_SIDE + 1)
    )
    + f"""
                  + CASE WHEN v_count > {SIDE_BY_SIDE} THEN (
                      SELECT sum(t.weight * (1 - d.damping / (d.damping + t.forms * {RANK.format(term="t.term")})))
                      FROM unnest(p_terms[{SIDE_BY_SIDE + 1}:], p_weights[{SIDE_BY_SIDE + 1}:],
                                  p_forms[{SIDE_BY_SIDE + 1}:]) AS t (term, weight, forms)) ELSE 0 END"""
)


def matching(score: str, where: str) -> str:
    """The messages that match, by a plan that is made once a session. 120 words stand for the average length: a real
    average would tell about mail outside the caller's scope. The mailbox is compared in a way that no other index can
    serve: a plan that knows neither word nor mailbox must not take the other road."""
    return f"""
            RETURN QUERY SELECT d.message_id, d.received_at, d.key, d.complete * 1073741824 + round(1000 * (
                  {score}))::bigint
            FROM (SELECT d.message_id, d.received_at, coalesce(d.words_key, d.message_id) AS key, d.words,
                         CASE WHEN p_complete IS NULL OR d.words @@ p_complete THEN 1 ELSE 0 END AS complete,
                         0.35::float8 * (0.4::float8 + 0.6::float8 * least(d.length, 4000) / 120) AS damping
                  FROM public.mailsearch_searchdocument d
                  WHERE d.words @@ p_words AND d.tenant_id = v_tenant AND d.mailbox_id + 0 = ANY (v_mailboxes)
                    AND NOT d.quarantined AND NOT d.deleted AND d.folder_id = ANY (p_folders)
                    AND (p_from IS NULL OR d.received_at >= p_from) AND (p_until IS NULL OR d.received_at < p_until)
                    {where}) AS d;"""


def by_count(where: str) -> str:
    return f"""
        IF v_count = 1 THEN{matching(side(1), where)}
        ELSE{matching(SEVERAL, where)}
        END IF;
        GET DIAGNOSTICS v_more = ROW_COUNT;"""


NEWEST = f"""
-- The messages of a scope that match p_words, and how good each is: thousandths of its score, and 2^30 more where
-- p_complete matches, too. The p_most newest are among them, and where more than twice as many are expected few others.
-- Copies have one key. Called by mail_search.best, whose settings it needs.
CREATE FUNCTION mail_search.newest(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_words tsquery, p_complete tsquery, p_terms tsquery[],
    p_weights float8[], p_forms float8[], p_most integer, p_expected bigint, p_small boolean
) RETURNS TABLE (message_id bigint, received_at timestamptz, key bigint, points bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_count integer := cardinality(p_terms);
    v_places bigint[];
    -- The weeks that mail is from, how many are looked at, and before when.
    v_first bigint;
    v_last bigint;
    v_width bigint;
    v_before timestamptz;
    v_found bigint := 0;
    v_more bigint;
BEGIN
    IF p_expected <= 2 * p_most AND NOT p_small THEN{by_count("")}
        RETURN;
    END IF;
    IF p_expected > 2 * p_most THEN
        SELECT max({WEEK.format("newest.received_at")}), min({WEEK.format("oldest.received_at")}) INTO v_last, v_first
        FROM unnest(v_mailboxes) AS b (id), LATERAL (
            SELECT m.received_at FROM public.mailsearch_message m WHERE m.tenant_id = v_tenant AND m.mailbox_id = b.id
            ORDER BY m.received_at DESC LIMIT 1) AS newest, LATERAL (
            SELECT m.received_at FROM public.mailsearch_message m WHERE m.tenant_id = v_tenant AND m.mailbox_id = b.id
            ORDER BY m.received_at LIMIT 1) AS oldest;
        v_width := 1 + (v_last - v_first) * p_most / p_expected;
    END IF;
    LOOP
        IF v_width <= v_last - v_first AND v_width * cardinality(v_mailboxes) <= {MOST_PLACES} THEN
            v_places := ARRAY(
                SELECT b << 16 | w FROM unnest(v_mailboxes) AS b, generate_series(v_last - v_width + 1, v_last) AS w);
        ELSE
            v_places := ARRAY(SELECT -b FROM unnest(v_mailboxes) AS b);
            v_width := NULL;
        END IF;{by_count("AND d.places && v_places AND (v_before IS NULL OR d.received_at < v_before)")}
        v_found := v_found + v_more;
        EXIT WHEN v_width IS NULL OR v_found >= p_most;
        v_last := v_last - v_width;
        v_before := to_timestamp((v_last + 1) * 604800);
        v_width := 1 + v_width * (p_most - v_found) / greatest(v_more, p_most / 8);
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.newest(
    bigint[], timestamptz, timestamptz, tsquery, tsquery, tsquery[], float8[], float8[], integer, bigint, boolean
) FROM PUBLIC;
"""
BEST = """
-- The best p_depth messages of a scope by words alone, best first, and how many were looked at. Like mail_search.ranked
-- otherwise: p_strict and p_broad are two ways to match, of which the newest p_caps[1] and p_caps[2] messages are looked
-- at. p_expected says about how many match each of them, p_small whether the scope is a small part of the store; they
-- decide how messages are looked for, not which are found.
CREATE FUNCTION mail_search.best(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_strict text, p_broad text, p_terms text[],
    p_weights float8[], p_forms float8[], p_caps integer[], p_expected bigint[], p_small boolean, p_depth integer,
    p_folded boolean
) RETURNS TABLE (message_id bigint, score float8, copies bigint, total bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0
SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_strict tsquery := p_strict::tsquery;
    v_broad tsquery := p_broad::tsquery;
    v_terms tsquery[] := p_terms::tsquery[];
    -- The newest first.
    v_ids bigint[];
    v_times timestamptz[];
    v_keys bigint[];
    v_points bigint[];
BEGIN
    IF v_broad IS NOT NULL THEN
        SELECT array_agg(f.message_id), array_agg(f.received_at), array_agg(f.key), array_agg(f.points)
        INTO v_ids, v_times, v_keys, v_points
        FROM (SELECT * FROM mail_search.newest(
                  p_folders, p_from, p_until, v_broad, v_strict, v_terms, p_weights, p_forms, p_caps[2], p_expected[2],
                  p_small)
              ORDER BY received_at DESC, message_id DESC LIMIT p_caps[2]) AS f;
    END IF;
    -- What holds all words holds any, too.
    IF v_strict IS NOT NULL AND (v_broad IS NULL OR cardinality(v_ids) >= p_caps[2]) THEN
        SELECT array_agg(f.message_id), array_agg(f.key), array_agg(f.points) INTO v_ids, v_keys, v_points
        FROM (SELECT * FROM unnest(v_ids, v_times, v_keys, v_points) AS one (message_id, received_at, key, points)
              UNION (SELECT * FROM mail_search.newest(
                  p_folders, p_from, p_until, v_strict, NULL, v_terms, p_weights, p_forms, p_caps[1], p_expected[1],
                  p_small)
              ORDER BY received_at DESC, message_id DESC LIMIT p_caps[1])
              ORDER BY received_at DESC, message_id DESC) AS f;
    END IF;
    -- One number holds what decides on a message's place (completeness and score, then the later), another what
    -- decides on which of several copies stands for all (the oldest) and its id.
    RETURN QUERY
        SELECT g.first & 1125899906842623, ((g.best >> 12) & 1073741823) / 1000::float8, g.copies,
               cardinality(v_ids)::bigint
        FROM (SELECT max(one.points << 12 | (4095 - one.age)) AS best, max(one.age << 50 | one.id) AS first,
                     count(*) AS copies
              FROM unnest(v_ids, v_keys, v_points) WITH ORDINALITY AS one (id, key, points, age)
              GROUP BY CASE WHEN p_folded THEN one.key ELSE one.id END) AS g
        ORDER BY g.best DESC LIMIT p_depth;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.best(
    bigint[], timestamptz, timestamptz, text, text, text[], float8[], float8[], integer[], bigint[], boolean, integer,
    boolean) FROM PUBLIC;
"""

STANDING = """
-- What a search needs to know of a scope first: when its newest mail came in, what of its text may leave, in how many
-- messages of its mailboxes each of p_lexemes occurs, how many there are, and how many the store has, about.
CREATE FUNCTION mail_search.standing(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_lexemes text[]
) RETURNS TABLE (indexed_until timestamptz, may_leave text, documents bigint[], counted bigint, stored bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 1
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
BEGIN
    RETURN QUERY SELECT
        (SELECT max(latest.imported_at) FROM unnest(v_mailboxes) AS b (id), LATERAL (
             SELECT m.imported_at FROM public.mailsearch_message m
             WHERE m.mailbox_id = b.id AND m.tenant_id = v_tenant AND NOT m.quarantined
               AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)
               AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)
             ORDER BY m.imported_at DESC LIMIT 1) AS latest),
        (SELECT t.may_leave::text FROM public.mailsearch_tenant t WHERE t.id = v_tenant),
        ARRAY(SELECT coalesce((
                  SELECT sum(c.documents) FROM public.mailsearch_termcount c
                  WHERE c.mailbox_id = ANY (v_mailboxes) AND c.lexeme = l.lexeme AND c.tenant_id = v_tenant), 0)::bigint
              FROM unnest(p_lexemes) WITH ORDINALITY AS l (lexeme, number) ORDER BY l.number),
        (SELECT sum(c.documents)::bigint FROM public.mailsearch_termcount c
         WHERE c.mailbox_id = ANY (v_mailboxes) AND c.lexeme = '' AND c.tenant_id = v_tenant),
        (SELECT c.reltuples::bigint FROM pg_class c WHERE c.oid = 'public.mailsearch_searchdocument'::regclass);
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.standing(bigint[], timestamptz, timestamptz, text[]) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0013_folding_where_ranked")]

    operations = [
        # There is no way back: the release before can't tell what to put into these columns.
        migrations.RemoveIndex("searchdocument", "search_document_words"),
        migrations.AddField("searchdocument", "folder_id", models.BigIntegerField(null=True, editable=False)),
        migrations.AddField("searchdocument", "received_at", models.DateTimeField(null=True, editable=False)),
        migrations.AddField("searchdocument", "deleted", models.BooleanField(null=True, editable=False)),
        migrations.AddField("searchdocument", "words_key", models.BigIntegerField(null=True, editable=False)),
        migrations.AddField(
            "searchdocument",
            "places",
            django.contrib.postgres.fields.ArrayField(models.BigIntegerField(), null=True, editable=False),
        ),
        migrations.RunSQL(FILL),
        migrations.AlterField("searchdocument", "folder_id", models.BigIntegerField(editable=False)),
        migrations.AlterField("searchdocument", "received_at", models.DateTimeField(editable=False)),
        migrations.AlterField("searchdocument", "deleted", models.BooleanField(editable=False)),
        migrations.AlterField(
            "searchdocument",
            "places",
            django.contrib.postgres.fields.ArrayField(models.BigIntegerField(), editable=False),
        ),
        migrations.AddIndex(
            "searchdocument",
            django.contrib.postgres.indexes.GinIndex(
                fields=["words", "places"], fastupdate=True, name="search_document_words"
            ),
        ),
        migrations.RunSQL(FACTS),
        migrations.RunSQL(NEWEST + BEST + STANDING),
    ]
