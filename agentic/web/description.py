"""The API's description for programs and for people. It says nothing of anybody, so anybody may read it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator

from agentic.web.problems import BASE, CATALOGUE, REMEDIES

_PRIVATE = "private, no-store"


@cache
def described() -> Mapping[str, Any]:
    """The description (OpenAPI 3.1). It is the same for everybody, so it is made once."""
    made: Mapping[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """For programs."""
    return _private(HttpResponse(json.dumps(described(), ensure_ascii=False), content_type="application/json"))


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """For people: one page without any script or outside resource."""
    told = described()
    shapes = {name: _pretty(shape) for name, shape in sorted(told["components"]["schemas"].items())}
    context = {"info": told["info"], "operations": list(_operations(told)), "shapes": shapes}
    return _private(render(request, "api/docs.html", context))


@require_safe
def problem_page(request: HttpRequest) -> HttpResponse:
    """The catalogue of problems: each type, when it comes, and what to do."""
    problems = [
        {"kind": kind, "type": BASE + kind, "status": status, "title": title, "remedy": REMEDIES.get(kind, "")}
        for kind, (status, title) in CATALOGUE.items()
    ]
    return _private(render(request, "api/problems.html", {"problems": problems}))


def _operations(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {}).get("content", {})
            yield {
                "anchor": operation["operationId"],
                "method": method.upper(),
                "path": path,
                "description": operation["description"],
                "parameters": [one | {"shape": _pretty(one["schema"])} for one in operation["parameters"]],
                "bodies": [(kind, _pretty(content["schema"])) for kind, content in body.items()],
                "responses": [_response(status, one) for status, one in operation["responses"].items()],
            }


def _response(status: str, response: Mapping[str, Any]) -> Mapping[str, Any]:
    shown = [
        (kind, name, _pretty(one["value"]))
        for kind, content in response.get("content", {}).items()
        for name, one in content.get("examples", {}).items()
    ]
    streams = [
        (kind, "stream", content["example"])
        for kind, content in response.get("content", {}).items()
        if "example" in content
    ]
    return {"status": status, "description": response["description"], "examples": shown + streams}


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _private(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = _PRIVATE
    return response
