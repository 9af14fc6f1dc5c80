"""Failed sign-ins, counted for each account and each address, so that passwords can't be tried one after another.

An attempt is counted before its password is looked at, in one statement: many attempts at once get no more tries than
many in a row. Accounts that do not exist are counted like those that do.
"""

import hashlib
import hmac
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, models

PER_ACCOUNT, PER_ADDRESS = 10, 50
WINDOW_MINUTES = 15
_TAKE = """
INSERT INTO agentic_signinattempt AS kept (subject, began_at, failed) VALUES (%(subject)s, statement_timestamp(), 1)
ON CONFLICT (subject) DO UPDATE SET
    failed = CASE WHEN kept.began_at < statement_timestamp() - %(window)s::interval THEN 1 ELSE kept.failed + 1 END,
    began_at = CASE WHEN kept.began_at < statement_timestamp() - %(window)s::interval
        THEN statement_timestamp() ELSE kept.began_at END
RETURNING failed
"""
_FORGET = """
DELETE FROM agentic_signinattempt
WHERE subject = %(subject)s OR began_at < statement_timestamp() - %(window)s::interval
"""
_GIVE_BACK = "UPDATE agentic_signinattempt SET failed = greatest(failed - 1, 0) WHERE subject = %(subject)s"


class SignInAttempt(models.Model):
    """How often sign-in failed of late for one account or from one address; which one stands there only as an HMAC."""

    subject = models.BinaryField(max_length=32, unique=True)
    began_at = models.DateTimeField(db_index=True)
    failed = models.PositiveIntegerField()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to sign in to *account* from *address*."""

    account: str
    address: str

    def take(self) -> bool:
        """Count this try; False where there were too many within 15 minutes, and the password must not be looked at."""
        by_address = _count(_TAKE, _subject("address", self.address))
        by_account = _count(_TAKE, _subject("account", self.account.casefold()))
        return by_account <= PER_ACCOUNT and by_address <= PER_ADDRESS

    def succeeded(self) -> None:
        """The password was right: the account begins anew, and the address has this try back."""
        _run(_FORGET, _subject("account", self.account.casefold()))
        _run(_GIVE_BACK, _subject("address", self.address))


def _subject(kind: str, name: str) -> bytes:
    told = f"sign-in {kind} {name}".encode("utf-8", "surrogatepass")
    return hmac.digest(settings.SECRET_KEY.encode(), told, hashlib.sha256)


def _count(statement: str, subject: bytes) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"subject": subject, "window": f"{WINDOW_MINUTES} minutes"})
        return int(cursor.fetchone()[0])


def _run(statement: str, subject: bytes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"subject": subject, "window": f"{WINDOW_MINUTES} minutes"})
