"""One running service for all tests that speak to it over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.standins.service import Service


@pytest.fixture(scope="session")
def service(django_db_setup: None, django_db_blocker: Any) -> Iterator[Service]:
    with django_db_blocker.unblock(), Service() as running:
        yield running
