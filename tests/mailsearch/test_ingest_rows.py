"""What a message becomes in the tables: nothing of it changes on the way, whatever characters stand in it."""

from datetime import UTC, datetime
from functools import partial

import pytest
from django.db import connection

from mailsearch import ids, keeping
from mailsearch.ingest import pipeline
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.literals import array, bytes_array, text_array
from mailsearch.models import Attachment, Message, Participant, Passage, RawMessage
from tests.mailsearch.importing import mail, new_mailbox, seeing, source

ingest = partial(pipeline.ingest, worker=Worker())

pytestmark = pytest.mark.django_db(transaction=True)

ODD = ["", "NULL", 'a"b', "back\\slash", "{curly}", "comma, blank", "línea\tß漢字🦩", "'", "%s"]


def test_texts_and_bytes_come_back_from_arrays_as_they_were() -> None:
    blobs = [bytes(range(256)), b"", b"\\x00", b"'\"{},"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT %s::text[], %s::bytea[], %s::bigint[], %s::boolean[], %s::text[]",
            [text_array(ODD), bytes_array(blobs), array([1, -2]), array([True, False]), text_array([])],
        )
        texts, raw, numbers, truths, none = cursor.fetchone()
    assert (texts, [bytes(one) for one in raw]) == (ODD, blobs)
    assert (numbers, truths, none) == ([1, -2], [True, False], [])


def test_a_message_is_stored_as_it_was_read() -> None:
    mailbox = new_mailbox()
    raw = mail(
        "A pier.\n\n" + "One more line about the pier.\n" * 200,
        id_='odd"{id}@x.example',
        to='"Bøb, {Jr.}" <BOB@Shop.example>, =?utf-8?q?=F0=9F=A6=A9?= <zoe@x.example>',
        references='<one"{a}@x.example> <two\\b@x.example>',
    )
    ingest(source(raw), mailbox=mailbox)
    with seeing(mailbox.tenant):
        message = Message.objects.get()
        assert keeping.came(bytes(RawMessage.objects.get().data)) == raw
        assert message.rfc_message_id == 'odd"{id}@x.example'
        assert message.references == ['one"{a}@x.example', "two\\b@x.example"]
        people = Participant.objects.order_by("position").values_list("role", "position", "name", "address")
        assert list(people)[1:] == [("to", 1, "Bøb, {Jr.}", "bob@shop.example"), ("to", 2, "🦩", "zoe@x.example")]
        moments = set(Participant.objects.values_list("received_at", flat=True))
        assert moments == {message.received_at}
        assert moments.pop() <= datetime.now(UTC)
        spans = sorted(Passage.objects.values_list("attachment", "start", "end"))
        assert spans[0][1] == 0
        assert spans[-1][2] == len(message.body_text)
        assert not Attachment.objects.exists()


def test_public_ids_are_22_characters_and_never_the_same() -> None:
    made = ids.public_ids("msg", 1000)
    assert len(set(made)) == 1000
    assert {len(one) for one in made} == {26}
    # Each of 62 characters, about as often as the others.
    drawn = "".join(one.removeprefix("msg_") for one in made)
    counts = [drawn.count(character) for character in set(drawn)]
    assert len(counts) == 62
    assert all(200 < count < 520 for count in counts)
