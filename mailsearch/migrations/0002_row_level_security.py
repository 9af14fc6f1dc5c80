"""Bind every table with mail content to the tenant, mailboxes and quarantine state that the session names."""

from django.db import migrations

# Tables whose rows carry tenant, mailbox and quarantine.
MAIL = ("message", "rawmessage", "participant", "attachment", "searchdocument", "passage", "passagevector")
TENANT = "tenant_id = nullif(current_setting('app.tenant', true), '')::bigint"
MAILBOX = "mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])"
QUARANTINE = "(NOT quarantined OR current_setting('app.quarantined', true) = 'included')"


def policy(table: str, *conditions: str) -> str:
    condition = " AND ".join(conditions)
    return f"""
        ALTER TABLE mailsearch_{table} ENABLE ROW LEVEL SECURITY;
        CREATE POLICY within_scope ON mailsearch_{table} USING ({condition}) WITH CHECK ({condition});
    """


def undo(table: str) -> str:
    return f"""
        DROP POLICY within_scope ON mailsearch_{table};
        ALTER TABLE mailsearch_{table} DISABLE ROW LEVEL SECURITY;
    """


POLICIES = [
    *((table, (TENANT, MAILBOX, QUARANTINE)) for table in MAIL),
    ("termcount", (TENANT, MAILBOX)),
    ("thread", (TENANT,)),
    ("threadkey", (TENANT,)),
    ("erasedmessage", (TENANT,)),
]

SPREAD = (
    """
CREATE FUNCTION mail_search.spread_quarantine() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
"""
    + "\n".join(
        f"    UPDATE public.mailsearch_{table} SET quarantined = NEW.quarantined WHERE message_id = NEW.id;"
        for table in MAIL
        if table != "message"
    )
    + """
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.spread_quarantine() FROM PUBLIC;
CREATE TRIGGER spread_quarantine AFTER UPDATE OF quarantined ON mailsearch_message
FOR EACH ROW WHEN (OLD.quarantined IS DISTINCT FROM NEW.quarantined) EXECUTE FUNCTION mail_search.spread_quarantine();
"""
)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0001_initial")]

    operations = [
        # Functions that search on a caller's behalf live here; only the application's role may run them.
        migrations.RunSQL("CREATE SCHEMA mail_search", "DROP SCHEMA mail_search"),
        *(migrations.RunSQL(policy(table, *conditions), undo(table)) for table, conditions in POLICIES),
        migrations.RunSQL(
            SPREAD,
            "DROP TRIGGER spread_quarantine ON mailsearch_message; DROP FUNCTION mail_search.spread_quarantine()",
        ),
    ]
