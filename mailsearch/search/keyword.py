"""Keyword search: the messages in which the query's words occur, the best first.

Candidates are the newest messages that hold all words, and those that hold any of the rarest; they are ranked by
the rarity of the words that they hold (BM25's form). Rarity is counted by mailbox and summed over the scope's
mailboxes, so that nobody's ranking tells about mail outside of what they may read.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from mailsearch.scope import Scope, bigints
from mailsearch.search.coverage import Standing, standing
from mailsearch.search.lexemes import Expression, all_of, any_of, expression, own, plain_words
from mailsearch.search.narrowing import Narrowing
from mailsearch.search.paging import DEEPEST
from mailsearch.search.query import ParsedQuery, Term
from mailsearch.terms import dictionaries

# Candidates of each pass, the newest; ranking one costs some 4 µs. Of messages that hold all words there are enough
# when no more can be paged through; among those that hold any, the best may be far from the newest.
CAP = DEEPEST
_BROAD_CAP = 2_000
_CAPS = f"{{{CAP},{_BROAD_CAP}}}"
# Stems shorter than this say too little across languages.
_SHORTEST_STEM = 3
_ENGLISH = "english_stem"
# What the server's dictionaries make of a word; they never change.
_WORDS_KEPT = 20_000
# What of a narrowing is the scope itself; whatever else there is, is a filter.
_OF_SCOPE = frozenset({"folders", "received_from", "received_until"})
_RANKED = """
SELECT message_id, score, copies, total FROM mail_search.ranked(
    %(narrow)s, %(strict)s, %(broad)s, %(own)s, %(terms)s, %(weights)s, %(caps)s::integer[], %(depth)s, %(folded)s)
ORDER BY place
"""
_BEST = """
SELECT * FROM mail_search.best(
    %(folders)s::bigint[], %(from)s, %(until)s, %(strict)s, %(broad)s, %(own)s, %(terms)s, %(weights)s, %(forms)s,
    %(caps)s::integer[], %(expected)s::bigint[], %(small)s, %(depth)s, %(folded)s)
"""
_lexemes: dict[str, Sequence[tuple[str, Sequence[str]]]] = {}


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
    stems, stops = await _stems(conn, sorted({word for one in wanted for word in plain_words(one)}))
    terms = [found for term in parsed.terms if (found := _weighted(term, stems, stops)) is not None]
    if any(not term.stop for term in terms):
        # A query of nothing but such words ("to be or not to be") means them.
        terms = [term for term in terms if term.required or not term.stop]
    terms = list({term.expression.tsquery: term for term in terms}.values())
    unwanted = [expression(one, stems) for one in parsed.exclusions]
    known = await standing(conn, scope, sorted({one for term in terms for one in _lexemes_of(term)}))
    terms = await _with_rarity(conn, scope, terms, known)
    return KeywordPlan(
        terms=tuple(terms),
        excluded=tuple(one.tsquery for one in unwanted if one is not None),
        is_question=parsed.is_question,
        lexemes={one: term.weight for term in terms for one in _lexemes_of(term) if one not in stops},
        small=known.small,
    ), known


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
    strict, broad = plan.strict, plan.broad
    if plan.is_question and len(plan.terms) > 1:
        strict = None
    parameters: dict[str, object] = {
        "strict": strict,
        "broad": None if broad == strict else broad,
        "own": plan.own,
        "terms": [term.expression.tsquery for term in plan.terms],
        "weights": [term.weight for term in plan.terms],
        "caps": _CAPS,
        "depth": depth,
        "folded": folded,
    }
    if plan.terms and narrowing.values.keys() <= _OF_SCOPE:
        parameters |= {
            "folders": bigints(narrowing.folders),
            "from": scope.received_from,
            "until": scope.received_until,
            "forms": [float(term.expression.forms) for term in plan.terms],
            "expected": bigints(plan.expected),
            "small": plan.small,
        }
        cursor = await conn.execute(_BEST, parameters, prepare=True)
    else:
        cursor = await conn.execute(_RANKED, parameters | {"narrow": narrowing.parameter})
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


async def _stems(
    conn: AsyncConnection[TupleRow], words: Sequence[str]
) -> tuple[Mapping[str, frozenset[str]], frozenset[str]]:
    """Each word's lexemes by all dictionaries, and the words that say nothing in the language of the query."""
    if not words:
        return {}, frozenset()
    stems: dict[str, set[str]] = {word: {word} for word in words}
    stops: dict[str, set[str]] = {}
    for word, found in (await _lexized(conn, words)).items():
        for name, lexemes in found:
            if not lexemes:
                stops.setdefault(name, set()).add(word)
            stems[word].update(one for one in lexemes if len(one) >= _SHORTEST_STEM)
    language = max(sorted(stops), key=lambda name: (len(stops[name]), name == _ENGLISH), default=_ENGLISH)
    return {word: frozenset(found) for word, found in stems.items()}, frozenset(stops.get(language, ()))


async def _lexized(
    conn: AsyncConnection[TupleRow], words: Sequence[str]
) -> Mapping[str, Sequence[tuple[str, Sequence[str]]]]:
    """What each dictionary that knows it makes of a word: nothing where it is a word that says nothing."""
    unknown = [word for word in words if word not in _lexemes]
    if unknown:
        if len(_lexemes) >= _WORDS_KEPT:
            _lexemes.clear()
            unknown = list(words)
        cursor = await conn.execute(
            "SELECT d.name, w.word, ts_lexize(d.name::regdictionary, w.word)"
            " FROM unnest(%s::text[]) AS d (name), unnest(%s::text[]) AS w (word)",
            [dictionaries(), unknown],
            prepare=True,
        )
        found: dict[str, list[tuple[str, Sequence[str]]]] = {word: [] for word in unknown}
        for name, word, lexemes in await cursor.fetchall():
            if lexemes is not None:
                found[word].append((name, lexemes))
        _lexemes.update(found)
    return {word: _lexemes[word] for word in words}


def _weighted(term: Term, stems: Mapping[str, frozenset[str]], stops: frozenset[str]) -> WeightedTerm | None:
    found = [one for wanted in term.alternatives if (one := expression(wanted, stems)) is not None]
    if not found:
        return None
    if len(found) == 1:
        words = plain_words(term.alternatives[0])
        stop = len(words) == 1 and words[0] in stops
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
        total, counts = await _exact(conn, scope, terms)
    return [
        replace(term, documents=count, weight=math.log(1 + (total - count + 0.5) / (count + 0.5)))
        for term, one in zip(terms, counts, strict=True)
        for count in [min(one, total)]
    ]


async def _exact(conn: AsyncConnection[TupleRow], scope: Scope, terms: Sequence[WeightedTerm]) -> tuple[int, list[int]]:
    """Counted message by message: counts by mailbox would tell about mail outside the scope's window of time."""
    from_scope = Narrowing({"folders": scope.folder_ids})
    for name, moment in (("received_from", scope.received_from), ("received_until", scope.received_until)):
        if moment is not None:
            from_scope.values[name] = moment.isoformat()
    condition, values = scope.condition("m")
    cursor = await conn.execute(sql.SQL("SELECT count(*) FROM mailsearch_message m WHERE {}").format(condition), values)
    row = await cursor.fetchone()
    cursor = await conn.execute(
        "SELECT documents FROM mail_search.frequencies(%s, %s) ORDER BY term",
        [from_scope.parameter, [term.expression.tsquery for term in terms]],
    )
    return (int(row[0]) if row else 0), [count for (count,) in await cursor.fetchall()]
