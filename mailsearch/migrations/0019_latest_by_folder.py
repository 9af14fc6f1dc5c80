"""When the newest mail of a scope came in, folder by folder.

By mailbox it had to be looked for among the mail of all folders, or all mail of a mailbox was sorted to know. One index in
the order of import takes the place of two.
"""

from importlib import import_module

from django.db import migrations, models

before = import_module("mailsearch.migrations.0014_words_in_one_place")
LATEST = (
    ("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
    ("SET jit = off AS", "SET jit = off SET enable_sort = off AS"),
    ("FROM unnest(v_mailboxes) AS b (id), LATERAL", "FROM unnest(p_folders) AS f (id), LATERAL"),
    ("WHERE m.mailbox_id = b.id AND m.tenant_id = v_tenant", "WHERE m.folder_id = f.id AND m.tenant_id = v_tenant"),
    ("AND m.folder_id = ANY (p_folders)", "AND m.mailbox_id = ANY (v_mailboxes)"),
)


def standing() -> str:
    statement: str = before.STANDING
    for old, new in LATEST:
        if old not in statement:
            raise ValueError(f"There is no {old!r} to change.")
        statement = statement.replace(old, new)
    return statement


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0018_own_words")]

    operations = [
        migrations.RunSQL(
            "DROP INDEX message_by_import",
            "CREATE INDEX message_by_import ON mailsearch_message (mailbox_id, imported_at DESC)",
        ),
        migrations.AlterField(
            "message", "folder", models.ForeignKey("mailsearch.folder", models.CASCADE, db_index=False)
        ),
        migrations.AddIndex("message", models.Index(fields=["folder", "-imported_at"], name="message_by_import")),
        migrations.RunSQL(standing(), before.STANDING.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")),
    ]
