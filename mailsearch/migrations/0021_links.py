"""Where the links of a message lead, beside its text. What is stored already has none until it is taken in anew.

A constant default: no row is rewritten.
"""

from django.db import migrations, models

NONE = models.Value({}, models.JSONField())


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0020_words_of_quarantined")]

    operations = [
        migrations.AddField("message", "body_links", models.JSONField(default=dict, db_default=NONE)),
        migrations.AddField("attachment", "links", models.JSONField(default=dict, db_default=NONE)),
    ]
