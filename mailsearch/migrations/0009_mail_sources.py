"""Sources that are followed: accounts, their secrets apart, and what each source holds where."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

CASCADE = models.CASCADE
TENANT = "tenant_id = nullif(current_setting('app.tenant', true), '')::bigint"
MAILBOX = "mailbox_id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[])"
TABLES = ("sourcesecret", "sourcefolder", "placement")
TLS = [
    ("implicit", "TLS from the first byte"),
    ("starttls", "STARTTLS, or no connection"),
    ("none", "none (this machine only)"),
]
LOGIN = [("password", "password"), ("xoauth2", "XOAUTH2, the token by a command")]
STATE = [
    ("new", "not synced yet"),
    ("syncing", "being synced"),
    ("ok", "in step"),
    ("partial", "in step but for some folders"),
    ("auth-failed", "the login was refused"),
    ("tls-failed", "no safe connection"),
    ("network-failed", "not reached"),
    ("protocol-failed", "the server's answer was not understood"),
    ("secret-failed", "the secret can't be had"),
    ("files-failed", "the files can't be read"),
]
NEW_FIELDS: "dict[str, models.Field[Any, Any]]" = {
    "account": models.CharField(blank=True, default="", max_length=320),
    "host": models.CharField(blank=True, default="", max_length=255),
    "port": models.PositiveIntegerField(blank=True, null=True),
    "tls": models.CharField(choices=TLS, default="implicit", max_length=10),
    "ca_file": models.CharField(blank=True, default="", max_length=1000),
    "login": models.CharField(choices=LOGIN, default="password", max_length=10),
    "secret_env": models.CharField(blank=True, default="", max_length=100),
}
BOUND = """
ALTER TABLE mailsearch_{0} ENABLE ROW LEVEL SECURITY;
CREATE POLICY within_scope ON mailsearch_{0} USING ({1} AND {2}) WITH CHECK ({1} AND {2});
"""
UNBOUND = """
DROP POLICY within_scope ON mailsearch_{0};
ALTER TABLE mailsearch_{0} DISABLE ROW LEVEL SECURITY;
"""


def key():
    return ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def owned():
    return [
        ("tenant", models.ForeignKey("mailsearch.tenant", CASCADE, db_index=False)),
        ("mailbox", models.ForeignKey("mailsearch.mailbox", CASCADE)),
    ]


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0008_load_path")]

    operations = [
        *(migrations.AddField("mailsource", name, field) for name, field in NEW_FIELDS.items()),
        migrations.AlterField("mailsource", "state", models.CharField(choices=STATE, default="new", max_length=20)),
        migrations.CreateModel(
            "SourceSecret",
            [
                *owned(),
                (
                    "source",
                    models.OneToOneField(
                        "mailsearch.mailsource", CASCADE, primary_key=True, related_name="+", serialize=False
                    ),
                ),
                ("sealed", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            "SourceFolder",
            [
                key(),
                *owned(),
                ("source", models.ForeignKey("mailsearch.mailsource", CASCADE, related_name="folders")),
                ("name", models.CharField(max_length=1000)),
                ("folder", models.ForeignKey("mailsearch.folder", CASCADE)),
                ("uidvalidity", models.BigIntegerField(default=0)),
                ("uidnext", models.BigIntegerField(default=0)),
                ("modseq", models.DecimalField(decimal_places=0, default=0, max_digits=20)),
                ("exists", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            "Placement",
            [
                key(),
                *owned(),
                ("place", models.ForeignKey("mailsearch.sourcefolder", CASCADE, related_name="placements")),
                ("uid", models.BigIntegerField(null=True)),
                (
                    "message",
                    models.ForeignKey("mailsearch.message", models.SET_NULL, null=True, related_name="placements"),
                ),
                ("flags", ArrayField(models.CharField(max_length=40), default=list)),
            ],
        ),
        migrations.AddConstraint(
            "sourcefolder", models.UniqueConstraint(fields=["source", "name"], name="source_folder_once")
        ),
        migrations.AddConstraint(
            "placement", models.UniqueConstraint(fields=["place", "uid"], name="placement_once_per_uid")
        ),
        *(migrations.RunSQL(BOUND.format(table, TENANT, MAILBOX), UNBOUND.format(table)) for table in TABLES),
    ]
