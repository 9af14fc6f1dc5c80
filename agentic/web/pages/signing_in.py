"""Signing in and out, and choosing the tenant to act in."""

from django.contrib.auth import authenticate, login, logout
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from agentic.attempts import WINDOW_MINUTES
from agentic.web.pages import readers
from agentic.web.pages.opening import navigation, opened, shown
from agentic.web.pages.readers import CHOSEN, Reader
from agentic.workers import in_worker

_REFUSED = (
    f"That name and password do not fit, or there were too many attempts. Try again, or wait {WINDOW_MINUTES} minutes."
)
_LONGEST = 1000


@require_safe
@opened()
async def home(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The first page that the reader may open."""
    pages = navigation(reader)
    if not pages:
        return shown(request, reader, "nothing.html", {})
    return HttpResponseRedirect(pages[0][1])


async def sign_in(request: HttpRequest) -> HttpResponseBase:
    """The form, and what comes of it."""
    then = _local(request, request.POST.get("next", "") or request.GET.get("next", ""))
    if request.method != "POST":
        return shown(request, None, "sign_in.html", {"then": then, "refused": ""})
    name, password = request.POST.get("name", ""), request.POST.get("password", "")
    if len(name) > _LONGEST or len(password) > _LONGEST or not await in_worker(_signed_in, request, name, password):
        return shown(request, None, "sign_in.html", {"then": then, "refused": _REFUSED, "name": name[:150]}, status=403)
    return HttpResponseRedirect(then or "/")


@require_POST
@opened()
async def sign_out(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The end of the session."""
    await in_worker(logout, request)
    return HttpResponseRedirect("/sign-in")


@require_POST
@opened()
async def choose_tenant(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Act in another of the reader's tenants from here on."""
    slug = request.POST.get("tenant", "")
    if slug not in {tenant.slug for tenant in reader.tenants}:
        raise Http404
    request.session[CHOSEN] = slug
    return HttpResponseRedirect("/")


def _signed_in(request: HttpRequest, name: str, password: str) -> bool:
    user = authenticate(request, username=name, password=password)
    if user is None:
        return False
    login(request, user)
    return readers.of(request) is not None


def _local(request: HttpRequest, address: str) -> str:
    """*address* if it lies within this service, else nothing."""
    fits = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if fits and address.startswith("/") else ""
