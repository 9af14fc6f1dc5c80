"""Keyword search: the messages in which the query's words occur, the best first.

Candidates are the newest messages that hold all words, and those that hold any of the rarest; they are ranked by
the rarity of the words that they hold (BM25's form). Rarity is counted by mailbox and summed over the scope's
mailboxes, so that nobody's ranking tells about mail outside of what they may read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from mailsearch.scope import Scope, bigints
from mailsearch.search.coverage import Standing
from mailsearch.search.lexemes import Cut, CutTerm, own
from mailsearch.search.narrowing import Narrowing
from mailsearch.search.paging import DEEPEST
from mailsearch.search.vocabulary import known, remember

# Candidates of each pass, the newest; ranking one costs some 4 µs. Of messages that hold all words there are enough
# when no more can be paged through; among those that hold any, the best may be far from the newest.
CAP = DEEPEST
_BROAD_CAP = 2_000
CAPS = f"{{{CAP},{_BROAD_CAP}}}"
# What of a narrowing is the scope itself; whatever else there is, is a filter.
_OF_SCOPE = frozenset({"folders", "received_from", "received_until"})
_PLANNED = """
SELECT * FROM mail_search.planned(
    %(tenant)s, %(mailboxes)s, %(folders)s::bigint[], %(start)s, %(end)s, %(words)s::text[], %(known)s::text[],
    %(silent)s::integer[], %(terms)s::text[], %(owns)s::text[], %(required)s::boolean[], %(alone)s::integer[],
    %(slots)s::text[], %(slot_terms)s::integer[], %(excluded)s::text[], %(question)s)
"""
# In one row, which is less to go through than a thousand.
_RANKED = """
SELECT array_agg(f.message_id), array_agg(f.score), array_agg(f.copies), max(f.total)
FROM (SELECT * FROM mail_search.ranked(%s, %s, %s, %s, %s, %s, %s::integer[], %s, %s) ORDER BY place) AS f
"""
_BEST = """
SELECT array_agg(f.message_id), array_agg(f.score), array_agg(f.copies), max(f.total)
FROM mail_search.best(%s::bigint[], %s, %s, %s, %s, %s, %s, %s, %s, %s::integer[], %s::bigint[], %s, %s, %s) AS f
"""


@dataclass(frozen=True, slots=True)
class KeywordPlan:
    """What is asked of the index: tsqueries, and how much each term weighs."""

    # All terms; None where any will do.
    strict: str | None = None
    # Every required term, and any of the rarest others; None where that is the same.
    broad: str | None = None
    # Any term, in what a message says itself.
    own: str | None = None
    terms: Sequence[str] = ()
    weights: Sequence[float] = ()
    # Among how many forms ts_rank shares what one of them is worth.
    forms: Sequence[float] = ()
    # About how many messages match `strict`, and `broad`, at most.
    expected: Sequence[int] = ()
    # Whether the scope is a small part of the store.
    small: bool = False
    # Lexemes that show in an excerpt why a message was found, with the weight of their term.
    lexemes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Ids of the messages found, best first, and how many match in all (up to the cap)."""

    message_ids: tuple[int, ...] = ()
    scores: Sequence[float] = ()
    # What the best score could be.
    whole: float = 1.0
    # How many messages each of them stands for.
    copies: tuple[int, ...] = ()
    total: int = 0
    total_is_exact: bool = True

    def first(self, count: int) -> "KeywordHits":
        """The best *count*, of as many in all."""
        return replace(
            self, message_ids=self.message_ids[:count], scores=self.scores[:count], copies=self.copies[:count]
        )

    @property
    def fits(self) -> tuple[float, ...]:
        """How much of the query's weight each of them holds, 0 to 1."""
        return tuple([min(1.0, score / self.whole) for score in self.scores])


async def plan(conn: AsyncConnection[TupleRow], scope: Scope, cut: Cut) -> tuple[KeywordPlan, Standing]:
    """Have the query made one of the index by how common its words are in *scope*, which is looked at on the way.

    One statement that binds its own transaction, so *conn* need not be bound.
    """
    cursor = await conn.execute(_PLANNED, asked(scope, cut), prepare=True, binary=True)
    row = await cursor.fetchone()
    assert row is not None  # the function always gives one
    latest, leaves, small, strict, broad, own, terms, weights, forms, expected, lexemes, worths, *learnt = row
    remember(cut.words, *learnt)
    weighed = dict(zip(lexemes or (), worths or (), strict=True))
    planned = KeywordPlan(strict, broad, own, terms, weights, forms, expected, small, weighed)
    return planned, Standing(latest, leaves or "nothing")


async def search(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    plan: KeywordPlan,
    narrowing: Narrowing,
    *,
    depth: int,
    folded: bool = False,
) -> KeywordHits:
    """At most *depth* messages. A query without any positive term finds all that is left, the newest first.

    *folded*: of messages with the same words only the one where they were written first, at the place of the best.
    """
    return await told(await ask(conn, scope, plan, narrowing, depth=depth, folded=folded), plan)


async def ask(
    conn: AsyncConnection[TupleRow],
    scope: Scope,
    plan: KeywordPlan,
    narrowing: Narrowing,
    *,
    depth: int,
    folded: bool = False,
) -> AsyncCursor[TupleRow]:
    """Begin to `search`; `told` reads the answer. Within a pipeline it does not wait."""
    words = [plan.strict, plan.broad, plan.own, list(plan.terms), list(plan.weights)]
    if plan.terms and narrows_by_scope(narrowing):
        window = (scope.received_from, scope.received_until)
        looked_for = (list(plan.forms), CAPS, bigints(plan.expected), plan.small)
        values = [bigints(narrowing.folders), *window, *words, *looked_for, depth, folded]
        return await conn.execute(_BEST, values, prepare=True, binary=True)
    return await conn.execute(_RANKED, [narrowing.parameter, *words, CAPS, depth, folded], binary=True)


async def told(found: AsyncCursor[TupleRow], plan: KeywordPlan) -> KeywordHits:
    """What was asked for. Whoever shows a message reads it under row-level security and in scope once more."""
    row = await found.fetchone()
    assert row is not None  # the function always gives one
    ids, scores, copies, total = row
    return KeywordHits(
        message_ids=tuple(ids or ()),
        scores=scores or (),
        whole=sum(plan.weights) or 1.0,
        copies=tuple(copies or ()),
        total=total or 0,
        total_is_exact=(total or 0) < CAP,
    )


def narrows_by_scope(narrowing: Narrowing) -> bool:
    """Whether nothing but the scope narrows."""
    return narrowing.values.keys() <= _OF_SCOPE


def asked(scope: Scope, cut: Cut) -> dict[str, object]:
    """In which scope the query is asked, and how it was cut, as the database's functions take it. Arrays are given as
    Postgres reads them, which is less to go through than a list."""
    forms, silent = known(cut.words)
    learnt = {"words": _texts(cut.words), "known": _texts(forms), "silent": bigints(silent)}
    return {**_of_scope(scope), **_of_terms(cut.terms, cut.excluded, cut.is_question), **learnt}


@lru_cache(1000)
def _of_terms(terms: Sequence[CutTerm], excluded: Sequence[str], is_question: bool) -> Mapping[str, object]:
    """Most queries are a word, and all of these are cut to the same term."""
    slots = [(number, slot) for number, term in enumerate(terms, 1) for slot in term.expression.spaced()]
    return {
        "terms": _texts(term.expression.tsquery for term in terms),
        "owns": _texts(own(term.expression.tsquery) for term in terms),
        "required": "{" + ",".join(str(term.required) for term in terms) + "}",
        "alone": bigints(term.alone for term in terms),
        "slots": _texts(slot for _, slot in slots),
        "slot_terms": bigints(number for number, _ in slots),
        "excluded": _texts(excluded),
        "question": is_question,
    }


@lru_cache(1000)
def _of_scope(scope: Scope) -> Mapping[str, object]:
    bound = scope.binding().settings
    return {
        "tenant": bound["app.tenant"],
        "mailboxes": bound["app.mailboxes"],
        "folders": bigints(scope.folder_ids),
        "start": scope.received_from,
        "end": scope.received_until,
    }


def _texts(values: Iterable[str | None]) -> str:
    quoted = ("NULL" if one is None else '"' + one.replace("\\", r"\\").replace('"', r"\"") + '"' for one in values)
    return "{" + ",".join(quoted) + "}"
