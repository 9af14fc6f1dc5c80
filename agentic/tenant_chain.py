"""The chain of a tenant: one entry for each run that ended, each recorded act and note, and each batch of
accesses and of widen attempts outside of runs.

Entries are numbered without gaps: whoever adds one holds the tenant's row of TenantChain until it commits. Each is
signed, so that what stood in the chain at some moment can be shown to have stood there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import sql

from agentic import links, signing
from agentic.payloads import Worded
from mailsearch.models import Tenant

# Takes the tenant's lock, and gives number and place of the next entry. The clock is read under the lock, so that
# moments rise with the numbers.
TAKE = """
INSERT INTO agentic_tenantchain AS chain (tenant_id, number, head) VALUES (%(tenant)s, 1, %(zero)s)
ON CONFLICT (tenant_id) DO UPDATE SET number = chain.number + 1
RETURNING number, head, clock_timestamp()
"""
ADD = """
INSERT INTO agentic_seal (tenant_id, number, at, kind, subject, row, count, head, hash, signature)
VALUES (%(tenant)s, %(number)s, %(at)s, %(kind)s, %(subject)s, %(row)s, %(count)s, %(head)s, %(hash)s, %(signature)s)
"""
MOVE = "UPDATE agentic_tenantchain SET head = %(hash)s WHERE tenant_id = %(tenant)s"
ADD_AND_MOVE = f"WITH added AS ({ADD}) {MOVE}"


class TenantChain(models.Model):
    """Where a tenant's chain ends. Changed by whoever adds an entry, and by nothing else."""

    tenant = models.OneToOneField(Tenant, models.PROTECT, primary_key=True)
    number = models.BigIntegerField()
    head = models.BinaryField(max_length=32)


class Seal(models.Model):
    """An entry of a tenant's chain. `head` is the last hash of what it seals, `hash` its own."""

    class Kind(models.TextChoices):
        RUN = "run", "a run that ended"
        ACT = "act", "a recorded act"
        NOTE = "note", "a verdict or note"
        ACCESSES = "accesses", "accesses to mail and runs"
        ATTEMPTS = "attempts", "widen attempts outside of runs"

    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False)
    number = models.BigIntegerField()
    at = models.DateTimeField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    # Public id of the run; for an act what it was.
    subject = models.CharField(max_length=60, blank=True, default="")
    # Id of the row that is sealed; of a batch the last of them.
    row = models.BigIntegerField()
    count = models.PositiveIntegerField()
    head = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)
    signature = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "number"], name="seal_number_once"),
            models.UniqueConstraint(fields=["tenant", "kind", "row"], name="sealed_once"),
        ]

    @property
    def receipt(self) -> dict[str, object]:
        """What proves later that this entry stood at this place: its number, its hash, and the signature of both."""
        return {"number": self.number, "head": bytes(self.hash).hex(), "signature": self.signature}


def entry(
    tenant: int, kind: str, subject: str, row: int, count: int, head: bytes, taken: tuple[int, bytes, datetime]
) -> dict[str, Any]:
    """The values of ADD and MOVE for what is sealed, at the place that TAKE gave."""
    number, previous, at = taken
    values: dict[str, Any] = {
        "tenant": tenant, "at": at, "kind": kind, "subject": subject[:60], "row": row, "count": count, "head": head,
    }  # fmt: skip
    own = links.linked(bytes(previous), links.content("seal", values))
    return {**values, "number": number, "hash": own, "signature": signing.sign(number, own)}


def append(tenant: int, kind: str, subject: str, row: int, count: int, head: bytes) -> int:
    """Add an entry over Django's connection, within the transaction that is open; returns its number."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE, {"tenant": tenant, "zero": links.ZERO})
        taken = cursor.fetchone()
        assert taken is not None
        values = entry(tenant, kind, subject, row, count, head, taken)
        cursor.execute(ADD_AND_MOVE, values)
    return int(taken[0])


class TenantRow(Worded):
    """A row that is an entry of its tenant's chain as soon as it is added. It is never saved again."""

    SEALED_AS = ""
    tenant = models.ForeignKey(Tenant, models.PROTECT)
    at = models.DateTimeField(editable=False)

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise TypeError(f"rows of {self._meta.db_table} are added and never changed")
        with transaction.atomic(), _auditing_too(self.tenant_id), connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            now = cursor.fetchone()
            assert now is not None
            (self.at,) = now
            super().save(*args, **kwargs)
            head = links.linked(links.ZERO, links.content(self._meta.model_name or "", self.covered))
            append(self.tenant_id, self.SEALED_AS, self.said, self.pk, 1, head)

    @property
    def covered(self) -> Mapping[str, object]:
        """The row as its hash covers it."""
        names = links.CHAINED[self._meta.model_name or ""]
        attributes = {column.name: column.attname for column in self._meta.concrete_fields}
        return {name: getattr(self, attributes[name]) for name in names}

    @property
    def said(self) -> str:
        """What the entry is called."""
        return ""


@contextmanager
def _auditing_too(tenant: int) -> Iterator[None]:
    """Within an open transaction: the tenant's audit may be written, whatever else the session is bound to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('app.audit', true), '')")
        (before,) = cursor.fetchone() or ("",)
        _set_audit(cursor, "{" + ",".join([*filter(None, [before.strip("{}")]), str(tenant)]) + "}")
        yield
        # After an error the transaction is rolled back, and its settings with it.
        _set_audit(cursor, before)


def _set_audit(cursor: CursorWrapper, value: str) -> None:
    cursor.execute(sql.SQL("SET LOCAL app.audit = {}").format(sql.Literal(value)).as_string(cursor.connection))
