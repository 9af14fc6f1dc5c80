"""A random sample of sentences: seeded, so that anybody can draw the same one again."""

import random
import re
import secrets
from dataclasses import dataclass

from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import MD5, Cast, Concat

from agentic.models import Sentence

SIZE = 20
# Numbers drawn at a time, and how often before the rows are taken for too rare to be met by chance.
_CHUNK, _CHUNKS = 2_000, 5
_WRITTEN = re.compile(r"([a-z0-9]{4,20}):([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sample:
    """What makes a sample: its seed, and the newest row that it may hold."""

    seed: str
    until: int

    def __str__(self) -> str:
        return f"{self.seed}:{self.until}"


def read(text: str) -> Sample | None:
    """The sample that an address names."""
    match = _WRITTEN.fullmatch(text)
    return Sample(match[1], int(match[2])) if match else None


def fresh(newest: int) -> Sample:
    """A sample that nobody has drawn before, of the rows until now."""
    return Sample(secrets.token_hex(4), newest)


def drawn(rows: QuerySet[Sentence], sample: Sample) -> list[Sentence]:
    """At most SIZE of *rows*, each as likely as any other, in the order in which they were drawn.

    Numbers of rows are drawn, and those kept that are among *rows*: no row is looked at that is not drawn. Where the
    wanted rows are too rare for that, all of them are put in an order that the seed decides.
    """
    within = rows.filter(pk__lte=sample.until)
    # Not for secrets: whoever knows the seed shall draw the same.
    dice = random.Random(str(sample))  # noqa: S311
    found: list[int] = []
    for _ in range(_CHUNKS):
        numbers = [dice.randint(1, max(1, sample.until)) for _ in range(_CHUNK)]
        met = set(within.filter(pk__in=set(numbers) - set(found)).order_by().values_list("pk", flat=True))
        found += [number for number in dict.fromkeys(numbers) if number in met]
        if len(found) >= SIZE:
            break
    if len(found) < SIZE:
        order = MD5(Concat(Value(f"{sample} "), Cast(F("pk"), CharField())))
        found = list(within.order_by(order, "pk").values_list("pk", flat=True)[:SIZE])
    rows_of = rows.in_bulk(found[:SIZE])
    return [rows_of[number] for number in found[:SIZE]]
