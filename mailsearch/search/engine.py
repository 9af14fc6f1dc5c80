"""One search from its request to its result: parse, narrow, find by words and by meaning, fuse, fold, show.

Both ways of finding run at once, each over a database session of its own. If the vectors are late or can't be had,
what the words found stands alone.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from psycopg import AsyncConnection
from psycopg.rows import TupleRow

from mailsearch.embeddings import Embedder, EmbeddingUnavailable, configured_embedder
from mailsearch.hits import Hit, MessageText, Mode, SearchRequest, SearchResult
from mailsearch.meters import measured
from mailsearch.scope import Scope
from mailsearch.search import heads, keyword, semantic, showing
from mailsearch.search.coverage import Standing
from mailsearch.search.folding import Candidate, Folded, folded, spread
from mailsearch.search.fusion import Fused, Ranking, fuse_in_steps
from mailsearch.search.lexemes import Cut, cut
from mailsearch.search.narrowing import Narrowing, asks, narrow
from mailsearch.search.paging import DEEPEST, decode, encode, fingerprint
from mailsearch.search.query import ParsedQuery, parse, zone
from mailsearch.sessions import prepares, unbound

log = logging.getLogger(__name__)

Session = AsyncConnection[TupleRow]
MOST_HITS = 100
# Seconds that a hybrid search waits for vectors after the query came in.
PATIENCE = 3.0
# Messages of each way that a fusion looks at; by meaning a first look at fewer will do, which cost more each.
_SHALLOW = 200
_DEEPER = 400
_NEAR = 100
# In which order the depths of looks count, so that pages of shallow and of deep ones fit together.
_STEPS = tuple({"keyword": words, "semantic": _NEAR} for words in (_SHALLOW, _DEEPER))
# Of so many hits the senders are looked up at first: more than a page takes, unless mail of few fills it.
_FIRST = 50
# A word that is there says more than a meaning that is near. Measured on questions, paraphrases and questions in
# another language, anything from 0.6 to 0.8 is as good as the better way or better for each of the three.
_WORDS_WEIGHT = 0.7
_UNPLANNED, _UNKNOWN = keyword.KeywordPlan(), Standing(None, "nothing")


@dataclass(frozen=True, slots=True)
class Understood:
    """A request, understood."""

    scope: Scope
    request: SearchRequest
    parsed: ParsedQuery
    narrowing: Narrowing
    cut: Cut
    mode: Mode
    offset: int
    limit: int
    # What the database makes of it, and what it says of the scope, once it was asked.
    plan: keyword.KeywordPlan = _UNPLANNED
    known: Standing = _UNKNOWN
    # How many messages each way of finding may bring.
    words_depth: int = DEEPEST
    meaning_depth: int = DEEPEST

    @property
    def end(self) -> int:
        return self.offset + self.limit

    @property
    def leaves_nothing(self) -> bool:
        return self.scope.empty or self.narrowing.leaves_nothing

    def looking(self) -> Iterator["Understood"]:
        """The same, as deep as is worth while: first no deeper than what is asked for mostly needs."""
        if self.end <= _SHALLOW // 4:
            yield replace(self, words_depth=_SHALLOW, meaning_depth=_NEAR)
            if self.mode == "hybrid":
                # Words bring more without being asked again, and copies are looked up one by one.
                yield replace(self, words_depth=_DEEPER, meaning_depth=_NEAR)
        deep = _SHALLOW if self.mode == "hybrid" and not self.request.spread else DEEPEST
        yield replace(self, meaning_depth=deep)


@dataclass(frozen=True, slots=True)
class _Found:
    """What both ways of finding brought."""

    fused: Sequence[Fused]
    nearest: dict[int, semantic.Nearest]
    total: int
    total_is_exact: bool
    # The way that was really gone: keyword where vectors were late.
    mode: Mode
    # Whether looking deeper may bring more.
    deeper: bool
    # How many messages each of them stands for, where copies are folded already.
    copies: Mapping[int, int] | None = None


async def understand(scope: Scope, request: SearchRequest) -> Understood:
    """What `search` asks for first, of words, filters and counts but of no message: asked ahead of it."""
    parsed, looks = _parsed(request)
    async with scope.reading() if looks else unbound() as conn:
        return await _planned(conn, await _narrowed(conn, scope, request, parsed))


@measured
async def search(
    scope: Scope,
    request: SearchRequest,
    *,
    embedder: Embedder | None = None,
    patience: float = PATIENCE,
    ahead: Understood | None = None,
) -> SearchResult:
    """Find mail in *scope*. Raises InvalidCursor for a cursor of another search; any text is a query.

    *embedder* is the tenant's configured one if none is named. *patience* is how many seconds a hybrid search waits
    for vectors. The result's `mode` says `keyword` where they did not come. *ahead* is what was asked ahead, which
    counts where it is of the same scope and request.
    """
    started = time.perf_counter()
    known = ahead if ahead is not None and (ahead.scope, ahead.request) == (scope, request) else None
    if known is not None and known.mode == "hybrid" and not known.leaves_nothing:
        return await _looked(known, started, _Ways(embedder, patience).find, None)
    parsed, looks = _parsed(request)
    # What binds its own transaction needs none around it.
    async with scope.reading() if looks else unbound() as conn:
        asked = await _narrowed(conn, scope, request, parsed)
        if asked.mode == "keyword" and not request.spread and not asked.leaves_nothing:
            return await _page(conn, asked, started)
        understood = await _planned(conn, asked)
        if understood.leaves_nothing:
            latest = understood.known.indexed_until
            return _result(understood, (), None, _why_nothing(understood, None, latest), started, 0, True, {}, latest)
    if understood.mode == "keyword":
        # No model is waited for, so the rest is one transaction.
        async with scope.reading() as conn:
            return await _looked(understood, started, partial(_find_words, conn), conn)
    return await _looked(understood, started, _Ways(embedder, patience).find, None)


def _parsed(request: SearchRequest) -> tuple[ParsedQuery, bool]:
    """The request's text understood by itself, and whether its filters take a look at the database."""
    parsed = parse(request.text, request.now or datetime.now(UTC), zone(request.timezone))
    return parsed, asks((parsed.filters, request.filters, parsed.unwanted))


@prepares
async def ready(conn: Session) -> None:
    """Have plans and dictionaries ready by what a search asks for, for nobody and by words that no mail holds."""
    nobody = Scope(0, frozenset())
    await heads.ready(conn)
    for text in ("wordofnomail", "mail wordofnomail"):
        asked = await _narrowed(conn, nobody, SearchRequest(text), parse(text, datetime.now(UTC), zone("UTC")))
        await _planned(conn, asked)
        await showing.page(conn, nobody, asked.cut, asked.narrowing, 0, asked.limit)


async def _page(conn: Session, asked: Understood, started: float) -> SearchResult:
    """A page of what the words alone find, over *conn*, bound or not."""
    page = await showing.page(conn, asked.scope, asked.cut, asked.narrowing, asked.offset, asked.limit)
    cursor = _next(asked) if page.reached > asked.end else None
    why = None if page.hits else _why_nothing(asked, page.total, page.indexed_until)
    found = (page.total, page.total < keyword.CAP, page.texts, page.indexed_until)
    return _result(asked, page.hits, cursor, why, started, *found)


def _next(asked: Understood) -> str | None:
    """The cursor of the page after this one, if one may page so deep."""
    return encode(asked.end, fingerprint(asked.scope, asked.request)) if asked.end <= DEEPEST else None


async def _looked(
    understood: Understood, started: float, find: Callable[[Understood], Awaitable[_Found]], conn: Session | None
) -> SearchResult:
    """The first page that is full, or the deepest that there is, shown over *conn* or a session of its own."""
    scope, looked_up = understood.scope, dict[int, Candidate]()
    for asked in understood.looking():
        found = await find(asked)
        async with nullcontext(conn) if conn else scope.reading() as reader:
            hits = await _arranged(reader, asked, found, looked_up)
            page = hits[asked.offset : asked.end]
            if len(page) < asked.limit and found.deeper:
                continue
            reading = await showing.ask(reader, scope, page, found.nearest)
        ways = {one.message_id: one.found_by for one in found.fused}
        shown, texts = await showing.hits(reading, asked.offset, ways, found.nearest, asked.plan)
        break
    cursor = _next(asked) if len(hits) > asked.end else None
    latest = asked.known.indexed_until
    why = None if shown else _why_nothing(asked, found.total, latest)
    result = _result(asked, shown, cursor, why, started, found.total, found.total_is_exact, texts, latest)
    return replace(result, mode=found.mode)


async def _narrowed(conn: Session, scope: Scope, request: SearchRequest, parsed: ParsedQuery) -> Understood:
    offset = decode(request.cursor, fingerprint(scope, request)) if request.cursor else 0
    # Without words there is nothing to embed: what passes the filters is listed.
    mode: Mode = request.mode if parsed.text else "keyword"
    narrowing = await narrow(conn, scope, [parsed.filters, request.filters], parsed.refused, parsed.unwanted)
    limit = max(1, min(request.limit, MOST_HITS))
    return Understood(scope, request, parsed, narrowing, cut(parsed), mode, offset, limit)


async def _planned(conn: Session, asked: Understood) -> Understood:
    plan, known = await keyword.plan(conn, asked.scope, asked.cut)
    return replace(asked, plan=plan, known=known)


async def _find_words(conn: Session, asked: Understood) -> _Found:
    """What the words alone find, each of several copies once."""
    by_words = await keyword.search(
        conn, asked.scope, asked.plan, asked.narrowing, depth=asked.words_depth, folded=True
    )
    return _Found(
        fused=[Fused(one, 0.0, ("keyword",)) for one in by_words.message_ids],
        nearest={},
        total=by_words.total,
        total_is_exact=by_words.total_is_exact,
        mode="keyword",
        deeper=len(by_words.message_ids) >= asked.words_depth and asked.words_depth < DEEPEST,
        copies=dict(zip(by_words.message_ids, by_words.copies, strict=True)),
    )


def _found(
    asked: Understood, by_words: keyword.KeywordHits | None, by_meaning: list[semantic.Nearest] | None
) -> _Found:
    rankings = []
    if by_words is not None:
        held = by_words.fits if by_meaning else None
        rankings.append(Ranking("keyword", by_words.message_ids, _WORDS_WEIGHT, held))
    if by_meaning:
        fits = [max(0.0, one.similarity) for one in by_meaning] if by_words is not None else None
        rankings.append(Ranking("semantic", [one.message_id for one in by_meaning], 1 - _WORDS_WEIGHT, fits))
    fused = fuse_in_steps(rankings, _STEPS)
    by_words_alone = by_meaning is None or not by_meaning
    exact = by_words is None or by_words.total_is_exact
    total = max(len(fused), by_words.total if by_words else 0)
    mode: Mode = "keyword" if by_words_alone and asked.mode == "hybrid" else asked.mode
    nearest = {one.message_id: one for one in by_meaning or ()}
    full = len(nearest) >= asked.meaning_depth
    deeper = asked.words_depth < DEEPEST and (full or len(fused) >= asked.words_depth)
    return _Found(fused, nearest, total, exact and not full, mode, deeper)


class _Ways:
    """Finding by words and by meaning, over several looks: a deeper one asks for nothing that an earlier one has."""

    def __init__(self, embedder: Embedder | None, patience: float) -> None:
        self._embedder, self._patience = embedder, patience
        self._by_words: keyword.KeywordHits | None = None
        # None where there is no embedding to be had, or it is late.
        self._by_meaning: list[semantic.Nearest] | None = None
        self._embedding: list[float] = []
        # How many messages by meaning were asked for.
        self._meaning_depth = 0

    async def find(self, asked: Understood) -> _Found:
        """What is found as deep as *asked* looks."""
        if asked.mode == "semantic":
            await self._ask_meaning(asked)
            return _found(asked, None, self._by_meaning)
        meaning = asyncio.create_task(_unless_late(self._ask_meaning(asked), self._patience))
        try:
            words = self._by_words = self._by_words or await self._ask_words(asked)
            await meaning
        finally:
            # Whatever ends the search, no session of it stays behind.
            meaning.cancel()
            await asyncio.gather(meaning, return_exceptions=True)
        return _found(asked, words.first(asked.words_depth), self._by_meaning)

    async def _ask_words(self, asked: Understood) -> keyword.KeywordHits:
        """All that words bring: it is ranked whole, and having more of it told costs little."""
        async with asked.scope.reading() as conn:
            found = await keyword.ask(conn, asked.scope, asked.plan, asked.narrowing, depth=DEEPEST)
        return await keyword.told(found, asked.plan)

    async def _ask_meaning(self, asked: Understood) -> None:
        known = self._meaning_depth
        if known >= asked.meaning_depth or (known and len(self._by_meaning or ()) < known):
            return
        self._meaning_depth = asked.meaning_depth
        embedder = self._embedder or configured_embedder(asked.known.may_leave)
        try:
            # In a thread: the offline model computes, the remote one waits.
            if not self._embedding:
                vectors = await asyncio.to_thread(embedder.embed, [asked.parsed.text])
                self._embedding = vectors[0].tolist()
        except EmbeddingUnavailable as error:
            log.warning("semantic search is off: %s", error)
            return
        async with asked.scope.reading() as conn:
            self._by_meaning = await semantic.search(
                conn, asked.scope, self._embedding, embedder.name, asked.narrowing, depth=asked.meaning_depth
            )


async def _unless_late(finding: Awaitable[None], patience: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await finding


async def _arranged(conn: Session, asked: Understood, found: _Found, looked_up: dict[int, Candidate]) -> list[Folded]:
    """What was found with its copies folded, and spread where that was asked for.

    *looked_up* are those of which an earlier look knows; what this one comes to know is added.
    """
    ids = [one.message_id for one in found.fused]
    if found.copies is not None:
        hits = [Folded(one, one, found.copies[one]) for one in ids]
    else:
        new = [one for one in ids if one not in looked_up]
        # With the senders of those that will most likely be looked at: of all where an earlier look was not enough.
        senders = new[: None if looked_up else _FIRST] if asked.request.spread else ()
        looked_up |= await showing.candidates(conn, asked.scope, new, senders)
        hits = folded(ids, looked_up)
    return await _spread(conn, asked, hits, looked_up) if asked.request.spread else hits


async def _spread(
    conn: Session, asked: Understood, hits: Sequence[Folded], looked_up: dict[int, Candidate]
) -> list[Folded]:
    """*hits* spread, as far as the page and the question whether there is another one need."""
    filters = (asked.parsed.filters, asked.request.filters)
    known = {message_id: one for message_id, one in looked_up.items() if one.sender is not None}
    kept: list[Folded] = []
    for end in (_FIRST, len(hits)):
        ids = [hit.message_id for hit in hits[:end] if hit.message_id not in known]
        if ids:
            known |= (seen := await showing.candidates(conn, asked.scope, ids, ids))
            looked_up |= seen
        kept = spread(
            hits[:end],
            known,
            by_thread=not any(one.threads or one.messages for one in filters),
            by_sender=not any(one.senders or one.messages for one in filters),
        )
        if len(kept) > asked.end:
            break
    return kept


def _result(
    asked: Understood,
    hits: Sequence[Hit],
    cursor: str | None,
    why_empty: str | None,
    started: float,
    total: int,
    total_is_exact: bool,
    texts: Mapping[str, MessageText],
    indexed_until: datetime | None,
) -> SearchResult:
    return SearchResult(
        mode=asked.mode,
        text=asked.request.text,
        parsed=asked.parsed.as_json(),
        applied=asked.narrowing.applied,
        refused=tuple(asked.narrowing.refused),
        hits=tuple(hits),
        total=total,
        total_is_exact=total_is_exact,
        next_cursor=cursor,
        indexed_until=indexed_until,
        why_empty=why_empty,
        took_ms=round((time.perf_counter() - started) * 1000),
        texts=texts,
    )


def _why_nothing(asked: Understood, found: int | None, indexed_until: datetime | None) -> str:
    """Why there are no hits, in words that say the same of what is missing and of what is out of scope.

    *found* is how many messages match, None where none was looked for.
    """
    if asked.scope.empty:
        return "This caller may read no mail."
    if asked.narrowing.refused:
        return "Nothing in scope goes by " + ", ".join(asked.narrowing.refused[:10]) + "."
    if indexed_until is None:
        return "There is no mail in scope."
    if found and asked.offset:
        return "There are no more hits."
    if asked.mode == "semantic" and found is not None:
        return "No mail in scope that passes the filters has been embedded, or no embedding can be had."
    which = "in scope that passes the filters" if asked.narrowing.applied else "in scope"
    return f"No message {which} holds what was asked for." if asked.cut.terms else f"There is no message {which}."
