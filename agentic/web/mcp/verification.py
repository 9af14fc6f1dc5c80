"""`verify_answer`: an answer of the caller's own against the mail that it cites."""

from collections.abc import Iterable

import jsonschema

from agentic.core.fence import clean
from agentic.mailjson import Json
from agentic.web.mcp.calls import Call, Said, check_arguments
from agentic.web.mcp.rendering import said
from agentic.web.mcp.schemas import VERIFY
from agentic.web.serializers import VerifySerializer
from agentic.web.verify_api import verified

_ARGUMENTS = jsonschema.Draft202012Validator(VERIFY)


async def verify_answer(call: Call) -> Said:
    """What of an answer stands. Raises Problem."""
    check_arguments(_ARGUMENTS, call.arguments)
    body = VerifySerializer(data=dict(call.arguments))
    body.is_valid(raise_exception=True)
    response = await verified(call.principal, body.validated_data, "mcp")
    answer = response["answer"]
    return said(_told(response), [clean(answer["text"])] if answer else [], response)


def _told(response: Json) -> Iterable[str]:
    kept = len(response["answer"]["sentences"]) if response["answer"] else 0
    yield f"{kept} sentences stand, {len(response['removed_sentences'])} do not (policy {response['policy']})."
    for removed in response["removed_sentences"]:
        yield f"Sentence {removed['position']} does not stand: {removed['reason']}."
    yield response["notice"]
