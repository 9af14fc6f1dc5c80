"""What people search for is found, shown with the words that matched, and told with how it was found."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from mailsearch.embeddings import EmbeddingUnavailable, Vectors
from mailsearch.hits import Filters, Hit, Mode, SearchRequest, SearchResult
from mailsearch.models import Message
from mailsearch.scope import Scope
from mailsearch.search import contacts, engine, reading
from mailsearch.search.paging import InvalidCursor
from tests.mailsearch.posting import START, Letter, Office
from tests.mailsearch.test_search_scope import Compass

pytestmark = pytest.mark.django_db(transaction=True)
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")


def find(scope: Scope, text: str, mode: Mode = "keyword", **more: Any) -> SearchResult:
    return async_to_sync(engine.search)(scope, SearchRequest(text, mode, now=START, **more), embedder=Compass())


def subjects(result: SearchResult) -> list[str]:
    return [hit.head.subject for hit in result.hits]


def marked(hit: Hit) -> set[str]:
    return {one.text[start:end] for one in hit.excerpts for start, end in one.marks}


def assert_true_to_source(scope: Scope, hit: Hit) -> None:
    message = async_to_sync(reading.message)(scope, hit.head.message_id)
    assert message is not None
    for one in hit.excerpts:
        part = message.part(one.part)
        assert part is not None
        assert part.text[one.start : one.end] == one.text


@pytest.fixture
def world() -> Scope:
    """One mailbox with mail in several scripts."""
    office = Office()
    office.post(
        "all",
        Letter("The insurers accepted both claims for part PN-4711a/2 on Friday.", subject="Claims"),
        Letter("Die Versicherung hat die Schäden am Wagen abgelehnt.", subject="Ablehnung", language="de"),
        Letter("Le château a réservé les chambres.", subject="Réservation", language="fr"),
        Letter("保険の請求書を送ります。", subject="請求", language="ja"),
        Letter("ส่งใบแจ้งหนี้ให้ลูกค้าแล้ว", subject="ไทย", language="th"),
        Letter(
            "See https://abel.example/orders/77 or mail orders@abel.example, IBAN DE89 3704 0044 0532 0130 00.",
            subject="Links",
        ),
        Letter("Nothing here but a plan.", subject="Plan", attachments=[("tyre_quote-2026.pdf", "Four winter tyres.")]),
    )
    return office.scope("all")


@pytest.mark.parametrize(
    ("text", "subject", "marks"),
    [
        ("insurer claim", "Claims", {"insurers", "claims"}),
        ("claims", "Claims", {"claims"}),
        ("PN-4711a/2", "Claims", {"PN-4711a/2"}),
        ("pn4711a", "Claims", None),
        ("4711", "Claims", None),
        ('"accepted both claims"', "Claims", {"accepted", "claims"}),
        ("schaden", "Ablehnung", {"Schäden"}),
        ("Schäden", "Ablehnung", {"Schäden"}),
        ("versicherungen", "Ablehnung", {"Versicherung"}),
        ("chateau", "Réservation", {"château"}),
        ("réserver", "Réservation", {"réservé"}),
        ("請求書", "請求", {"請求書"}),
        ("険", "請求", None),
        ("หนี้", "ไทย", None),
        ("orders@abel.example", "Links", {"orders@abel.example"}),
        ("https://abel.example/orders/77", "Links", None),
        ("abel.example/orders", "Links", None),
        ("DE89 3704 0044 0532 0130 00", "Links", None),
        ("tyre_quote-2026.pdf", "Plan", None),
        ("winter tires OR tyres", "Plan", {"winter", "tyres"}),
        ("filename:quote", "Plan", None),
    ],
)
def test_it_is_found_and_shown_where(world: Scope, text: str, subject: str, marks: set[str] | None) -> None:
    result = find(world, text)
    assert subjects(result)[:1] == [subject]
    assert_true_to_source(world, result.hits[0])
    if marks is not None:
        assert marks <= marked(result.hits[0])


@pytest.mark.parametrize("text", ['"claims accepted"', "claims -friday", "PN-4711b/2", "from:claims"])
def test_what_is_not_there_is_not_found(world: Scope, text: str) -> None:
    assert "Claims" not in subjects(find(world, text))


@pytest.mark.parametrize(
    "text",
    [
        "'",
        "\\",
        "a & b | !c",
        ":*",
        "<->",
        "(((",
        "\0",
        "🚗",
        "the",
        "- -",
        "%s %(x)s",
        "a\ud800b",
        "from:\ud800 id:\0 in:a\ud800",
    ],
)
def test_no_query_breaks_the_search(world: Scope, text: str) -> None:
    for mode in MODES:
        find(world, text, mode)


def test_short_queries_put_messages_with_all_words_first() -> None:
    office = Office()
    office.post(
        "sales",
        Letter("golf", subject="One"),
        Letter("A golf, some more words here, and far away the claim that we mean.", subject="Both"),
        Letter("golf golf golf", subject="Thrice"),
    )
    result = find(office.scope("sales"), "golf claim")
    assert subjects(result)[0] == "Both"
    assert result.total == 3


def test_of_a_question_only_some_words_must_be_there() -> None:
    office = Office()
    office.post("sales", Letter("The tyres come on Friday.", subject="Tyres"), Letter("Lunch?", subject="Lunch"))
    result = find(office.scope("sales"), "When will the new winter tyres for my car be delivered to the garage?")
    assert subjects(result) == ["Tyres"]
    assert result.parsed["question"] is True


def test_own_words_go_before_quoted_ones() -> None:
    office = Office()
    office.post(
        "sales",
        Letter("I agree.", subject="Reply", quoted="> the harbour opens", received_at=START + timedelta(1)),
        Letter("the harbour opens", subject="Origin", received_at=START),
    )
    assert subjects(find(office.scope("sales"), "harbour")) == ["Origin", "Reply"]


def test_among_equals_the_newest_goes_first() -> None:
    office = Office()
    office.post("sales", *(Letter(f"harbour no{n}", subject=f"{n}") for n in range(5)))
    assert subjects(find(office.scope("sales"), "harbour")) == ["4", "3", "2", "1", "0"]


def test_pages_follow_each_other_without_gap_or_repetition() -> None:
    office = Office()
    office.post("sales", *(Letter(f"harbour no{n}", subject=f"{n}") for n in range(7)))
    scope = office.scope("sales")
    seen: list[tuple[int, str]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = find(scope, "harbour", limit=3, cursor=cursor)
        seen += [(hit.rank, hit.head.subject) for hit in page.hits]
        cursor = page.next_cursor
    assert seen == [(rank, str(7 - rank)) for rank in range(1, 8)]


def test_a_cursor_serves_its_own_search_alone() -> None:
    office = Office()
    office.post("sales", *(Letter(f"harbour no{n}") for n in range(3)))
    cursor = find(office.scope("sales"), "harbour", limit=1).next_cursor
    assert cursor
    for scope, text, given in (
        (office.scope("sales"), "other", cursor),
        (office.scope("ann"), "harbour", cursor),
        (office.scope("sales"), "harbour", "nonsense"),
        (office.scope("sales"), "harbour", "é"),
        (office.scope("sales"), "harbour", cursor[:-3]),
    ):
        with pytest.raises(InvalidCursor):
            find(scope, text, cursor=given, limit=1)


@pytest.mark.parametrize("text", ["harbour", "harbour contract", "What about the harbour?", "from:ann harbour"])
def test_what_was_written_goes_before_what_repeats_it(text: str) -> None:
    """However long the message in which it was written, and however short those that quote a line of it."""
    office = Office()
    thread = office.thread()
    line = "The harbour contract is worth 4711 crowns."
    office.post(
        "sales",
        Letter(f"{line} {'And so on and on about nothing. ' * 200}", subject="Long", thread=thread),
        *(Letter(f"Fine, {n}.", subject=f"Re {n}", quoted=f"> {line}", thread=thread) for n in range(3)),
    )
    assert subjects(find(office.scope("sales"), text)) == ["Long", "Re 2", "Re 1", "Re 0"]


def test_copies_fold_into_one_hit_that_counts_them() -> None:
    office = Office()
    office.post("sales", *(Letter("the twin harbour", subject=f"{n}") for n in range(3)), Letter("harbour, other"))
    result = find(office.scope("sales"), "twin harbour")
    assert [(hit.head.subject, hit.copies) for hit in result.hits] == [("0", 3), ("A letter", 1)]
    assert result.total == 4


def test_a_flood_of_planted_mail_leaves_the_true_source_among_the_first_ten() -> None:
    office = Office()
    (true,) = office.post("sales", Letter("The harbour contract ends in May.", subject="True"))
    planted = office.post(
        "sales",
        *(Letter(f"harbour contract {n}", subject="harbour contract", sender="m@evil.example") for n in range(500)),
    )
    everyone: list[Message] = [true, *planted]
    rows = Compass().embed([one.body_text for one in everyone])
    office.embed("sales", "compass", {one.pk: row.tolist() for one, row in zip(everyone, rows, strict=True)})
    for mode in MODES:
        result = find(office.scope("sales"), "harbour contract", mode, spread=True, limit=10)
        assert "True" in subjects(result), mode
        assert len(result.hits) == 4, mode
        filtered = find(office.scope("sales"), "harbour contract from:evil.example", mode, spread=True, limit=10)
        assert len(filtered.hits) == 10, mode


class Late:
    """An embedder that does not answer before it is let go."""

    name = "late"
    dimensions = 4

    def __init__(self) -> None:
        self.go = threading.Event()

    def embed(self, texts: Any) -> Vectors:
        self.go.wait(30)
        return Compass().embed(texts)


class Broken:
    """An embedder that can't be used."""

    name = "broken"
    dimensions = 4

    def embed(self, texts: Any) -> Vectors:
        raise EmbeddingUnavailable("no weights")


@pytest.mark.parametrize("broken", [False, True])
def test_if_vectors_do_not_come_the_words_stand_alone(broken: bool) -> None:
    office = Office()
    office.post("sales", Letter("harbour", subject="Found"))
    scope = office.scope("sales")
    late = Late()

    async def ask() -> SearchResult:
        embedder = Broken() if broken else late
        try:
            return await engine.search(scope, SearchRequest("harbour"), embedder=embedder, patience=0.2)
        finally:
            late.go.set()

    result = async_to_sync(ask)()
    assert (result.mode, subjects(result)) == ("keyword", ["Found"])


def test_an_empty_result_says_why() -> None:
    office = Office()
    office.folder("sales")
    scope = office.scope("sales")
    assert find(scope, "harbour").why_empty == "There is no mail in scope."
    office.post("sales", Letter("harbour"))
    assert find(scope, "zeppelin").why_empty == "No message in scope holds what was asked for."
    assert find(scope, "from:zeppelin").why_empty == "There is no message in scope that passes the filters."
    assert find(scope, "after:soon").why_empty == "Nothing in scope goes by after:soon."
    assert find(scope, "harbour").why_empty is None


def test_filters_of_facts_narrow() -> None:
    office = Office()
    office.post(
        "sales",
        Letter("harbour", subject="Read", flags=["\\Seen"], size=10),
        Letter("harbour again", subject="Unread", size=5000, attachments=[("a.txt", "x")]),
    )
    scope = office.scope("sales")
    assert subjects(find(scope, "harbour is:unread")) == ["Unread"]
    assert subjects(find(scope, "harbour is:read")) == ["Read"]
    assert subjects(find(scope, "harbour has:attachment")) == ["Unread"]
    assert subjects(find(scope, "harbour larger:1k")) == ["Unread"]
    assert subjects(find(scope, "harbour", filters=Filters(has_attachment=False))) == ["Read"]
    assert find(scope, "is:read", filters=Filters(unread=True)).hits == ()


def test_dates_are_those_of_the_sender_and_the_day_that_of_the_caller() -> None:
    office = Office()
    # Half past eleven in the evening in London, tomorrow already in Tokyo.
    sent = START.replace(hour=23, minute=30)
    office.post("sales", Letter("harbour", sent_at=sent, received_at=START + timedelta(days=9)))
    scope = office.scope("sales")
    assert find(scope, f"harbour on:{sent:%Y-%m-%d}").total == 1
    assert find(scope, f"harbour on:{sent:%Y-%m-%d}", timezone="Asia/Tokyo").total == 0


def test_an_excerpt_of_a_long_attachment_shows_the_place() -> None:
    office = Office()
    text = "First. " * 200 + "harbour"
    office.post("sales", Letter("See the file.", subject="File", attachments=[("plan.txt", text)]))
    scope = office.scope("sales")
    (hit,) = find(scope, "harbour").hits
    assert hit.excerpts[0].part == f"attachment:{hit.head.attachments[0].attachment_id}"
    assert marked(hit) == {"harbour"}
    assert_true_to_source(scope, hit)


def test_contacts_are_found_by_any_part_of_name_and_address() -> None:
    office = Office()
    office.post(
        "sales",
        Letter("x", sender="Jörg Müller <jm@haus.example>"),
        Letter("y", sender="Jörg Müller <jm@haus.example>"),
        Letter("z", sender="Jörg Müller <other@evil.example>"),
    )
    scope = office.scope("sales")
    found = async_to_sync(contacts.search)(scope, "muller jorg")
    assert [(one.address, one.messages, one.name_conflict) for one in found] == [
        ("jm@haus.example", 2, False),
        ("other@evil.example", 1, True),
    ]
    assert [one.address for one in async_to_sync(contacts.search)(scope, "HAUS")] == ["jm@haus.example"]
    assert async_to_sync(contacts.search)(scope, "nobody") == ()


@pytest.mark.parametrize(
    ("known", "written", "alike"),
    [
        ("Anna Berg", "Аnna Bеrg", True),
        ("Anna Berg", "\u0391nna Berg", True),
        ("Anna Berg", '"Berg, Anna"', True),
        ("Berg, Anna", "Anna Berg", True),
        ("Anna Berg", "ANNA  Berg", True),
        ("Anna Berg", "AnnaBerg", True),
        ("Anna Berg", "Anna\u3164 Berg", True),
        ("Anna Berg", "Anna_Berg.", True),
        ("Alice Olm", "AIice 0lm", True),
        ("Jörg Müller", "Jorg Muller", True),
        ("田中太郎", "田中 太郎", True),
        ("Anna Berg", "Anna Borg", False),
        ("Anna Berg", "Hanna Berg", False),
        ("Анна Берг", "Инна Берг", False),
        ("--", "..", False),
    ],
)
def test_a_name_that_looks_like_a_known_one_is_a_conflict(known: str, written: str, alike: bool) -> None:
    office = Office()
    office.post("sales", Letter("x", sender=f"{known} <real@haus.example>"))
    (message,) = office.post("sales", Letter("y", sender=f"{written.strip(chr(34))} <other@evil.example>"))
    scope = office.scope("sales")
    found = async_to_sync(contacts.search)(scope, "")
    conflicts = {one.address: one.name_conflict for one in found}
    assert (conflicts["real@haus.example"], conflicts["other@evil.example"]) == (False, alike)
    read = async_to_sync(reading.message)(scope, message.public_id)
    assert read is not None
    assert read.head.sender.name_conflict == alike
