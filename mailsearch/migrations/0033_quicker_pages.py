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
page = import_module("mailsearch.migrations.0023_page_in_one")
one_trip = import_module("mailsearch.migrations.0028_page_in_one_trip")
fewer = import_module("mailsearch.migrations.0029_fewer_plans")
ready = import_module("mailsearch.migrations.0031_ready_pages")

OLD_WEIGHED = one_trip.WEIGHED.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
# The newest of a folder's mail that may be seen.
_IN_SCOPE = """m.tenant_id = v_tenant AND NOT m.quarantined
               AND m.deleted_at_source IS NULL AND m.mailbox_id = ANY (v_mailboxes)
               AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)"""
_LATEST = f"""        (SELECT max(latest.imported_at) FROM unnest(p_folders) AS f (id), LATERAL (
             SELECT m.imported_at FROM public.mailsearch_message m
             WHERE m.folder_id = f.id AND {_IN_SCOPE}
             ORDER BY m.imported_at DESC LIMIT 1) AS latest)"""
# A look into an index reads as much of a folder as stands together there. Beyond what the first and the last folder
# have, there is mostly nothing.
_SOONER = f"""        (SELECT greatest(nullif(sure.imported_at, '-infinity'), (
             SELECT max(latest.imported_at) FROM unnest(p_folders[2:cardinality(p_folders) - 1]) AS f (id), LATERAL (
                 SELECT m.imported_at FROM public.mailsearch_message m
                 WHERE m.folder_id = f.id AND m.imported_at > sure.imported_at AND {_IN_SCOPE}
                 ORDER BY m.imported_at DESC LIMIT 1) AS latest))
         FROM (SELECT coalesce(max(latest.imported_at), '-infinity') AS imported_at
               FROM unnest(ARRAY[p_folders[1], p_folders[cardinality(p_folders)]]) AS f (id), LATERAL (
                   SELECT m.imported_at FROM public.mailsearch_message m
                   WHERE m.folder_id = f.id AND {_IN_SCOPE}
                   ORDER BY m.imported_at DESC LIMIT 1) AS latest) AS sure)"""
WEIGHED = changed(OLD_WEIGHED, (_LATEST, _SOONER))


# What mail_search.best makes of what is found by one way alone, with arrays for rows.
def _folded(where: str = "") -> str:
    return f"""
        SELECT (array_agg(g.first & 1125899906842623))[1:p_depth], (array_agg(g.copies))[1:p_depth],
               coalesce(max(g.first >> 50), 0)
        INTO messages, copies, total
        FROM (SELECT max(f.age << 50 | f.message_id) AS first, count(*) AS copies
              FROM (SELECT n.*, row_number() OVER (ORDER BY n.received_at DESC, n.message_id DESC) AS age
                    FROM (SELECT d.message_id, d.received_at, d.key, (2 + d.own) * 1073741824::bigint + round(1000 * (
                              p_weight * (1 - d.damping / (d.damping + p_forms * d.rank))))::bigint AS points
                          FROM (SELECT d.message_id, d.received_at, coalesce(d.words_key, d.message_id) AS key,
                                       CASE WHEN d.words @@ v_own THEN 1 ELSE 0 END AS own,
                                       {ranking.RANK.format(term="v_term")} AS rank,
                                       0.35::float8 * (0.4::float8 + 0.6::float8 * least(d.length, 4000) / 120) AS damping
                                FROM public.mailsearch_searchdocument d
                                WHERE d.words @@ v_words AND d.tenant_id = v_tenant AND d.mailbox_id + 0 = ANY (v_mailboxes)
                                  AND NOT d.quarantined AND NOT d.deleted AND d.folder_id = ANY (p_folders)
                                  AND (p_from IS NULL OR d.received_at >= p_from)
                                  AND (p_until IS NULL OR d.received_at < p_until) {where}
                                OFFSET 0) AS d OFFSET 0) AS n
                    ORDER BY n.received_at DESC, n.message_id DESC LIMIT p_cap) AS f
              GROUP BY f.key ORDER BY max(f.points << 12 | (4095 - f.age)) DESC) AS g;"""


ALONE = f"""
-- The best p_depth messages of a scope by one term alone, best first, how many copies each stands for, and how many were
-- looked at: what mail_search.best says of p_words where there is no other way to match, and not many more than p_cap
-- are expected. p_small says whether the scope is a small part of the store.
CREATE FUNCTION mail_search.alone(
    p_folders bigint[], p_from timestamptz, p_until timestamptz, p_words text, p_own text, p_term text, p_weight float8,
    p_forms float8, p_cap integer, p_small boolean, p_depth integer,
    OUT messages bigint[], OUT copies bigint[], OUT total bigint
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET max_parallel_workers_per_gather = 0 SET jit = off SET enable_seqscan = off
SET enable_sort = off AS $$
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_words tsquery := p_words;
    v_own tsquery := p_own;
    v_term tsquery := p_term;
    v_places bigint[];
BEGIN
    IF p_small THEN
        v_places := ARRAY(SELECT -b FROM unnest(v_mailboxes) AS b);{_folded("AND d.places && v_places")}
    ELSE{_folded()}
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.alone(
    bigint[], timestamptz, timestamptz, text, text, text, float8, float8, integer, boolean, integer) FROM PUBLIC;
"""
BIND = """
    PERFORM set_config('app.tenant', p_tenant, true), set_config('app.mailboxes', p_mailboxes, true),
            set_config('app.quarantined', '', true), set_config('app.audit', '', true);"""
FOUND = changed(
    ready.FOUND,
    (page.BIND, BIND),
    (
        "    IF p_narrow IS NULL THEN\n",
        """    IF p_narrow IS NULL AND v.broad IS NULL AND cardinality(v.terms) = 1 AND v.expected[1] <= 2 * p_caps[1] THEN
        SELECT a.messages, a.copies, a.total INTO v_messages, v_copies, v_total
        FROM mail_search.alone(p_among, p_from, p_until, v.complete, v.own, v.terms[1], v.weights[1], v.forms[1],
                               p_caps[1], v.small, p_depth) AS a;
    ELSIF p_narrow IS NULL THEN
""",
    ),
)
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
_WHOLE = """cardinality(v_mailboxes) > 1 AND NOT EXISTS (
        SELECT FROM public.mailsearch_mailbox b WHERE b.tenant_id = v_tenant AND b.id <> ALL (v_mailboxes))"""
WRITTEN = changed(
    fewer.WRITTEN, (_BY_MAILBOX, f"    IF {_WHOLE} THEN\n{_BY_TENANT}    ELSE\n{_BY_MAILBOX}    END IF;\n")
)
UNDO = """
DROP INDEX participant_by_name_in_tenant;
DROP FUNCTION mail_search.alone(
    bigint[], timestamptz, timestamptz, text, text, text, float8, float8, integer, boolean, integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0032_one_way_to_match")]

    operations = [
        migrations.RunSQL(INDEX + WEIGHED + ALONE + FOUND + WRITTEN, fewer.WRITTEN + ready.FOUND + UNDO + OLD_WEIGHED)
    ]
