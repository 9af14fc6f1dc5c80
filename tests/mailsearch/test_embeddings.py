"""Text becomes vectors: offline by the model that comes along, or by a server where the tenant's text may go."""

import json
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest
from django.core.management import call_command

from mailsearch.embeddings import (
    EmbeddingUnavailable,
    OfflineEmbedder,
    RemoteEmbedder,
    Vectors,
    configured_embedder,
)
from mailsearch.ingest import embedding, pipeline
from mailsearch.ingest.limits import Worker
from mailsearch.models import Mailbox, Message, Passage, PassageVector
from tests.mailsearch.importing import mail, new_mailbox, seeing, source


class Server(BaseHTTPRequestHandler):
    """Speaks the embeddings API: a vector says how long its text is, and rows come in any order."""

    asked: ClassVar[list[dict[str, Any]]] = []
    answer: ClassVar[tuple[int, bytes] | None] = None

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({**request, "path": self.path, "token": self.headers.get("Authorization")})
        rows = [{"index": at, "embedding": [len(text), 1.0, 0.0]} for at, text in enumerate(request["input"])]
        status, body = self.answer or (200, json.dumps({"data": rows[::-1]}).encode())
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def base_url() -> Iterator[str]:
    Server.asked, Server.answer = [], None
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_meanings_are_near_across_languages() -> None:
    embedder = OfflineEmbedder()
    vectors = embedder.embed(["The invoice was paid.", "Die Rechnung wurde bezahlt.", "The dog likes the garden."])
    assert vectors.shape == (3, embedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    # A text has the same vector whatever it is embedded with.
    assert np.allclose(embedder.embed(["The dog likes the garden."])[0], vectors[2], atol=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_server_is_asked_in_batches_and_its_rows_are_put_in_order(base_url: str) -> None:
    with RemoteEmbedder("big-model", base_url, "secret") as embedder:
        vectors = embedder.embed(["x" * (number + 1) for number in range(70)])
        assert embedder.dimensions == 3
    assert [len(one["input"]) for one in Server.asked] == [64, 6]
    assert {(one["model"], one["path"], one["token"]) for one in Server.asked} == {
        ("big-model", "/v1/embeddings", "Bearer secret")
    }
    lengths = vectors[:, 0] / vectors[:, 1]
    assert np.allclose(lengths, np.arange(1, 71), rtol=1e-3)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"), (429, b"{}"), (200, b"no json"), (200, b'{"data": []}'), (200, b'{"data": [{"index": 0}]}'),
        (200, b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), (200, b'{"data": [{"index": 0, "embedding": "x"}]}'),
        (200, b"[]"),
    ],
)  # fmt: skip
def test_a_server_that_fails_is_unavailable(base_url: str, answer: tuple[int, bytes]) -> None:
    Server.answer = answer
    with RemoteEmbedder("big-model", base_url, "") as embedder, pytest.raises(EmbeddingUnavailable):
        embedder.embed(["hello"])


def test_text_goes_to_a_server_only_where_all_of_it_may_leave(settings: Any) -> None:
    settings.PM_EMBEDDING_MODEL = "big-model"
    settings.PM_EMBEDDING_BASE_URL = "http://127.0.0.1:9/v1"
    assert configured_embedder("all").name == "big-model"
    assert configured_embedder("answers").name == configured_embedder("nothing").name == OfflineEmbedder.name
    assert configured_embedder("nothing") is configured_embedder()


class Counting:
    """Embeds by the letters of a text, and remembers what it was asked."""

    dimensions = 4

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        vectors = np.array([[text.count(letter) + 1 for letter in "aeio"] for text in texts], dtype=np.float32)
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised


@pytest.fixture
def mailbox() -> Mailbox:
    mailbox = new_mailbox()
    border = "from a.example by b.example; Wed, {:02} Mar 2026 10:00:00 +0000"
    mails = [mail(f"Text of day {day}.", received=border.format(day)) for day in (3, 9, 5, 7)]
    long = " ".join(f"sentence {number} of a long text." for number in range(120))
    with Worker() as worker:
        pipeline.ingest(source(*mails, mail(long, received=border.format(1))), mailbox=mailbox, worker=worker)
    return mailbox


@pytest.mark.django_db(transaction=True)
class TestTheStage:
    def test_newest_mail_comes_first_and_the_stage_can_be_resumed(self, mailbox: Mailbox) -> None:
        tenant, model = mailbox.tenant, Counting("one")
        total = embedding.waiting(tenant, model)
        seen: list[embedding.Progress] = []
        assert embedding.embed_pending(tenant, embedder=model, batch=2, limit=2) == 2
        assert [text.strip() for text in model.seen] == ["Text of day 9.", "Text of day 7."]
        assert embedding.waiting(tenant, model) == total - 2
        assert embedding.embed_pending(tenant, embedder=model, batch=2, progress=seen.append) == total - 2
        assert seen[-1] == embedding.Progress(total - 2, 0)
        assert embedding.embed_pending(tenant, embedder=model) == 0
        assert len(model.seen) == total
        with seeing(tenant):
            assert PassageVector.objects.count() == Passage.objects.count() == total
            row = PassageVector.objects.get(message__in=Message.objects.filter(body_text__contains="day 9"))
        assert np.allclose(row.embedding, model.embed(["Text of day 9."])[0], atol=1e-3)

    def test_another_model_embeds_all_anew_and_the_old_vectors_go(self, mailbox: Mailbox) -> None:
        tenant, first, second = mailbox.tenant, Counting("one"), Counting("two")
        total = embedding.embed_pending(tenant, embedder=first)
        assert embedding.embed_pending(tenant, embedder=second, limit=1, batch=1) == 1
        with seeing(tenant):
            # While the new ones are made, the old ones serve.
            assert PassageVector.objects.filter(model="one").count() == total
        embedding.embed_pending(tenant, embedder=second)
        with seeing(tenant):
            assert set(PassageVector.objects.values_list("model", flat=True)) == {"two"}
            assert PassageVector.objects.count() == total

    def test_the_command_embeds_what_waits(self, mailbox: Mailbox) -> None:
        call_command("embed", tenant=mailbox.tenant.slug)
        assert embedding.waiting(mailbox.tenant) == 0


@pytest.mark.usefixtures("interruptible")
@pytest.mark.django_db(transaction=True)
def test_the_command_that_watches_ends_in_peace_when_it_is_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    mailbox = new_mailbox()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    call_command("embed", tenant=mailbox.tenant.slug, watch=True)
    assert capsys.readouterr().out == "Stopped.\n"
