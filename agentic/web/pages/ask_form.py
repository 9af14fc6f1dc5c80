"""The form on /ask: what a person chose, as the body that the API would have got, and filled in again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from agentic import policies
from agentic.callers import Principal
from agentic.models import Run
from agentic.web.pages import scopes
from agentic.web.pages.scopes import ScopeWords
from agentic.web.problems import Problem
from agentic.web.serializers import SearchSerializer


@dataclass(frozen=True, slots=True)
class AskForm:
    """The form as it is shown."""

    question: str
    scope: ScopeWords
    steps: int
    max_steps: int
    seconds: float
    max_seconds: int
    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What stands in the form: a question, filters and limits, as the API names them."""

    question: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)


def chosen(sent: QueryDict) -> Chosen:
    """What was sent. Raises Problem where no mailbox is left: an empty choice must not mean all of them."""
    boxes = sent.getlist("mailbox")
    filters: dict[str, Any] = {}
    if "mailboxes" in sent and not boxes:
        raise Problem("invalid-request", errors=[{"field": "mailbox", "message": "Choose at least one mailbox."}])
    if boxes and len(boxes) < _number(sent.get("mailboxes", "")):
        filters["mailbox"] = boxes
    filters |= {name: date for name in ("after", "before") if (date := sent.get(name, "").strip())}
    budget = {name: sent[name] for name in ("max_steps", "max_seconds") if sent.get(name, "").strip()}
    return Chosen(sent.get("query", "").strip(), filters, budget)


def body(wanted: Chosen, mode: str) -> dict[str, Any]:
    """The request that the API would have got. Raises ValidationError."""
    filters: dict[str, Any] = dict(wanted.filters)
    given = SearchSerializer(
        data={"query": wanted.question, "mode": mode, "filters": filters, "budget": dict(wanted.budget)}
    )
    given.is_valid(raise_exception=True)
    understood: dict[str, Any] = given.validated_data
    return understood


def of_run(run: Run) -> Chosen:
    """What a run was asked, to be asked again."""
    return Chosen(run.question, run.filters, {"max_steps": run.max_steps, "max_seconds": run.max_seconds})


def shown(principal: Principal, wanted: Chosen) -> AskForm:
    """The form, filled in with what is *wanted* within what may be chosen."""
    policy = policies.effective(principal.tenant)
    steps = min(_number(wanted.budget.get("max_steps")) or policy.max_steps, policy.max_steps)
    seconds = min(_seconds(wanted.budget.get("max_seconds")) or policy.max_seconds, policy.max_seconds)
    return AskForm(
        question=wanted.question,
        scope=scopes.of_reader(principal, wanted.filters),
        steps=steps,
        max_steps=policy.max_steps,
        seconds=int(seconds) if seconds == int(seconds) else seconds,
        max_seconds=policy.max_seconds,
        after=str(wanted.filters.get("after", "")),
        before=str(wanted.filters.get("before", "")),
    )


def _number(value: object) -> int:
    text = str(value) if value is not None else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def _seconds(value: object) -> float:
    try:
        found = float(str(value)) if value is not None else 0.0
    except ValueError:
        return 0.0
    return found if 0 < found < 1000 else 0.0
