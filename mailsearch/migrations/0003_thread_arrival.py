"""What threading and counting of terms need to know beside a message: arrival, subject, progress."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("mailsearch", "0002_row_level_security"),
    ]

    operations = [
        migrations.AddField(
            model_name="mailbox",
            name="counted_until",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="message",
            name="subject_key",
            field=models.BinaryField(max_length=16, null=True),
        ),
        migrations.AddField(
            model_name="threadkey",
            name="arrived",
            field=models.BooleanField(default=False),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["tenant", "subject_key"], name="message_by_subject"),
        ),
    ]
