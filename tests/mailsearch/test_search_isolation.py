"""Mail outside a scope changes nothing that its reader sees, and thousands of random searches agree with an oracle."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from mailsearch.hits import Filters, Mode, SearchRequest
from mailsearch.ingest import counting
from mailsearch.models import Message, Thread
from mailsearch.scope import Scope
from mailsearch.search import contacts, coverage, engine, listing, reading, related
from mailsearch.sessions import bound, pool
from tests.mailsearch.posting import START, Letter, Office, split_address
from tests.mailsearch.test_search_scope import Compass

pytestmark = pytest.mark.django_db(transaction=True)
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
# For each reader a dozen searches and look-ups; a hundred rounds ask some fifteen thousand times.
ROUNDS = int(os.environ.get("ISOLATION_ROUNDS", "3"))
VOCABULARY = ("harbour", "contract", "tyres", "golf", "invoice", "winter")
PEOPLE = ("Ann Abel <ann@abel.example>", "Bob Baker <bob@baker.example>", "Cy <cy@cole.example>")


def embed(office: Office, mailbox: str, posted: list[Message]) -> None:
    vectors = Compass().embed([one.body_text for one in posted])
    office.embed(mailbox, "compass", {one.pk: row.tolist() for one, row in zip(posted, vectors, strict=True)})


def everything(scope: Scope, thread: str, message: str) -> list[Any]:
    """All that a reader can see by a few questions to each way of reading."""
    texts = ("harbour", "what is the contract for the harbour?", "from:ann", "", "tyres -golf", '"winter tyres"')

    async def ask() -> list[Any]:
        async with pool(size=4):
            results: list[Any] = [
                replace(await engine.search(scope, SearchRequest(text, mode, now=START), embedder=Compass()), took_ms=0)
                for mode in MODES
                for text in texts
            ]
            results.append(await reading.thread(scope, thread))
            results.append(await related.find_related(scope, message))
            results.append(await contacts.search(scope, ""))
            results.append(await listing.messages(scope, Filters()))
            results.append(await coverage.of(scope))
            return results

    return async_to_sync(ask)()


@pytest.mark.parametrize("windowed", [False, True])
def test_mail_outside_of_the_scope_changes_nothing(windowed: bool) -> None:
    office = Office()
    thread = office.thread()
    until = START + timedelta(days=100)
    mine = office.post(
        "sales",
        Letter("The harbour contract is for winter tyres.", subject="Harbour", thread=thread, received_at=START),
        Letter("Golf and tyres, no harbour.", subject="Golf", received_at=START + timedelta(days=1)),
        Letter("A contract about invoices.", subject="Invoice", received_at=START + timedelta(days=2)),
    )
    embed(office, "sales", mine)
    scope = office.scope("sales", received_until=until) if windowed else office.scope("sales")
    before = everything(scope, thread.public_id, mine[0].public_id)

    def flood(when: datetime, **more: Any) -> list[Letter]:
        text = "harbour contract golf winter tyres invoice"
        return [
            Letter(f"{text} {n}", subject=text, thread=thread, received_at=when, sender=PEOPLE[n % 3], **more)
            for n in range(20)
        ]

    embed(office, "other", office.post("other", *flood(START)))
    embed(office, "sales", office.post("sales", *flood(START, quarantined=True)))
    Office().post("sales", *flood(START))
    if windowed:
        embed(office, "sales", office.post("sales", *flood(until)))
    assert everything(scope, thread.public_id, mine[0].public_id) == before
    assert before[0].hits


def test_quarantine_takes_a_message_out_of_every_count() -> None:
    office = Office()
    mine = office.post("sales", *(Letter(f"harbour {word}", subject=word) for word in VOCABULARY))
    embed(office, "sales", mine)
    scope = office.scope("sales")
    before = everything(scope, mine[0].thread.public_id, mine[0].public_id)
    (planted,) = office.post("sales", Letter("harbour contract golf", subject="Planted"))
    with bound(office.binding()):
        Message.objects.filter(pk=planted.pk).update(quarantined=True)
    after = everything(scope, mine[0].thread.public_id, mine[0].public_id)
    # That mail came in is to be seen by nobody; that the index was brought up to date is no secret.
    assert after == before
    with bound(office.binding()):
        Message.objects.filter(pk=planted.pk).update(quarantined=False)
    counting.recount(office.mailbox("sales"))
    assert everything(scope, mine[0].thread.public_id, mine[0].public_id) != before


@dataclass(frozen=True)
class Mail:
    """What the oracle knows of a message."""

    public_id: str
    thread: str
    mailbox: str
    folder: str
    body: str
    sender: str
    received_at: datetime
    hidden: bool

    @property
    def words(self) -> frozenset[str]:
        return frozenset(self.body.split()) & set(VOCABULARY)

    @property
    def address(self) -> str:
        return split_address(self.sender)[1]

    def holds(self, excerpt: str) -> bool:
        """Whether these words are of this message alone; each body ends with a number of its own."""
        return excerpt in (self.body, "-")


@dataclass(frozen=True)
class Reader:
    """A scope and what the oracle thinks of it."""

    scope: Scope
    sees: Callable[[Mail], bool]


def test_random_scopes_and_queries_agree_with_an_oracle() -> None:
    chance = random.Random(20260105)
    office = Office()
    mails = list(_mails(office, chance))
    readers = [_reader(office, chance) for _ in range(12)]

    async def check() -> None:
        async with pool(size=4):
            await asyncio.gather(*(_check_reader(reader, mails, chance.randrange(10**6)) for reader in readers))

    async_to_sync(check)()


def _mails(office: Office, chance: random.Random) -> list[Mail]:
    found = []
    for mailbox in ("sales", "ann", "bob"):
        letters = [
            Letter(
                " ".join(chance.sample(VOCABULARY, chance.randint(1, 4))) + f" {mailbox}{n}",
                subject="-",
                sender=chance.choice(PEOPLE),
                folder=chance.choice(["INBOX", "Work", "Work/Old", "Trash"]),
                received_at=START + timedelta(days=chance.randint(0, 30)),
                quarantined=chance.random() < 0.2,
            )
            for n in range(20)
        ]
        posted = office.post(mailbox, *letters)
        embed(office, mailbox, posted)
        deleted = {one.pk for one in posted if chance.random() < 0.1}
        with bound(office.binding()):
            Message.objects.filter(pk__in=deleted).update(deleted_at_source=START)
        found += [
            Mail(
                one.public_id,
                one.thread.public_id,
                mailbox,
                letter.folder,
                letter.body,
                letter.sender,
                one.received_at,
                letter.quarantined or one.pk in deleted,
            )
            for one, letter in zip(posted, letters, strict=True)
        ]
    return found


def _reader(office: Office, chance: random.Random) -> Reader:
    mailboxes = chance.sample(["sales", "ann", "bob"], chance.randint(0, 2))
    folders = [(chance.choice(["sales", "ann", "bob"]), chance.choice(["INBOX", "Work", "Work/Old", "Trash"]))]
    start = START + timedelta(days=chance.randint(0, 10)) if chance.random() < 0.3 else None
    end = START + timedelta(days=chance.randint(11, 30)) if chance.random() < 0.3 else None

    def sees(mail: Mail) -> bool:
        granted = (mail.mailbox, mail.folder) in folders or (mail.mailbox in mailboxes and mail.folder != "Trash")
        in_time = (start is None or mail.received_at >= start) and (end is None or mail.received_at < end)
        return granted and in_time and not mail.hidden

    return Reader(office.scope(*mailboxes, folders=folders, received_from=start, received_until=end), sees)


def _cases(word: str, person: str, day: datetime) -> list[tuple[str, Callable[[Mail], bool]]]:
    """Queries, and which of the visible mails each should find."""
    name = person.partition(" <")[0]
    midnight = day.replace(hour=0)
    return [
        (word, lambda mail: word in mail.words),
        (f'-{word} from:"{name}"', lambda mail: word not in mail.words and mail.sender == person),
        (f"{word} after:{day:%Y-%m-%d}", lambda mail: word in mail.words and mail.received_at >= midnight),
        (f"in:sales {word}", lambda mail: mail.mailbox == "sales" and word in mail.words),
    ]


async def _check_reader(reader: Reader, mails: list[Mail], seed: int) -> None:
    chance = random.Random(seed)
    visible = {mail.public_id: mail for mail in mails if reader.sees(mail)}
    for _ in range(ROUNDS):
        word, person = chance.choice(VOCABULARY), chance.choice(PEOPLE)
        day = START + timedelta(days=chance.randint(0, 30))
        for text, matches in _cases(word, person, day):
            result = await engine.search(reader.scope, SearchRequest(text, "keyword", limit=100, now=START))
            found = {hit.head.message_id for hit in result.hits}
            assert found <= set(visible)
            if not result.refused:
                assert found == {one for one, mail in visible.items() if matches(mail)}
        for mode in ("semantic", "hybrid"):
            result = await engine.search(reader.scope, SearchRequest(word, mode, limit=100), embedder=Compass())
            assert {hit.head.message_id for hit in result.hits} == set(visible)
            assert result.total == len(visible)
            assert all(hit.copies == 1 for hit in result.hits)
            assert all(visible[hit.head.message_id].holds(one.text) for hit in result.hits for one in hit.excerpts)
        await _check_reading(reader, visible, chance.choice(mails))


async def _check_reading(reader: Reader, visible: dict[str, Mail], asked: Mail) -> None:
    """What is looked up by its id, or beside it, is what the reader may see."""
    may = asked.public_id in visible
    read = await reading.message(reader.scope, asked.public_id)
    assert (read is not None) == may
    assert (await reading.raw(reader.scope, asked.public_id) is not None) == may
    thread = await reading.thread(reader.scope, asked.thread)
    assert [one.head.message_id for one in thread or ()] == ([asked.public_id] if may else [])
    found = await related.find_related(reader.scope, asked.public_id, 100)
    assert (found is not None) == may
    assert {hit.head.message_id for hit in found or ()} <= set(visible) - {asked.public_id}
    known = {one.address: one.messages for one in await contacts.search(reader.scope, "")}
    senders = Counter(mail.address for mail in visible.values())
    assert {address: known.get(address, 0) for address in senders} == senders
    assert set(known) <= {*senders, "sales@shop.example"}
    page = await listing.messages(reader.scope, Filters(), 100)
    assert {head.message_id for head in page.heads} == set(visible)
    assert (await coverage.of(reader.scope)).messages_in_scope == len(visible)


def test_threads_are_followed_even_in_a_loop() -> None:
    office = Office()
    one, other = office.thread(), office.thread()
    office.post("sales", Letter("harbour", thread=one))
    with bound(office.binding()):
        Thread.objects.filter(pk=one.pk).update(merged_into=other)
        Thread.objects.filter(pk=other.pk).update(merged_into=one)
    assert async_to_sync(reading.thread)(office.scope("sales"), one.public_id) is None
