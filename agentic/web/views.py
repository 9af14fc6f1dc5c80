"""What all addresses of the API share: async handlers on DRF, who asks, problems, and nothing kept in caches."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from agentic.admission import NotPermitted
from agentic.callers import Principal, Unrecognised
from agentic.mailjson import Json
from agentic.web import problems
from agentic.web.authentication import KeyAuthentication, PersonAuthentication
from agentic.web.rates import PER_CALLER, PER_TENANT, rates
from agentic.workers import in_worker


class AlwaysJson(BaseContentNegotiation):
    """Answers are JSON whatever is accepted: a client that asks for a stream gets its problems as JSON, too."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return next((parser for parser in parsers if (request.content_type or "").startswith(parser.media_type)), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class ApiView(APIView):
    """A DRF view whose handlers are coroutines. `permission` is what a caller needs for all of them."""

    authentication_classes = [KeyAuthentication, PersonAuthentication]
    permission_classes = []
    content_negotiation_class = AlwaysJson
    permission: str = ""

    async def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            await in_worker(self.initial, self.request, *args, **kwargs)
            name = (request.method or "").lower()
            known = name if name in self.http_method_names else ""
            handler: Callable[..., Awaitable[HttpResponseBase]] = getattr(self, known, self.refuse_method)
            response = await handler(self.request, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the request's boundary: every error leaves as a problem
            response = problems.response(problems.of(error), request)
        response = self.finalize_response(self.request, response, *args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "private, no-store"
        # Asking for `auth` would look the caller up once more where nobody was recognised.
        principal = getattr(self.request, "_auth", None)
        if isinstance(principal, Principal):
            left = rates.left(principal.caller, PER_CALLER)
            response.headers["RateLimit-Policy"] = f'"caller";q={2 * PER_CALLER:.0f};w=2'
            response.headers["RateLimit"] = f'"caller";r={left}'
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, Principal):
            raise Unrecognised
        self._check_rate(request.auth)
        if self.permission and not request.auth.may(self.permission):
            raise NotPermitted(self.permission)

    def _check_rate(self, principal: Principal) -> None:
        for name, per_second in ((principal.caller, PER_CALLER), (f"tenant:{principal.tenant}", PER_TENANT)):
            seconds = rates.take(name, per_second)
            if seconds:
                detail = f"At most {per_second:.0f} requests a second, {2 * per_second:.0f} at once."
                raise problems.Problem("rate-limited", detail, retry_after=max(1, math.ceil(seconds)))

    async def refuse_method(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        raise problems.Problem("method-not-allowed")

    @property
    def principal(self) -> Principal:
        """Who asks."""
        principal = self.request.auth
        assert isinstance(principal, Principal)
        return principal


def found(body: Json | None) -> Response:
    """*body*, or the one answer for what is missing and what is not the caller's to read."""
    if body is None:
        raise problems.Problem("not-found")
    return Response(body)


def validated(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The body as *serializer* understands it. Raises ValidationError, ParseError and RequestDataTooBig."""
    # Read as a whole first, so that the limit on bodies holds.
    _ = request._request.body
    given = serializer(data=request.data)
    given.is_valid(raise_exception=True)
    understood: dict[str, Any] = given.validated_data
    return understood
