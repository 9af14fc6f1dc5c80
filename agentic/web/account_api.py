"""What the caller is, may do and has left: `me` and `usage`."""

from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from rest_framework.request import Request

from agentic import caps, policies
from agentic.admission import CALLER_RUNS, TENANT_RUNS
from agentic.callers import Principal, current, scope_now
from agentic.mailjson import Json, in_utc
from agentic.web.views import ApiView, answer
from agentic.workers import in_worker
from mailsearch.models import ApiKey, Folder, Mailbox, Tenant
from mailsearch.sessions import Binding, session


class MeView(ApiView):
    """The caller, as the service sees it."""

    async def get(self, request: Request) -> HttpResponseBase:
        """Who the caller is, what it may do, which mail it may read, and what is left of its runs today."""
        about = await in_worker(_about, self.principal)
        return answer({**about, "agentic": await _usage(self.principal)})


class UsageView(ApiView):
    """How much was used."""

    async def get(self, request: Request) -> HttpResponseBase:
        """What the caller and its tenant have used of today, and what is left for the caller."""
        return answer(await _usage(self.principal))


async def _usage(principal: Principal) -> Json:
    policy = await in_worker(policies.effective, principal.tenant)
    async with session(Binding(tenant=principal.tenant)) as conn:
        today = await caps.today(conn, principal.tenant)
        mine = await caps.used_by(conn, principal.tenant, principal.caller)
    share = policy.caps.share
    left = min(policy.caps.runs - today.used, share.runs - mine.used) if policy.caps.runs else 0
    return {
        "daily_cap": policy.caps.runs,
        "used_today": today.used,
        "left_today": max(0, left),
        "daily_tokens": policy.caps.tokens,
        "tokens_today": today.tokens,
        "daily_cost_usd": float(policy.caps.cost_usd) if policy.caps.cost_usd is not None else None,
        "cost_usd_today": float(today.cost_usd),
        "key_share": policy.caps.key_share,
        "caller": {
            "daily_cap": share.runs if policy.caps.runs else 0,
            "used_today": mine.used,
            "daily_tokens": share.tokens,
            "tokens_today": mine.tokens,
            "daily_cost_usd": float(share.cost_usd) if share.cost_usd is not None else None,
            "cost_usd_today": float(mine.cost_usd),
        },
        "day_ends": today.ends.isoformat(),
        "max_steps": policy.max_steps,
        "max_seconds": policy.max_seconds,
    }


def _about(principal: Principal) -> Json:
    tenant = Tenant.objects.get(pk=principal.tenant)
    now = current(principal) or principal
    scope = scope_now(now)
    folders = Folder.objects.filter(pk__in=scope.folder_ids).order_by("path")
    by_mailbox: dict[int, list[str]] = {}
    for folder in folders:
        by_mailbox.setdefault(folder.mailbox_id, []).append(folder.path)
    mailboxes: list[Any] = [
        {"mailbox": mailbox.slug, "folders": by_mailbox.get(mailbox.pk, [])}
        for mailbox in Mailbox.objects.filter(pk__in=scope.mailboxes).order_by("slug")
    ]
    return {
        "caller": now.caller,
        "label": now.label,
        "key": _key(now) if now.is_key else None,
        "tenant": tenant.slug,
        "sandbox": tenant.sandbox,
        "timezone": tenant.timezone,
        "permissions": sorted(now.permissions),
        "mailboxes": mailboxes,
        "received_from": in_utc(scope.received_from),
        "received_until": in_utc(scope.received_until),
        "limits": {
            "requests_per_second": settings.PM_RATE_CALLER,
            "tenant_requests_per_second": settings.PM_RATE_TENANT,
            "runs_at_once": CALLER_RUNS,
            "tenant_runs_at_once": TENANT_RUNS,
        },
    }


def _key(principal: Principal) -> Json:
    """What may be shown of a key: nothing that helps to use it."""
    key = ApiKey.objects.get(pk=principal.credential)
    return {"prefix": key.prefix, "created_at": in_utc(key.created_at), "expires_at": in_utc(key.expires_at)}
