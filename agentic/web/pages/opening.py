"""How every page opens: who reads it, whether the reader may, and that no cache keeps it.

A page that the reader may not open and a page that does not exist are one answer.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse

from agentic.reviewers import Right
from agentic.web.pages import readers
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
# What the head of every page offers, in this order; entries whose address does not exist (yet) are left out.
_NAVIGATION = (
    ("Ask", "ask", Right.SEARCH),
    ("Ask", "ask", Right.ASK),
    ("Runs", "runs-page", Right.AUDIT),
    ("Runs", "runs-page", Right.OWN_RUNS),
    ("Review", "review", Right.AUDIT),
    ("Widen attempts", "widen-attempts", Right.AUDIT),
    ("Overview", "overview", Right.AUDIT),
    ("Usage", "usage-page", Right.USAGE),
    ("Settings", "tenant-settings", Right.SETTINGS),
    ("Acts", "acts", Right.AUDIT),
    ("Accesses", "accesses", Right.ADMINISTER),
)


def opened(*needs: Right) -> Callable[[View], View]:
    """A view for signed-in readers that have one of the rights *needs*; it is given the reader after the request."""

    def around(view: View) -> View:
        @wraps(view)
        async def open_page(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
            reader = await in_worker(readers.of, request)
            if reader is None:
                return _to_sign_in(request)
            if needs and not any(reader.may(right) for right in needs):
                raise Http404
            response = await view(request, reader, **kwargs)
            response.headers["Cache-Control"] = "private, no-store"
            return response

        return open_page

    return around


def shown(
    request: HttpRequest, reader: Reader | None, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """The page *template*, with what its head needs."""
    head = {"reader": reader, "navigation": navigation(reader)}
    response = render(request, f"pages/{template}", {**head, **context}, status=status)
    response.headers["Cache-Control"] = "private, no-store"
    return response


def navigation(reader: Reader | None) -> list[tuple[str, str]]:
    """Words and addresses of the pages that *reader* may open."""
    found: dict[str, str] = {}
    for words, name, right in _NAVIGATION:
        address = address_of(name)
        if reader is not None and reader.may(right) and address:
            found[words] = address
    return list(found.items())


def address_of(name: str, *args: object) -> str:
    """The address called *name*; empty where there is none."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


def _to_sign_in(request: HttpRequest) -> HttpResponseRedirect:
    then = request.get_full_path() if request.method == "GET" else ""
    response = HttpResponseRedirect(reverse("sign-in") + (f"?{urlencode({'next': then})}" if then else ""))
    response.headers["Cache-Control"] = "private, no-store"
    return response
