"""`POST /v1/verify`: the rules that a run's answer passes, for an answer that the caller wrote."""

from typing import Any

from django.http import HttpResponseBase
from rest_framework.request import Request

from agentic import accesses, policies, verifying
from agentic.admission import NotPermitted
from agentic.callers import Principal, scope_at_once
from agentic.mailjson import Json
from agentic.web.serializers import VerifySerializer
from agentic.web.views import ApiView, answer, understood
from agentic.workers import in_worker
from mailsearch.models import Permission


class VerifyView(ApiView):
    """Verify an answer against the mail that it cites."""

    permission = Permission.VERIFY
    serializer_class = VerifySerializer

    async def post(self, request: Request) -> HttpResponseBase:
        """What of an answer stands: each sentence kept with its citations, or removed with a reason."""
        if not self.principal.may(Permission.SEARCH_READ):
            raise NotPermitted(Permission.SEARCH_READ)
        given = await understood(VerifySerializer, request)
        return answer(await verified(self.principal, given))


async def verified(principal: Principal, given: dict[str, Any], via: str = "rest") -> Json:
    """What stands of the answer in a body that VerifySerializer understood, over the mail the caller may read now."""
    policy = given.get("policy") or (await in_worker(policies.effective, principal.tenant)).verification
    scope = await scope_at_once(principal, Permission.SEARCH_READ)
    answer = given["text"] if "text" in given else [_claim(one) for one in given["sentences"]]
    told = await verifying.verify_answer(scope, answer, policy)
    await accesses.record(principal, "verify", sorted(_cited(told)), via)
    return told


def _cited(told: Json) -> set[str]:
    """Ids of the messages whose words are told."""
    sentences = told["answer"]["sentences"] if told["answer"] else ()
    return {one["message_id"] for sentence in sentences for one in sentence["citations"]}


def _claim(given: dict[str, Any]) -> verifying.Claim:
    quotes = tuple((quote["message"], quote["text"]) for quote in given["quotes"])
    return verifying.Claim(given["text"], tuple(given["citations"]), quotes)
