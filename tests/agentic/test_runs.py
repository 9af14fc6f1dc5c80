"""A question becomes a run, the run becomes rows, and the rows become the response: now, later, and after mishaps."""

import asyncio
from typing import Any

import pytest
from django.db import ProgrammingError, connection

from agentic import runs
from agentic.callers import revoke_key
from agentic.core.ports import ModelFault, Prompt, Reply
from agentic.models import AgentPolicy, Run, TraceEvent
from agentic.workers import in_worker
from mailsearch.models import Grant, Message
from mailsearch.sessions import Binding, bound, pool
from tests.agentic.asking import QUESTION, ask, asked, insurer_accepts, read, run
from tests.agentic.cast import House, house
from tests.mailsearch.posting import Letter
from tests.standins.scripted_model import ScriptedModel, answers, calls, declares, searches

pytestmark = pytest.mark.django_db(transaction=True)
QUOTE = "we accept liability for the damage to the Golf"
TRUE = ("The insurer accepts liability for the damage to the Golf.", "accept liability", QUOTE)


def test_a_question_is_answered_with_a_verified_quote() -> None:
    home = house()
    response = asked(home.jo.principal, insurer_accepts())
    assert (response["outcome"], response["status"], response["reason"]) == ("answered", "finished", None)
    (sentence,) = response["answer"]["sentences"]
    (citation,) = sentence["citations"]
    assert sentence["support"] == "quote"
    assert citation["message_id"] == home.golf.public_id
    assert citation["quote"] == QUOTE
    assert home.golf.body_text[citation["start"] : citation["end"]] == citation["quote"]
    assert "[claims@nordlicht.example, 2026-03-14]" in response["answer"]["text"]


def test_a_fabricated_quote_and_an_unknown_label_do_not_get_out() -> None:
    made_up = ("The insurer pays 9,999 EUR.", "accept liability", "we will pay you 9,999 EUR at once")
    unknown = ("The claim was settled in full.", "zz9zz9", "settled in full")
    response = asked(house().jo.principal, ScriptedModel(answers(TRUE, made_up, unknown)))
    assert [one["text"] for one in response["answer"]["sentences"]] == [TRUE[0]]
    assert {one["reason"] for one in response["removed_sentences"]} == {"quote_not_found", "unknown_label"}
    assert "9,999" not in response["answer"]["text"]


def test_an_answer_of_nothing_but_inventions_is_no_answer() -> None:
    made_up = ("The insurer refused the claim.", "accept liability", "we refuse to pay anything at all")
    response = asked(house().jo.principal, ScriptedModel(answers(made_up)))
    assert (response["outcome"], response["reason"], response["answer"]) == (
        "insufficient_evidence", "all_removed", None,
    )  # fmt: skip
    assert response["evidence"]
    assert response["searched"][0]["query"] == QUESTION


def test_a_declared_insufficiency_says_what_was_searched() -> None:
    script = ScriptedModel(searches("insurer Golf accepted"), declares("no mail says so"))
    response = asked(house().jo.principal, script)
    assert (response["outcome"], response["answer"]) == ("insufficient_evidence", None)
    assert [one["query"] for one in response["searched"]] == [QUESTION, "insurer Golf accepted"]
    assert response["coverage"]["messages_in_scope"] == 2


def test_a_model_with_a_small_window_is_shown_less_of_the_same_mail(settings: Any) -> None:
    home = house()
    notes = (
        Letter(f"The Golf stands in yard {number}. " * 40, sender=f"n{number}@yard.example") for number in range(12)
    )
    home.office.post("family", *notes)
    times = []
    for settings.PM_AGENT_RESULT_CHARACTERS in (2_000, 12_000):
        model = insurer_accepts()
        assert asked(home.jo.principal, model)["outcome"] == "answered"
        times.append(str(model.prompts[-1].turns).count("Golf stands in yard"))
    assert 0 < times[0] < times[1] / 2


@pytest.mark.parametrize("code", ["auth", "daily_quota", "circuit_open"])
def test_a_model_that_fails_degrades_the_run(code: str) -> None:
    async def fails_late(prompt: Prompt) -> Reply:
        # So that what the caller's own words find is there before.
        await asyncio.sleep(0.0 if prompt.shown else 1.0)
        raise ModelFault(code, "no")

    response = asked(house().jo.principal, ScriptedModel(fails_late))
    assert (response["outcome"], response["reason"], response["answer"]) == ("degraded", code, None)
    assert response["evidence"]


def test_a_tool_that_reaches_beyond_the_scope_is_on_record_and_in_the_response() -> None:
    home = house()
    script = ScriptedModel(
        calls(
            ("search", {"query": "safe code", "mailbox": "workshop"}),
            ("read_message", {"message": home.secret.public_id}),
        ),
        answers(TRUE),
    )
    response = asked(home.caller("family", permissions=("search:agentic",)).principal, script)
    attempts = [(one["kind"], one["step"], one["argument"]) for one in response["widen_attempts"]]
    assert sorted(attempts) == [("outside_scope", 1, "mailbox"), ("unseen_id", 1, "message")]
    assert all("requested" not in one for one in response["widen_attempts"])
    assert "99-4471" not in str(response)
    assert home.secret.public_id not in str(response)


def test_who_holds_audit_read_sees_what_was_requested() -> None:
    home = house()
    script = ScriptedModel(calls(("search", {"query": "safe", "mailbox": "workshop"})), answers(TRUE))
    response = asked(home.jo.principal, script)
    (attempt,) = response["widen_attempts"]
    assert attempt["requested"] == "workshop"
    assert attempt["read_before"]
    # A model may have written there what it had read, and auditing opens no mail.
    auditor = home.caller("workshop", permissions=("audit:read",)).principal
    audited = read(auditor, response["run_id"])
    assert audited is not None
    assert [(one["kind"], one["requested"]) for one in audited["widen_attempts"]] == [("outside_scope", None)]


def test_two_tenants_and_two_scopes_never_see_each_other() -> None:
    home, other = house(), house()
    mine = {home.golf.public_id, home.garden.public_id}
    script = ScriptedModel(searches("safe code", "Golf", "kim", "key"), declares())
    response = asked(home.jo.principal, script)
    assert {one["message_id"] for one in response["evidence"]} == mine
    public_id = response["run_id"]
    for stranger in (home.kim, other.jo, other.caller(all_mailboxes=True)):
        seen = read(stranger.principal, public_id)
        # Kim holds audit:read in the same tenant: the run is hers to audit, Jo's mail is not.
        assert seen is None or all(one.get("withheld") for one in seen["evidence"])
    no_auditor = home.caller("family", permissions=("search:read", "search:agentic"))
    assert read(no_auditor.principal, public_id) is None


def _answered(home: House) -> tuple[Any, str]:
    jo = home.jo
    return jo, asked(jo.principal, insurer_accepts())["run_id"]


def _quarantine(home: House) -> None:
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).update(quarantined=True)


def _erase(home: House) -> None:
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).delete()


def _narrow(home: House) -> None:
    for grant in Grant.objects.filter(tenant=home.office.tenant):
        grant.mailboxes.clear()


@pytest.mark.parametrize("withdraw", [_quarantine, _erase, _narrow])
def test_a_run_read_later_shows_tombstones_where_mail_may_not_be_read_any_more(withdraw: Any) -> None:
    home = house()
    jo, public_id = _answered(home)
    withdraw(home)
    seen = read(jo.principal, public_id)
    assert seen is not None
    assert seen["outcome"] == "answered"
    (sentence,) = seen["answer"]["sentences"]
    assert sentence == {
        "text": None,
        "withheld": True,
        "citations": [{"message_id": home.golf.public_id, "withheld": True}],
    }
    assert "liability" not in str(seen)
    assert "nordlicht" not in str(seen)
    assert "77-4410" not in str(seen)


def test_mail_that_was_only_deleted_at_its_source_stays_as_evidence() -> None:
    home = house()
    jo, public_id = _answered(home)
    before = read(jo.principal, public_id)
    with bound(home.office.binding()):
        Message.objects.filter(pk=home.golf.pk).update(deleted_at_source="2026-05-01T00:00:00Z")
    assert read(jo.principal, public_id) == before


def test_a_revoked_key_reads_nothing_of_its_runs() -> None:
    jo, public_id = _answered(house())
    revoke_key(jo.key)
    assert read(jo.principal, public_id) is None


@pytest.mark.parametrize("withdraw", [_quarantine, _narrow])
def test_a_right_withdrawn_while_the_model_writes_removes_what_rests_on_it(withdraw: Any) -> None:
    home = house()

    async def answer_late(prompt: Prompt) -> Reply:
        await in_worker(withdraw, home)
        return answers(TRUE)(prompt)

    response = asked(home.jo.principal, ScriptedModel(searches("Golf liability"), answer_late))
    assert (response["outcome"], response["answer"]) == ("insufficient_evidence", None)
    assert "source_withdrawn" in {one["reason"] for one in response["removed_sentences"]}
    assert "liability" not in str({**response, "trace": None})


def test_removed_sentences_leave_masked_withheld_or_whole_as_the_tenant_says() -> None:
    text = "Write to claims@evil.example or call +49 170 1234567, see https://evil.example/pay."
    home = house()
    reader = home.caller("family", permissions=("search:agentic",)).principal
    shown = {}
    for how in ("masked", "withheld", "full"):
        AgentPolicy.objects.update_or_create(tenant=home.office.tenant, defaults={"removed_text": how})
        response = asked(reader, ScriptedModel(answers((text, "accept liability", "pay to this account now"))))
        shown[how] = response["removed_sentences"][0]
    assert shown["full"]["text"] == text
    assert (shown["withheld"]["text"], shown["withheld"]["withheld"]) == (None, True)
    assert shown["masked"]["masked"] is True
    for secret in ("evil.example", "1234567", "https"):
        assert secret not in shown["masked"]["text"]
    assert all(one["verified"] is False for one in shown.values())


def test_the_same_idempotency_key_gives_the_same_run_and_another_body_is_refused() -> None:
    jo = house().jo.principal

    async def all_at_once() -> list[str]:
        async with pool():
            many = (
                ask(jo, insurer_accepts(), idempotency_key="k1", body_sha256="a", max_seconds=5.0) for _ in range(10)
            )
            return await asyncio.gather(*many)

    assert len(set(run(all_at_once()))) == 1
    with pytest.raises(runs.IdempotencyConflict):
        run(ask(jo, insurer_accepts(), idempotency_key="k1", body_sha256="b"))
    with bound(Binding(audit=frozenset({jo.tenant}))):
        assert Run.objects.filter(tenant=jo.tenant).count() == 1


def test_a_caller_without_the_permission_starts_nothing() -> None:
    home = house()
    caller = home.caller("family", permissions=("search:read", "audit:read"))
    with pytest.raises(runs.NotPermitted):
        run(ask(caller.principal, insurer_accepts()))


def test_every_act_is_on_record_before_it_is_done() -> None:
    jo = house().jo.principal
    written: list[list[str]] = []

    def trace() -> list[str]:
        with bound(Binding(audit=frozenset({jo.tenant}))):
            return list(TraceEvent.objects.filter(tenant=jo.tenant).order_by("seq").values_list("event", flat=True))

    async def look(prompt: Prompt) -> Reply:
        written.append(await in_worker(trace))
        return searches("Golf liability") if len(written) == 1 else answers(TRUE)(prompt)

    asked(jo, ScriptedModel(look))
    assert all(events[-1] == "asked" or "asked" in events for events in written)
    assert written[0][0] == "called"


@pytest.mark.parametrize("table", ["run", "traceevent", "evidence", "sentence", "citation", "runfinished"])
@pytest.mark.parametrize("change", ["UPDATE agentic_{} SET tenant_id = tenant_id", "DELETE FROM agentic_{}"])
def test_rows_of_a_run_are_added_and_never_changed(table: str, change: str) -> None:
    home = house()
    _answered(home)
    binding = Binding(tenant=home.office.tenant.pk, audit=frozenset({home.office.tenant.pk}))
    with pytest.raises(ProgrammingError, match="permission denied"), bound(binding), connection.cursor() as cursor:
        cursor.execute(change.format(table))


def test_mail_with_signs_that_a_database_cannot_keep_is_still_evidence() -> None:
    home = house()
    home.office.post("family", Letter("The liability for the Golf \ufffd \U0001f600 \u202e was seen."))
    response = asked(home.jo.principal, ScriptedModel(searches("nul \0 and half \ud800 a pair"), answers(TRUE)))
    assert response["outcome"] == "answered"


def test_what_a_model_wrote_into_a_search_leaves_only_guarded() -> None:
    home = house()
    reader = home.caller("family", permissions=("search:agentic",)).principal
    query = "see https://evil.example/x or write to pay@evil.example " + "and so on " * 30
    search = ("search", {"query": query, "from": "pay@evil.example", "after": "2026-01-01"})
    response = asked(reader, ScriptedModel(calls(search), answers(TRUE)))
    (own, models) = response["searched"]
    assert own["query"] == QUESTION
    assert len(models["query"]) <= 120
    assert models["filters"]["after"].startswith("2026-01-01T00:00:00")
    assert "evil.example" not in str(response)


def test_a_tenant_that_is_shown_nothing_unverified_is_shown_no_word_of_a_models_own() -> None:
    home = house()
    reader = home.caller("family", permissions=("search:agentic",)).principal
    AgentPolicy.objects.update_or_create(
        tenant=home.office.tenant, defaults={"verification": "strict", "agentic_max_seconds": 60}
    )
    # Words of the question in another order could say something else, too.
    query = "golf claim PAYBOBNOW liability, PAYBOBNOW … accept Golf"
    search = ("search", {"query": query, "from": "PAYBOBNOW", "subject": "golf"})
    made_up = ("search", {"query": "golf", "PAYBOBNOW": 1})
    response = asked(reader, ScriptedModel(calls(search, made_up), answers(TRUE)), max_seconds=60.0)
    assert "PAYBOBNOW" not in str(response)
    (_, models) = response["searched"]
    assert (models["query"], models["filters"]) == ("accept Golf claim ▒▒▒", {"from": ["▒▒▒"], "subject": ["golf"]})
    assert [one["argument"] for one in response["widen_attempts"]] == ["(other)"]


def test_a_tenants_judge_lowers_an_answer_and_never_the_built_in_readers() -> None:
    home = house()
    AgentPolicy.objects.update_or_create(tenant=home.office.tenant, defaults={"model_judge": True})
    jo = home.jo.principal

    def reply(prompt: Prompt) -> Reply:
        if prompt.forced_tool == "judge":
            return calls(("judge", {"answers": False}))
        return answers(TRUE)(prompt) if prompt.shown else searches("Golf liability")

    response = asked(jo, ScriptedModel(reply))
    assert (response["outcome"], response["reason"], response["answer"]) == (
        "insufficient_evidence", "judged_insufficient", None,
    )  # fmt: skip
    assert [one["event"] for one in response["trace"]][-3:] == ["asked", "replied", "finished"]

    async def of_the_reader() -> str:
        started = await runs.start(jo, runs.Ask(QUESTION), runs.Models(ScriptedModel(reply), chat=False))
        assert isinstance(started, runs.Started)
        await runs.wait(started, runs.launch(started))
        return started.public_id

    unjudged = read(jo, run(of_the_reader()))
    assert unjudged is not None
    assert unjudged["outcome"] == "answered"
