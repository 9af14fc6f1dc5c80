"""Who bore a name first, found in the index instead of in all rows that bear it.

A name that thousands of messages bear took a tenth of a second for each question about it, since the moment that
decides stands in another table. Participants keep a copy of that moment (no message's ever changes), and the index is
in its order: the first row that the scope holds is the answer.
"""

from django.db import migrations, models

FILL = """
UPDATE mailsearch_participant p SET received_at = m.received_at FROM mailsearch_message m WHERE m.id = p.message_id
"""
FIRST = """
CREATE INDEX participant_by_first_name ON mailsearch_participant
    (mailbox_id, left(lower(name), 100), received_at, id) WHERE name <> '' AND address <> '';
DROP INDEX participant_by_name;
CREATE OR REPLACE FUNCTION mail_search.first_bearers(
    p_names text[], p_folders bigint[], p_from timestamptz, p_until timestamptz
) RETURNS TABLE (participant_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT f.id FROM unnest(p_names) AS n (name), LATERAL (
        SELECT first.id, first.received_at
        FROM unnest(nullif(current_setting('app.mailboxes', true), '')::bigint[]) AS b (id), LATERAL (
            SELECT p.id, p.received_at
            FROM public.mailsearch_participant p JOIN public.mailsearch_message m ON m.id = p.message_id
            WHERE p.mailbox_id = b.id AND left(lower(p.name), 100) = left(lower(n.name), 100)
              AND p.name <> '' AND p.address <> ''
              AND p.tenant_id = nullif(current_setting('app.tenant', true), '')::bigint AND NOT p.quarantined
              AND NOT m.quarantined AND m.deleted_at_source IS NULL AND m.folder_id = ANY (p_folders)
              AND (p_from IS NULL OR p.received_at >= p_from) AND (p_until IS NULL OR p.received_at < p_until)
            ORDER BY p.received_at, p.id LIMIT 1) AS first
        ORDER BY first.received_at, first.id LIMIT 1) AS f
$$;
"""
UNDO = """
CREATE OR REPLACE FUNCTION mail_search.first_bearers(
    p_names text[], p_folders bigint[], p_from timestamptz, p_until timestamptz
) RETURNS TABLE (participant_id bigint)
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
CREATE INDEX participant_by_name ON mailsearch_participant (tenant_id, left(lower(name), 100));
DROP INDEX participant_by_first_name;
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0009_mail_sources")]

    operations = [
        migrations.AddField("participant", "received_at", models.DateTimeField(null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AlterField("participant", "received_at", models.DateTimeField()),
        migrations.RunSQL(FIRST, UNDO),
    ]
