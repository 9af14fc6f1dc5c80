"""A message is erased: no word of it is left anywhere in the database, and what happened can still be proved."""

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from string import ascii_lowercase

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from psycopg import sql

from agentic import chain, erasure, runs
from agentic.callers import Access, Principal, create_key, resolve_key
from agentic.core.ports import Model
from agentic.llm.extractive.reader import ExtractiveReader
from agentic.models import AdminAct, AgentPolicy, Note, PayloadText, Run, Sentence
from mailsearch.ingest import embedding, pipeline
from mailsearch.ingest.limits import Worker
from mailsearch.models import Mailbox, Message, Permission, Tenant
from mailsearch.sessions import Binding, bound
from tests.agentic.asking import read
from tests.agentic.test_tampering import verify
from tests.mailsearch.importing import mail, new_mailbox, seeing, source
from tests.mailsearch.test_embeddings import Counting
from tests.standins.scripted_model import ScriptedModel, answers, declares, searches

pytestmark = pytest.mark.django_db(transaction=True)

# Places of words that stand in nothing else, each in another place of the message.
WORDS = ("subject", "body", "sender", "address", "file", "attached", "id", "link", "linked")
BODY = """--cut
Content-Type: text/html

<p>{quote}</p><p><a href="https://stove.example/{link}">Its papers</a></p>
--cut
Content-Type: text/html; name="papers.html"
Content-Disposition: attachment; filename="papers.html"

<p><a href="https://stove.example/{linked}">More papers</a></p>
--cut
Content-Type: text/plain; name="{file}.txt"
Content-Disposition: attachment; filename="{file}.txt"

The {attached} invoice of the boiler.
--cut--"""
QUOTE = "The {body} boiler was repaired on 4 March for 310 EUR."
OTHER = mail("The garden was watered on 5 March, and the hedge was cut.", subject="Garden", id_="garden@x.example")


class Canary:
    """A message whose words no other test's message holds, since what a test leaves stays in the database."""

    def __init__(self) -> None:
        key = "".join(secrets.choice(ascii_lowercase) for _ in range(8))
        self.words = {place: f"qzx{place}{key}" for place in WORDS}
        self.quote = self.told(QUOTE)
        self.message_id = self.told("{id}@x.example")
        self.message = mail(
            BODY.format(quote=self.quote, **self.words),
            id_=self.message_id,
            subject=self.told("{subject} of the boiler"),
            sender=self.told("{sender} Stove <{address}@x.example>"),
            content_type='multipart/mixed; boundary="cut"',
        )

    def told(self, text: str) -> str:
        """*text* with this message's words in their places."""
        return text.format(**self.words)


@dataclass
class Home:
    tenant: Tenant
    mailbox: Mailbox
    reader: Principal
    canary: Canary

    def message(self) -> str:
        with seeing(self.tenant):
            return str(Message.objects.get(rfc_message_id=self.canary.message_id).public_id)


@pytest.fixture
def home() -> Home:
    mailbox, canary = new_mailbox("home"), Canary()
    take(mailbox, canary.message, OTHER)
    _, token = create_key(mailbox.tenant, "Jo", Access(tuple(Permission.values), mailboxes=(mailbox,)))
    return Home(mailbox.tenant, mailbox, resolve_key(token), canary)


def take(mailbox: Mailbox, *messages: bytes) -> pipeline.Summary:
    with Worker() as worker:
        return pipeline.ingest(source(*messages), mailbox=mailbox, worker=worker)


def ask(home: Home, model: Model, question: str, *, chat: bool = True) -> str:
    async def asked() -> str:
        started = await runs.start(home.reader, runs.Ask(question), runs.Models(model, chat=chat))
        assert isinstance(started, runs.Started)
        await runs.wait(started, runs.launch(started))
        return started.public_id

    return asyncio.run(asked())


def dump(conninfo: str) -> Iterator[tuple[str, bytes]]:
    """Every table of every schema of ours, as a dump would write it."""
    with psycopg.connect(conninfo) as conn:
        tables = conn.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
        ).fetchall()
        for schema, table in tables:
            statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(str(schema), str(table)))
            with conn.cursor().copy(statement) as copy:
                yield str(table), b"".join(map(bytes, copy))


def places(conninfo: str, canary: Canary) -> dict[str, set[str]]:
    """Which words of the message are in which table."""
    found: dict[str, set[str]] = {}
    for table, rows in dump(conninfo):
        held = {word for word in canary.words.values() if word.encode() in rows.lower()}
        if held:
            found[table] = held
    return found


def erase(tenant: Tenant, *arguments: str) -> str:
    out = StringIO()
    call_command("erase_message", *arguments, "--tenant", tenant.slug, "--reason", "Art. 17", stdout=out)
    return out.getvalue()


def test_no_word_of_an_erased_message_is_left_in_the_database(home: Home, owner_conninfo: str) -> None:
    embedding.embed_pending(home.tenant, embedder=Counting("one"))
    told, quote = home.canary.told, home.canary.quote
    false = (
        told("It was {body} and cost 999 EUR."),
        told("{body} boiler"),
        told("the {attached} invoice was never paid"),
    )
    script = ScriptedModel(
        searches(told("{body} boiler"), told("{attached} invoice")),
        answers((f'The mail says "{quote}"', told("{body} boiler"), quote), false),
    )
    answered = ask(home, script, told("Who is {sender}, and was the {subject} boiler repaired?"))
    extracted = ask(home, ExtractiveReader(None), told("When was the {body} boiler repaired?"), chat=False)
    whole = "The garden was watered on 5 March, and the hedge was cut."
    garden = ScriptedModel(answers(("The garden was watered on 5 March.", "the hedge was cut", whole)))
    elsewhere = ask(home, garden, "When was the garden watered?")
    _remarks(home, answered)
    before = places(owner_conninfo, home.canary)
    assert {"mailsearch_message", "agentic_payloadtext"} <= set(before)
    assert set().union(*before.values()) == set(home.canary.words.values())
    assert "messages erased" in erase(home.tenant, home.message())
    assert places(owner_conninfo, home.canary) == {}
    again = take(home.mailbox, home.canary.message)
    assert (again.new, again.erased) == (0, 1)
    assert places(owner_conninfo, home.canary) == {}
    assert verify(home.tenant) == (0, "")
    for run in (answered, extracted, elsewhere):
        response = read(home.reader, run)
        assert response is not None
        assert response["status"] == "finished"
        with bound(Binding(audit=frozenset({home.tenant.pk}))):
            assert chain.state(Run.objects.get(public_id=run)).status == "sealed"
    kept = read(home.reader, elsewhere)
    assert kept is not None
    # It rests on other mail, whatever else that run had found.
    assert "watered on 5 March" in kept["answer"]["text"]


def _remarks(home: Home, run: str) -> None:
    """What people wrote about the message: a note on a sentence of the *run*, and the reason of an act."""
    author = get_user_model().objects.create_user(f"reader-{home.tenant.pk}")
    with bound(Binding(audit=frozenset({home.tenant.pk}))):
        sentence = Sentence.objects.filter(run__public_id=run).first()
        told = home.canary.told
        Note.objects.create(
            tenant=home.tenant, author=author, sentence=sentence, verdict="unsure", text=told("{body}? Ask {sender}.")
        )
    AdminAct.objects.create(
        tenant=home.tenant, actor="user:1", act="message quarantined", reason=told("The {attached} looked forged.")
    )


def test_words_that_were_used_before_the_message_came_take_nothing_with_them(owner_conninfo: str) -> None:
    mailbox, canary = new_mailbox("home"), Canary()
    take(mailbox, OTHER)
    _, token = create_key(mailbox.tenant, "Jo", Access(tuple(Permission.values), mailboxes=(mailbox,)))
    home = Home(mailbox.tenant, mailbox, resolve_key(token), canary)
    ask(home, ScriptedModel(declares()), "Was the boiler repaired?")
    take(mailbox, canary.message)
    common = ask(home, ScriptedModel(declares()), "Which boiler was it?")
    own = ask(home, ScriptedModel(declares()), canary.told("Which {body} boiler was it?"))
    erase(home.tenant, home.message())
    assert places(owner_conninfo, canary) == {}
    with bound(Binding(audit=frozenset({home.tenant.pk}))):
        questions = {run.public_id: run.question for run in Run.objects.filter(tenant=home.tenant)}
    assert (questions[common], questions[own]) == ("Which boiler was it?", "")


def test_an_erasure_is_on_record_with_who_and_why(home: Home) -> None:
    message = home.message()
    erase(home.tenant, "--message-id", f"<{home.canary.message_id}>")
    with bound(Binding(audit=frozenset({home.tenant.pk}))):
        act = AdminAct.objects.get(tenant=home.tenant, act=erasure.ERASED)
    assert (act.actor, act.reason, act.detail["messages"]) == ("command line", "Art. 17", [message])
    with pytest.raises(CommandError, match="has no such message"):
        erase(home.tenant, message)


def test_words_run_out_by_the_tenants_days_and_a_legal_hold_stops_all_of_it(home: Home, owner_conninfo: str) -> None:
    run = ask(home, ScriptedModel(answers(("Yes.", "the hedge was cut", "the hedge was cut"))), "Was the hedge cut?")
    AgentPolicy.objects.create(tenant=home.tenant, audit_text_days=30)
    assert ": 0 rows older than 30 days" in _command("retain", home.tenant)
    _age(owner_conninfo, run)
    assert "is under legal hold" in _command("legal_hold", home.tenant, "set", "--reason", "Lawsuit 12")
    assert "under legal hold, nothing is deleted" in _command("retain", home.tenant)
    with pytest.raises(CommandError, match="under legal hold"):
        erase(home.tenant, home.message())
    assert "is not under legal hold" in _command("legal_hold", home.tenant, "lift", "--reason", "Settled")
    assert ": 0 rows older" not in _command("retain", home.tenant)
    with bound(Binding(audit=frozenset({home.tenant.pk}))):
        kept = Run.objects.get(public_id=run)
        assert (kept.question, kept.erased) == ("", True)
        assert not PayloadText.objects.filter(run=kept).exists()
        acts = list(AdminAct.objects.filter(tenant=home.tenant).order_by("pk").values_list("act", flat=True))
    assert acts[-3:] == [erasure.HOLD_SET, erasure.HOLD_LIFTED, erasure.RAN_OUT]
    told = read(home.reader, run)
    assert told is not None
    assert "hedge" not in str(told)


def _command(name: str, tenant: Tenant, *more: str) -> str:
    out = StringIO()
    call_command(name, *more, "--tenant", tenant.slug, stdout=out)
    return out.getvalue()


def _age(conninfo: str, run: str) -> None:
    """Let the run have begun long ago, as only the owner can."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("ALTER TABLE agentic_run DISABLE TRIGGER add_only")
        conn.execute("UPDATE agentic_run SET started_at = started_at - interval '60 days' WHERE public_id = %s", (run,))
        conn.execute("ALTER TABLE agentic_run ENABLE ALWAYS TRIGGER add_only")


@pytest.mark.parametrize("act", [erasure.ERASED, erasure.RAN_OUT, erasure.HOLD_SET, erasure.HOLD_LIFTED])
def test_the_service_itself_cannot_record_acts_of_the_eraser(home: Home, act: str) -> None:
    with pytest.raises(Exception, match="only the eraser records such an act"):
        AdminAct.objects.create(tenant=home.tenant, actor="user:1", act=act)
