"""Verdicts on random samples, added and never changed; and how the review queue finds sentences by their words."""

import django.db.models.deletion
from django.db import migrations, models

TABLE = "agentic_samplednote"
CONDITION = "tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])"
GUARD = f"""
    CREATE TRIGGER add_only BEFORE UPDATE OR DELETE ON {TABLE}
        FOR EACH ROW EXECUTE FUNCTION mail_search.refuse_change();
    CREATE TRIGGER never_truncated BEFORE TRUNCATE ON {TABLE}
        FOR EACH STATEMENT EXECUTE FUNCTION mail_search.refuse_change();
    ALTER TABLE {TABLE} ENABLE ALWAYS TRIGGER add_only;
    ALTER TABLE {TABLE} ENABLE ALWAYS TRIGGER never_truncated;
    ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY;
    CREATE POLICY within_audit ON {TABLE} USING ({CONDITION}) WITH CHECK ({CONDITION});
"""
UNDO = f"""
    DROP POLICY within_audit ON {TABLE};
    ALTER TABLE {TABLE} DISABLE ROW LEVEL SECURITY;
    DROP TRIGGER add_only ON {TABLE};
    DROP TRIGGER never_truncated ON {TABLE};
"""


# `@@` is not leakproof, so under row-level security no index is used for it: the owner looks, in the audit of the session.
SEARCH = """
CREATE INDEX sentence_words ON agentic_payloadtext USING gin (to_tsvector('simple', content)) WHERE kind = 'sentence';
CREATE INDEX sentence_by_number ON agentic_sentence (tenant_id, kept, id) WHERE final AND NOT structural;
CREATE FUNCTION mail_search.audited_sentences(words text, most integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.id FROM public.agentic_payloadtext p
    JOIN public.agentic_sentence s ON s.run_id = p.run_id AND s.payload_id = p.id
    WHERE p.kind = 'sentence' AND p.tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])
        AND to_tsvector('simple', p.content) @@ websearch_to_tsquery('simple', words)
    ORDER BY s.id DESC LIMIT most
$$;
REVOKE EXECUTE ON FUNCTION mail_search.audited_sentences(text, integer) FROM PUBLIC;
"""
UNDO_SEARCH = """
DROP FUNCTION mail_search.audited_sentences(text, integer);
DROP INDEX sentence_by_number;
DROP INDEX sentence_words;
"""


class Migration(migrations.Migration):
    dependencies = [("agentic", "0008_audit_rights")]

    operations = [
        migrations.CreateModel(
            name="SampledNote",
            fields=[
                (
                    "note",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="sampled",
                        serialize=False,
                        to="agentic.note",
                    ),
                ),
                ("sample", models.CharField(max_length=60)),
                (
                    "tenant",
                    models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant"),
                ),
            ],
        ),
        migrations.RunSQL(GUARD, UNDO),
        migrations.RunSQL(SEARCH, UNDO_SEARCH),
    ]
