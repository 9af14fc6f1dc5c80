from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0006_table_statistics")]

    operations = [
        migrations.AddField("tenant", "sandbox", models.BooleanField(default=False, editable=False)),
    ]
