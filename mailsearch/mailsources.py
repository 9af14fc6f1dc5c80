"""Where a mailbox's mail comes from: sources, their secrets, and what of each was seen where.

`mailsearch.models` hands these tables on to everybody else.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class MailSource(models.Model):
    """An IMAP account, or files, that a mailbox follows, and how the last look at it went."""

    class Tls(models.TextChoices):
        IMPLICIT = "implicit", "TLS from the first byte"
        STARTTLS = "starttls", "STARTTLS, or no connection"
        NONE = "none", "none (this machine only)"

    class Login(models.TextChoices):
        PASSWORD = "password", "password"
        XOAUTH2 = "xoauth2", "XOAUTH2, the token by a command"

    class State(models.TextChoices):
        NEW = "new", "not synced yet"
        SYNCING = "syncing", "being synced"
        OK = "ok", "in step"
        PARTIAL = "partial", "in step but for some folders"
        AUTH_FAILED = "auth-failed", "the login was refused"
        TLS_FAILED = "tls-failed", "no safe connection"
        NETWORK_FAILED = "network-failed", "not reached"
        PROTOCOL_FAILED = "protocol-failed", "the server's answer was not understood"
        SECRET_FAILED = "secret-failed", "the secret can't be had"
        FILES_FAILED = "files-failed", "the files can't be read"

    tenant = models.ForeignKey("mailsearch.Tenant", models.CASCADE)
    mailbox = models.ForeignKey("mailsearch.Mailbox", models.CASCADE, related_name="sources")
    # imap, or what the files are: maildir, mbox, folder, eml, msg.
    kind = models.CharField(max_length=20)
    # A path, or imaps://account@host:port; never with a secret.
    location = models.CharField(max_length=1000)
    account = models.CharField(max_length=320, blank=True, default="")
    host = models.CharField(max_length=255, blank=True, default="")
    port = models.PositiveIntegerField(null=True, blank=True)
    tls = models.CharField(max_length=10, choices=Tls.choices, default=Tls.IMPLICIT)
    # Whose certificates are believed beside the system's: a PEM file.
    ca_file = models.CharField(max_length=1000, blank=True, default="")
    login = models.CharField(max_length=10, choices=Login.choices, default=Login.PASSWORD)
    # The environment variable that holds the secret; empty: it is kept encrypted (SourceSecret).
    secret_env = models.CharField(max_length=100, blank=True, default="")
    # Looked at only when `ingest --follow-deletions` names it; `sync` passes it over.
    by_hand = models.BooleanField(default=False, db_default=False)
    state = models.CharField(max_length=20, choices=State.choices, default=State.NEW)
    last_sync_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mailbox", "kind", "location"], name="mail_source_once")]

    def __str__(self) -> str:
        return self.location


class SourceRow(models.Model):
    """What row-level security binds to a tenant and a mailbox (migrations/0009)."""

    tenant = models.ForeignKey("mailsearch.Tenant", models.CASCADE, db_index=False)
    mailbox = models.ForeignKey("mailsearch.Mailbox", models.CASCADE)

    class Meta:
        abstract = True


class SourceSecret(SourceRow):
    """A source's password or token command, encrypted (ingest.credentials); apart, so that no list has it."""

    source = models.OneToOneField(MailSource, models.CASCADE, primary_key=True, related_name="+")
    sealed = models.BinaryField()


class SourceFolder(SourceRow):
    """A folder as the source has it, and how far it was read when it was last read to its end."""

    source = models.ForeignKey(MailSource, models.CASCADE, related_name="folders")
    # As it stands on the wire: over IMAP in modified UTF-7.
    name = models.CharField(max_length=1000)
    folder = models.ForeignKey("mailsearch.Folder", models.CASCADE)
    # RFC 3501, 2.3.1.1 and RFC 7162, 3.1.2.1; all zero until the folder was read once.
    uidvalidity = models.BigIntegerField(default=0)
    uidnext = models.BigIntegerField(default=0)
    modseq = models.DecimalField(max_digits=20, decimal_places=0, default=0)
    exists = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "name"], name="source_folder_once")]


class Placement(SourceRow):
    """One place where a source holds a message. A message that had places and has none left was deleted there."""

    place = models.ForeignKey(SourceFolder, models.CASCADE, related_name="placements")
    # None for files. Negative: of a UIDVALIDITY that is over, and goes when the folder was read anew.
    uid = models.BigIntegerField(null=True)
    # None: what stands there was erased here and is not taken again.
    message = models.ForeignKey("mailsearch.Message", models.SET_NULL, null=True, related_name="placements")
    flags = ArrayField(models.CharField(max_length=40), default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["place", "uid"], name="placement_once_per_uid")]
