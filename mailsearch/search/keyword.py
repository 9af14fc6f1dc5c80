"""Keyword search: the messages in which the query's words occur, the best first.

Candidates are the newest messages that hold all words, and those that hold any of the rarest; they are ranked by
the rarity of the words that they hold (BM25's form). Rarity is counted by mailbox and summed over the scope's
mailboxes, so that nobody's ranking tells about mail outside of what they may read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from mailsearch.scope import Scope, bigints
from mailsearch.search.coverage import Standing
from mailsearch.search.lexemes import Expression, all_of, any_of, expression, own, plain_words
from mailsearch.search.narrowing import Narrowing
from mailsearch.search.paging import DEEPEST
from mailsearch.search.query import ParsedQuery, Term
from mailsearch.search.vocabulary import Vocabulary, look_up, unknown, vocabulary

# Candidates of each pass, the newest; ranking one costs some 4 µs. Of messages that hold all words there are enough
# when no more can be paged through; among those that hold any, the best may be far from the newest.
CAP = DEEPEST
_BROAD_CAP = 2_000
_CAPS = f"{{{CAP},{_BROAD_CAP}}}"
# What of a narrowing is the scope itself; whatever else there is, is a filter.
_OF_SCOPE = frozenset({"folders", "received_from", "received_until"})
_RANKED = """
SELECT message_id, score, copies, total FROM mail_search.ranked(%s, %s, %s, %s, %s, %s, %s::integer[], %s, %s)
ORDER BY place
"""
_BEST = """
SELECT * FROM mail_search.best(
    %s::bigint[], %s, %s, %s, %s, %s, %s, %s, %s, %s::integer[], %s::bigint[], %s, %s, %s)
"""
_COUNTED = "SELECT * FROM mail_search.counted(%s, %s, %s::bigint[], %s, %s, %s, %s, %s)"
# Where messages are counted one by one: how many stand for all, and of how many on a word is as common as any.
_WHOLE, _COMMON = 10_000, 1_000


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term of the query as the index knows it."""

    expression: Expression
    required: bool
    # None: a word without meaning in the query's language.
    stop: bool = False
    documents: int = 0
    weight: float = 1.0
    # About how many messages hold it, to look for them in the way that is quickest.
    expected: int = 0


@dataclass(frozen=True, slots=True)
class KeywordPlan:
    """What is asked of the index."""

    terms: tuple[WeightedTerm, ...] = ()
    excluded: tuple[str, ...] = ()
    is_question: bool = False
    # Lexemes that show in an excerpt why a message was found, with the weight of their term.
    lexemes: Mapping[str, float] = field(default_factory=dict)
    # Whether the scope is a small part of the store.
    small: bool = False

    @property
    def strict(self) -> str | None:
        """All terms."""
        return self._without_excluded([term.expression.tsquery for term in self.terms])

    @property
    def broad(self) -> str | None:
        """Every required term, and any of the rarest others."""
        required = [term.expression.tsquery for term in self.terms if term.required]
        optional = [term.expression.tsquery for term in self._rarest()]
        return self._without_excluded([*required, *([any_of(optional)] if len(optional) > 1 else optional)])

    @property
    def own(self) -> str | None:
        """Any term, in what a message says itself."""
        return own(any_of(term.expression.tsquery for term in self.terms)) if self.terms else None

    @property
    def expected(self) -> list[int]:
        """About how many messages match `strict`, and `broad`, at most."""
        counts = [term.expected for term in self.terms]
        required = [term.expected for term in self.terms if term.required]
        return [
            min(counts, default=0),
            min([*required, sum(term.expected for term in self._rarest()) or sum(required)]),
        ]

    def _rarest(self) -> list[WeightedTerm]:
        optional = sorted((term for term in self.terms if not term.required), key=lambda term: term.documents)
        chosen: list[WeightedTerm] = []
        expected = 0
        for term in optional:
            expected += term.documents
            if expected > _BROAD_CAP and any(one.documents for one in chosen):
                break
            chosen.append(term)
        return chosen

    def _without_excluded(self, expressions: Sequence[str]) -> str | None:
        pieces = [*expressions, *(f"!{one}" for one in self.excluded)]
        return all_of(pieces) if pieces else None


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """Ids of the messages found, best first, and how many match in all (up to the cap)."""

    message_ids: tuple[int, ...] = ()
    # How much of the query's weight each of them holds, 0 to 1.
    fits: tuple[float, ...] = ()
    # How many messages each of them stands for.
    copies: tuple[int, ...] = ()
    total: int = 0
    total_is_exact: bool = True


async def plan(conn: AsyncConnection[TupleRow], scope: Scope, parsed: ParsedQuery) -> tuple[KeywordPlan, Standing]:
    """Look up the query's words: their stems, which say nothing, and how rare the others are in *scope*, which is
    looked at on the way."""
    wanted = [one for term in parsed.terms for one in term.alternatives] + list(parsed.exclusions)
    words = sorted({word for one in wanted for word in plain_words(one)})
    new = unknown(words)
    # Counts of all: which words say nothing may look otherwise once the new ones are known.
    found = _found(parsed, vocabulary(words))
    known = await look_up(conn, scope, sorted({one for term in found for one in _lexemes_of(term)}), new)
    spoken = vocabulary(words)
    terms = await _with_rarity(conn, scope, _telling(_found(parsed, spoken) if new else found), known)
    unwanted = [expression(one, spoken.stems) for one in parsed.exclusions]
    return KeywordPlan(
        terms=tuple(terms),
        excluded=tuple(one.tsquery for one in unwanted if one is not None),
        is_question=parsed.is_question,
        lexemes={one: term.weight for term in terms for one in _lexemes_of(term) if one not in spoken.stops},
        small=known.small,
    ), known


def _found(parsed: ParsedQuery, spoken: Vocabulary) -> list[WeightedTerm]:
    return [found for term in parsed.terms if (found := _weighted(term, spoken)) is not None]


def _telling(terms: list[WeightedTerm]) -> list[WeightedTerm]:
    """The terms that say something, each once."""
    if any(not term.stop for term in terms):
        # A query of nothing but such words ("to be or not to be") means them.
        terms = [term for term in terms if term.required or not term.stop]
    return list({term.expression.tsquery: term for term in terms}.values())


def _lexemes_of(term: WeightedTerm) -> Iterator[str]:
    return (one for slot in term.expression.slots for one in slot)


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
    folders, start, end, narrow, *words, forms, caps, expected, small = asked(scope, plan, narrowing)
    if narrow is None:
        values = [folders, start, end, *words, forms, caps, expected, small, depth, folded]
        cursor = await conn.execute(_BEST, values, prepare=True)
    else:
        cursor = await conn.execute(_RANKED, [narrow, *words, caps, depth, folded])
    # Whoever shows a message reads it under row-level security and in scope once more.
    rows = await cursor.fetchall()
    total = int(rows[0][3]) if rows else 0
    whole = sum(term.weight for term in plan.terms) or 1.0
    return KeywordHits(
        message_ids=tuple(row[0] for row in rows),
        fits=tuple(min(1.0, row[1] / whole) for row in rows),
        copies=tuple(row[2] for row in rows),
        total=total,
        total_is_exact=total < CAP,
    )


def asked(scope: Scope, plan: KeywordPlan, narrowing: Narrowing) -> list[object]:
    """What the database's functions are asked for: folders, window, narrowing (None where the scope is all that
    narrows), both ways to match and what matches in a message's own words, terms with their weights and forms, caps,
    how many are expected, and whether the scope is small."""
    strict, broad = plan.strict, plan.broad
    if plan.is_question and len(plan.terms) > 1:
        strict = None
    by_words_alone = bool(plan.terms) and narrowing.values.keys() <= _OF_SCOPE
    return [
        bigints(narrowing.folders),
        scope.received_from,
        scope.received_until,
        None if by_words_alone else narrowing.parameter,
        strict,
        None if broad == strict else broad,
        plan.own,
        [term.expression.tsquery for term in plan.terms],
        [term.weight for term in plan.terms],
        [float(term.expression.forms) for term in plan.terms],
        _CAPS,
        bigints(plan.expected),
        plan.small,
    ]


def _weighted(term: Term, spoken: Vocabulary) -> WeightedTerm | None:
    found = [one for wanted in term.alternatives if (one := expression(wanted, spoken.stems)) is not None]
    if not found:
        return None
    if len(found) == 1:
        words = plain_words(term.alternatives[0])
        stop = len(words) == 1 and words[0] in spoken.stops
        return WeightedTerm(found[0], required=term.required, stop=stop)
    # Alternatives stand for each other, so they are as rare as the commonest of them.
    merged = frozenset(lexeme for one in found for slot in one.slots for lexeme in slot)
    return WeightedTerm(Expression(any_of(one.tsquery for one in found), (merged,)), required=True)


async def _with_rarity(
    conn: AsyncConnection[TupleRow], scope: Scope, terms: Sequence[WeightedTerm], known: Standing
) -> list[WeightedTerm]:
    """The terms with the number of messages that hold them and the weight that follows (BM25's idf)."""
    # A word is as common as its commonest form, a phrase as rare as its rarest word.
    counts = [min(max(known.documents[lexeme] for lexeme in slot) for slot in term.expression.slots) for term in terms]
    terms = [replace(term, expected=count) for term, count in zip(terms, counts, strict=True)]
    if len(terms) < 2:
        # There is nothing to weigh it against.
        return terms
    total = max(known.counted, max(counts))
    if scope.received_from is not None or scope.received_until is not None:
        total, counts = await _within(conn, scope, terms)
    return [
        replace(term, documents=count, weight=math.log(1 + (total - count + 0.5) / (count + 0.5)))
        for term, one in zip(terms, counts, strict=True)
        for count in [min(one, total)]
    ]


async def _within(
    conn: AsyncConnection[TupleRow], scope: Scope, terms: Sequence[WeightedTerm]
) -> tuple[int, list[int]]:
    """Counted in the scope's window of time: counts by mailbox would tell about mail outside of it."""
    bound = scope.binding().settings
    values = [bound["app.tenant"], bound["app.mailboxes"], bigints(scope.folder_ids), scope.received_from]
    tsqueries = [term.expression.tsquery for term in terms]
    cursor = await conn.execute(_COUNTED, [*values, scope.received_until, tsqueries, _WHOLE, _COMMON], prepare=True)
    row = await cursor.fetchone()
    assert row is not None  # the function always gives one
    return row[0], row[1]
