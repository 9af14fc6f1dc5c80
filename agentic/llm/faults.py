"""What can go wrong on the wire, each under one stable reason code.

Codes of Workers AI are those of its error table (developers.cloudflare.com/workers-ai/platform/errors, read 2026-11).
"""

import json
import re
from collections.abc import Iterator, Mapping

from agentic.core.ports import ModelFault

# Faults that may pass within a run, so that the same request is worth sending again.
PASSING = frozenset({"rate_limited", "out_of_capacity", "server_error", "unreachable"})

_BY_INTERNAL_CODE = {
    3003: "bad_request",
    3006: "too_long",
    3007: "timeout",
    3008: "timeout",
    3023: "auth",
    3036: "daily_quota",
    3040: "out_of_capacity",
    3041: "auth",
    3042: "no_such_model",
    5004: "bad_request",
    5007: "no_such_model",
    5016: "auth",
    5018: "auth",
}
_BY_STATUS = {
    401: "auth",
    403: "auth",
    404: "no_such_model",
    408: "timeout",
    413: "too_long",
    429: "rate_limited",
    504: "timeout",
    529: "out_of_capacity",
}
_INTERNAL_CODE = re.compile(r"(?<![0-9])(?:3003|3006|3007|3008|3023|3036|3040|3041|3042|5004|5007|5016|5018)(?![0-9])")
_NUMBER = re.compile("[0-9]{1,9}")
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window)|maximum context|too (?:long|large|many tokens)|token limit|exceeds? .{0,40}tokens",
    re.IGNORECASE,
)
_JSON_MODE = re.compile(r"json mode (?:could ?n.t|could not|can ?not|can.t) be met", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|daily (?:free )?(?:allocation|limit|quota)", re.IGNORECASE)


def fault_of(status: int, body: str) -> ModelFault:
    """The fault that an answer with *status* and *body* stands for. Its detail never holds words of the body."""
    code, internal = _inner(body)
    told = f"HTTP {status}" + (f", code {internal}" if internal else "")
    return ModelFault(code or _BY_STATUS.get(status) or ("server_error" if status >= 500 else "bad_request"), told)


def fault_in(value: Mapping[str, object]) -> ModelFault | None:
    """The fault in an answer with status 200 (or an event of its stream) that reports an error; None if it does not."""
    if not value.get("error") and not value.get("errors") and value.get("success") is not False:
        return None
    code, internal = _inner(json.dumps(value))
    return ModelFault(code or "server_error", "reported with status 200" + (f", code {internal}" if internal else ""))


def _inner(body: str) -> tuple[str, int | None]:
    """The reason code that the body names, and the server's own number for it."""
    for number in _numbers(body):
        if number in _BY_INTERNAL_CODE:
            return _BY_INTERNAL_CODE[number], number
    for pattern, code in ((_JSON_MODE, "json_mode_unmet"), (_TOO_LONG, "too_long"), (_QUOTA, "daily_quota")):
        if pattern.search(body):
            return code, None
    return "", None


def _numbers(body: str) -> Iterator[int]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    for error in _errors(value):
        number = error.get("code") or error.get("internalCode")
        if isinstance(number, int) or (isinstance(number, str) and _NUMBER.fullmatch(number)):
            yield int(number)
        # The OpenAI-compatible endpoint writes the number into the message: "AiError: ... (3040)".
        yield from (int(found) for found in _INTERNAL_CODE.findall(str(error.get("message", ""))))


def _errors(value: object) -> Iterator[Mapping[str, object]]:
    if not isinstance(value, Mapping):
        return
    found = value.get("errors")
    for error in [value.get("error"), *(found if isinstance(found, list) else ())]:
        if isinstance(error, Mapping):
            yield error
        elif isinstance(error, str):
            yield {"message": error}
