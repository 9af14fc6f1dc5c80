"""Column types that Django does not bring along, and values made of several columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Case, When

# When a message was written, or else arrived. COALESCE could not be looked up in an index: Postgres holds it back for
# row-level security, as what might tell of rows that are hidden.
MOMENT = Case(When(sent_at__isnull=True, then="received_at"), default="sent_at")

if TYPE_CHECKING:
    # Only the stubs know Django's fields as generic.
    VectorBase = models.Field[Sequence[float], Sequence[float]]
else:
    VectorBase = models.Field


class HalfVectorField(VectorBase):
    """pgvector's `halfvec` of any length. Written and read as text here; bulk paths use COPY."""

    def db_type(self, connection: Any) -> str:
        return "halfvec"

    def from_db_value(self, value: str | None, *_: Any) -> list[float] | None:
        return None if value is None else [float(number) for number in value.strip("[]").split(",")]

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else "[" + ",".join(repr(float(number)) for number in value) + "]"
