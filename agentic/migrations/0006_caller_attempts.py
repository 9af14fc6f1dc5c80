"""Keep widen attempts outside of runs: bound to the audit's tenants, and added only."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

CONDITION = "tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])"
BIND = f"""
ALTER TABLE agentic_callerattempt ENABLE ROW LEVEL SECURITY;
CREATE POLICY within_audit ON agentic_callerattempt USING ({CONDITION}) WITH CHECK ({CONDITION});
CREATE TRIGGER add_only BEFORE UPDATE OR DELETE ON agentic_callerattempt
    FOR EACH ROW EXECUTE FUNCTION mail_search.refuse_change();
CREATE TRIGGER never_truncated BEFORE TRUNCATE ON agentic_callerattempt
    FOR EACH STATEMENT EXECUTE FUNCTION mail_search.refuse_change();
ALTER TABLE agentic_callerattempt ENABLE ALWAYS TRIGGER add_only;
ALTER TABLE agentic_callerattempt ENABLE ALWAYS TRIGGER never_truncated;
"""
UNBIND = """
DROP TRIGGER add_only ON agentic_callerattempt;
DROP TRIGGER never_truncated ON agentic_callerattempt;
DROP POLICY within_audit ON agentic_callerattempt;
ALTER TABLE agentic_callerattempt DISABLE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    dependencies = [("agentic", "0005_sign_in_attempts")]

    operations = [
        migrations.CreateModel(
            name="CallerAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=Now())),
                ("caller", models.CharField(max_length=64)),
                ("caller_label", models.CharField(blank=True, default="", max_length=200)),
                ("kind", models.CharField(max_length=20)),
                ("tool", models.CharField(max_length=40)),
                ("argument", models.CharField(max_length=100)),
                ("requested", models.TextField()),
                ("effective", models.TextField(null=True)),
                ("tenant", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant")),
            ],
            options={"indexes": [models.Index(fields=["tenant", "-at"], name="caller_attempt_by_time")]},
        ),
        migrations.RunSQL(BIND, UNBIND),
    ]
