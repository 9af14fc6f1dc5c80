"""Find quarantined mail of the same words without passing over all its copies that are not quarantined."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0019_latest_by_folder")]

    operations = [
        migrations.AddIndex(
            "message",
            models.Index(
                fields=["tenant", "words_sha256"],
                name="message_by_quarantined_words",
                condition=models.Q(quarantined=True),
            ),
        ),
    ]
