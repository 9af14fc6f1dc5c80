"""The six tools read within one scope; whatever would reach beyond it has no effect, no other answer, and a record."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from agentic.callers import Principal, revoke_key, scope_now
from agentic.core.ports import ToolCall, ToolResult, ToolUnavailable
from agentic.core.question import Question
from agentic.tools import NOT_FOUND, MailTools
from agentic.toolschemas import SPECS
from agentic.workers import in_worker
from mailsearch.hits import Filters
from mailsearch.models import Grant, Message, Permission
from mailsearch.scope import Scope
from mailsearch.sessions import bound
from tests.agentic.asking import run
from tests.agentic.cast import House, house
from tests.mailsearch.posting import START, Letter

pytestmark = pytest.mark.django_db(transaction=True)


class _Everything(frozenset[str]):
    """As if the run had seen every id."""

    def __contains__(self, _: object) -> bool:
        return True


def _tools(principal: Principal, question: str = "What about the Golf?", **more: Any) -> MailTools:
    async def now() -> Scope:
        return await in_worker(scope_now, principal, Permission.SEARCH_AGENTIC)

    return MailTools(now, Question(question, START, "Europe/Berlin", **more))


def _call(tools: MailTools, name: str, seen: frozenset[str] = frozenset(), /, **arguments: object) -> ToolResult:
    return run(tools.call(ToolCall("c1", name, arguments), seen, time.monotonic() + 30))


def _found(result: ToolResult) -> set[str]:
    return {message.message.head.message_id for message in result.messages}


def test_search_finds_mail_in_scope_and_none_beside_it() -> None:
    home = house()
    mine = {home.golf.public_id, home.garden.public_id}
    assert _found(_call(_tools(home.jo.principal), "search", query="Golf")) == mine
    assert _found(_call(_tools(home.kim.principal), "search", query="Golf")) == {home.secret.public_id}


@pytest.mark.parametrize("asked", ["Golf", "in:garage Golf", "-Golf", "Golf Golf"])
def test_a_search_that_was_expected_finds_what_any_other_does(asked: str) -> None:
    home = house()

    async def expected(caller: Principal, of: Principal, text: str) -> ToolResult:
        tools = _tools(caller)
        tools.expect(await in_worker(scope_now, of, Permission.SEARCH_AGENTIC), {"query": text})
        return await tools.call(ToolCall("c1", "search", {"query": asked}), frozenset(), time.monotonic() + 30)

    plainly = _call(_tools(home.jo.principal), "search", query=asked)
    # Asked ahead of it was the same, something else, and the same in a scope that is not the caller's.
    for of, text in ((home.jo, asked), (home.jo, "bill"), (home.kim, asked)):
        assert run(expected(home.jo.principal, of.principal, text)) == plainly


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_schema_is_closed_and_bounded(spec: Any) -> None:
    assert spec.parameters["additionalProperties"] is False
    for schema in _leaves(spec.parameters["properties"]):
        kind = schema.get("type")
        assert kind != "string" or "maxLength" in schema or "enum" in schema
        assert kind != "array" or "maxItems" in schema
        assert kind != "integer" or {"minimum", "maximum"} <= set(schema)
    assert not {"tenant", "scope", "quarantine", "quarantined"} & set(spec.parameters["properties"])


def _leaves(schema: Any) -> Any:
    if isinstance(schema, dict):
        if "type" in schema:
            yield schema
        for inner in schema.values():
            yield from _leaves(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _leaves(inner)


# Arguments by which a model would reach beyond: tool, arguments, kind of the attempt.
BEYOND = [
    ("search", {"query": "Golf", "mailbox": "workshop"}, "outside_scope"),
    ("search", {"query": "Golf", "folder": ["workshop/INBOX"]}, "outside_scope"),
    ("search", {"query": "Golf in:workshop/INBOX"}, "outside_scope"),
    ("search", {"query": "Golf", "mailbox": "nowhere"}, "outside_scope"),
    ("search", {"query": "Golf mailbox:workshop"}, "outside_scope"),
    ("search", {"query": 'Golf folder:"workshop/INBOX"'}, "outside_scope"),
    ("search", {"query": "Golf tenant_id:other"}, "unknown_property"),
    ("search", {"query": "Golf", "folder": "Quarantine"}, "quarantine"),
    ("search", {"query": "Golf", "tenant": 1}, "unknown_property"),
    ("search", {"query": "Golf", "all_mailboxes": True}, "unknown_property"),
    ("search", {"query": "Golf", "include_quarantined": True}, "quarantine"),
    ("search", {"query": "Golf", "message": ["{secret}"]}, "unseen_id"),
    ("search", {"query": "Golf", "thread": "{thread}"}, "unseen_id"),
    ("read_message", {"message": "{secret}"}, "unseen_id"),
    ("read_message", {"message": "msg_0000000000000000000000"}, "unseen_id"),
    ("read_thread", {"thread": "{thread}"}, "unseen_id"),
    ("read_attachment_text", {"attachment": "att_0000000000000000000000"}, "unseen_id"),
    ("find_related", {"message": "{secret}"}, "unseen_id"),
    ("contacts", {"query": "kim", "mailbox": "workshop"}, "unknown_property"),
]


def _filled(arguments: dict[str, Any], home: House) -> dict[str, Any]:
    text = (
        json.dumps(arguments).replace("{secret}", home.secret.public_id).replace("{thread}", home.thread(home.secret))
    )
    filled: dict[str, Any] = json.loads(text)
    return filled


@pytest.mark.parametrize(("tool", "arguments", "kind"), BEYOND)
def test_reaching_beyond_gives_nothing_and_is_recorded(tool: str, arguments: dict[str, Any], kind: str) -> None:
    home = house()
    result = _call(_tools(home.jo.principal), tool, **_filled(arguments, home))
    assert result.messages == ()
    assert result.mail_lines == ()
    assert [attempt.kind for attempt in result.widen] == [kind]
    assert result.widen[0].tool == tool
    assert "99-4471" not in repr(result)
    assert "kim@workshop" not in repr(result)


@pytest.mark.parametrize(
    "beyond",
    [
        {"mailbox": "workshop"},
        {"folder": ["workshop/INBOX", "INBOX"]},
        {"query": "Golf in:workshop/INBOX"},
        {"query": "Golf mailbox:workshop"},
        {"query": 'in:"workshop/INBOX" Golf'},
    ],
)
def test_what_had_no_effect_is_not_told_as_applied(beyond: dict[str, Any]) -> None:
    result = _call(_tools(house().jo.principal), "search", **{"query": "Golf", **beyond})
    assert result.messages == ()
    assert "workshop" not in json.dumps(result.applied)


def test_a_date_beyond_the_callers_window_has_no_effect() -> None:
    home = house()
    jo = home.jo
    Grant.objects.filter(pk=jo.principal.grant).update(received_from=datetime(2026, 3, 12, tzinfo=UTC))
    early = _call(_tools(jo.principal), "search", query="Golf", after="1970-01-01")
    assert _found(early) == {home.golf.public_id}
    assert "1970" not in json.dumps(early.applied)
    assert [(one.kind, one.argument) for one in early.widen] == [("outside_scope", "after")]
    within = _call(_tools(jo.principal), "search", query="Golf", after="2026-03-13")
    assert (_found(within), within.widen) == ({home.golf.public_id}, ())


@pytest.mark.parametrize(("tool", "arguments"), [(tool, given) for tool, given, kind in BEYOND if kind == "unseen_id"])
def test_an_id_that_was_seen_is_not_found_outside_of_the_scope(tool: str, arguments: dict[str, Any]) -> None:
    home = house()
    result = _call(_tools(home.jo.principal), tool, _Everything(), **_filled(arguments, home))
    assert result.messages == ()
    assert "99-4471" not in repr(result)


def test_missing_and_forbidden_ids_get_one_answer() -> None:
    home = house()
    tools = _tools(home.jo.principal)
    forbidden = _call(tools, "read_message", _Everything(), message=home.secret.public_id)
    missing = _call(tools, "read_message", _Everything(), message="msg_0000000000000000000000")
    unseen = _call(tools, "read_message", message=home.golf.public_id)
    assert forbidden.finding == missing.finding == unseen.finding == NOT_FOUND


def test_ids_and_mailboxes_in_the_callers_own_question_are_no_attempt() -> None:
    home = house()
    tools = _tools(home.jo.principal, f"What says {home.golf.public_id} of mailbox:workshop?")
    assert _found(_call(tools, "read_message", message=home.golf.public_id)) == {home.golf.public_id}
    elsewhere = _call(tools, "search", query="Golf", mailbox="workshop")
    assert (elsewhere.messages, elsewhere.widen) == ((), ())


def test_a_right_that_is_withdrawn_counts_from_the_next_call_on() -> None:
    home = house()
    jo = home.jo
    tools = _tools(jo.principal)
    assert _found(_call(tools, "search", query="Golf"))
    revoke_key(jo.key)
    assert not _found(_call(tools, "search", query="Golf"))
    golf = home.golf.public_id
    assert _call(tools, "read_message", frozenset({golf}), message=golf).finding == NOT_FOUND


def test_mail_that_is_quarantined_meanwhile_is_not_read_again() -> None:
    home = house()
    tools = _tools(home.jo.principal)
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).update(quarantined=True)
    assert _found(_call(tools, "search", query="Golf")) == {home.garden.public_id}


def test_the_askers_own_filters_bind_every_tool() -> None:
    home = house()
    tools = _tools(home.jo.principal, filters=Filters(senders=("nordlicht",)))
    seen = frozenset({home.golf.public_id, home.garden.public_id})
    assert _found(_call(tools, "search", query="Golf")) == {home.golf.public_id}
    assert _found(_call(tools, "read_message", seen, message=home.golf.public_id)) == {home.golf.public_id}
    assert _call(tools, "read_message", seen, message=home.garden.public_id).finding == NOT_FOUND
    assert not _found(_call(tools, "search", query="Golf", **{"from": "ann"}))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {}),
        ("search", {"query": ""}),
        ("search", {"query": 3}),
        ("search", {"query": "x" * 2001}),
        ("search", {"query": "Golf", "limit": 1000}),
        ("search", {"query": "Golf", "offset": -1}),
        ("search", {"query": "Golf", "mode": "regex"}),
        ("search", {"query": "Golf", "after": "someday"}),
        ("read_message", {"message": {"$ne": ""}}),
        ("read_thread", {"thread": ["thr_x"]}),
        ("nothing", {"query": "Golf"}),
    ],
)
def test_a_wrong_call_is_told_what_to_repair_without_an_echo(tool: str, arguments: dict[str, Any]) -> None:
    result = _call(_tools(house().jo.principal), tool, _Everything(), **arguments)
    assert result.messages == ()
    assert result.finding
    assert "xxxx" not in result.finding
    assert "someday" not in result.finding


def test_results_are_paged_by_offset() -> None:
    home = house()
    home.office.post("family", *(Letter(f"The Golf, day {day}.", sender=f"a{day}@x.example") for day in range(25)))
    tools = _tools(home.jo.principal)
    first = _call(tools, "search", query="Golf", limit=10)
    second = _call(tools, "search", query="Golf", limit=10, offset=first.next_offset)
    assert (len(first.messages), first.next_offset, len(second.messages)) == (10, 10, 10)
    assert not _found(first) & _found(second)


def test_one_sender_cannot_fill_a_result() -> None:
    home = house()
    home.office.post("family", *(Letter("Golf Golf Golf!", sender="evil@x.example") for _ in range(30)))
    result = _call(_tools(home.jo.principal), "search", query="Golf", limit=20)
    senders = [message.message.head.sender.address for message in result.messages]
    assert senders.count("evil@x.example") <= 3
    assert home.golf.public_id in _found(result)


def test_a_long_message_is_read_in_pieces() -> None:
    home = house()
    (long,) = home.office.post("family", Letter("".join(f"word{number} " for number in range(3000))))
    tools, seen = _tools(home.jo.principal), frozenset({long.public_id})
    pieces: str = ""
    offset: int | None = 0
    while offset is not None:
        result = _call(tools, "read_message", seen, message=long.public_id, offset=offset)
        (excerpt,) = result.messages[0].excerpts
        assert long.body_text[excerpt.start : excerpt.end] == excerpt.text
        pieces, offset = pieces + excerpt.text, result.next_offset
    assert pieces == long.body_text


def test_an_attachment_is_read_by_its_id() -> None:
    home = house()
    (letter,) = home.office.post("family", Letter("See the bill.", attachments=[("bill.txt", "Total: 1,450 EUR")]))
    tools = _tools(home.jo.principal)
    found = _call(tools, "search", query="bill").messages[0].message.head
    attachment = found.attachments[0].attachment_id
    result = _call(tools, "read_attachment_text", frozenset({attachment}), attachment=attachment)
    assert _found(result) == {letter.public_id}
    assert result.messages[0].excerpts[0].text == "Total: 1,450 EUR"


def test_contacts_are_counted_in_scope_alone() -> None:
    home = house()
    home.office.post("workshop", Letter("Hello", sender="Ann Abel <ann@abel.example>"))
    (line,) = _call(_tools(home.jo.principal), "contacts", query="ann").mail_lines
    assert "ann@abel.example" in line
    assert "1 messages" in line
    assert _call(_tools(home.jo.principal), "contacts", query="kim").mail_lines == ()


def test_what_came_nearest_is_told_where_filters_leave_nothing() -> None:
    home = house()
    result = _call(_tools(home.jo.principal), "search", query="Golf liability", after="2026-03-20")
    assert result.messages == ()
    assert home.golf.public_id in result.nearest


def test_no_time_left_is_no_finding_but_a_tool_that_is_not_available() -> None:
    tools = _tools(house().jo.principal)
    with pytest.raises(ToolUnavailable):
        run(tools.call(ToolCall("c1", "search", {"query": "Golf"}), frozenset(), time.monotonic() - 1))
