"""How the mail of one sync gets into the store, and what became of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mailsearch.ingest import pipeline, placements
from mailsearch.ingest.drafts import content_hash
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.placements import Seen, Settled
from mailsearch.ingest.sources.raw import RawMail, Source
from mailsearch.models import MailSource, SourceFolder


@dataclass(slots=True)
class Total:
    """What a sync did: messages new here, known by their content, erased before; then moved, deleted, restored."""

    new: int = 0
    known: int = 0
    erased: int = 0
    with_defects: int = 0
    reflagged: int = 0
    moved: int = 0
    deleted: int = 0
    restored: int = 0

    def add(self, summary: pipeline.Summary) -> None:
        self.new += summary.new
        self.known += summary.known
        self.erased += summary.erased
        self.with_defects += summary.with_defects

    def settle(self, settled: Settled) -> None:
        self.moved += settled.moved
        self.deleted += settled.deleted
        self.restored += settled.restored


Progress = Callable[[Total], None]


@dataclass(slots=True)
class Intake:
    """One sync of one source."""

    source: MailSource
    worker: Worker
    progress: Progress | None = None
    read_attachments: bool = True
    # Of files: the folder that their top goes to.
    folder: str = ""
    quarantine: bool = False
    # Called after each batch.
    show: pipeline.Progress | None = None
    total: Total = field(default_factory=Total)

    def take(self, place: SourceFolder, mails: Sequence[tuple[int, RawMail]]) -> None:
        """Store messages with their UIDs, then write down that *place* holds them: in this order, for interruptions."""
        self.take_all(Portion([mail for _, mail in mails]))
        placements.record(self.source, place, [Seen(uid, identity(mail), mail.flags) for uid, mail in mails])

    def take_all(self, mails: Source) -> None:
        """Store messages of any number."""
        summary = pipeline.ingest(
            mails,
            mailbox=self.source.mailbox,
            quarantine=self.quarantine,
            progress=self.show,
            worker=self.worker,
            read_attachments=self.read_attachments,
        )
        self.total.add(summary)
        self.tell()

    def tell(self) -> None:
        if self.progress:
            self.progress(self.total)


@dataclass(frozen=True, slots=True)
class Portion:
    """Messages that are here already, as a source."""

    mails: Sequence[RawMail]
    kind: str = "imap"

    @property
    def size(self) -> int:
        return sum(len(one.data) for one in self.mails)

    def messages(self) -> Iterator[RawMail]:
        yield from self.mails


def identity(mail: RawMail) -> bytes:
    """By what the store knows *mail*; see `pipeline`."""
    return content_hash(mail.data if not mail.unreadable else mail.origin.encode("utf-8", "replace"))
