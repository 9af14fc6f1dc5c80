"""Mail from a source into the store: read, pass over what is known, parse, thread, write, batch by batch.

An import can be stopped at any moment and repeated: each batch is one transaction, and what is stored is recognised by
its content. One message never ends an import: what can't be parsed or stored as it is is stored as its bytes with a
defect. Parsing runs in a child process beside the writing of the batch before.
"""

import atexit
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import psycopg
from django.conf import settings
from django.db import Error
from django.utils import timezone

from mailsearch.ingest import collecting, counting, drafts, statistics, store
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.lexemes import Stems
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.parsed import ParsedMessage
from mailsearch.ingest.rules import Rule, is_caught, parse_rules
from mailsearch.ingest.sources.labels import folder_role
from mailsearch.ingest.sources.raw import RawMail, Source
from mailsearch.models import Folder, Mailbox
from mailsearch.terms import fold

# Messages that are parsed, threaded and written together, and the most bytes of them.
BATCH = 1_000
_BYTES = 16_000_000
# How many times as many messages there are when statistics are refreshed again amid an import.
_MORE = 25
_INBOX = "INBOX"
# For messages that come one by one: starting a child takes longer than parsing a hundred of them.
_parser = Worker(models=settings.PM_DATA)
_one_at_a_time = threading.Lock()
atexit.register(_parser.close)


@dataclass(slots=True)
class Summary:
    """What became of an import so far. `read` = `new` + `known` + `erased`; nothing is ever lost."""

    read: int = 0
    new: int = 0
    # The mailbox had it already, or the source holds it twice.
    known: int = 0
    # Erased here before, and so not taken again.
    erased: int = 0
    # Messages inside messages, beyond `new`.
    nested: int = 0
    quarantined: int = 0
    with_defects: int = 0
    defects: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    bytes_total: int = 0
    seconds: float = 0.0

    @property
    def lost(self) -> int:
        return self.read - self.new - self.known - self.erased


Progress = Callable[[Summary], None]


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A message that the mailbox does not have."""

    mail: RawMail
    identity: bytes


@dataclass(frozen=True, slots=True)
class _Target:
    """Where an import puts its mail, and how."""

    mailbox: Mailbox
    folder: str
    quarantine: bool
    rules: tuple[Rule, ...]
    read_attachments: bool


def ingest(
    source: Source,
    *,
    mailbox: Mailbox,
    folder: str | None = None,
    quarantine: bool = False,
    progress: Progress | None = None,
    read_attachments: bool = True,
    worker: Worker | None = None,
) -> Summary:
    """Take all mail of *source* into *mailbox*.

    *folder* is where the source's top goes (INBOX without one); its folders go below. With *quarantine* everything is
    quarantined. *progress* is called after each batch. A *worker* that is given is used and left open.
    Raises django.db.Error or psycopg.Error where the database can't be used, and ValueError where the tenant's
    quarantine rules make no sense.
    """
    rules = parse_rules(mailbox.tenant.quarantine_rules)
    target = _Target(mailbox, (folder or "").strip("/"), quarantine, rules, read_attachments)
    started = time.monotonic()
    summary = Summary(bytes_total=source.size)
    stems = Stems(store.ask_stems)
    # While a store grows from nothing the planner takes it for empty, and reads it whole for each batch.
    look_again = BATCH
    with collecting.seldom(), _lent(worker) as parser, ThreadPoolExecutor(1, "parse") as parsing:
        waiting: Future[list[Draft]] | None = None
        for batch in _batches(source):
            fresh = _fresh(target, batch, summary)
            parsed = parsing.submit(_parse, parser, target, fresh)
            _take(waiting, target, stems, summary)
            waiting = parsed
            if summary.new >= look_again:
                statistics.refresh()
                look_again = _MORE * summary.new
            _tell(progress, summary, started)
        _take(waiting, target, stems, summary)
    if summary.new:
        store.tidy_index()
    counting.count_new(mailbox)
    statistics.refresh()
    _tell(progress, summary, started)
    return summary


def ingest_one(mail: RawMail, *, mailbox: Mailbox, folder: str | None = None, quarantine: bool = False) -> Summary:
    """Take one message into *mailbox*; otherwise like `ingest`. All of a process share one child to parse in."""
    with _one_at_a_time:
        return ingest(_One(mail), mailbox=mailbox, folder=folder, quarantine=quarantine, worker=_parser)


def _lent(worker: Worker | None) -> AbstractContextManager[Worker]:
    return Worker(models=settings.PM_DATA) if worker is None else nullcontext(worker)


@dataclass(frozen=True, slots=True)
class _One:
    mail: RawMail

    @property
    def kind(self) -> str:
        return "message"

    @property
    def size(self) -> int:
        return len(self.mail.data)

    def messages(self) -> Iterator[RawMail]:
        yield self.mail


def _tell(progress: Progress | None, summary: Summary, started: float) -> None:
    summary.seconds = time.monotonic() - started
    if progress:
        progress(summary)


def _batches(source: Source) -> Iterator[list[RawMail]]:
    batch: list[RawMail] = []
    size = 0
    for mail in source.messages():
        batch.append(mail)
        size += len(mail.data)
        if len(batch) >= BATCH or size >= _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _fresh(target: _Target, batch: Sequence[RawMail], summary: Summary) -> list[_Fresh]:
    """What of *batch* the mailbox does not have, each once."""
    found: dict[bytes, _Fresh] = {}
    for mail in batch:
        summary.read += 1
        summary.bytes_read += mail.weight
        # A file that can't be read is known by its place, since it has no content to be known by.
        identity = drafts.content_hash(mail.data if not mail.unreadable else mail.origin.encode("utf-8", "replace"))
        found.setdefault(identity, _Fresh(mail, identity))
    known = store.known_hashes(target.mailbox, list(found))
    fresh = [one for identity, one in found.items() if identity not in known]
    summary.known += len(batch) - len(fresh)
    return fresh


def _parse(worker: Worker, target: _Target, fresh: Sequence[_Fresh]) -> list[Draft]:
    parsed = worker.parse_many(
        [one.mail.data for one in fresh],
        trusted_authserv_id=target.mailbox.authserv_id,
        read_attachments=target.read_attachments,
    )
    return [_draft(target, one, found) for one, found in zip(fresh, parsed, strict=True)]


def _draft(target: _Target, one: _Fresh, parsed: ParsedMessage) -> Draft:
    try:
        made = drafts.draft(one.mail, parsed, one.identity, timezone.now())
    except Exception as error:  # noqa: BLE001
        # A mistake of ours about one message must not cost the import: its bytes are kept, with the reason.
        made = _bare(one.mail, parsed, one.identity, error)
    quarantined = target.quarantine or is_caught(one.mail.data, target.rules)
    for member in made.family():
        member.quarantined = quarantined
    return made


def _bare(mail: RawMail, parsed: ParsedMessage, identity: bytes, error: Exception) -> Draft:
    reason = f"The message could not be stored as it was read: {type(error).__name__}."
    return drafts.bare(mail, parsed, identity, timezone.now(), reason)


def _take(parsed: "Future[list[Draft]] | None", target: _Target, stems: Stems, summary: Summary) -> None:
    """Write a batch that has been parsed."""
    if parsed is None:
        return
    batch = parsed.result()
    folders = {name: _folder(target, name) for name in {one.mail.folder for one in batch}}
    for written in _write(target.mailbox, folders, batch, stems):
        summary.new += len(written.new)
        summary.known += written.known
        summary.erased += written.erased
        for one in written.new:
            family = list(one.family())
            summary.nested += len(family) - 1
            summary.quarantined += one.quarantined
            summary.with_defects += any(member.defects for member in family)
            summary.defects.update(defect.code for member in family for defect in member.defects)


def _write(mailbox: Mailbox, folders: dict[str, int], batch: Sequence[Draft], stems: Stems) -> Iterator[store.Written]:
    """Write *batch*; where the database refuses something in it, halve until that one is found and stored bare."""
    if not batch:
        return
    try:
        yield store.write(mailbox, folders, batch, stems)
    except (Error, psycopg.Error, UnicodeError, struct.error) as error:
        if not _is_about_the_data(error):
            raise
        if len(batch) == 1:
            one = batch[0]
            made = _bare(one.mail, one.parsed, one.content_sha256, error)
            made.quarantined = one.quarantined
            yield store.write(mailbox, folders, [made], stems)
            return
        middle = len(batch) // 2
        yield from _write(mailbox, folders, batch[:middle], stems)
        yield from _write(mailbox, folders, batch[middle:], stems)


def _is_about_the_data(error: Exception) -> bool:
    """Whether a value was refused (by Postgres: SQLSTATE classes 21, 22, 23 and 54), and not the whole work."""
    state = getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None) or ""
    return isinstance(error, UnicodeError | psycopg.DataError | struct.error) or state[:2] in {"21", "22", "23", "54"}


def _folder(target: _Target, name: str) -> int:
    """The folder of the mailbox for a source's folder *name*, made where it is missing."""
    path = "/".join(step for step in (target.folder, name.strip("/")) if step)[:1000] or _INBOX
    path = "".join(character if character.isprintable() else "\ufffd" for character in path)
    found, _ = Folder.objects.get_or_create(
        mailbox=target.mailbox,
        path=path,
        defaults={"tenant": target.mailbox.tenant, "role": folder_role(path, fold(path))},
    )
    return int(found.pk)
