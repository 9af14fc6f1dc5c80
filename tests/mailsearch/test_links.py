"""Links of HTML mail: where they lead stands apart from the text, with the place of their words in it."""

import asyncio

import pytest
from asgiref.sync import async_to_sync

from mailsearch import hosts
from mailsearch.hits import PartLinks, SearchRequest
from mailsearch.ingest import html, mime, pipeline
from mailsearch.ingest.limits import Worker
from mailsearch.ingest.links import LONGEST_TARGET, MOST_LINKS
from mailsearch.models import Mailbox, Message
from mailsearch.scope import Scope
from mailsearch.search import engine, reading
from tests.mailsearch.importing import mail, new_mailbox, seeing, source


def told(text: str, links: PartLinks) -> list[tuple[str, str]]:
    """The words of each link, and its target."""
    return [(text[one.start : one.end], one.target) for one in links.kept]


def links_of(page: str) -> list[tuple[str, str]]:
    parsed = html.visible_text(page)
    return told(parsed.text, parsed.links)


def one(words: str, target: str = "http://x.example/") -> list[tuple[str, str]]:
    return [(words, target)]


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<p>Read <a href="http://x.example/"> the\n  paper </a>, please', one("the paper")),
        ('<a href="http://x.example/"><div>One</div><div>Two</div></a><p>Three', one("One\n\nTwo")),
        ('<table><tr><td>A<td></td><td>B <a href="http://x.example/">and C</a></table>', one("and C")),
        ('<table><tr><td>A b<td>c <a href="http://x.example/">D</a> e<td>f</table>', one("D")),
        ('<pre>\n  x <a href="http://x.example/">y  z</a>\n</pre>', one("y  z")),
        ('Before. <a href="http://x.example/"><img src="cid:1"></a> After', one("")),
        ('<p>One</p><div><a href="http://x.example/"><img></a></div><div> </div><p>Two</p>', one("")),
        ('<img usemap="#m"><map name=m><area href="http://x.example/"><area href="data:x"></map>', one("")),
        ('<ul><li>a\u200bb<li><a href="http://x.example/">c\u00add\u2003e</a></ul>', one("cd\u2003e")),
        ('<a href=" ht\ntp://x.example/ ">a</a>', one("a")),
        ('<a href="MAILTO:ann@x.example">a</a>', one("a", "MAILTO:ann@x.example")),
        ('<a href="http://x.example/">a <span style="display:none">b</span></a> b', one("a")),
        ('<a href="http://x.example/">a<a href="http://y.example/">b</a>', [*one("a"), *one("b", "http://y.example/")]),
        ('<a href="http://x.example/">never closed', one("never closed")),
        ('<p style="display:none"><a href="http://x.example/">a</a></p>b', []),
        ('<a style="font-size:0" href="http://x.example/">a</a>b', []),
        ('<a href="http://x.example/"><span hidden>a</span></a>b', []),
        ('<a href="http://x.example/"> </a><a href="http://x.example/"><img style="display:none"></a>b', []),
        (
            '<a href="javascript:x()">a</a><a href="/b">b</a><a href="#c">c</a><a href="ftp://x.example">d</a><a>e</a>',
            [],
        ),
        ('<link href="http://x.example/"><form action="http://x.example/">f</form>', []),
    ],
)
def test_links_that_a_reader_sees_are_found_with_their_words(page: str, found: list[tuple[str, str]]) -> None:
    assert links_of(page) == found


def test_where_a_link_leads_is_in_no_text() -> None:
    parsed = html.visible_text('<p>Read <a href="https://zebra.example/">this</a></p>')
    assert (parsed.text, parsed.hidden_text) == ("Read this", "")


def test_a_page_of_links_is_bounded_and_the_rest_is_counted() -> None:
    pages = "".join(f'<a href="http://x.example/{n}{"y" * 9_000}">{n}</a> ' for n in range(MOST_LINKS + 7))
    links = html.visible_text(pages).links
    assert (len(links.kept), links.more) == (MOST_LINKS, 7)
    assert {len(link.target) for link in links.kept} == {LONGEST_TARGET}


ALTERNATIVES = """--cut
Content-Type: text/plain

Dear Ann,

the therapist wrote. Read the long
paper, and answer here.
--cut
Content-Type: text/html

<p>Dear Ann,<p>the therapist wrote. Read <a href="http://x.example/1">the long paper</a>, and answer
<a href="http://x.example/2">here</a>. <a href="http://x.example/3">Not in the other</a> <a href="http://x.example/4">the</a>
--cut--"""


def test_links_of_the_alternative_that_is_not_kept_stand_at_their_words_in_the_other() -> None:
    parsed = mime.parse(mail(ALTERNATIVES, content_type='multipart/alternative; boundary="cut"'))
    assert "<p>" not in parsed.body.text
    assert [words for words, _ in told(parsed.body.text, parsed.body.links)] == ["the long\npaper", "here", "", "the"]
    assert parsed.body.text[: parsed.body.links.kept[3].start].endswith("Dear Ann,\n\n")


def test_links_move_with_their_part_when_parts_are_joined() -> None:
    body = "--cut\nContent-Type: text/plain\n\nFirst.\n--cut\nContent-Type: text/html\n\n"
    body += '<p>See <a href="http://x.example/">it</a>.\n--cut--'
    parsed = mime.parse(mail(body, content_type='multipart/mixed; boundary="cut"'))
    assert told(parsed.body.text, parsed.body.links) == one("it")


@pytest.mark.parametrize(
    ("text", "target", "elsewhere"),
    [
        ("www.bank.example", "https://evil.example/bank.example", True),
        ("https://bank.example/login", "https://bank.example@evil.example/", True),
        ("bank.example", "http:\\\\evil.example", True),
        ("bank.example", "https://bank.example.evil.example/", True),
        ("Log in at https://bank.example.", "https://evil.example/", True),
        ("ann@bank.example", "mailto:ann@evil.example?subject=bank.example", True),
        ("p\u0430ypal.example", "https://paypal.example/", True),
        ("b\u00fccher.example", "https://xn--bcher-kva.example/", False),
        ("BANK.example", "HTTPS://www.b%61nk.example:443/path", False),
        ("https://bank.example/x", "https://click.bank.example/y", False),
        ("ann@bank.example", "mailto:ann@bank.example", False),
        ("Log in", "https://evil.example/", False),
        ("invoice.pdf", "https://files.example/1", False),
        ("3.50 EUR", "https://files.example/1", False),
        ("bank.example", "mailto:", False),
    ],
)
def test_a_link_that_names_another_host_than_its_own_is_told(text: str, target: str, elsewhere: bool) -> None:
    assert hosts.leads_elsewhere(text, target) is elsewhere


def take(*messages: bytes) -> tuple[Mailbox, list[str]]:
    mailbox = new_mailbox("links")
    with Worker() as worker:
        pipeline.ingest(source(*messages), mailbox=mailbox, worker=worker)
    with seeing(mailbox.tenant):
        return mailbox, list(Message.objects.filter(mailbox=mailbox).order_by("pk").values_list("public_id", flat=True))


def scope_of(mailbox: Mailbox) -> Scope:
    return Scope(mailbox.tenant_id, frozenset((folder.pk, mailbox.pk) for folder in mailbox.folders.all()))


LINKED = '<p>The <a href="https://x.example/qzxtarget">heron</a> flew.</p>'


@pytest.mark.django_db(transaction=True)
def test_links_are_read_apart_and_their_targets_are_no_words() -> None:
    mailbox, (message,) = take(mail(LINKED, content_type="text/html"))
    scope = scope_of(mailbox)
    links = asyncio.run(reading.links(scope, [message]))
    assert told("The heron flew.", links[message]["body"]) == one("heron", "https://x.example/qzxtarget")
    whole = asyncio.run(reading.message(scope, message))
    assert "qzxtarget" not in repr(whole)

    def found(words: str) -> int:
        return async_to_sync(engine.search)(scope, SearchRequest(words, mode="keyword")).total

    assert (found("heron"), found("qzxtarget"), found("x.example")) == (1, 0, 0)


@pytest.mark.django_db(transaction=True)
def test_links_of_mail_out_of_scope_are_not_there() -> None:
    _, (message,) = take(mail(LINKED, content_type="text/html"))
    other, _ = take(mail("Hello."))
    assert asyncio.run(reading.links(scope_of(other), [message, "no\0id"])) == {}
