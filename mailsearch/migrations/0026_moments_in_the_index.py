"""The index of subjects in a form that a search by moment can be looked up in.

Postgres takes COALESCE for a function that could tell of rows which row-level security hides, so that conditions on it
waited until all messages of a subject were read; CASE it knows.
"""

from django.db import migrations, models
from django.db.models import Case, When

MOMENT = Case(When(sent_at__isnull=True, then="received_at"), default="sent_at")


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0025_whole_messages")]

    operations = [
        migrations.RemoveIndex("message", "message_by_subject"),
        migrations.AddIndex("message", models.Index("tenant", "subject_key", MOMENT, name="message_by_subject")),
    ]
