"""What the words of a query are to the index: their stems in every language, and how common each is in a scope."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from mailsearch.scope import Scope, bigints
from mailsearch.search.coverage import Standing
from mailsearch.terms import dictionaries

_UNDERSTOOD = "SELECT * FROM mail_search.understood(%s, %s, %s::bigint[], %s, %s, %s, %s)"
# Stems shorter than this say too little across languages.
_SHORTEST_STEM = 3
_ENGLISH = "english_stem"
_DICTIONARIES = tuple(dictionaries())
_WORDS_KEPT = 20_000
# Word → what each of the dictionaries makes of it: its stem, or None where it says nothing. They never change.
_known: dict[str, Sequence[str | None]] = {}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one query."""

    # Each word's lexemes by all dictionaries, itself among them.
    stems: Mapping[str, frozenset[str]]
    # Those that say nothing in the language of the query.
    stops: frozenset[str]


def unknown(words: Iterable[str]) -> list[str]:
    """Those of *words* that the server has to be asked about."""
    return [word for word in words if word not in _known]


def vocabulary(words: Iterable[str]) -> Vocabulary:
    """What is known of *words*; of one that was never asked about, nothing but itself."""
    found = {word: _known.get(word, ()) for word in words}
    stems = {
        word: {one for one in made if one is not None and len(one) >= _SHORTEST_STEM} for word, made in found.items()
    }
    stops: dict[str, set[str]] = {}
    for word, made in found.items():
        for name in (name for name, stem in zip(_DICTIONARIES, made, strict=False) if stem is None):
            stops.setdefault(name, set()).add(word)
    language = max(sorted(stops), key=lambda name: (len(stops[name]), name == _ENGLISH), default=_ENGLISH)
    return Vocabulary(
        {word: frozenset({word, *made}) for word, made in stems.items()}, frozenset(stops.get(language, ()))
    )


async def look_up(
    conn: AsyncConnection[TupleRow], scope: Scope, lexemes: Sequence[str], words: Sequence[str]
) -> Standing:
    """How *scope* stands, with the counts of *lexemes* and of all stems of *words*, which are known from then on.

    One statement that binds its own transaction, so *conn* need not be bound.
    """
    bound = scope.binding().settings
    cursor = await conn.execute(
        _UNDERSTOOD,
        [
            bound["app.tenant"],
            bound["app.mailboxes"],
            bigints(scope.folder_ids),
            scope.received_from,
            scope.received_until,
            list(lexemes),
            list(words),
        ],
        prepare=True,
        binary=True,
    )
    row = await cursor.fetchone()
    assert row is not None  # the function always gives one
    latest, leaves, documents, counted, stored, asked, stems = row
    if words:
        if len(_known) >= _WORDS_KEPT:
            _known.clear()
        _known.update(zip(words, stems, strict=True))
    return Standing.of(asked, latest, leaves, documents, counted, stored)
