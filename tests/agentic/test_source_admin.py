"""Sources in the admin: how they do is shown, secrets are not, and nothing can be set that runs on this machine."""

import uuid

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from mailsearch.ingest import credentials
from mailsearch.models import Mailbox, MailSource, Tenant

pytestmark = pytest.mark.django_db(transaction=True)


def test_sources_are_shown_with_what_to_do_and_without_secrets() -> None:
    tenant = Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name="Kiln")
    source = MailSource.objects.create(
        tenant=tenant, mailbox=Mailbox.objects.create(tenant=tenant, slug="ann"), kind="imap",
        location="imaps://ann@mail.example:993", account="ann", host="mail.example", port=993,
        state="auth-failed", error="The login was refused. Give the secret again.",
    )  # fmt: skip
    credentials.keep(source, "cuckoo-clock")
    client = Client()
    client.force_login(get_user_model().objects.create_superuser(f"root-{uuid.uuid4().hex[:8]}", password=None))
    listed = client.get(reverse("admin:mailsearch_mailsource_changelist"), {"tenant__id__exact": tenant.pk})
    shown = client.get(reverse("admin:mailsearch_mailsource_change", args=[source.pk]))
    for page in (listed, shown):
        text = page.content.decode()
        assert "imaps://ann@mail.example:993" in text
        assert "Give the secret again." in text
        assert "cuckoo-clock" not in text
    changed = client.post(reverse("admin:mailsearch_mailsource_change", args=[source.pk]), {"location": "/etc"})
    added = client.get(reverse("admin:mailsearch_mailsource_add"))
    assert (changed.status_code, added.status_code) == (404, 404)
