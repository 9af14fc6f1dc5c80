"""Verification in child processes: the same verdicts, and nothing that goes wrong there stays or spreads."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic import verifiers
from agentic.core import verify as rules
from agentic.core.answer import Draft, Verification
from agentic.core.question import Question
from agentic.core.verdict import Verdict
from agentic.verifiers import NotVerified
from agentic.web import problems
from tests.core.verify_setup import messages

DRAFT = Draft(text='Ann wrote "the oven leaves on Friday" [m1]. It costs 99 EUR [m1].')
SOURCES = messages(
    {"m1": {"text": "I think the oven leaves on Friday. It costs 12 EUR.", "from": "Ann <ann@mail.example>"}}
)
# Takes seconds to read, whatever the machine.
FLOOD = messages("12\n" * 300_000)
LONG = 120.0


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    verifiers.close()
    yield
    verifiers.close()
    assert _ended(children())


def children() -> set[int]:
    """The processes that verify for this one, as the system lists them."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"agentic import verifiers" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def _ended(processes: set[int]) -> bool:
    """Whether all of *processes* end soon."""
    until = time.monotonic() + 20
    while processes & children() and time.monotonic() < until:
        time.sleep(0.02)
    return not processes & children()


def verified(seconds: float = LONG) -> Verification:
    return asyncio.run(verifiers.verify(DRAFT, SOURCES, "standard", time.monotonic() + seconds))


def test_the_verdict_is_the_one_of_this_process() -> None:
    assert verified() == rules.verify(DRAFT, SOURCES)


def test_a_ruling_is_the_one_of_this_process() -> None:
    question = Question("When does the oven leave, and what is 99 EUR for?", datetime(2026, 3, 4, tzinfo=UTC))
    there = asyncio.run(verifiers.rule(question, DRAFT, SOURCES, {}, (), time.monotonic() + LONG))
    assert there == Verdict(rules, question).rule(DRAFT, SOURCES, {}, ())


def test_a_child_serves_one_call_after_the_other() -> None:
    verified()
    first = children()
    verified()
    assert children() == first


def test_the_caller_of_the_api_is_told_what_to_do_about_it() -> None:
    with pytest.raises(NotVerified) as late:
        verified(seconds=0)
    told = problems.as_json(problems.of(late.value), "/v1/verify")
    assert (told["status"], told["type"].rpartition("/")[2]) == (503, "verification-timeout")
    assert "fewer" in told["detail"]


def test_what_takes_too_long_is_not_verified_and_its_child_is_replaced() -> None:
    verified()
    first = children()
    with pytest.raises(NotVerified):
        asyncio.run(verifiers.verify(Draft(text="It is 13 [m1]."), FLOOD, "standard", time.monotonic() + 0.2))
    assert _ended(first)
    assert verified().kept


def test_a_child_that_died_while_it_waited_is_replaced_unseen() -> None:
    verified()
    for process in children():
        os.kill(process, signal.SIGKILL)
    assert verified().kept


def test_a_child_that_dies_at_work_is_replaced_once() -> None:
    async def hurt() -> object:
        verifiers.warm()
        first = children()
        working = asyncio.create_task(verifiers.verify(DRAFT, SOURCES, "standard", time.monotonic() + LONG))
        # It is still loading its rules, so the job cannot be done yet.
        for process in first:
            os.kill(process, signal.SIGKILL)
        return await working

    assert asyncio.run(hurt()) == rules.verify(DRAFT, SOURCES)


def test_who_gives_up_leaves_no_child_at_work() -> None:
    async def give_up() -> set[int]:
        verifiers.warm()
        working = asyncio.create_task(verifiers.verify(DRAFT, FLOOD, "standard", time.monotonic() + LONG))
        await asyncio.sleep(0)
        busy = children()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        return busy

    assert _ended(asyncio.run(give_up()))


def test_many_callers_share_few_children() -> None:
    async def ask_all() -> int:
        until = time.monotonic() + LONG
        asked = [asyncio.create_task(verifiers.verify(DRAFT, SOURCES, "standard", until)) for _ in range(12)]
        most = 0
        while not all(task.done() for task in asked):
            most = max(most, len(children()))
            await asyncio.sleep(0.02)
        assert {len(task.result().kept) for task in asked} == {1}
        return most

    assert asyncio.run(ask_all()) <= verifiers.MAX_CHILDREN
    assert len(children()) <= verifiers.KEPT


def test_a_child_has_no_environment_and_no_open_file_of_ours(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        verified()
        (process,) = children()
        opened = {os.readlink(link) for link in Path(f"/proc/{process}/fd").iterdir()}
        assert Path(f"/proc/{process}/environ").read_bytes() == b""
    assert all(name == "/dev/null" or name.startswith("pipe:") for name in opened)
