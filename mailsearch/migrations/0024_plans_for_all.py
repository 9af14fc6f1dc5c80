"""Reading messages by their numbers, by plans that suit every tenant.

A plan is made once a session. Under row-level security alone it was made for the tenant who came first: where that one
had little mail, or none, all its people were gone through for each message of whoever came later. Now which messages may
be seen is asked under row-level security, one by one, and what stands on these is read by a function that compares
tenant and mailbox in a way that no index can serve.
"""

from importlib import import_module

from django.db import migrations

before = import_module("mailsearch.migrations.0023_page_in_one")
changed = import_module("mailsearch.migrations.0018_own_words").changed


IN_SCOPE = """m.folder_id = ANY (p_folders) AND (p_deleted OR m.deleted_at_source IS NULL)
      AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until)"""
WRITTEN = changed(
    before.HEADS,
    ("mail_search.heads(", "mail_search.written("),
    (
        "-- Of p_messages those that the session and the rest of the scope let be seen, each",
        "-- Called by mail_search.heads, of messages that may be seen. Of p_messages those in scope, each",
    ),
    ("what they say. Runs with the rights of whoever calls it.", "what they say."),
    ("LANGUAGE plpgsql STABLE ROWS 20", "LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20"),
    (
        "    v_names text[];",
        "    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;\n"
        "    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];\n"
        "    v_names text[];",
    ),
    (
        "ON p.id = b.participant_id;",
        "ON p.id = b.participant_id\n"
        "    WHERE p.tenant_id + 0 = v_tenant AND p.mailbox_id + 0 = ANY (v_mailboxes) AND NOT p.quarantined;",
    ),
    ("ON m.id = u.id", "ON m.id = u.id AND m.tenant_id + 0 = v_tenant AND m.mailbox_id + 0 = ANY (v_mailboxes)"),
    ("ON t.id = m.thread_id", "ON t.id = m.thread_id AND t.tenant_id + 0 = v_tenant"),
    (
        "one.message_id = m.container_id",
        "one.message_id = m.container_id AND one.tenant_id + 0 = v_tenant\n"
        "          AND one.mailbox_id + 0 = ANY (v_mailboxes) AND NOT one.quarantined",
    ),
    (
        "WHERE p.message_id = m.id ORDER",
        "WHERE p.message_id = m.id AND p.tenant_id + 0 = v_tenant\n"
        "                AND p.mailbox_id + 0 = ANY (v_mailboxes) AND NOT p.quarantined ORDER",
    ),
    (
        "WHERE a.message_id = m.id ORDER",
        "WHERE a.message_id = m.id AND a.tenant_id + 0 = v_tenant\n"
        "                AND a.mailbox_id + 0 = ANY (v_mailboxes) AND NOT a.quarantined ORDER",
    ),
    ("WHERE m.folder_id", "WHERE NOT m.quarantined AND m.folder_id"),
    # Threads that were merged are threads of the tenant.
    ("ON one.id = up.merged_into_id", "ON one.id = up.merged_into_id AND one.tenant_id + 0 = v_tenant"),
)
_RETURNED = before.HEADS[before.HEADS.index("RETURNS TABLE") : before.HEADS.index("LANGUAGE")]
HEADS = f"""
-- Of p_messages those that the session and the rest of the scope let be seen, each with its place among them, its
-- people (in their order, each with the address that bore the name first in scope) and its attachments; with p_texts
-- also with what they say. Runs with the rights of whoever calls it, and asks row-level security first.
CREATE OR REPLACE FUNCTION mail_search.heads(
    p_messages bigint[], p_folders bigint[], p_from timestamptz, p_until timestamptz, p_deleted boolean, p_texts boolean
) {_RETURNED}LANGUAGE plpgsql STABLE ROWS 20 SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_seen bigint[];
BEGIN
    -- For nobody no plan is made.
    IF coalesce(cardinality(p_messages), 0) = 0 OR coalesce(current_setting('app.tenant', true), '') = '' THEN
        RETURN;
    END IF;
    v_seen := ARRAY(
        SELECT m.id FROM unnest(p_messages) WITH ORDINALITY AS u (id, place) LEFT JOIN LATERAL (
            SELECT m.id FROM public.mailsearch_message m WHERE m.id = u.id AND {IN_SCOPE} OFFSET 0) AS m ON true
        ORDER BY u.place);
    RETURN QUERY SELECT * FROM mail_search.written(v_seen, p_folders, p_from, p_until, p_deleted, p_texts);
END $$;
"""
FIRST_BEARERS = changed(before.FIRST_BEARERS, ("p.tenant_id = v_tenant", "p.tenant_id + 0 = v_tenant"))


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0023_page_in_one")]

    operations = [
        migrations.RunSQL(
            FIRST_BEARERS + WRITTEN + HEADS,
            before.FIRST_BEARERS
            + before.HEADS.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
            + "DROP FUNCTION mail_search.written("
            "bigint[], bigint[], timestamptz, timestamptz, boolean, boolean);",
        )
    ]
