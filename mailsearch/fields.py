"""Column types that Django does not bring along."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import models

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
