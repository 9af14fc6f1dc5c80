"""Which verdicts were given on random samples: from these alone rates are estimated."""

from django.db import models

from mailsearch.models import Tenant


class SampledNote(models.Model):
    """Says that a verdict was given on a sentence drawn at random, whose earlier verdicts the reader did not see."""

    note = models.OneToOneField("agentic.Note", models.PROTECT, primary_key=True, related_name="sampled")
    tenant = models.ForeignKey(Tenant, models.PROTECT)
    # Seed and last row of the sample, so that it can be drawn again.
    sample = models.CharField(max_length=60)
