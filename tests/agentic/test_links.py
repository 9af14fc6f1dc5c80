"""Where the links of a mail lead: told by the API and on the page of the message, and to no model."""

import re
from typing import Any

import httpx
import pytest

from tests.agentic.cast import House, house
from tests.mailsearch.importing import mail
from tests.pages.people import READER, person, signed_in
from tests.standins.mcp_client import speak
from tests.standins.service import Service

pytestmark = pytest.mark.django_db(transaction=True)
LINKS = (
    '<p>Log in at <a href="https://evil.example/qzx&#x202e;login">www.bank.example</a>,'
    ' or <a href="https://qzx.example/">write</a> to <a href="mailto:ann@bank.example?subject=qzx">ann@bank.example</a>'
    '. <a href="https://picture.example/qzx"><img src="cid:1"></a></p>'
    '<p hidden><a href="https://hidden.example/qzx">No</a></p>'
)
MANY = "".join(f'<a href="https://x.example/{n}">x</a> ' for n in range(203))


def put_in(client: httpx.Client, home: House, page: str) -> str:
    """The id of a new message whose HTML is *page*."""
    sent = client.post(
        "/v1/messages?mailbox=family",
        content=mail(f"<p>A marmot.</p>{page}", content_type="text/html"),
        headers={"Content-Type": "message/rfc822"},
    )
    assert sent.json()["new"] == 1
    (hit,) = client.post("/v1/search", json={"query": "marmot", "mode": "keyword"}).json()["hits"]
    return str(hit["message_id"])


def test_the_api_tells_where_links_lead_apart_from_the_text(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        message = client.get(f"/v1/messages/{put_in(client, home, LINKS)}").json()
        (body,) = message["parts"]
        assert client.get(f"/v1/threads/{message['thread_id']}").json()["messages"] == [message]
        (old,) = client.get(f"/v1/messages/{home.garden.public_id}").json()["parts"]
    assert [(one["text"], one["target"], one["differs"]) for one in body["links"]] == [
        ("www.bank.example", "https://evil.example/qzxlogin", True),
        ("write", "https://qzx.example/", False),
        ("ann@bank.example", "mailto:ann@bank.example?subject=qzx", False),
        ("", "https://picture.example/qzx", False),
    ]
    assert [body["text"][one["start"] : one["end"]] for one in body["links"]] == [one["text"] for one in body["links"]]
    assert "qzx" not in body["text"]
    assert (body["links_left_out"], old["links"], old["links_left_out"]) == (0, [], 0)


def test_no_tool_of_a_model_tells_where_links_lead(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        message = put_in(client, home, LINKS)
        thread = client.get(f"/v1/messages/{message}").json()["thread_id"]

    async def use(agent: Any) -> list[str]:
        calls = {"search": {"query": "marmot"}, "read_message": {"message": message}, "read_thread": {"thread": thread}}
        return [repr(await agent.call_tool(tool, arguments)) for tool, arguments in calls.items()]

    for said in speak(service.url, home.jo.headers, use):
        assert "marmot" in said
        assert "qzx" not in said


def test_the_page_names_the_hosts_that_links_do_not_name_and_links_to_none(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        message = put_in(client, home, LINKS)
    member = person(home.office.tenant, "member", READER, (home.office.mailbox("family"),))
    page = signed_in(member).get(f"/messages/{message}").content.decode()
    shown = page.partition('<div class="mail-text"')[2].partition("</article>")[0]
    said = " ".join(re.sub(r"<[^>]*>", "", shown.partition(">")[2]).split())
    assert said.startswith(
        "A marmot. Log in at www.bank.example [! leads elsewhere, to evil.example],"
        " or write [→ qzx.example] to ann@bank.example. [→ picture.example]"
    )
    assert "<a" not in shown.partition("</div>")[0]
    assert "hidden.example" not in page


def test_links_that_are_not_kept_are_counted(service: Service) -> None:
    home = house()
    with service.client(home.jo.headers) as client:
        message = put_in(client, home, MANY)
        (body,) = client.get(f"/v1/messages/{message}").json()["parts"]
    assert (len(body["links"]), body["links_left_out"]) == (200, 3)
    member = person(home.office.tenant, "member", READER, (home.office.mailbox("family"),))
    assert "3 more links of this part are not told of" in signed_in(member).get(f"/messages/{message}").content.decode()
