"""What the overview counts is counted over indexes by time."""

from django.db import migrations, models

ENDS = ["outcome", "seconds", "steps", "first_evidence_ms", "prompt_tokens", "completion_tokens", "cost_usd"]


class Migration(migrations.Migration):
    dependencies = [("agentic", "0009_sampled_notes")]

    operations = [
        migrations.AddIndex(
            model_name="runfinished",
            index=models.Index(fields=["tenant", "at"], include=ENDS, name="end_by_time"),
        ),
        migrations.AddIndex(
            model_name="sentence",
            index=models.Index(
                condition=models.Q(("final", True), ("kept", False), ("structural", False)),
                fields=["tenant", "at"],
                include=["reason"],
                name="removed_by_time",
            ),
        ),
        migrations.AddIndex(
            model_name="widenattempt",
            index=models.Index(fields=["tenant", "at"], include=["kind"], name="widen_by_time"),
        ),
    ]
