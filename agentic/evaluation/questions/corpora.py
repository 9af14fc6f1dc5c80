"""The mail that questions are about, taken into a tenant of evaluations once for each content."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from django.db.models.functions import Now

from agentic.evaluation.report import BadInput
from agentic.workers import in_worker
from mailsearch.hits import MessageText
from mailsearch.ingest import embedding, pipeline
from mailsearch.ingest.sources import NotASource, RawMail, Source, open_source
from mailsearch.ingest.store import TEXT_VERSION
from mailsearch.models import Grant, Mailbox, Message, Tenant
from mailsearch.scope import Scope, resolve
from mailsearch.search import reading
from mailsearch.sessions import Binding, bound

Progress = Callable[[str, int, int], None]
# Mail in a folder of this name is taken in as quarantined: nothing may ever answer from it.
_QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Corpora:
    """All mail of one evaluation in one tenant, a mailbox for each corpus."""

    tenant: Tenant
    mailboxes: dict[str, Mailbox]

    def scope(self, corpus: str) -> Scope:
        """The whole mail of *corpus* and nothing else; quarantined mail is in no scope."""
        return self._scope([self.mailboxes[corpus]])

    def scope_lacking(self, corpus: str, messages: frozenset[str]) -> Scope:
        """The mail of *corpus* without what holds *messages*, known by their Message-IDs: without their folders, or
        where that leaves nothing only up to the first of them."""
        whole = self.scope(corpus)
        with whole.reading_orm():
            rows = Message.objects.filter(rfc_message_id__in=messages, folder__in=whole.folder_ids)
            held = list(rows.values_list("folder_id", "received_at"))
        others = whole.within_folders(frozenset(whole.folder_ids) - {folder for folder, _ in held})
        if held and others.empty:
            return replace(whole, received_until=min(moment for _, moment in held))
        return others

    async def texts(self, corpus: str) -> dict[int, MessageText]:
        """Every message of *corpus* with all its parts, by internal id."""
        whole = await in_worker(self.scope, corpus)
        ids = await in_worker(self.visible, corpus)
        async with whole.reading() as conn:
            return await reading.load(conn, whole, ids)

    def visible(self, corpus: str) -> frozenset[int]:
        """The internal ids of all messages that a caller with the whole of *corpus* in scope may read now."""
        whole = self.scope(corpus)
        condition = {"folder__in": whole.folder_ids, "deleted_at_source__isnull": True}
        with whole.reading_orm():
            return frozenset(Message.objects.filter(**condition).values_list("pk", flat=True))

    @asynccontextmanager
    async def without(self, messages: frozenset[int]) -> AsyncIterator[None]:
        """Within the block these messages are gone, as where their source has deleted them: from searches, threads,
        lists and counts alike."""
        await in_worker(self._delete, messages)
        try:
            yield
        finally:
            await in_worker(self.put_back)

    def put_back(self) -> None:
        """Undo what a block, or one that was killed, has deleted: files that are evaluated delete nothing."""
        with self._bound():
            Message.objects.filter(tenant=self.tenant, deleted_at_source__isnull=False).update(deleted_at_source=None)

    def _delete(self, messages: frozenset[int]) -> None:
        with self._bound():
            Message.objects.filter(tenant=self.tenant, pk__in=messages).update(deleted_at_source=Now())

    def _bound(self) -> AbstractContextManager[None]:
        return bound(Binding(self.tenant.pk, frozenset(box.pk for box in self.mailboxes.values())))

    def thread_of(self, message_ids: Sequence[str]) -> str:
        """The thread of the first of these messages that is there, by its public id; empty where none is."""
        with self._bound():
            rows = Message.objects.filter(tenant=self.tenant, rfc_message_id__in=message_ids).order_by("received_at")
            first = rows.select_related("thread").first()
            return first.thread.public_id if first is not None else ""

    def _scope(self, mailboxes: list[Mailbox]) -> Scope:
        grant = Grant.objects.create(tenant=self.tenant, include_junk=False)
        grant.mailboxes.set(mailboxes)
        try:
            return resolve(grant)
        finally:
            grant.delete()


@dataclass(frozen=True, slots=True)
class _Half:
    """The mail of a source that is to be quarantined, or all the other."""

    source: Source
    quarantined: bool

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def size(self) -> int:
        return self.source.size

    def messages(self) -> Iterator[RawMail]:
        for mail in self.source.messages():
            folders = {step.lower() for step in mail.folder.split("/")}
            if (_QUARANTINE in folders) == self.quarantined:
                yield mail


def load(folder: Path, names: list[str], progress: Progress, *, vectors: bool = True) -> Corpora:
    """Take the corpora *names* below *folder* in. What was taken in before is found again. Raises BadInput."""
    paths = {name: _path(folder, name) for name in names}
    # Mail and how it is read decide which tenant it is in, so a change of either is never mixed with what was before.
    digest = hashlib.sha256(f"{TEXT_VERSION}".encode())
    for name in sorted(paths):
        _add(digest, name, paths[name])
    slug = f"evaluation-{digest.hexdigest()[:16]}"
    tenant, _ = Tenant.objects.get_or_create(slug=slug, defaults={"name": "Evaluation", "evaluation": True})
    mailboxes = {}
    for number, name in enumerate(sorted(paths)):
        mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug=f"corpus-{number}")
        _take_in(paths[name], mailbox, progress)
        mailboxes[name] = mailbox
    if vectors:
        embedding.embed_pending(
            tenant, progress=lambda stage: progress("vectors", stage.done, stage.done + stage.waiting)
        )
    corpora = Corpora(tenant, mailboxes)
    corpora.put_back()
    return corpora


def _take_in(path: Path, mailbox: Mailbox, progress: Progress) -> None:
    try:
        source = open_source(path)
    except NotASource as error:
        raise BadInput(str(error)) from error
    for quarantined in (False, True):
        pipeline.ingest(
            _Half(source, quarantined),
            mailbox=mailbox,
            quarantine=quarantined,
            progress=lambda so_far: progress("mail", so_far.bytes_read, so_far.bytes_total),
        )


def _path(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.exists():
        raise BadInput(f"there is no mail at {folder / name}")
    return path


def _add(digest: "hashlib._Hash", name: str, path: Path) -> None:
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        digest.update(f"{name}\0{file.relative_to(path)}\0{content}\n".encode("utf-8", "surrogatepass"))
