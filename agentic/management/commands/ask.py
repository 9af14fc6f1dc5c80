"""`manage.py ask "…" --tenant T`: ask one question and watch the run."""

import asyncio
import json
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from agentic import caps, runs
from agentic.admission import NotPermitted, TooManyRuns
from agentic.callers import (
    COMMAND_LINE,
    Access,
    Principal,
    TenantUnclear,
    Unrecognised,
    create_key,
    principal_of_key,
    resolve_person,
)
from agentic.console import console_on, show, watch
from agentic.mailjson import Json
from agentic.management.commands.create_tenant import tenant_of
from agentic.verifiers import NotVerified
from mailsearch.models import ApiKey, Permission, Tenant

EXIT = {"answered": 0, "insufficient_evidence": 3, "budget_exhausted": 4, "degraded": 5}


class Command(BaseCommand):
    help = (
        "Ask one question of a tenant's mail. Exit: 0 answered, 3 not enough evidence, 4 budget exhausted,"
        " 5 degraded, 1 refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        who = parser.add_mutually_exclusive_group()
        who.add_argument("--key-name", default="", help="ask as this key, with its scope")
        who.add_argument("--as", dest="user", default="", metavar="USER", help="ask as this person")
        parser.add_argument("--max-steps", type=int)
        parser.add_argument("--max-seconds", type=float)
        parser.add_argument("--json", action="store_true", help="print the whole response, and nothing else, on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        principal = _principal(tenant_of(options["tenant"]), options["key_name"], options["user"])
        question = runs.Ask(options["question"], max_steps=options["max_steps"], max_seconds=options["max_seconds"])
        response = _response(principal, question)
        if response is None:
            raise CommandError("The run may not be read any more.")
        if options["json"]:
            self.stdout.write(json.dumps(response, ensure_ascii=False, indent=2))
        else:
            show(console_on(self.stdout), response)
        if code := EXIT.get(str(response["outcome"]), 1):
            raise SystemExit(code)


def _response(principal: Principal, question: runs.Ask) -> Json | None:
    """The response, told of on stderr. Raises CommandError where there is none, in words that say why."""
    try:
        return asyncio.run(watch(principal, question, Console(stderr=True)))
    except NotPermitted as error:
        raise CommandError(f"This caller lacks the permission {error.permission}.") from error
    except caps.AgenticSearchOff as error:
        raise CommandError("Agentic search is switched off for this tenant: its daily cap is 0.") from error
    except (caps.DailyCapReached, TooManyRuns) as error:
        raise CommandError(f"Refused: {error}.") from error
    except runs.AuditUnavailable as error:
        raise CommandError(f"There is no answer: {error}. Try again.") from error
    except NotVerified as error:
        raise CommandError(f"No verifier started: {error}.") from error


def _principal(tenant: Tenant, key_name: str, user_name: str) -> Principal:
    if user_name:
        user = get_user_model().objects.filter(username=user_name).first()
        try:
            if user is None:
                raise Unrecognised
            return resolve_person(user, tenant.slug)
        except (Unrecognised, TenantUnclear) as error:
            raise CommandError(f"{user_name} is no member of {tenant.slug}; see manage.py add_member.") from error
    if key_name:
        key = ApiKey.objects.filter(tenant=tenant, name=key_name, revoked_at=None).order_by("-pk").first()
        if key is None:
            raise CommandError(f"{tenant.slug} has no key named {key_name!r}; see manage.py create_key.")
        return principal_of_key(key)
    key = ApiKey.objects.filter(tenant=tenant, name=COMMAND_LINE, revoked_at=None).first()
    if key is None:
        # Whoever may run this may read the database anyway; the token is thrown away, so nobody else can use it.
        key, _ = create_key(tenant, COMMAND_LINE, Access((Permission.SEARCH_AGENTIC,), all_mailboxes=True))
    return principal_of_key(key)
