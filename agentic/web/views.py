"""What all addresses of the API share: async handlers on DRF, who asks, problems, and nothing kept in caches."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.exceptions import ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from agentic import accesses
from agentic.admission import NotPermitted
from agentic.callers import Principal, Unrecognised
from agentic.mailjson import Json
from agentic.web import parameters, problems, rates
from agentic.web.authentication import KeyAuthentication, PersonAuthentication
from agentic.web.parameters import Declared
from agentic.workers import in_worker

# Bytes that take about as long to understand as it takes to hand them to a worker.
_LONG_BODY = 4_000
_json = JSONRenderer()


class AlwaysJson(BaseContentNegotiation):
    """Answers are JSON whatever is accepted: a client that asks for a stream gets its problems as JSON, too."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return next((parser for parser in parsers if (request.content_type or "").startswith(parser.media_type)), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """A DRF view whose handlers are coroutines.

    `permission` is what a caller needs for all of them, `permissions` for single methods; `parameters` are what each
    method takes in the address's query, read into `query`.
    """

    authentication_classes = [KeyAuthentication, PersonAuthentication]
    permission_classes = []
    content_negotiation_class = AlwaysJson
    permission: str = ""
    permissions: Mapping[str, str] = {}
    parameters: Mapping[str, Declared] = {}
    # Where clients that the caller does not write add parameters of their own.
    ignores_other_parameters = False
    query: Mapping[str, Any]

    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            await in_worker(self.initial, self.request, *args, **kwargs)
            handler: Callable[..., Awaitable[HttpResponseBase]] = getattr(self, self.handled_as, self.refuse_method)
            response = await handler(self.request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the request's boundary: every error leaves as a problem
            response = problems.response(problems.of(error), request)
        response = self.finalize_response(self.request, response, *args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "private, no-store"
        if response.status_code == 405:
            response.headers["Allow"] = ", ".join(self.allowed_methods)
        # Asking for `auth` would look the caller up once more where nobody was recognised.
        principal = getattr(self.request, "_auth", None)
        if isinstance(principal, Principal):
            for name, value in rates.headers(principal).items():
                response.headers[name] = value
        return response

    @property
    def handled_as(self) -> str:
        """The name of the handler; empty where the method is none."""
        name = (self.request.method or "").lower()
        return name if name in self.http_method_names else ""

    @property
    def method(self) -> str:
        """The method by whose rules the request goes: HEAD goes by those of GET."""
        return "get" if self.handled_as == "head" else self.handled_as

    @property
    def needed(self) -> str:
        """The permission that the request needs; empty where any valid key will do."""
        return self.permissions.get(self.method, self.permission)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        parameters.refuse_credentials(request.query_params)
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, Principal):
            raise Unrecognised
        rates.check(request.auth)
        if self.needed and not request.auth.may(self.needed):
            raise NotPermitted(self.needed)
        if self.method in map(str.lower, self.allowed_methods):
            declared = self.parameters.get(self.method, {})
            self.query = parameters.read(request, declared, ignore_others=self.ignores_other_parameters)

    async def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        """Which methods there are. What they take is in the API's description."""
        return HttpResponse(status=204, headers={"Allow": ", ".join(self.allowed_methods)})

    async def refuse_method(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        raise problems.Problem("method-not-allowed", f"It takes {', '.join(self.allowed_methods)}.")

    async def seen(self, kind: str, subjects: Iterable[str]) -> None:
        """Write down what of the mail and the runs the caller is about to be given."""
        await accesses.record(self.principal, kind, subjects)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        principal = self.request.auth
        assert isinstance(principal, Principal)
        return principal


class NowhereView(ApiView):
    """An address that is none. Who is not recognised is not even told that."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise problems.Problem("not-found")

    async def get(self, request: Request) -> HttpResponseBase:
        """Never reached."""
        raise problems.Problem("not-found")


def answer(body: Json, status: int = 200) -> HttpResponse:
    """*body* as JSON, made at once: what is made when it is sent goes through a worker of its own."""
    return HttpResponse(_json.render(body), status=status, content_type=_json.media_type)


def found(body: Json | None) -> HttpResponse:
    """*body*, or the one answer for what is missing and what is not the caller's to read."""
    if body is None:
        raise problems.Problem("not-found")
    return answer(body)


def validated(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The body as *serializer* understands it. Raises ValidationError, ParseError and RequestDataTooBig."""
    # Read as a whole first, so that the limit on bodies holds.
    _ = request._request.body
    try:
        understood: dict[str, Any] = _kept(serializer).run_validation(request.data)
    except ValidationError as error:
        # What is wrong with no field in particular comes as a list.
        named = error.detail if isinstance(error.detail, dict) else {api_settings.NON_FIELD_ERRORS_KEY: error.detail}
        raise ValidationError(named) from error
    return understood


@cache
def _kept(serializer: type[Serializer[Any]]) -> Serializer[Any]:
    """One that serves all requests: making its fields takes longer than a body's validation, which keeps nothing."""
    return serializer()


async def understood(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The same as `validated`, in a worker where the body is so large that others would wait for it."""
    if len(request._request.body) > _LONG_BODY:
        return await in_worker(validated, serializer, request)
    return validated(serializer, request)
