"""Text of the audit, apart from the rows that it belongs to: a row is kept for ever, its words can be erased.

A row with words (Worded) names its PayloadText and keeps an HMAC over it; the chain covers the HMAC. Where the text
was erased or its time ran out, the row still stands and still verifies, and its words read as empty.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from django.db import models
from django.db.models.functions import Now

from agentic import links
from mailsearch.models import Tenant


class PayloadText(models.Model):
    """The words of one row. Added, never changed; deleted by the role `eraser` alone."""

    id = models.UUIDField(primary_key=True, editable=False)
    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False)
    # None for words that belong to no run: the reason of an act, a note on a sentence.
    run = models.ForeignKey("agentic.Run", models.PROTECT, null=True, related_name="payloads")
    # Public id of the message that the words stem from; empty where they are somebody else's.
    message = models.CharField(max_length=40, blank=True, default="")
    # question event evidence sentence quote widen answer reason note
    kind = models.CharField(max_length=10)
    salt = models.BinaryField(max_length=links.SALT_BYTES)
    # A JSON object, byte for byte as the HMAC was made over it.
    content = models.TextField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["message"], name="text_by_message", condition=~models.Q(message=""))]


class ErasedText(models.Model):
    """Which text was deleted, and by which recorded act: what is gone without one was tampered with."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, db_index=False)
    text = models.UUIDField(primary_key=True)
    act = models.ForeignKey("agentic.AdminAct", models.PROTECT)


_Row = TypeVar("_Row", bound="Worded")


class WordedQuerySet(models.QuerySet[_Row]):
    """Rows together with their words."""

    def bulk_create(self, objs: Iterable[_Row], *args: Any, **kwargs: Any) -> list[_Row]:
        rows = list(objs)
        texts = [row.take_words() for row in rows]
        made = super().bulk_create(rows, *args, **kwargs)
        for text, row in zip(texts, rows, strict=True):
            if text is not None:
                text.run_id = row.run_of_words
        PayloadText.objects.bulk_create([text for text in texts if text is not None], batch_size=1000)
        return made


class WordedManager(models.Manager[_Row]):
    def get_queryset(self) -> WordedQuerySet[_Row]:
        # Left joined: whose text is gone is a row all the same.
        return WordedQuerySet[_Row](self.model, using=self._db).select_related("payload")


def words(name: str, default: Any = "") -> Any:
    """A property that reads *name* out of the row's text: a copy of *default* where the text is gone.

    In queries the whole text of a row is `payload__content` (JSON, so that `__icontains` finds words of it).
    """

    def read(row: "Worded") -> Any:
        found = row.texts.get(name, default)
        return type(default)(default) if found is default and isinstance(default, dict | list) else found

    def write(row: "Worded", value: Any) -> None:
        row.__dict__.setdefault("_words", {})[name] = value

    return property(read, write)


class Worded(models.Model):
    """A row whose words stand in a PayloadText. Words given to the constructor are kept when it is saved."""

    KIND = ""
    payload = models.ForeignKey(
        PayloadText, models.DO_NOTHING, null=True, editable=False, related_name="+", db_constraint=False, db_index=False
    )
    text_hmac = models.BinaryField(max_length=32, null=True, editable=False)

    # Not typed by row: the stubs know no words among the names that `create` takes.
    objects: ClassVar[Any] = WordedManager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        text = self.take_words()
        super().save(*args, **kwargs)
        if text is not None:
            text.run_id = self.run_of_words
            text.save(force_insert=True)

    @property
    def texts(self) -> dict[str, Any]:
        """All words of the row by their names; nothing where they were erased."""
        given = self.__dict__.get("_words")
        if given is not None:
            return dict(given)
        read = self.__dict__.get("_read_words")
        if read is None:
            kept = self._kept()
            read = self.__dict__["_read_words"] = json.loads(kept.content) if kept else {}
        return dict(read)

    @property
    def erased(self) -> bool:
        """Whether the row had words that are gone."""
        return self.payload_id is not None and "_words" not in self.__dict__ and self._kept() is None

    def take_words(self) -> PayloadText | None:
        """The text for the words that the constructor was given, named in this row; None where there are none."""
        given = self.__dict__.get("_words")
        if not given or self.payload_id is not None:
            return None
        made = links.text(given)
        self.payload_id, self.text_hmac = made.id, made.hmac
        return PayloadText(
            id=made.id,
            tenant_id=self.tenant_id,  # type: ignore[attr-defined]  # every row with words has a tenant
            message=getattr(self, "message_id", "") or "",
            kind=self.KIND,
            salt=made.salt,
            content=made.content,
        )

    @property
    def run_of_words(self) -> int | None:
        """Id of the run that the words belong to."""
        found: int | None = getattr(self, "run_id", None)
        return found

    def _kept(self) -> PayloadText | None:
        try:
            return self.payload
        except PayloadText.DoesNotExist:
            return None


def erased_of(rows: Sequence[Worded]) -> bool:
    """Whether the words of any of *rows* are gone."""
    return any(row.erased for row in rows)
