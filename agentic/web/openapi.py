"""The API's description (OpenAPI 3.1), made from the views: what each takes, and the problems that each may give."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes

from agentic.web.problems import BASE, CATALOGUE

_PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "enum": [BASE + kind for kind in CATALOGUE]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "retry_after": {"type": "integer", "description": "Seconds until it is worth trying again."},
        "permission": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
# Statuses that any address may give; those that start something may give more.
_EVERYWHERE, _ON_POST = (401, 403, 429, 500), (400, 413, 415, 422, 503)


class Schema(AutoSchema):
    """Responses are JSON objects whose fields the examples in the documentation show."""

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
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}


def add_problems(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A postprocessing hook: each operation names the problems that it may give."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            codes = {*_EVERYWHERE, *(_ON_POST if method == "post" else ()), *((404,) if "{" in path else ())}
            operation["responses"] |= {str(code): _problem(code) for code in sorted(codes)}
    return result


def _problem(code: int) -> dict[str, Any]:
    titles = [title for status, title in CATALOGUE.values() if status == code]
    return {
        "description": " / ".join(titles) or "An error.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
