"""`manage.py ask`: one question from the command line, with exit codes that say how it ended."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.timezone import now
from rich.console import Console

from agentic.management.commands import demo
from agentic.models import AgentPolicy, RunState
from mailsearch.models import ApiKey
from tests.agentic.asking import QUESTION, unwritable
from tests.agentic.cast import House, house
from tests.standins.model_server import fails
from tests.standins.service import ANSWERED, answers_golf, configured

pytestmark = pytest.mark.django_db(transaction=True)


def _ask(home: House, *arguments: str) -> str:
    out = StringIO()
    call_command("ask", QUESTION, "--tenant", home.office.tenant.slug, *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_whole_response_comes_as_json(settings: Any) -> None:
    home = house()
    with configured(settings, answers_golf()):
        response = json.loads(_ask(home, "--json"))
    assert response["outcome"] == "answered"
    assert response["answer"]["sentences"][0]["text"] == ANSWERED


def test_an_answer_for_people_names_its_source(settings: Any) -> None:
    with configured(settings, answers_golf()):
        told = _ask(house())
    assert ANSWERED in told
    assert "claims@nordlicht.example" in told


def test_a_question_is_asked_with_the_scope_of_the_key_that_is_named(settings: Any) -> None:
    home = house()
    home.caller("workshop", name="narrow")
    with configured(settings, answers_golf()), pytest.raises(SystemExit):
        _ask(home, "--key-name", "narrow", "--max-steps", "2")


def test_the_exit_code_says_that_the_model_failed(settings: Any) -> None:
    with configured(settings, fails(401)), pytest.raises(SystemExit) as ended:
        _ask(house())
    assert ended.value.code == 5


@pytest.mark.parametrize("arguments", [["--key-name", "nobody"], ["--as", "nobody"]])
def test_an_unknown_caller_is_refused_with_what_to_do(arguments: list[str]) -> None:
    with pytest.raises(CommandError, match=r"create_key|add_member"):
        _ask(house(), *arguments)


def test_a_switched_off_tenant_is_refused() -> None:
    home = house()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_daily_cap=0)
    with pytest.raises(CommandError, match="switched off"):
        _ask(home)


def test_a_run_that_cannot_be_written_down_is_refused_with_what_to_do(owner_conninfo: str) -> None:
    home = house()
    home.caller("family", name="jo")
    with unwritable(owner_conninfo), pytest.raises(CommandError, match=r"could not be written down.*Try again"):
        _ask(home, "--key-name", "jo", "--max-seconds", "1")


def test_the_demo_says_which_question_had_no_time_and_goes_on(owner_conninfo: str) -> None:
    home, out = house(), StringIO()
    AgentPolicy.objects.create(tenant=home.office.tenant, agentic_max_seconds=1)
    question = demo.Expected(QUESTION, "quote", ("answered",), frozenset(), 1, (), ())
    asker = home.caller("family").principal
    with unwritable(owner_conninfo):
        assert demo._ask(asker, question, now(), "UTC", Console(file=out, width=200))
    assert "no answer within its seconds" in out.getvalue()


def test_a_run_that_somebody_else_closed_is_not_waited_for(settings: Any) -> None:
    """Nothing more is written of it that could be told."""
    home = house()

    def closes(handler: Any) -> None:
        RunState.objects.filter(tenant=home.office.tenant).update(status="interrupted")
        connection.close()
        answers_golf()(handler)

    with configured(settings, closes), pytest.raises(CommandError, match=r"could not be written.*Try again"):
        _ask(home)


def test_the_command_lines_own_key_is_made_once_and_its_token_is_nowhere(settings: Any) -> None:
    home = house()
    with configured(settings, answers_golf()):
        _ask(home)
        _ask(home)
    key = ApiKey.objects.get(tenant=home.office.tenant)
    assert key.permissions == ["search:agentic"]
