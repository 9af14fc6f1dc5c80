"""The tables of the mail store.

Every table names its tenant. Tables with mail content are bound by row-level security to the tenant, the mailboxes
and the quarantine state that the session names (migrations/0002); folders and dates stand in the queries.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now

from mailsearch import ids
from mailsearch.fields import MOMENT, HalfVectorField
from mailsearch.mailsources import MailSource as MailSource
from mailsearch.mailsources import Placement as Placement
from mailsearch.mailsources import SourceFolder as SourceFolder
from mailsearch.mailsources import SourceSecret as SourceSecret


class Tenant(models.Model):
    """Who owns mailboxes. A request acts in exactly one tenant."""

    class MayLeave(models.TextChoices):
        NOTHING = "nothing", "No mail text leaves this machine"
        ANSWERS = "answers", "Text may go to the answering model"
        ALL = "all", "Text may go to the answering and the embedding model"

    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    timezone = models.CharField(max_length=64, default="UTC")
    may_leave = models.CharField(max_length=10, choices=MayLeave.choices, default=MayLeave.ANSWERS)
    # Runs of an evaluation live in a tenant of their own and are left out of figures.
    evaluation = models.BooleanField(default=False)
    # Holds the sample mail, and is answered by a model that replies by a script. Never set on a tenant that exists.
    sandbox = models.BooleanField(default=False, editable=False)
    # Header rules that quarantine on arrival, one per line: "X-Spam-Flag: YES".
    quarantine_rules = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.slug


class Mailbox(models.Model):
    """One address's or team's whole mail: the unit of access."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="mailboxes")
    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=200, blank=True)
    address = models.CharField(max_length=320, blank=True)
    # Whose Authentication-Results count (RFC 8601); empty: nobody's.
    authserv_id = models.CharField(max_length=255, blank=True, default="")
    # The last message (by id) whose lexemes TermCount holds; later ones are counted when an import pauses or ends.
    counted_until = models.BigIntegerField(default=0, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "slug"], name="mailbox_slug_once_per_tenant")]
        verbose_name_plural = "mailboxes"

    def __str__(self) -> str:
        return self.slug


class Folder(models.Model):
    """A folder inside a mailbox; `path` uses `/` between levels."""

    class Role(models.TextChoices):
        NONE = "", "ordinary"
        INBOX = "inbox", "inbox"
        SENT = "sent", "sent"
        JUNK = "junk", "junk"
        TRASH = "trash", "trash"

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    mailbox = models.ForeignKey(Mailbox, models.CASCADE, related_name="folders")
    path = models.CharField(max_length=1000)
    role = models.CharField(max_length=10, choices=Role.choices, blank=True, default=Role.NONE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mailbox", "path"], name="folder_path_once_per_mailbox")]

    def __str__(self) -> str:
        return f"{self.mailbox}/{self.path}"


class Grant(models.Model):
    """What somebody may read: explicit mailboxes and folders by id. An empty grant reads nothing."""

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    # "All mailboxes of the tenant" is said in words, never by leaving the list empty.
    all_mailboxes = models.BooleanField(default=False)
    mailboxes = models.ManyToManyField(Mailbox, blank=True)
    folders = models.ManyToManyField(Folder, blank=True)
    # Granted folders include the folders below them.
    recursive = models.BooleanField(default=False)
    # Junk and trash folders of granted mailboxes are included.
    include_junk = models.BooleanField(default=False)
    received_from = models.DateTimeField(null=True, blank=True)
    received_until = models.DateTimeField(null=True, blank=True)


class Permission(models.TextChoices):
    """What a caller may do. None implies another."""

    SEARCH_READ = "search:read", "search and read mail"
    SEARCH_AGENTIC = "search:agentic", "ask questions that start a run"
    MESSAGE_RAW = "message:raw", "read raw messages and attachment files"
    VERIFY = "verify", "have an answer verified"
    INGEST_WRITE = "ingest:write", "put mail in"
    QUARANTINE_WRITE = "quarantine:write", "set and lift quarantine"
    AUDIT_READ = "audit:read", "read the audit of the tenant"


def permissions_field() -> "ArrayField[list[str], list[str]]":
    return ArrayField(models.CharField(max_length=30, choices=Permission.choices), default=list, blank=True)


class Membership(models.Model):
    """A person in a tenant."""

    class Role(models.TextChoices):
        ADMINISTRATOR = "administrator", "administrator"
        AUDITOR = "auditor", "auditor"
        OPERATOR = "operator", "operator"
        MEMBER = "member", "member"

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.MEMBER)
    permissions = permissions_field()
    grant = models.OneToOneField(Grant, models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "user"], name="membership_once_per_tenant")]


class ApiKey(models.Model):
    """A service key. The secret is shown once; only its SHA-256 is kept."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16, unique=True)
    secret_sha256 = models.BinaryField(max_length=32)
    permissions = permissions_field()
    grant = models.OneToOneField(Grant, models.PROTECT)
    # A rotated key and its successors are one caller.
    lineage = models.CharField(max_length=32)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix} ({self.name})"


class Thread(models.Model):
    """A conversation. What a caller sees of it is computed over the messages in its scope, so nothing is kept here."""

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    public_id = models.CharField(max_length=40, unique=True, default=ids.thread_public_id)
    # Set when two threads turn out to be one; readers follow it.
    merged_into = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, db_index=False)

    class Meta:
        indexes = [
            # Hardly any thread is merged.
            models.Index(fields=["merged_into"], name="thread_by_merger", condition=Q(merged_into__isnull=False))
        ]


class ThreadKey(models.Model):
    """Which thread a Message-ID belongs to, whether that message has arrived or is only referred to."""

    # Its thread's.
    tenant = models.ForeignKey(Tenant, models.CASCADE, db_constraint=False, db_index=False)
    # SHA-256 of the Message-ID: the id itself is mail content.
    rfc_id_sha256 = models.BinaryField(max_length=32)
    thread = models.ForeignKey(Thread, models.CASCADE)
    # False: only referred to so far. What others say of its place counts until it says so itself.
    arrived = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["tenant", "rfc_id_sha256"], name="thread_key_once_per_tenant")]


class MailRow(models.Model):
    """What every row with mail content carries, so that row-level security can bind it without a join.

    What is put in together with its message names it without a check of each row; that no message goes without what
    hangs on it is checked where it goes (migrations/0025).
    """

    # That they exist is checked on the message's folder, not again on each row that repeats it. Indexes that need the
    # tenant begin with it; one of its own would name every row of most stores.
    tenant = models.ForeignKey(Tenant, models.CASCADE, db_constraint=False, db_index=False)
    mailbox = models.ForeignKey(Mailbox, models.CASCADE, db_constraint=False)
    # Set on the message alone; a trigger carries it to the rows that belong to it.
    quarantined = models.BooleanField(default=False)

    class Meta:
        abstract = True


class Message(MailRow):
    """One mail as received. Identity is (mailbox, content hash); a Message-ID only threads."""

    # `message_by_arrival` knows it.
    mailbox = models.ForeignKey(Mailbox, models.CASCADE, db_constraint=False, db_index=False)
    # The index in the order of import begins with it.
    folder = models.ForeignKey(Folder, models.CASCADE, db_index=False)
    thread = models.ForeignKey(Thread, models.CASCADE, db_index=False)
    public_id = models.CharField(max_length=40, unique=True, default=ids.message_public_id)
    content_sha256 = models.BinaryField(max_length=32)
    # Same words under whatever headers: near-duplicates fold on this.
    words_sha256 = models.BinaryField(max_length=32)
    # The message that this one was attached to; it shares that one's folder, scope and quarantine.
    container = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="nested", db_index=False)
    rfc_message_id = models.TextField(blank=True, default="")
    in_reply_to = ArrayField(models.TextField(), default=list)
    references = ArrayField(models.TextField(), default=list)
    subject = models.TextField(blank=True, default="")
    # Hash of the subject without its prefixes: where a reply names no message, its thread is looked for by this.
    subject_key = models.BinaryField(max_length=16, null=True, editable=False)
    sent_at = models.DateTimeField(null=True)
    # Seconds east of UTC of the sender's clock, to show `sent_at` as the sender wrote it.
    sent_offset = models.IntegerField(null=True)
    received_at = models.DateTimeField()
    date_disputed = models.BooleanField(default=False)
    language = models.CharField(max_length=8, blank=True, default="")
    list_id = models.TextField(blank=True, default="")
    spf = models.CharField(max_length=12, default="unknown")
    dkim = models.CharField(max_length=12, default="unknown")
    dmarc = models.CharField(max_length=12, default="unknown")
    size = models.IntegerField(default=0)
    flags = ArrayField(models.CharField(max_length=40), default=list)
    attachment_count = models.IntegerField(default=0)
    body_text = models.TextField(blank=True, default="")
    # [[start, end, kind], …] and [[start, end, kind, said_by], …], see mailsearch.hits.Block and Region.
    body_blocks = models.JSONField(default=list)
    body_regions = models.JSONField(default=list)
    # {"kept": [[start, end, target], …], "more": n}, see mailsearch.hits.PartLinks; {} for none, or not known.
    body_links = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    hidden_text = models.TextField(blank=True, default="")
    alternatives_differ = models.BooleanField(default=False)
    text_version = models.SmallIntegerField(default=1)
    # [{"code", "part", "explanation"}, …]
    defects = models.JSONField(default=list)
    extras = models.JSONField(default=dict)
    deleted_at_source = models.DateTimeField(null=True, blank=True)
    imported_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["mailbox", "content_sha256"], condition=Q(container=None), name="message_once_per_mailbox"
            )
        ]
        indexes = [
            models.Index(fields=["tenant", "mailbox", "-received_at"], name="message_by_arrival"),
            models.Index(fields=["folder", "-imported_at"], name="message_by_import"),
            models.Index(fields=["thread", "received_at"], name="message_by_thread"),
            models.Index(fields=["tenant", "words_sha256"], name="message_by_words"),
            # Few, and asked for at each arrival: copies of quarantined mail are quarantined too.
            models.Index(
                fields=["tenant", "words_sha256"], name="message_by_quarantined_words", condition=Q(quarantined=True)
            ),
            models.Index(fields=["container"], name="message_by_container"),
            models.Index("tenant", "subject_key", MOMENT, name="message_by_subject"),
        ]


class RawMessage(MailRow):
    """The message as it came, byte for byte; `mailsearch.keeping` says how its row holds it."""

    mailbox = models.ForeignKey(Mailbox, models.CASCADE, db_constraint=False, db_index=False)
    message = models.OneToOneField(Message, models.CASCADE, primary_key=True, related_name="raw", db_constraint=False)
    data = models.BinaryField()


class Participant(MailRow):
    """A person on a message with a role."""

    message = models.ForeignKey(
        Message, models.CASCADE, related_name="participants", db_index=False, db_constraint=False
    )
    # from sender reply-to to cc bcc
    role = models.CharField(max_length=10)
    position = models.SmallIntegerField(default=0)
    name = models.TextField(blank=True, default="")
    name_key = models.TextField(blank=True, default="")  # What it looks like (mailsearch.names).
    # Lower case.
    address = models.TextField(blank=True, default="")
    # The message's, which never changes: who bore a name first is found in an index of this table alone.
    received_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["message"], name="participant_by_message"),
            models.Index(fields=["tenant", "address"], name="participant_by_address"),
        ]


class Attachment(MailRow):
    """A file on a message, with its text where it could be read. Its bytes stay in the raw message."""

    message = models.ForeignKey(
        Message, models.CASCADE, related_name="attachments", db_index=False, db_constraint=False
    )
    public_id = models.CharField(max_length=40, unique=True, default=ids.attachment_public_id)
    position = models.SmallIntegerField(default=0)
    filename = models.TextField(blank=True, default="")
    content_type = models.CharField(max_length=255, blank=True, default="")
    size = models.IntegerField(default=0)
    state = models.CharField(max_length=12, default="ok")
    text = models.TextField(blank=True, default="")
    blocks = models.JSONField(default=list)
    page_starts = ArrayField(models.IntegerField(), default=list)
    # As those of a message's body.
    links = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    hidden_text = models.TextField(blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["message"], name="attachment_by_message")]


class SearchDocument(MailRow):
    """What keyword search looks at: one row a message, apart from facts that change."""

    # An index by mailbox and message stands in migrations/0005.
    mailbox = models.ForeignKey(Mailbox, models.CASCADE, db_constraint=False, db_index=False)
    message = models.OneToOneField(
        Message, models.CASCADE, primary_key=True, related_name="document", db_constraint=False
    )
    words = SearchVectorField()
    # Number of words, for length normalisation (BM25).
    length = models.IntegerField(default=0)
    # The message's, put here by triggers (migrations/0014), so that a search need not look at it.
    folder_id = models.BigIntegerField(editable=False)
    received_at = models.DateTimeField(editable=False)
    deleted = models.BooleanField(editable=False)
    # The beginning of `words_sha256`, which copies share; None without words.
    words_key = models.BigIntegerField(null=True, editable=False)
    # [mailbox and week of arrival, minus the mailbox], so that the index of words knows them, too.
    places = ArrayField(models.BigIntegerField(), editable=False)

    class Meta:
        # New entries wait in a list, which searches read too, to be taken in together (ingest.store.tidy_index).
        indexes = [GinIndex(fields=["words", "places"], name="search_document_words", fastupdate=True)]


class Passage(MailRow):
    """A piece of a part that is embedded and ranked. Its text is that of the part between the offsets."""

    message = models.ForeignKey(Message, models.CASCADE, related_name="passages", db_index=False, db_constraint=False)
    # None: the body.
    attachment = models.ForeignKey(Attachment, models.CASCADE, null=True, blank=True)
    start = models.IntegerField()
    end = models.IntegerField()

    class Meta:
        indexes = [models.Index(fields=["message"], name="passage_by_message")]


class PassageVector(MailRow):
    """The embedding of a passage by one model; a passage without one for the current model is still to be embedded."""

    passage = models.ForeignKey(Passage, models.CASCADE, related_name="vectors")
    message = models.ForeignKey(Message, models.CASCADE, db_index=False)
    model = models.CharField(max_length=100)
    embedding = HalfVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["passage", "model"], name="one_vector_per_passage_and_model")]
        indexes = [models.Index(fields=["message"], name="vector_by_message")]


class TermCount(models.Model):
    """In how many messages of a mailbox a lexeme occurs; summed over a scope's mailboxes it gives BM25 its rarity."""

    # Checked on nothing: a large import adds ten thousands of rows for one mailbox, which it holds locked meanwhile.
    tenant = models.ForeignKey(Tenant, models.CASCADE, db_constraint=False, db_index=False)
    mailbox = models.ForeignKey(Mailbox, models.CASCADE, db_constraint=False, db_index=False)
    lexeme = models.TextField()
    documents = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mailbox", "lexeme"], name="term_count_once_per_mailbox")]


class ErasedMessage(models.Model):
    """The tombstone of an erased message: a salted hash that blocks its re-import and says nothing else."""

    tenant = models.ForeignKey(Tenant, models.CASCADE)
    salt = models.BinaryField(max_length=16)
    salted_sha256 = models.BinaryField(max_length=32)
    erased_at = models.DateTimeField(db_default=Now())
