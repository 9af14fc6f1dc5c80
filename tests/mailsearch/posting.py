"""Puts mail straight into the store's tables, for tests of what comes out of it."""

import hashlib
import itertools
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import connection

from mailsearch import ids
from mailsearch.ingest import counting
from mailsearch.ingest.lexemes import Field, Stems, index_line, tokens, unpacked
from mailsearch.ingest.store import ask_stems
from mailsearch.models import (
    Attachment,
    Folder,
    Grant,
    Mailbox,
    Message,
    Participant,
    Passage,
    PassageVector,
    RawMessage,
    Tenant,
    Thread,
)
from mailsearch.names import likeness
from mailsearch.scope import Scope, resolve
from mailsearch.sessions import Binding, bound
from mailsearch.terms import dictionary

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_numbers = itertools.count(1)


@dataclass
class Letter:
    """A mail to be posted. Addresses are written `Name <address>` or as the address alone."""

    body: str
    subject: str = "A letter"
    sender: str = "Ann Abel <ann@abel.example>"
    to: Sequence[str] = ("sales@shop.example",)
    cc: Sequence[str] = ()
    folder: str = "INBOX"
    received_at: datetime | None = None
    sent_at: datetime | None = None
    thread: Thread | None = None
    quoted: str = ""
    language: str = "en"
    attachments: Sequence[tuple[str, str]] = ()
    quarantined: bool = False
    dmarc: str = "unknown"
    flags: Sequence[str] = ()
    container: Message | None = None
    size: int = 1000
    hidden: str = ""
    # Words of the body and where they lead.
    links: Sequence[tuple[str, str]] = ()


@dataclass
class Office:
    """A tenant of a test's own with its mailboxes."""

    tenant: Tenant = field(
        default_factory=lambda: Tenant.objects.create(slug=f"office-{ids.public_id('t')[2:14].lower()}", name="Office")
    )

    def mailbox(self, slug: str) -> Mailbox:
        return Mailbox.objects.get_or_create(
            tenant=self.tenant, slug=slug, defaults={"name": slug.title(), "address": f"{slug}@shop.example"}
        )[0]

    def folder(self, mailbox: str, path: str = "INBOX") -> Folder:
        role = {"inbox": "inbox", "sent": "sent", "junk": "junk", "trash": "trash"}.get(path.lower(), "")
        return Folder.objects.get_or_create(
            tenant=self.tenant, mailbox=self.mailbox(mailbox), path=path, defaults={"role": role}
        )[0]

    def binding(self) -> Binding:
        boxes = frozenset(Mailbox.objects.filter(tenant=self.tenant).values_list("id", flat=True))
        return Binding(self.tenant.pk, boxes, include_quarantined=True)

    def thread(self) -> Thread:
        with bound(self.binding()):
            return Thread.objects.create(tenant=self.tenant)

    def post(self, mailbox: str, *letters: Letter, count: bool = True) -> list[Message]:
        """Store *letters* in the mailbox; they arrive an hour apart unless they say when."""
        folders = {letter.folder: self.folder(mailbox, letter.folder) for letter in letters}
        box = self.mailbox(mailbox)
        with bound(self.binding()):
            posted = [_store(self.tenant, box, folders[letter.folder], letter) for letter in letters]
        if count:
            counting.count_new(box)
        return posted

    def scope(
        self,
        *mailboxes: str,
        folders: Iterable[tuple[str, str]] = (),
        received_from: datetime | None = None,
        received_until: datetime | None = None,
        include_junk: bool = False,
    ) -> Scope:
        """What a grant of these mailboxes and folders gives."""
        grant = Grant.objects.create(
            tenant=self.tenant,
            received_from=received_from,
            received_until=received_until,
            include_junk=include_junk,
        )
        grant.mailboxes.set([self.mailbox(one) for one in mailboxes])
        grant.folders.set([self.folder(*one) for one in folders])
        return resolve(grant)

    def embed(self, mailbox: str, model: str, vectors: dict[int, Sequence[float]]) -> None:
        """Give each message (by internal id) one passage over its whole body with this vector."""
        box = self.mailbox(mailbox)
        with bound(self.binding()):
            for message in Message.objects.filter(pk__in=vectors):
                common = {"tenant": self.tenant, "mailbox": box, "quarantined": message.quarantined}
                passage = Passage.objects.create(**common, message=message, start=0, end=len(message.body_text))
                PassageVector.objects.create(
                    **common, message=message, passage=passage, model=model, embedding=list(vectors[message.pk])
                )


def _links(letter: Letter) -> dict[str, object]:
    places = [(letter.body.index(words), words, target) for words, target in letter.links]
    return {"kept": [[start, start + len(words), target] for start, words, target in places], "more": 0}


def _store(tenant: Tenant, mailbox: Mailbox, folder: Folder, letter: Letter) -> Message:
    number = next(_numbers)
    received = letter.received_at or START + timedelta(hours=number)
    text = letter.body + (f"\n\n{letter.quoted}" if letter.quoted else "")
    common = {"tenant": tenant, "mailbox": mailbox, "quarantined": letter.quarantined}
    message = Message.objects.create(
        **common,
        folder=folder,
        thread=letter.thread or Thread.objects.create(tenant=tenant),
        content_sha256=hashlib.sha256(f"{tenant.pk} {number}".encode()).digest(),
        words_sha256=hashlib.sha256(" ".join(text.split()).encode()).digest(),
        container=letter.container,
        rfc_message_id=f"{number}@post.example",
        subject=letter.subject,
        sent_at=letter.sent_at or received,
        received_at=received,
        language=letter.language,
        dmarc=letter.dmarc,
        size=letter.size,
        flags=list(letter.flags),
        attachment_count=len(letter.attachments),
        body_text=text,
        body_blocks=[[0, len(letter.body), "paragraph"]],
        body_regions=[[len(letter.body) + 2, len(text), "quoted", ""]] if letter.quoted else [],
        hidden_text=letter.hidden,
        body_links=_links(letter),
    )
    RawMessage.objects.create(**common, message=message, data=zlib.compress(text.encode()))
    people = [("from", letter.sender), *(("to", one) for one in letter.to), *(("cc", one) for one in letter.cc)]
    for position, (role, person) in enumerate(people):
        name, address = split_address(person)
        Participant.objects.create(
            **common, message=message, role=role, position=position, name=name, name_key=likeness(name),
            address=address.lower(), received_at=message.received_at,
        )  # fmt: skip
    for position, (filename, content) in enumerate(letter.attachments):
        Attachment.objects.create(
            **common, message=message, position=position, filename=filename, content_type="text/plain",
            size=len(content), state="ok" if content else "empty", text=content,
        )  # fmt: skip
    fields = [
        Field("A", letter.subject),
        *(Field("B", person) for _, person in people),
        *(Field("B", filename) for filename, _ in letter.attachments),
        Field("C", letter.body),
        *(Field("C", content) for _, content in letter.attachments),
        Field("D", letter.quoted),
    ]
    _index(message, common, fields, letter.language)
    return message


def _index(message: Message, common: dict[str, object], fields: Sequence[Field], language: str) -> None:
    found = tokens(fields)
    name = dictionary(language)
    line = index_line(found, Stems(ask_stems).of(name, found.places))
    weights = ["", "C", "B", "A"]
    vector = " ".join(
        "'{}':{}".format(
            lexeme.replace("\\", "\\\\").replace("'", "''"),
            ",".join(f"{place & 0x3FFF}{weights[place >> 14]}" for place in unpacked(places)),
        )
        for lexeme, places in line.places.items()
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO mailsearch_searchdocument (tenant_id, mailbox_id, quarantined, message_id, words, length)"
            " VALUES (%s, %s, %s, %s, %s::tsvector, %s)",
            [message.tenant_id, message.mailbox_id, message.quarantined, message.pk, vector, line.length],
        )


def split_address(person: str) -> tuple[str, str]:
    name, _, rest = person.rpartition("<")
    return (name.strip(), rest.rstrip(">")) if name else ("", person)
