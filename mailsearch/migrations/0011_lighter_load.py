"""Less for an import to pay: checks and indexes that others make needless, and statistics that nothing asks for.

A message's folder names its mailbox and so its tenant; a key's thread names its tenant. The index of subjects is in the
order of time, since placing by subject looks at a month alone.
"""

from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Coalesce

# Long texts and values that no condition is about: to sample them takes longer than all the rest of an ANALYZE.
UNASKED = {
    "message": (
        "body_text", "body_blocks", "body_regions", "hidden_text", "defects", "extras", "references", "in_reply_to",
        "content_sha256", "rfc_message_id", "public_id",
    ),
    "attachment": ("text", "blocks", "page_starts", "hidden_text", "public_id"),
}  # fmt: skip


def statistics(target):
    return ";".join(
        f'ALTER TABLE mailsearch_{table} ALTER COLUMN "{column}" SET STATISTICS {target}'
        for table, columns in UNASKED.items()
        for column in columns
    )


def bare(to):
    return models.ForeignKey(f"mailsearch.{to}", models.CASCADE, db_constraint=False, db_index=False)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0010_first_bearers")]

    operations = [
        migrations.AlterField("message", "tenant", bare("tenant")),
        migrations.AlterField(
            "message", "mailbox", models.ForeignKey("mailsearch.mailbox", models.CASCADE, db_constraint=False)
        ),
        migrations.AlterField("threadkey", "tenant", bare("tenant")),
        migrations.AlterField("termcount", "tenant", bare("tenant")),
        *(
            migrations.AlterField(table, "mailbox", bare("mailbox"))
            for table in ("rawmessage", "searchdocument", "termcount")
        ),
        migrations.AlterField(
            "thread",
            "merged_into",
            models.ForeignKey("mailsearch.thread", models.SET_NULL, null=True, blank=True, db_index=False),
        ),
        migrations.AddIndex(
            "thread",
            models.Index(fields=["merged_into"], name="thread_by_merger", condition=Q(merged_into__isnull=False)),
        ),
        migrations.RemoveIndex("message", "message_by_subject"),
        migrations.AddIndex(
            "message",
            models.Index("tenant", "subject_key", Coalesce("sent_at", "received_at"), name="message_by_subject"),
        ),
        migrations.RunSQL(statistics(0), statistics(-1)),
    ]
