"""Sources that only an import by hand looks at. A constant default: no row is rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0021_links")]

    operations = [
        migrations.AddField("mailsource", "by_hand", models.BooleanField(default=False, db_default=False)),
    ]
