"""One running service for all tests that speak to it over HTTP, and one sandbox."""

from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from agentic import sandbox
from mailsearch.models import Tenant
from tests.standins.service import Service


@pytest.fixture(scope="session")
def service(django_db_setup: None, django_db_blocker: Any) -> Iterator[Service]:
    with django_db_blocker.unblock(), Service() as running:
        yield running


@pytest.fixture(scope="session")
def sandbox_key(django_db_setup: None, django_db_blocker: Any) -> Callable[..., str]:
    """Makes a key of the sandbox as an operator does, and gives its token. The mail is taken in with the first."""
    prepared: list[Tenant] = []

    def make(*arguments: str) -> str:
        with django_db_blocker.unblock():
            if prepared and not arguments:
                return sandbox.make_key(prepared[0], "a client")[1]
            out = StringIO()
            call_command("create_key", "--sandbox", "--name", "a client", *arguments, stdout=out, stderr=StringIO())
            prepared.append(Tenant.objects.get(slug=sandbox.SLUG))
            return out.getvalue().strip()

    return make
