"""The page on which whoever set the service up makes a tenant, with its mailbox, that one's source, and a key."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_http_methods

from agentic import run_page
from agentic.onboarding import Made, Newcomer, onboard
from agentic.reviewers import Right
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.ingest.addressing import Address, address_of
from mailsearch.ingest.sources import NotASource
from mailsearch.models import Permission, Tenant


class NewcomerForm(forms.Form):
    """What a new tenant needs."""

    slug = forms.SlugField(max_length=63, label="Tenant", help_text="Letters, digits, - and _: its name in requests.")
    name = forms.CharField(max_length=200, required=False, label="Name for people", help_text="Else the same.")
    timezone = forms.CharField(max_length=64, initial="UTC", label="Time zone", help_text="Its days are counted by it.")
    may_leave = forms.ChoiceField(
        choices=Tenant.MayLeave.choices,
        initial=Tenant.MayLeave.ANSWERS,
        widget=forms.RadioSelect,
        label="What may leave",
    )
    administrator = forms.CharField(
        max_length=150, required=False, help_text="An account that is there; it may do and read all of the tenant."
    )
    mailbox = forms.SlugField(max_length=63, label="First mailbox", help_text="Such as claims.")
    address = forms.EmailField(max_length=320, required=False, label="Its address")
    # An account alone: a path would name files of the server, a token command a program, a variable its environment.
    source = forms.CharField(
        max_length=255,
        required=False,
        label="Mail account it follows",
        help_text="imaps://account@host, or imap:// with STARTTLS. Empty: mail comes in another way.",
    )
    secret = forms.CharField(
        max_length=1000,
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        label="Password of that account",
        help_text="Kept encrypted, shown nowhere, and sent to that host alone, over TLS.",
    )
    key = forms.CharField(
        max_length=200, label="Key for", help_text="What the key is for; it reads that mailbox alone."
    )
    permissions = forms.MultipleChoiceField(
        choices=Permission.choices,
        initial=[Permission.SEARCH_READ, Permission.SEARCH_AGENTIC],
        widget=forms.CheckboxSelectMultiple,
        label="The key may",
        help_text="None implies another.",
    )
    reason = forms.CharField(max_length=500, help_text="Kept with the act for good.")

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if Tenant.objects.filter(slug=slug).exists():
            raise forms.ValidationError("There is such a tenant already; choose another name.")
        return slug

    def clean_timezone(self) -> str:
        zone: str = self.cleaned_data["timezone"]
        if zone not in available_timezones():
            raise forms.ValidationError("There is no such time zone; write Europe/Berlin or UTC.")
        return zone

    def clean_administrator(self) -> Any:
        name = self.cleaned_data["administrator"]
        user = get_user_model().objects.filter(username=name, is_active=True).first() if name else None
        if name and user is None:
            raise forms.ValidationError("There is no such account; make it first, with: manage.py add_member.")
        return user

    def clean_source(self) -> Address | None:
        text: str = self.cleaned_data["source"]
        if not text:
            return None
        if "://" not in text:
            raise forms.ValidationError("Write imaps://account@host; files are followed with: manage.py add_source.")
        try:
            return address_of(text)
        except NotASource as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> None:
        """An account and its password come together."""
        source, secret = self.cleaned_data.get("source"), self.cleaned_data.get("secret")
        if source is not None and not secret:
            self.add_error("secret", "Give the password of the account; it has to be typed again each time.")
        if secret and source is None and "source" not in self.errors:
            self.add_error("source", "Say which account the password opens.")


@require_http_methods(["GET", "HEAD", "POST"])
@opened(Right.SETTINGS)
async def onboarding(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The form; and once it is sent, what was made, with the key that is shown once."""
    if not getattr(reader.user, "is_superuser", False):
        raise Http404
    form, made = await in_worker(_made, reader, request.POST if request.method == "POST" else None)
    if made is None:
        return shown(request, reader, "onboarding.html", {"form": form}, status=400 if form.is_bound else 200)
    return shown(request, reader, "onboarded.html", {"made": made})


def _made(reader: Reader, sent: Any) -> tuple[NewcomerForm, Made | None]:
    form = NewcomerForm(sent)
    if not form.is_valid():
        # Its fields are looked at while the page is made, and none of them reads a row.
        return form, None
    given = dict(form.cleaned_data)
    reason = given.pop("reason")
    newcomer = Newcomer(**{**given, "permissions": tuple(given["permissions"])})
    return form, onboard(newcomer, run_page.caller_of(reader.user), reason)
