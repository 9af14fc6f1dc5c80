"""One running service for all tests that speak to it over HTTP, and one sandbox."""

from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from tests.standins.service import Service


@pytest.fixture(scope="session")
def service(django_db_setup: None, django_db_blocker: Any) -> Iterator[Service]:
    with django_db_blocker.unblock(), Service() as running:
        yield running


@pytest.fixture(scope="session")
def sandbox_key(django_db_setup: None, django_db_blocker: Any) -> Callable[..., str]:
    """Makes a key of the sandbox as an operator does, and gives its token."""

    def make(*arguments: str) -> str:
        out = StringIO()
        with django_db_blocker.unblock():
            call_command("create_key", "--sandbox", "--name", "a client", *arguments, stdout=out, stderr=StringIO())
        return out.getvalue().strip()

    return make
