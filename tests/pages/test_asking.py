"""/ask where it is refused, and in the sandbox."""

import pytest
from django.test import Client

from agentic.llm.sandbox import QUESTIONS
from tests.agentic.asking import QUESTION, unwritable
from tests.agentic.cast import House, house
from tests.pages.people import READER, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)
USED_UP = next(one.text for one in QUESTIONS if one.outcome is None)


def _client(home: House) -> Client:
    return signed_in(person(home.office.tenant, "member", READER, (home.office.mailbox("family"),)))


def test_a_run_that_cannot_be_written_down_is_refused_with_what_to_do(owner_conninfo: str) -> None:
    client = _client(house())
    sent = {"query": QUESTION, "max_seconds": "1"}
    with unwritable(owner_conninfo):
        page = client.post("/ask", sent)
        told = client.post("/ask", sent, headers={"Accept": "application/json"})
    assert (page.status_code, told.status_code) == (503, 503)
    assert told.json()["problem"] == "The run could not be written down, so there is no answer. Try again."
    assert told.json()["problem"] in page.content.decode()
    assert QUESTION in page.content.decode()


def test_the_sandboxs_questions_end_as_they_must_on_the_page_too() -> None:
    home = house()
    home.office.tenant.sandbox = True
    home.office.tenant.save()
    page = _client(home).post("/ask", {"query": USED_UP})
    assert page.status_code == 429
    assert "used up" in page.content.decode()
