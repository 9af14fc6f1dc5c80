"""One call of a tool: who calls it and with what, and what is said back."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema

from agentic.callers import Principal
from agentic.mailjson import Json
from agentic.web.problems import Problem

# Neither NUL nor half of a surrogate pair can be kept by the database, so nothing that holds one can be found.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LONGEST_HINT = 400


@dataclass(frozen=True, slots=True)
class Call:
    """A call by *principal*. `tell` says to the client how far the call is: a number that rises, and words."""

    principal: Principal
    arguments: Mapping[str, Any]
    tell: Callable[[float, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Said:
    """What a call gives back: words for a model, in which mail stands fenced, and the same as values."""

    text: str
    data: Json


def check_signs(arguments: Mapping[str, Any]) -> None:
    """Raises Problem where a text holds what is no text, and so can be neither kept nor found."""
    wrong = [name for name, value in arguments.items() if any(map(_NO_TEXT.search, _strings(value)))]
    if wrong or any(map(_NO_TEXT.search, arguments)):
        message = "It holds NUL or half of a surrogate pair; send text without them."
        raise Problem("invalid-request", errors=[{"field": ", ".join(wrong) or "(arguments)", "message": message}])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from map(str, value)
        yield from (text for inner in value.values() for text in _strings(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _strings(inner))


def check_arguments(validator: jsonschema.Draft202012Validator, arguments: Mapping[str, Any]) -> None:
    """Raises Problem for arguments that do not fit; it names each place and what belongs there, and echoes nothing."""
    errors = [_told(error) for error in validator.iter_errors(dict(arguments))]
    if errors:
        raise Problem("invalid-request", errors=errors[:20])


def _told(error: jsonschema.ValidationError) -> Json:
    place = ".".join(map(str, error.absolute_path)) or "(arguments)"
    rule = error.validator
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if rule == "additionalProperties":
        return {"field": place, "message": f"There are only these: {', '.join(schema['properties'])}."}
    if rule == "required":
        return {"field": place, "message": f"These are required: {', '.join(schema['required'])}."}
    wanted = json.dumps(schema)
    return {"field": place, "message": f"It must fit {wanted}." if len(wanted) < _LONGEST_HINT else "It does not fit."}
