"""Check that all of a message goes with it where it goes, and not on each row that comes with it.

Rows that hang on a message are put in by the statement that puts it in, with the number that it was given there. To look
that up again for each of them, and to lock the message each time, was a tenth of what loading cost. What the check is
for is that nothing of a message stays behind when it goes; that is asked once for all that one statement deletes.
Vectors come later than their message, so they are checked as before.
"""

from django.db import migrations, models

PARTS = {
    "rawmessage": "raw",
    "participant": "participants",
    "attachment": "attachments",
    "searchdocument": "document",
    "passage": "passages",
}
LEFT = "\n        OR ".join(
    f"EXISTS (SELECT FROM gone JOIN public.mailsearch_{table} AS part ON part.message_id = gone.id)" for table in PARTS
)
CHECK = f"""
CREATE FUNCTION mail_search.goes_whole() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF {LEFT} THEN
        RAISE foreign_key_violation USING MESSAGE = 'Something still hangs on a message that is to be deleted.';
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.goes_whole() FROM PUBLIC;
CREATE TRIGGER goes_whole AFTER DELETE ON mailsearch_message
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION mail_search.goes_whole();
"""
UNDO = """
DROP TRIGGER goes_whole ON mailsearch_message;
DROP FUNCTION mail_search.goes_whole();
"""


def part(table: str, related: str) -> "models.ForeignKey[models.Model, models.Model]":
    if table in ("rawmessage", "searchdocument"):
        return models.OneToOneField(
            "mailsearch.message",
            models.CASCADE,
            primary_key=True,
            related_name=related,
            serialize=False,
            db_constraint=False,
        )
    return models.ForeignKey(
        "mailsearch.message", models.CASCADE, related_name=related, db_index=False, db_constraint=False
    )


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0024_plans_for_all")]

    operations = [
        *(migrations.AlterField(table, "message", part(table, related)) for table, related in PARTS.items()),
        migrations.RunSQL(CHECK, UNDO),
    ]
