"""Signing in: for those with the password, within limits, and nowhere but inside of the service."""

import uuid

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from agentic.attempts import PER_ACCOUNT, PER_ADDRESS, Attempt
from mailsearch.models import Tenant
from tests.pages.people import person

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "a long enough password"


@pytest.fixture(autouse=True)
def cheap_passwords(settings: object) -> None:
    """Passwords are tried hundreds of times here; how dear a try is makes no difference to what is counted."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


@pytest.fixture
def ann() -> str:
    """The name of an account with PASSWORD, in a tenant of its own."""
    tenant = Tenant.objects.create(slug=f"t-{uuid.uuid4().hex[:10]}", name="Kiln")
    user = person(tenant, "administrator", name="ann")
    user.set_password(PASSWORD)
    user.is_staff = True
    user.save()
    return user.get_username()


def _from(address: str = "") -> Client:
    return Client(REMOTE_ADDR=address or f"test-{uuid.uuid4().hex}")


def _try(client: Client, name: str, password: str, then: str = "") -> int:
    return client.post("/sign-in", {"name": name, "password": password, "next": then}).status_code


def test_whoever_knows_the_password_comes_in_and_goes_out_again(ann: str) -> None:
    client = _from()
    assert client.get("/").headers["Location"] == "/sign-in?next=%2F"
    response = client.post("/sign-in", {"name": ann, "password": PASSWORD, "next": "/"})
    assert (response.status_code, response.headers["Location"]) == (302, "/")
    assert "Sign out" in client.get("/", follow=True).content.decode()
    assert client.post("/sign-out").status_code == 302
    assert client.get("/").headers["Location"].startswith("/sign-in")


@pytest.mark.parametrize("then", ["https://evil.example/", "//evil.example", "javascript:alert(1)", "usage"])
def test_signing_in_leads_nowhere_outside(ann: str, then: str) -> None:
    response = _from().post("/sign-in", {"name": ann, "password": PASSWORD, "next": then})
    assert response.headers["Location"] == "/"


def test_an_account_closes_after_too_many_failures_also_for_the_right_password(ann: str) -> None:
    codes = {_try(_from(), ann.upper() if number % 2 else ann, "wrong") for number in range(PER_ACCOUNT)}
    assert codes == {403}
    refused = _from().post("/sign-in", {"name": ann, "password": PASSWORD})
    assert refused.status_code == 403
    assert "too many attempts" in refused.content.decode()


def test_the_admin_has_the_same_limit(ann: str) -> None:
    def into_the_admin(password: str) -> int:
        return _from().post("/admin/login/", {"username": ann, "password": password}).status_code

    for _ in range(PER_ACCOUNT):
        into_the_admin("wrong")
    assert into_the_admin(PASSWORD) == 200
    assert _try(_from(), ann, PASSWORD) == 403


def test_an_address_closes_after_too_many_failures_for_any_account(ann: str) -> None:
    client = _from()
    for _ in range(PER_ADDRESS):
        _try(client, f"nobody-{uuid.uuid4().hex}", "wrong")
    assert _try(client, ann, PASSWORD) == 403
    assert _try(_from(), ann, PASSWORD) == 302


def test_an_account_that_does_not_exist_is_counted_like_one_that_does(ann: str) -> None:
    def words(name: str) -> list[str]:
        pages = (_from().post("/sign-in", {"name": name, "password": "wrong"}) for _ in range(PER_ACCOUNT + 2))
        return [page.content.decode().replace(name, "").split("csrfmiddlewaretoken")[0] for page in pages]

    assert words(ann) == words(f"nobody-{uuid.uuid4().hex}")


def test_a_success_lets_the_account_begin_anew(ann: str) -> None:
    for _ in range(3):
        assert [_try(_from(), ann, "wrong") for _ in range(PER_ACCOUNT - 1)] == [403] * (PER_ACCOUNT - 1)
        assert _try(_from(), ann, PASSWORD) == 302


def test_failures_are_forgotten_when_their_time_is_over(ann: str) -> None:
    for _ in range(PER_ACCOUNT + 1):
        Attempt(ann, "somewhere").take()
    assert _try(_from(), ann, PASSWORD) == 403
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agentic_signinattempt SET began_at = began_at - interval '16 minutes'")
    assert _try(_from(), ann, PASSWORD) == 302


def test_an_account_without_a_tenant_is_told_what_is_missing() -> None:
    user = get_user_model().objects.create_user(f"alone-{uuid.uuid4().hex[:10]}", password=None)
    client = Client()
    client.force_login(user)
    assert "belongs to no tenant" in client.get("/").content.decode()


def test_the_table_of_attempts_names_nobody(ann: str) -> None:
    Attempt(ann, "192.0.2.7").take()
    with connection.cursor() as cursor:
        cursor.execute("SELECT subject FROM agentic_signinattempt")
        kept = b" ".join(bytes(row[0]) for row in cursor.fetchall())
    assert ann.encode() not in kept
    assert b"192.0.2.7" not in kept


def test_a_form_from_elsewhere_is_refused_in_words(ann: str) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/sign-in", {"name": ann, "password": PASSWORD})
    assert response.status_code == 403
    assert "This was not sent" in response.content.decode()
