"""`manage.py demo`: the sample mail, four questions, and whether each ended as it must."""

import asyncio
import json
import re
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.urls import reverse
from rich.console import Console
from rich.markup import escape

from agentic import runs, sample_mail
from agentic.callers import Access, Principal, create_key, principal_of_key, revoke_key
from agentic.console import console_on, show, watch
from agentic.mailjson import Json
from agentic.progress import StageProgress
from agentic.verifiers import NotVerified
from mailsearch.ingest.embedding import embed_pending
from mailsearch.models import Permission, Tenant

_SERVED_AT = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Expected:
    """One question of the demo and what must come of it."""

    question: str
    kind: str
    outcomes: tuple[str, ...]
    cites: frozenset[str]
    least_cited: int
    contains: tuple[str, ...]
    never: tuple[str, ...]

    def unmet(self, response: Json) -> list[str]:
        """What is not as it must be, in words; empty where all is."""
        faults = []
        if response["outcome"] not in self.outcomes:
            faults.append(f"the outcome is {response['outcome']}, not {' or '.join(self.outcomes)}")
        answer = response["answer"]
        if bool(answer) != (response["outcome"] == "answered"):
            faults.append("an answer stands beside another outcome than answered, or is missing")
        cited = [citation for sentence in answer["sentences"] for citation in sentence["citations"]] if answer else []
        text = " ".join([answer["text"] if answer else "", *(citation["quote"] for citation in cited)])
        faults += [f"“{words}” is not in the answer" for words in self.contains if answer and words not in text]
        faults += [f"the answer matches {pattern}" for pattern in self.never if re.search(pattern, text)]
        messages = {f"<{citation['rfc_message_id'].strip('<>')}>" for citation in cited}
        if answer and len(messages) < self.least_cited:
            faults.append(f"{len(messages)} messages are cited, not {self.least_cited}")
        if answer and self.cites and not messages & self.cites:
            faults.append("none of the messages that hold the answer is cited")
        return faults


class Command(BaseCommand):
    help = "Load the sample mail and ask four questions of it; exit 0 only if each ends as it must."

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()
        console = console_on(self.stdout)
        with StageProgress(self.stderr) as progress:
            tenant = sample_mail.load(progress.tell)
            embed_pending(
                tenant, progress=lambda stage: progress.tell("vectors", stage.done, stage.done + stage.waiting)
            )
        faults = self._ask_all(tenant, console)
        console.print(f"{time.monotonic() - began:.1f} s in all.")
        if faults:
            console.print(f"{faults} of 4 questions did not end as they must.", style="bold red")
            raise SystemExit(1)
        console.print("All four questions ended as they must.", style="bold green")

    def _ask_all(self, tenant: Tenant, console: Console) -> int:
        """Ask each question; returns how many did not end as they must."""
        script = json.loads((sample_mail.ROOT / "demo.json").read_text())
        now = datetime.fromisoformat(script["now"])
        access = Access((Permission.SEARCH_READ, Permission.SEARCH_AGENTIC), all_mailboxes=True)
        key, _ = create_key(tenant, "demo", access)
        try:
            principal = principal_of_key(key)
            return sum(
                _ask(principal, _expected(entry), now, script["timezone"], console) for entry in script["questions"]
            )
        finally:
            revoke_key(key)


def _ask(principal: Principal, expected: Expected, now: datetime, timezone: str, console: Console) -> bool:
    """Ask one question and show what came; whether it did not end as it must."""
    console.rule(f"{expected.kind.replace('-', ' ')}", align="left")
    console.print(f"[bold]{escape(expected.question)}[/]")
    try:
        response = asyncio.run(watch(principal, runs.Ask(expected.question, now=now, timezone=timezone), console))
    except (runs.AuditUnavailable, NotVerified) as error:
        console.print(f"✗ no answer within its seconds: {error}. Run it again when the machine has less to do.",
                      style="bold red")  # fmt: skip
        return True
    if response is None:
        console.print("✗ the run can't be read", style="bold red")
        return True
    show(console, response)
    page = _SERVED_AT + reverse("run-page", args=[response["run_id"]])
    console.print(f"page: {page} (while `make serve` runs)", style="dim")
    faults = expected.unmet(response)
    for fault in faults:
        console.print(f"✗ {escape(fault)}", style="bold red")
    if not faults:
        console.print(f"✓ {response['outcome']}, as it must be", style="green")
    return bool(faults)


def _expected(entry: dict[str, Any]) -> Expected:
    return Expected(
        question=entry["question"],
        kind=entry["kind"],
        outcomes=tuple(entry["accepted_outcomes"]),
        cites=frozenset([*entry["cites"], *entry.get("same_attachment_in", [])]),
        least_cited=entry["min_cited_messages"],
        contains=tuple(entry["must_contain"]),
        never=tuple(entry["must_not_match"]),
    )
