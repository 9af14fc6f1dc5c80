"""Put the words of the audit apart from its rows, and bind the rows of each run and each tenant into chains.

What the audit held before is deleted, runs and recorded acts alike: its rows were in no chain, and words inside of them
could not be erased. No version that made such rows was ever released.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

TABLES = [
    "run",
    "traceevent",
    "evidence",
    "sentence",
    "citation",
    "widenattempt",
    "runfinished",
    "note",
    "adminact",
    "callerattempt",
]
EMPTY = "\n".join(
    [
        *(f"ALTER TABLE agentic_{table} DISABLE TRIGGER never_truncated;" for table in TABLES),
        "TRUNCATE "
        + ", ".join(f"agentic_{table}" for table in (*TABLES, "runstate", "idempotencykey", "dailyuse", "calleruse"))
        + ";",
        *(f"ALTER TABLE agentic_{table} ENABLE ALWAYS TRIGGER never_truncated;" for table in TABLES),
    ]
)


class Migration(migrations.Migration):
    dependencies = [
        ("agentic", "0006_caller_attempts"),
        ("mailsearch", "0006_table_statistics"),
    ]

    operations = [
        migrations.RunSQL(EMPTY, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="AccessLog",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("reader", models.CharField(max_length=64)),
                ("label", models.CharField(blank=True, default="", max_length=200)),
                ("kind", models.CharField(max_length=20)),
                ("via", models.CharField(max_length=10)),
                (
                    "subjects",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), default=list, size=None
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ErasedText",
            fields=[
                ("text", models.UUIDField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="PayloadText",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("message", models.CharField(blank=True, default="", max_length=40)),
                ("kind", models.CharField(max_length=10)),
                ("salt", models.BinaryField(max_length=32)),
                ("content", models.TextField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Seal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("run", "a run that ended"),
                            ("act", "a recorded act"),
                            ("note", "a verdict or note"),
                            ("accesses", "accesses to mail and runs"),
                            ("attempts", "widen attempts outside of runs"),
                        ],
                        max_length=8,
                    ),
                ),
                ("subject", models.CharField(blank=True, default="", max_length=60)),
                ("row", models.BigIntegerField()),
                ("count", models.PositiveIntegerField()),
                ("head", models.BinaryField(max_length=32)),
                ("hash", models.BinaryField(max_length=32)),
                ("signature", models.CharField(max_length=150)),
            ],
        ),
        migrations.CreateModel(
            name="TenantChain",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        serialize=False,
                        to="mailsearch.tenant",
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("head", models.BinaryField(max_length=32)),
            ],
        ),
        migrations.RemoveIndex(
            model_name="evidence",
            name="evidence_by_run",
        ),
        migrations.RemoveField(
            model_name="adminact",
            name="reason",
        ),
        migrations.RemoveField(
            model_name="callerattempt",
            name="effective",
        ),
        migrations.RemoveField(
            model_name="callerattempt",
            name="requested",
        ),
        migrations.RemoveField(
            model_name="citation",
            name="context",
        ),
        migrations.RemoveField(
            model_name="citation",
            name="quote",
        ),
        migrations.RemoveField(
            model_name="citation",
            name="relayed_by",
        ),
        migrations.RemoveField(
            model_name="citation",
            name="said_by",
        ),
        migrations.RemoveField(
            model_name="evidence",
            name="excerpts",
        ),
        migrations.RemoveField(
            model_name="evidence",
            name="found_by",
        ),
        migrations.RemoveField(
            model_name="evidence",
            name="head",
        ),
        migrations.RemoveField(
            model_name="evidence",
            name="text_sha256",
        ),
        migrations.RemoveField(
            model_name="note",
            name="text",
        ),
        migrations.RemoveField(
            model_name="run",
            name="filters",
        ),
        migrations.RemoveField(
            model_name="run",
            name="question",
        ),
        migrations.RemoveField(
            model_name="runfinished",
            name="answer_text",
        ),
        migrations.RemoveField(
            model_name="sentence",
            name="detail",
        ),
        migrations.RemoveField(
            model_name="sentence",
            name="drafted",
        ),
        migrations.RemoveField(
            model_name="sentence",
            name="text",
        ),
        migrations.RemoveField(
            model_name="traceevent",
            name="data",
        ),
        migrations.RemoveField(
            model_name="widenattempt",
            name="effective",
        ),
        migrations.RemoveField(
            model_name="widenattempt",
            name="requested",
        ),
        migrations.AddField(
            model_name="adminact",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="agentpolicy",
            name="audit_text_days",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Days after which the words of runs are deleted (manage.py retain); what happened stays on record, without the words. Default: they are kept.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(36500),
                ],
                verbose_name="audit.text_days",
            ),
        ),
        migrations.AddField(
            model_name="callerattempt",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="citation",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="citation",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="citation",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="evidence",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="evidence",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="evidence",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="note",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="runfinished",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="runfinished",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="runfinished",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="sentence",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="sentence",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="sentence",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="traceevent",
            name="facts",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="traceevent",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="traceevent",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="traceevent",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="widenattempt",
            name="hash",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="widenattempt",
            name="link",
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="widenattempt",
            name="text_hmac",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AlterField(
            model_name="adminact",
            name="at",
            field=models.DateTimeField(editable=False),
        ),
        migrations.AlterField(
            model_name="citation",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AlterField(
            model_name="evidence",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AlterField(
            model_name="note",
            name="at",
            field=models.DateTimeField(editable=False),
        ),
        migrations.AlterField(
            model_name="runfinished",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AlterField(
            model_name="sentence",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AlterField(
            model_name="traceevent",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AlterField(
            model_name="widenattempt",
            name="run",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="%(class)ss", to="agentic.run"
            ),
        ),
        migrations.AddField(
            model_name="accesslog",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant"
            ),
        ),
        migrations.AddField(
            model_name="erasedtext",
            name="act",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="agentic.adminact"),
        ),
        migrations.AddField(
            model_name="erasedtext",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant"
            ),
        ),
        migrations.AddField(
            model_name="payloadtext",
            name="run",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="payloads", to="agentic.run"
            ),
        ),
        migrations.AddField(
            model_name="payloadtext",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant"
            ),
        ),
        migrations.AddField(
            model_name="adminact",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="callerattempt",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="citation",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="evidence",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="note",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="runfinished",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="sentence",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="traceevent",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddField(
            model_name="widenattempt",
            name="payload",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="agentic.payloadtext",
            ),
        ),
        migrations.AddConstraint(
            model_name="citation",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="citation_link_once"),
        ),
        migrations.AddConstraint(
            model_name="evidence",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="evidence_link_once"),
        ),
        migrations.AddConstraint(
            model_name="runfinished",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="runfinished_link_once"),
        ),
        migrations.AddConstraint(
            model_name="sentence",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="sentence_link_once"),
        ),
        migrations.AddConstraint(
            model_name="traceevent",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="traceevent_link_once"),
        ),
        migrations.AddConstraint(
            model_name="widenattempt",
            constraint=models.UniqueConstraint(fields=("run", "link"), name="widenattempt_link_once"),
        ),
        migrations.AddField(
            model_name="seal",
            name="tenant",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, to="mailsearch.tenant"
            ),
        ),
        migrations.AddIndex(
            model_name="accesslog",
            index=models.Index(fields=["tenant", "id"], name="access_by_tenant"),
        ),
        migrations.AddIndex(
            model_name="payloadtext",
            index=models.Index(
                condition=models.Q(("message", ""), _negated=True), fields=["message"], name="text_by_message"
            ),
        ),
        migrations.AddConstraint(
            model_name="seal",
            constraint=models.UniqueConstraint(fields=("tenant", "number"), name="seal_number_once"),
        ),
        migrations.AddConstraint(
            model_name="seal",
            constraint=models.UniqueConstraint(fields=("tenant", "kind", "row"), name="sealed_once"),
        ),
    ]
