"""Messages read by fewer plans, and senders by a plan that suits every tenant.

Reading a page began plans for merged threads and for carriers of attached mail, which hardly any page has; these are
functions now, called where they are needed. Who bore a name first was checked against the message of each mailbox's
first bearer; now only the first of all is. Senders of what is folded were looked up by a statement whose plan was made
for the tenant who came first: where that one had no mail, all of a tenant's people were gone through for each message.
"""

from importlib import import_module

from django.db import migrations

page = import_module("mailsearch.migrations.0023_page_in_one")
plans = import_module("mailsearch.migrations.0024_plans_for_all")

# What hardly any message has is looked up where one has it, so that no plan of it is begun where none does.
RARE = """
-- The thread that a merged one is in now. Called by mail_search.written, for whose tenant it looks.
CREATE FUNCTION mail_search.merged_into(p_thread bigint, p_tenant bigint) RETURNS varchar
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        WITH RECURSIVE up AS (
            SELECT one.public_id, one.merged_into_id FROM public.mailsearch_thread one
            WHERE one.id = p_thread AND one.tenant_id + 0 = p_tenant
            UNION
            SELECT one.public_id, one.merged_into_id
            FROM up JOIN public.mailsearch_thread one ON one.id = up.merged_into_id AND one.tenant_id + 0 = p_tenant
        ) SELECT up.public_id FROM up WHERE up.merged_into_id IS NULL);
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.merged_into(bigint, bigint) FROM PUBLIC;

-- Name and address of who sent a message, of those mailboxes. Called by mail_search.written like the one before.
CREATE FUNCTION mail_search.sender_of(p_message bigint, p_tenant bigint, p_mailboxes bigint[]) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT ARRAY[one.name, one.address]::text[] FROM public.mailsearch_participant one
        WHERE one.message_id = p_message AND one.tenant_id + 0 = p_tenant
          AND one.mailbox_id + 0 = ANY (p_mailboxes) AND NOT one.quarantined AND one.role IN ('from', 'sender')
        ORDER BY one.role, one.position, one.id LIMIT 1);
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.sender_of(bigint, bigint, bigint[]) FROM PUBLIC;
"""
WRITTEN = f"""
CREATE OR REPLACE FUNCTION mail_search.written(
    p_messages bigint[], p_folders bigint[], p_from timestamptz, p_until timestamptz, p_deleted boolean, p_texts boolean
) {plans._RETURNED}LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 20 {page.SETTINGS}
SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
    v_seen boolean;
    v_names text[];
    v_addresses text[];
BEGIN
    -- Of each name the first of what is first in each mailbox. Whether its message is in scope is asked of that one alone;
    -- where it is not, of each as before.
    SELECT array_agg(f.name), array_agg(f.address), bool_and(EXISTS (
        SELECT FROM public.mailsearch_message m WHERE m.id = f.message_id AND NOT m.quarantined
          AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)))
    INTO v_names, v_addresses, v_seen FROM (
        SELECT DISTINCT ON (n.name) lower(first.name) AS name, first.address, first.message_id FROM (
            SELECT DISTINCT left(lower(p.name), 100) AS name FROM public.mailsearch_participant p
            WHERE p.message_id = ANY (p_messages) AND p.tenant_id + 0 = v_tenant
              AND p.mailbox_id + 0 = ANY (v_mailboxes) AND NOT p.quarantined AND p.name <> '') AS n,
            unnest(v_mailboxes) AS b (id), LATERAL (
            SELECT p.id, p.received_at, p.name, p.address, p.message_id FROM public.mailsearch_participant p
            WHERE p.mailbox_id = b.id AND left(lower(p.name), 100) = n.name
              AND p.name <> '' AND p.address <> '' AND p.tenant_id + 0 = v_tenant AND NOT p.quarantined
              AND (p_from IS NULL OR p.received_at >= p_from) AND (p_until IS NULL OR p.received_at < p_until)
            ORDER BY p.received_at, p.id LIMIT 1) AS first
        ORDER BY n.name, first.received_at, first.id) AS f;
    IF NOT v_seen THEN
        SELECT array_agg(lower(p.name)), array_agg(p.address) INTO v_names, v_addresses
        FROM mail_search.first_bearers_of(p_messages, p_folders, p_from, p_until) AS b
        JOIN public.mailsearch_participant p ON p.id = b.participant_id
        WHERE p.tenant_id + 0 = v_tenant AND p.mailbox_id + 0 = ANY (v_mailboxes) AND NOT p.quarantined;
    END IF;
    RETURN QUERY SELECT
        u.place, m.id, m.public_id, CASE WHEN t.merged_into_id IS NULL THEN t.public_id
                                         ELSE coalesce(mail_search.merged_into(t.id, v_tenant), t.public_id) END,
        m.rfc_message_id, b.slug, f.path, m.subject, m.sent_at, m.sent_offset, m.received_at, m.date_disputed,
        m.language, m.spf, m.dkim, m.dmarc, m.container_id IS NOT NULL,
        CASE WHEN m.container_id IS NOT NULL THEN (mail_search.sender_of(m.container_id, v_tenant, v_mailboxes))[1] END,
        CASE WHEN m.container_id IS NOT NULL THEN (mail_search.sender_of(m.container_id, v_tenant, v_mailboxes))[2] END,
        p.roles, p.names, p.addresses, p.bearers,
        a.ids, a.filenames, a.content_types, a.sizes, a.states,
        CASE WHEN p_texts THEN m.body_text END, CASE WHEN p_texts THEN m.body_blocks END,
        CASE WHEN p_texts THEN m.body_regions END, CASE WHEN p_texts THEN m.hidden_text END,
        a.texts, a.blocks, a.page_starts, a.hidden_texts
    FROM unnest(p_messages) WITH ORDINALITY AS u (id, place)
    JOIN public.mailsearch_message m ON m.id = u.id AND m.tenant_id + 0 = v_tenant
        AND m.mailbox_id + 0 = ANY (v_mailboxes)
    JOIN public.mailsearch_thread t ON t.id = m.thread_id AND t.tenant_id + 0 = v_tenant
    LEFT JOIN public.mailsearch_mailbox b ON b.id = m.mailbox_id
    LEFT JOIN public.mailsearch_folder f ON f.id = m.folder_id
    LEFT JOIN LATERAL (
        SELECT array_agg(one.role) AS roles, array_agg(one.name) AS names, array_agg(one.address) AS addresses,
               array_agg(CASE WHEN one.name <> '' THEN v_addresses[array_position(v_names, lower(one.name))] END) AS bearers
        FROM (SELECT p.role, p.name, p.address FROM public.mailsearch_participant p
              WHERE p.message_id = m.id AND p.tenant_id + 0 = v_tenant AND p.mailbox_id + 0 = ANY (v_mailboxes)
                AND NOT p.quarantined ORDER BY p.position, p.id) AS one) AS p ON true
    LEFT JOIN LATERAL (
        SELECT array_agg(one.public_id) AS ids, array_agg(one.filename) AS filenames,
               array_agg(one.content_type) AS content_types, array_agg(one.size) AS sizes, array_agg(one.state) AS states,
               array_agg(one.text) FILTER (WHERE p_texts) AS texts, array_agg(one.blocks) FILTER (WHERE p_texts) AS blocks,
               array_agg(one.page_starts) FILTER (WHERE p_texts) AS page_starts,
               array_agg(one.hidden_text) FILTER (WHERE p_texts) AS hidden_texts
        FROM (SELECT a.public_id, a.filename, a.content_type, a.size, a.state, a.text, a.blocks,
                     to_jsonb(a.page_starts) AS page_starts, a.hidden_text
              FROM public.mailsearch_attachment a
              WHERE a.message_id = m.id AND a.tenant_id + 0 = v_tenant AND a.mailbox_id + 0 = ANY (v_mailboxes)
                AND NOT a.quarantined ORDER BY a.position, a.id) AS one) AS a ON true
    WHERE NOT m.quarantined AND m.folder_id = ANY (p_folders) AND (p_deleted OR m.deleted_at_source IS NULL)
      AND (p_from IS NULL OR m.received_at >= p_from) AND (p_until IS NULL OR m.received_at < p_until);
END $$;
"""
SENDERS = """
-- Address of who sent each of p_messages, of those that the session lets be seen: by a plan that suits every tenant.
CREATE FUNCTION mail_search.senders(p_messages bigint[]) RETURNS TABLE (message_id bigint, address text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_tenant bigint := nullif(current_setting('app.tenant', true), '')::bigint;
    v_mailboxes bigint[] := nullif(current_setting('app.mailboxes', true), '')::bigint[];
BEGIN
    RETURN QUERY SELECT u.id, p.address::text FROM unnest(p_messages) AS u (id), LATERAL (
        SELECT p.address FROM public.mailsearch_participant p
        WHERE p.message_id = u.id AND p.tenant_id + 0 = v_tenant AND p.mailbox_id + 0 = ANY (v_mailboxes)
          AND NOT p.quarantined AND p.role IN ('from', 'sender')
        ORDER BY p.role, p.position LIMIT 1) AS p;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.senders(bigint[]) FROM PUBLIC;
"""
UNDO = f"""
DROP FUNCTION mail_search.senders(bigint[]);
{plans.WRITTEN.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")}
DROP FUNCTION mail_search.merged_into(bigint, bigint);
DROP FUNCTION mail_search.sender_of(bigint, bigint, bigint[]);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0028_page_in_one_trip")]

    operations = [migrations.RunSQL(RARE + WRITTEN + SENDERS, UNDO)]
