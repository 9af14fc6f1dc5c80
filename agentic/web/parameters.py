"""What an address takes in its query: declared once, for checking and for the description of the API.

What is not declared is refused by name, so that a filter that was misspelt never goes unnoticed; a key is refused in
words of its own, since addresses stand in logs and histories.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rest_framework.request import Request

from agentic.web.problems import Problem

_BOOLEANS = {"true": True, "false": False}
# Names under which clients put credentials into addresses.
_CREDENTIALS = frozenset({"key", "token", "api_key", "apikey", "api-key", "access_token", "auth", "authorization"})
_LONGEST = 320


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query. A list takes the name several times, and any of the values."""

    description: str
    kind: str = "string"
    default: Any = None
    low: int = 0
    high: int = 100
    longest: int = _LONGEST
    several: bool = False
    required: bool = False

    @property
    def schema(self) -> Mapping[str, object]:
        """Its JSON Schema."""
        default = {} if self.default is None or self.several else {"default": self.default}
        match self.kind:
            case "integer":
                return {"type": "integer", "minimum": self.low, "maximum": self.high, **default}
            case "boolean":
                return {"type": "boolean", **default}
        one = {"type": "string", "minLength": 1, "maxLength": self.longest}
        return {"type": "array", "items": one, "maxItems": 20} if self.several else {**one, **default}


Declared = Mapping[str, Parameter]
LIMIT = Parameter("How many at most.", "integer", 20, 1, 100)
CURSOR = Parameter("`next_cursor` of the page before.", default="", longest=1000)


@dataclass(slots=True)
class _Reading:
    values: dict[str, Any] = field(default_factory=dict)
    errors: list[dict[str, str]] = field(default_factory=list)

    def refuse(self, name: str, message: str) -> None:
        self.errors.append({"field": name[:100], "message": message})


def refuse_credentials(query: Mapping[str, str]) -> None:
    """Raises Problem where an address carries what looks like a credential, whether or not it is one."""
    named = sorted(name for name in query if name.casefold() in _CREDENTIALS)
    if named:
        raise Problem(
            "key-in-address",
            f"Leave {', '.join(named)} out of the address: addresses are logged and remembered. Send the key as"
            " `Authorization: Bearer pm_…`, and put a new one in place of one that was sent this way.",
        )


def read(request: Request, declared: Declared, *, ignore_others: bool = False) -> dict[str, Any]:
    """The declared parameters of a request, those with a default in any case. Raises Problem, naming each wrong one."""
    reading = _Reading()
    for name in () if ignore_others else sorted(set(request.query_params) - set(declared)):
        known = ", ".join(declared) or "none"
        reading.refuse(name, f"There is no such parameter; there are: {known}.")
    for name, parameter in declared.items():
        given = request.query_params.getlist(name)
        if given:
            _read_one(reading, name, parameter, given)
        elif parameter.required:
            reading.refuse(name, "This must be given.")
        elif parameter.default is not None:
            reading.values[name] = parameter.default
    if reading.errors:
        raise Problem("invalid-request", errors=reading.errors)
    return reading.values


def _read_one(reading: _Reading, name: str, parameter: Parameter, given: list[str]) -> None:
    if parameter.several:
        if len(given) > 20 or not all(_is_text(one, parameter) for one in given):
            reading.refuse(name, f"At most 20 values of 1 to {parameter.longest} characters.")
        reading.values[name] = given
    elif len(given) > 1:
        reading.refuse(name, "Give this once.")
    elif parameter.kind == "integer":
        _read_integer(reading, name, parameter, given[0])
    elif parameter.kind == "boolean":
        if given[0] not in _BOOLEANS:
            reading.refuse(name, "Write true or false.")
        reading.values[name] = _BOOLEANS.get(given[0])
    else:
        if given[0] != parameter.default and not _is_text(given[0], parameter):
            reading.refuse(name, f"1 to {parameter.longest} characters.")
        reading.values[name] = given[0]


def _read_integer(reading: _Reading, name: str, parameter: Parameter, text: str) -> None:
    if text.isascii() and text.isdigit() and len(text) < 12 and parameter.low <= int(text) <= parameter.high:
        reading.values[name] = int(text)
    else:
        reading.refuse(name, f"A whole number from {parameter.low} to {parameter.high}.")


def _is_text(text: str, parameter: Parameter) -> bool:
    return 1 <= len(text) <= parameter.longest and "\0" not in text
