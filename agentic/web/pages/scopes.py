"""A scope in words, and the choices by which a person narrows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentic.callers import Principal, scope_now
from agentic.templatetags.mail_words import day
from mailsearch.models import Folder, Mailbox, Permission
from mailsearch.scope import Scope


@dataclass(frozen=True, slots=True)
class Choice:
    """A mailbox that may be left out."""

    slug: str
    words: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ScopeWords:
    """What may be read, in one line, and its mailboxes."""

    words: str
    choices: tuple[Choice, ...]


def of_reader(principal: Principal, given: Mapping[str, Any]) -> ScopeWords:
    """The scope of now of *principal*, narrowed as the filters *given* say."""
    scope = scope_now(principal)
    boxes = list(Mailbox.objects.filter(pk__in=scope.mailboxes).order_by("slug"))
    wanted = given.get("mailbox")
    choices = tuple(Choice(box.slug, _name(box), not wanted or box.slug in wanted) for box in boxes)
    chosen = [choice.words for choice in choices if choice.chosen]
    dates = _dates(given.get("after") or day(scope.received_from), given.get("before") or day(scope.received_until))
    return ScopeWords(_joined(chosen, dates, _some_folders(scope)), choices)


def of_run(kept: Mapping[str, Any], filters: Mapping[str, Any], tenant: int) -> str:
    """The scope that a run was started with."""
    pairs = kept.get("folders") or []
    names = Mailbox.objects.filter(tenant=tenant, pk__in={mailbox for _, mailbox in pairs}).order_by("slug")
    dates = _dates(day(kept.get("received_from")), day(kept.get("received_until")))
    words = _joined([_name(box) for box in names], dates, "")
    narrowed = " · ".join(f"{name} {_listed(value)}" for name, value in filters.items())
    return f"{words} · narrowed to {narrowed}" if narrowed else words


def readable_mailboxes(principal: Principal) -> bool:
    """Whether there is any mail that *principal* may search."""
    return not scope_now(principal, Permission.SEARCH_READ).empty


def _some_folders(scope: Scope) -> str:
    """Says so where not every folder of the mailboxes is in scope; junk and trash are never counted as missing."""
    every = Folder.objects.filter(mailbox__in=scope.mailboxes).exclude(role__in=("junk", "trash"))
    missing = set(every.values_list("pk", flat=True)) - set(scope.folder_ids)
    return "some folders" if missing else ""


def _name(box: Mailbox) -> str:
    return f"{box.address.partition('@')[0]}@" if box.address else box.slug


def _joined(names: Iterable[str], *more: str) -> str:
    listed = list(names)
    shown = ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")
    return " · ".join(part for part in (shown or "no mail", *more) if part)


def _dates(after: str, before: str) -> str:
    return " ".join(part for part in (f"since {after}" if after else "", f"before {before}" if before else "") if part)


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
