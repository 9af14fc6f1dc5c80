"""Copies folded where they are ranked, so that one ranking fills a page, and what the session may see read once.

Folding after the ranking had to look at many more messages than a page shows, and again at all of them where copies
left a page short. What holds all words of a query holds any of the rarest, too; so it is looked for by itself only
where those were so many that some were not looked at.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0012_ranking_in_one")

MATCHING = f"""m.tenant_id = v_tenant AND m.mailbox_id = ANY (v_mailboxes)
          AND NOT m.quarantined AND m.deleted_at_source IS NULL
          AND {before.NARROWED}{before.EXCLUDED}"""
# What a message has in common with its copies. Messages without words have nothing in common.
KEY = "CASE WHEN p_folded AND m.words_sha256 <> '' THEN m.words_sha256 ELSE int8send(m.id) END"
# Rows are joined one by one: other joins read all of a table, and the texts with it, to join a part.
SETTINGS = (
    f"{before.SETTINGS} SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off"
)


def newest(query: str, cap: str) -> str:
    return f"""
            SELECT m.id, m.received_at, {KEY} AS key
            FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
            WHERE d.words @@ {query} AND d.tenant_id = v_tenant AND d.mailbox_id = ANY (v_mailboxes)
          AND {MATCHING}
            ORDER BY m.received_at DESC, m.id DESC LIMIT {cap}"""


RANKED = f"""
-- The best p_depth of the messages that match, in order, and how many match. p_strict and p_broad are two ways to
-- match, of which only the newest p_caps[1] and p_caps[2] messages are looked at; with both NULL every message matches.
-- With p_folded, copies are one: the message where the words were written first, at the place of the best of them.
CREATE FUNCTION mail_search.ranked(
    p_narrow jsonb, p_strict text, p_broad text, p_terms text[], p_weights float8[], p_caps integer[], p_depth integer,
    p_folded boolean
) RETURNS TABLE (place bigint, message_id bigint, score float8, copies bigint, total bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50 {SETTINGS} AS $$
#variable_conflict use_column
DECLARE
    {before.DECLARED}
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_strict tsquery := p_strict::tsquery;
    v_broad tsquery := p_broad::tsquery;
    v_terms tsquery[] := p_terms::tsquery[];
    v_count integer := cardinality(p_terms);
    -- ts_rank shares a word's occurrences among the forms that it is asked for in; this takes that back.
    v_forms float8[] := ARRAY(
        SELECT CASE WHEN t::text ~ '<|&' THEN 1 ELSE (numnode(t) + 1) / 2 END
        FROM unnest(v_terms) WITH ORDINALITY AS u (t, number) ORDER BY number);
    -- The newest first.
    v_ids bigint[];
    v_times timestamptz[];
    v_keys bytea[];
BEGIN
    IF v_strict IS NULL AND v_broad IS NULL THEN
        SELECT array_agg(f.id), array_agg(f.key) INTO v_ids, v_keys FROM (
            SELECT m.id, {KEY} AS key FROM public.mailsearch_message m
            WHERE {MATCHING}
            ORDER BY m.received_at DESC, m.id DESC LIMIT p_caps[1]) AS f;
        RETURN QUERY
            SELECT row_number() OVER (ORDER BY min(f.age)), v_ids[max(f.age)], 0::float8, count(*),
                   cardinality(v_ids)::bigint
            FROM unnest(v_keys) WITH ORDINALITY AS f (key, age) GROUP BY f.key ORDER BY 1 LIMIT p_depth;
        RETURN;
    END IF;
    IF v_broad IS NOT NULL THEN
        SELECT array_agg(f.id), array_agg(f.received_at), array_agg(f.key) INTO v_ids, v_times, v_keys
        FROM ({newest("v_broad", "p_caps[2]")}) AS f;
    END IF;
    IF v_strict IS NOT NULL AND (v_broad IS NULL OR cardinality(v_ids) >= p_caps[2]) THEN
        SELECT array_agg(f.id), array_agg(f.key) INTO v_ids, v_keys FROM (
            SELECT * FROM unnest(v_ids, v_times, v_keys) AS one (id, received_at, key)
            UNION ({newest("v_strict", "p_caps[1]")})
            ORDER BY received_at DESC, id DESC) AS f;
    END IF;
    -- Okapi BM25's form over ts_rank of each term, which already saturates with the number of occurrences and knows
    -- the fields' weights (D quoted, C text, B people and file names, A subject). 120 words stand for the average
    -- length: a real average would tell about mail outside the caller's scope.
    RETURN QUERY
        SELECT row_number() OVER (ORDER BY min(r.place)), v_ids[max(r.age)], max(r.score), count(*),
               cardinality(v_ids)::bigint
        FROM (
            SELECT s.key, s.age, s.score,
                   row_number() OVER (ORDER BY s.complete DESC, round(s.score * 1000) DESC, s.age) AS place
            FROM (
                SELECT d.key, d.age,
                       {before.sides()}
                       + CASE WHEN v_count > {before.SIDE_BY_SIDE} THEN (
                           SELECT sum(t.weight * (1 - d.damping / (
                               d.damping + t.forms * {before.RANK.format(term="t.term")})))
                           FROM unnest(v_terms[{before.SIDE_BY_SIDE + 1}:], p_weights[{before.SIDE_BY_SIDE + 1}:],
                                       v_forms[{before.SIDE_BY_SIDE + 1}:]) AS t (term, weight, forms)) ELSE 0 END
                       AS score,
                       CASE WHEN v_broad IS NULL THEN true WHEN v_strict IS NULL THEN false
                            ELSE d.words @@ v_strict END AS complete
                FROM (SELECT u.key, u.age, 0.35::float8 * (0.4::float8 + 0.6::float8 * least(c.length, 4000) / 120)
                             AS damping,
                             -- Deleting nothing unpacks the words once, instead of once for each term.
                             CASE WHEN v_count > 1 THEN ts_delete(c.words, ''::text) ELSE c.words END AS words
                      FROM unnest(v_ids, v_keys) WITH ORDINALITY AS u (id, key, age)
                      JOIN public.mailsearch_searchdocument c ON c.message_id = u.id OFFSET 0) AS d
                -- Else every mention of the score ranks anew.
                OFFSET 0
            ) AS s
        ) AS r GROUP BY r.key ORDER BY 1 LIMIT p_depth;
END $$;
REVOKE EXECUTE ON FUNCTION
    mail_search.ranked(jsonb, text, text, text[], float8[], integer[], integer, boolean) FROM PUBLIC;
DROP FUNCTION mail_search.ranked(jsonb, text, text, text[], float8[], integer[], integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0012_ranking_in_one")]

    operations = [
        # There is no way back: the release before can't call this function either.
        migrations.RunSQL(RANKED),
    ]
