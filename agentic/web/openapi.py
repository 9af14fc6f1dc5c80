"""The API's description (OpenAPI 3.1), made from the views: what each takes, gives, and the problems it may give.

Examples are answers of a running service, kept in `examples.json`; a test compares them with what is answered now.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.urls import URLPattern
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes

from agentic import filters
from agentic.web import schemas
from agentic.web.problems import CATALOGUE

_EXAMPLES = Path(__file__).with_name("examples.json")
_JSON, _PROBLEM, _STREAM = "application/json", "application/problem+json", "text/event-stream"
# Any address may give these; those with a body these, too.
_EVERYWHERE, _WITH_BODY = (400, 401, 403, 404, 405, 429, 500, 503), (408, 413, 415)
_RATE_HEADERS = {
    "RateLimit-Policy": "Requests in a window of seconds, of this caller and of its tenant.",
    "RateLimit": "What is left of them, and the seconds until all of it is there again.",
}
_ID = {"type": "string", "minLength": 1, "maxLength": 60}


@dataclass(frozen=True, slots=True)
class _Gives:
    """What one method of an address answers with: components by status, or bytes, or a stream; names of examples."""

    components: Mapping[int, tuple[str, ...]]
    examples: tuple[str, ...] = ()
    streams: bool = False
    content_type: str = _JSON


_BYTES, _ANYTHING = "application/octet-stream", "*/*"
_GIVES: Mapping[tuple[str, str], _Gives] = {
    ("search", "post"): _Gives(
        {200: ("Found", "Run"), 202: ("Started",)},
        ("hybrid", "answered", "insufficient_evidence", "budget_exhausted", "degraded", "respond_async"),
        streams=True,
    ),
    ("runs", "get"): _Gives({200: ("Runs",)}, ("runs",)),
    ("run", "get"): _Gives({200: ("Run",)}, ("answered", "withheld")),
    ("run-events", "get"): _Gives({204: ()}, streams=True),
    ("run-cancel", "post"): _Gives({202: ("Cancelled",)}, ("cancel",)),
    ("messages", "get"): _Gives({200: ("Messages",)}, ("messages",)),
    ("messages", "post"): _Gives({200: ("PutIn",), 201: ("PutIn",)}, ("put_in", "put_in_again")),
    ("message", "get"): _Gives({200: ("Message",)}, ("message",)),
    ("message-raw", "get"): _Gives({200: ()}, content_type=_BYTES),
    ("message-related", "get"): _Gives({200: ("Related",)}, ("related",)),
    ("message-quarantine", "post"): _Gives({200: ("Quarantined",)}, ("quarantine",)),
    ("thread", "get"): _Gives({200: ("Thread",)}, ("thread",)),
    ("attachment", "get"): _Gives({200: ("AttachmentText",)}, ("attachment",)),
    ("attachment-file", "get"): _Gives({200: ()}, content_type=_BYTES),
    ("contacts", "get"): _Gives({200: ("Contacts",)}, ("contacts",)),
    ("audit", "get"): _Gives({200: ()}, content_type="application/x-ndjson, text/csv"),
    ("verify", "post"): _Gives({200: ("Verified",)}, ("verified",)),
    ("me", "get"): _Gives({200: ("Me",)}, ("me",)),
    ("usage", "get"): _Gives({200: ("Usage",)}, ("usage",)),
}
_HEADERS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("search", "post"): {
        "Idempotency-Key": "At most 200 characters. The same request under it gives the run that it started.",
        "Prefer": "`respond-async` answers 202 with the run's address at once.",
    },
    ("run-events", "get"): {"Last-Event-ID": "`<run>:<n>` or `<n>`: what comes after this event."},
}


class Schema(AutoSchema):
    """What spectacular finds out by itself; `complete` adds what the views declare."""

    def get_operation_id(self) -> str:
        return re.sub(r"[^a-z]+", "_", f"{self.method} {self.path}".lower()).strip("_")

    def get_response_serializers(self) -> Any:
        return OpenApiTypes.OBJECT

    def get_request_serializer(self) -> Any:
        return super().get_request_serializer() if hasattr(self.view, "serializer_class") else None


class BearerKey(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Service keys."""

    target_class = "agentic.web.authentication.KeyAuthentication"
    name = "serviceKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A service key: `pm_<prefix>_<secret>`."}


class PersonSession(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """People's sessions."""

    target_class = "agentic.web.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        description = "A signed-in person's session; what changes something needs its CSRF token in X-CSRFToken."
        return {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": description}


@cache
def examples() -> Mapping[str, Any]:
    """Answers by name, and problems by their type."""
    kept: Mapping[str, Any] = json.loads(_EXAMPLES.read_text())
    return kept


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook: parameters, answers, problems and examples of each operation."""
    from agentic.web.urls import urlpatterns

    components = result.setdefault("components", {}).setdefault("schemas", {})
    _close(components)
    components |= schemas.COMPONENTS
    for path, pattern in _addresses(urlpatterns):
        for method, operation in result["paths"].get(path, {}).items():
            _complete_one(operation, pattern, method)
    return result


def _addresses(patterns: Iterable[Any]) -> Iterable[tuple[str, URLPattern]]:
    for pattern in patterns:
        path = f"/v1/{pattern.pattern}".replace("<str:", "{").replace(">", "}")
        yield path, pattern


def _complete_one(operation: dict[str, Any], pattern: URLPattern, method: str) -> None:
    key, view = (str(pattern.name), method), pattern.callback.cls  # type: ignore[attr-defined]
    gives = _GIVES.get(key, _Gives({200: ()}, content_type=_ANYTHING))
    named = [one | {"schema": _ID} for one in operation.get("parameters", ()) if one["in"] == "path"]
    for name, declared in view.parameters.get(method, {}).items():
        given = {"name": name, "in": "query", "required": declared.required, "schema": declared.schema}
        named.append({**given, "description": declared.description})
    for name, words in _HEADERS.get(key, {}).items():
        named.append({"name": name, "in": "header", "schema": {"type": "string"}, "description": words})
    operation["parameters"] = named
    needed = view.permissions.get(method, view.permission)
    if needed:
        operation["description"] += f"\n\nNeeds the permission `{needed}`."
    if key == ("messages", "post"):
        operation["requestBody"] = {"required": True, "content": {"message/rfc822": {"schema": {"type": "string"}}}}
    problems = {*_EVERYWHERE, *(_WITH_BODY if method == "post" else ()), *((422,) if key[0] == "search" else ())}
    operation["responses"] = {
        **{str(status): _success(gives, status) for status in gives.components},
        **({"200": _with_stream(_success(gives, 200))} if gives.streams else {}),
        **{str(status): _problem(status) for status in sorted(problems)},
    }


def _success(gives: _Gives, status: int) -> dict[str, Any]:
    names = gives.components.get(status, ())
    headers = {name: {"description": words, "schema": {"type": "string"}} for name, words in _RATE_HEADERS.items()}
    told: dict[str, Any] = {"description": "", "headers": headers}
    if not names:
        told["description"] = "There is nothing left to tell." if status == 204 else "As it came, to be saved."
        if status != 204 and not gives.streams:
            kinds = gives.content_type.split(", ")
            told["content"] = {kind: {"schema": {"type": "string", "contentMediaType": kind}} for kind in kinds}
        return told
    told["description"] = " Or: ".join(str(schemas.COMPONENTS[name]["description"]) for name in names)
    references = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    shown = {
        name: {"value": examples()[name]["body"]} for name in gives.examples if examples()[name]["status"] == status
    }
    schema = references[0] if len(references) == 1 else {"oneOf": references}
    told["content"] = {_JSON: {"schema": schema, **({"examples": shown} if shown else {})}}
    return told


def _with_stream(told: dict[str, Any]) -> dict[str, Any]:
    words = "Events `step`, `evidence`, `answer` and `done`, each with an id `<run>:<n>` and data as JSON."
    # What describes a stream is, before OpenAPI 3.2, read as what describes each of its events.
    schema = {
        "type": "object",
        "description": words,
        "properties": {
            "id": {"type": "string", "pattern": "^run_[0-9A-Za-z]+:[0-9]+$"},
            "event": {"enum": ["step", "evidence", "answer", "done"]},
            "data": {"type": "string", "contentMediaType": _JSON},
        },
        "required": ["id", "event", "data"],
    }
    first = examples()["stream"]["body"].partition("\n\n")[0]
    event = dict(line.partition(": ")[::2] for line in first.splitlines())
    content = told.get("content", {}) | {_STREAM: {"schema": schema, "example": event}}
    return {**told, "description": told["description"] if told.get("content") else words, "content": content}


def _problem(code: int) -> dict[str, Any]:
    kinds = [kind for kind, (status, _) in CATALOGUE.items() if status == code]
    kept = {kind: examples()[f"problem {kind}"]["body"] for kind in kinds if f"problem {kind}" in examples()}
    shown = {kind: {"value": body} for kind, body in kept.items()}
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": " / ".join(CATALOGUE[kind][1] for kind in kinds),
        "content": {_PROBLEM: {"schema": schema, "examples": shown}},
    }


def _close(components: dict[str, Any]) -> None:
    """The bodies of requests: closed as they are checked, and filters, which are checked by a schema of their own."""
    for component in components.values():
        if component.get("type") == "object":
            component["additionalProperties"] = False
    found = {"type": "object", "properties": dict(filters.PROPERTIES), "additionalProperties": False, "default": {}}
    components["SearchRequest" if "SearchRequest" in components else "Search"]["properties"]["filters"] = found
    verify = components["Verify"]
    verify["oneOf"] = [{"required": ["text"]}, {"required": ["sentences"]}]
