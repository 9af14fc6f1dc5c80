"""Bind the audit to tenants whose audit the session may see, and refuse every change to what was written."""

from django.db import migrations

CONTENT = ("run", "traceevent", "evidence", "sentence", "citation", "widenattempt", "runfinished", "note")
ADD_ONLY = (*CONTENT, "adminact")
CONDITION = "tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])"

FUNCTION = """
CREATE FUNCTION mail_search.refuse_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are added and never changed', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.refuse_change() FROM PUBLIC;
"""


def add_only(table: str) -> str:
    name = f"agentic_{table}"
    return f"""
        CREATE TRIGGER add_only BEFORE UPDATE OR DELETE ON {name}
            FOR EACH ROW EXECUTE FUNCTION mail_search.refuse_change();
        CREATE TRIGGER never_truncated BEFORE TRUNCATE ON {name}
            FOR EACH STATEMENT EXECUTE FUNCTION mail_search.refuse_change();
        ALTER TABLE {name} ENABLE ALWAYS TRIGGER add_only;
        ALTER TABLE {name} ENABLE ALWAYS TRIGGER never_truncated;
    """


def undo(table: str) -> str:
    return f"DROP TRIGGER add_only ON agentic_{table}; DROP TRIGGER never_truncated ON agentic_{table};"


class Migration(migrations.Migration):
    dependencies = [("agentic", "0001_initial"), ("mailsearch", "0002_row_level_security")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION mail_search.refuse_change()"),
        *(migrations.RunSQL(add_only(table), undo(table)) for table in ADD_ONLY),
        *(
            migrations.RunSQL(
                f"ALTER TABLE agentic_{table} ENABLE ROW LEVEL SECURITY;"
                f"CREATE POLICY within_audit ON agentic_{table} USING ({CONDITION}) WITH CHECK ({CONDITION});",
                f"DROP POLICY within_audit ON agentic_{table}; ALTER TABLE agentic_{table} DISABLE ROW LEVEL SECURITY;",
            )
            for table in CONTENT
        ),
    ]
