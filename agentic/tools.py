"""The six mail tools, bound to one caller's scope and read-only.

The scope is resolved anew before every call, so a right that was withdrawn counts from the next call on. Arguments
only narrow: what would reach beyond the scope has no effect, is answered like mail that is not there, and is recorded
as a widen attempt.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jsonschema
import psycopg

from agentic import filters
from agentic.core.ports import ToolCall, ToolMessage, ToolResult, ToolSpec, ToolUnavailable, WidenAttempt, WidenKind
from agentic.core.question import Question
from agentic.toolschemas import SPECS
from mailsearch.embeddings import Embedder
from mailsearch.hits import Excerpt, Filters, MessageText, SearchRequest, SearchResult
from mailsearch.scope import Scope
from mailsearch.search import contacts, engine, reading, related
from mailsearch.search.engine import Understood

NOT_FOUND = "not found"
_PAGE = 10
# Of the beginning of a message in a list, and of one that is read by itself.
_BEGINNING, _READING = 1_200, 6_000
_NEAREST = 3
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_VALIDATORS = {spec.name: jsonschema.Draft202012Validator(spec.parameters) for spec in SPECS}
_ARGUMENTS: Mapping[str, Mapping[str, object]] = {spec.name: spec.parameters["properties"] for spec in SPECS}  # type: ignore[misc]
# Arguments that hold ids, each of which must have been seen in this run.
_ID_ARGUMENTS = ("thread", "message", "attachment")
_REFUSED = {"mailbox": "mailbox", "in": "folder"}
# Operators in a query that are filters by another name.
_PLACES = frozenset({"mailbox", "folder"})

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a call of `search` asks for: a request, and the query, the filters and the page as they were given."""

    request: SearchRequest
    query: str
    own: Filters
    # Filters that reached beyond the caller's window.
    widened: tuple[WidenAttempt, ...]
    offset: int
    limit: int


@dataclass(slots=True)
class MailTools:
    """A Toolbox. `question` gives the caller's own words and filters, and the moment and place dates are meant in.

    With *any_id* an id need not have been seen before: for callers who call the tools themselves.
    """

    scope_now: Callable[[], Awaitable[Scope]]
    question: Question
    any_id: bool = False
    # The tenant's configured one where none is given.
    embedder: Embedder | None = None
    _memory: dict[tuple[str, str], ToolResult] = field(default_factory=dict)
    # What was asked ahead of the first search.
    _ahead: "asyncio.Task[Understood] | None" = None

    def expect(self, scope: Scope, arguments: Arguments) -> None:
        """Have a search understood while its call is written down, in the *scope* that will most likely be its own.

        No message is looked at for that. Where the scope is another when it is called, it is understood anew.
        """
        asked = self._asked(scope, arguments)
        if isinstance(asked, _Asked):
            self._ahead = asyncio.create_task(engine.understand(scope, asked.request))
            # Nobody may ever ask how it ended.
            self._ahead.add_done_callback(lambda done: done.cancelled() or done.exception())

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return SPECS

    async def call(self, call: ToolCall, seen: frozenset[str], deadline: float) -> ToolResult:
        """See ports.Toolbox. Raises ToolUnavailable where the database or the time gives out."""
        arguments = {name: value for name, value in (call.arguments or {}).items() if value is not None}
        refused = self._refuse(call.name, arguments, seen)
        if refused is not None:
            return refused
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                return await self._remembered(call.name, arguments)
        except (psycopg.Error, TimeoutError) as error:
            raise ToolUnavailable(type(error).__name__) from error

    async def threads(self, ids: Collection[str], deadline: float) -> Mapping[str, tuple[MessageText, ...]]:
        """The messages in scope of each thread, by its id: what verification compares an answer with."""
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            scope = await self.scope_now()
            found = {thread: await reading.thread(scope, thread) for thread in ids}
        return {thread: messages for thread, messages in found.items() if messages}

    async def _remembered(self, name: str, arguments: Arguments) -> ToolResult:
        scope = await self.scope_now()
        key = (scope.version, json.dumps([name, arguments], sort_keys=True, default=str))
        if key not in self._memory:
            self._memory[key] = await self._answer(scope, name, arguments)
        return self._memory[key]

    async def _answer(self, scope: Scope, name: str, arguments: Arguments) -> ToolResult:
        match name:
            case "search":
                return await self._search(scope, arguments)
            case "read_thread":
                return await self._read_thread(scope, arguments)
            case "read_message":
                return await self._read_message(scope, arguments)
            case "read_attachment_text":
                return await self._read_attachment(scope, arguments)
            case "find_related":
                return await self._find_related(scope, arguments)
            case _:
                return await self._contacts(scope, arguments)

    def _refuse(self, name: str, arguments: Arguments, seen: frozenset[str]) -> ToolResult | None:
        """What is wrong with a call by itself: unknown tool or property, a value that does not fit, an unseen id."""
        validator = _VALIDATORS.get(name)
        if validator is None:
            return ToolResult(finding="There is no such tool.")
        known = _ARGUMENTS[name]
        unknown = [argument for argument in arguments if argument not in known]
        if unknown:
            widen = tuple(_unknown_property(name, argument, arguments[argument]) for argument in unknown)
            return ToolResult(finding=f"{NOT_FOUND}: {name} takes only {', '.join(known)}", widen=widen)
        error = next(iter(validator.iter_errors(arguments)), None)
        if error is not None:
            place = str(error.absolute_path[0]) if error.absolute_path else "the call"
            return ToolResult(finding=_misfit(place, error.validator, known))
        unseen = () if self.any_id else tuple(self._unseen(name, arguments, seen))
        return ToolResult(finding=NOT_FOUND, widen=unseen) if unseen else None

    def _unseen(self, tool: str, arguments: Arguments, seen: frozenset[str]) -> Iterable[WidenAttempt]:
        for name in _ID_ARGUMENTS:
            for value in _values(arguments.get(name)):
                if value not in seen and value not in self.question.text:
                    yield WidenAttempt("unseen_id", tool, name, value[:200])

    def _asked(self, scope: Scope, arguments: Arguments) -> "_Asked | ToolResult":
        """What a search is asked for; the result where it is refused."""
        zone, now = self.question.zone, self.question.now
        query, operators = filters.split(arguments["query"])
        beyond = tuple(_unknown_property("search", *one) for one in operators if one[0] not in _PLACES)
        try:
            own = filters.parse(_joined(arguments, operators), now, zone)
        except filters.UnreadableDate as error:
            return ToolResult(finding=str(error))
        if beyond or not (query or own != Filters()):
            return ToolResult(finding=NOT_FOUND, widen=beyond)
        own, widened = self._within(scope, own)
        offset, limit = arguments.get("offset", 0), arguments.get("limit", _PAGE)
        request = SearchRequest(
            query,
            arguments.get("mode", "hybrid"),
            filters.both(own, self.question.filters),
            limit=offset + limit + 1,
            timezone=self.question.timezone,
            now=now,
            spread=True,
        )
        return _Asked(request, query, own, widened, offset, limit)

    async def _understood(self) -> "Understood | None":
        """What was asked ahead, for the first search alone."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return None
        await asyncio.wait([ahead])
        # What could not be asked ahead is asked for by the search itself.
        return ahead.result() if not ahead.cancelled() and ahead.exception() is None else None

    async def _search(self, scope: Scope, arguments: Arguments) -> ToolResult:
        asked = self._asked(scope, arguments)
        if isinstance(asked, ToolResult):
            return asked
        request, query, own, offset, limit = asked.request, asked.query, asked.own, asked.offset, asked.limit
        result = await engine.search(scope, request, embedder=self.embedder, ahead=await self._understood())
        hits = result.hits[offset : offset + limit]
        return ToolResult(
            messages=tuple(ToolMessage(result.texts[hit.head.message_id], hit.excerpts) for hit in hits),
            total=result.total,
            applied={
                "query": filters.without(query, result.refused),
                "mode": result.mode,
                "filters": filters.as_json(filters.effective(own, result.refused)),
            },
            widen=(*asked.widened, *self._outside(arguments, result)),
            nearest=() if hits else await self._nearest(scope, request, own),
            next_offset=offset + limit if len(result.hits) > offset + limit else None,
        )

    def _within(self, scope: Scope, own: Filters) -> tuple[Filters, tuple[WidenAttempt, ...]]:
        """*own* without dates that lie beyond the caller's window: they would reach for what it leaves out."""
        begin = max((one for one in (scope.received_from, self.question.filters.after) if one), default=None)
        end = min((one for one in (scope.received_until, self.question.filters.before) if one), default=None)
        early = own.after if own.after and begin and own.after < begin else None
        late = own.before if own.before and end and own.before > end else None
        attempts = [
            WidenAttempt("outside_scope", "search", name, reached.isoformat(), bound.isoformat())
            for name, reached, bound in (("after", early, begin), ("before", late, end))
            if reached and bound
        ]
        kept = replace(own, after=None if early else own.after, before=None if late else own.before)
        return kept, tuple(attempts)

    def _outside(self, arguments: Arguments, result: SearchResult) -> tuple[WidenAttempt, ...]:
        """Filters of the model's own that name nothing in scope; those in the caller's words are no attempt."""
        attempts = []
        for refused in result.refused:
            operator, _, value = refused.partition(":")
            argument = _REFUSED.get(operator)
            if argument is None or value.casefold() in self.question.text.casefold():
                continue
            place = argument if value in _values(arguments.get(argument)) else "query"
            attempts.append(WidenAttempt(_kind(value), "search", place, value[:200]))
        return tuple(attempts)

    async def _nearest(self, scope: Scope, request: SearchRequest, own: Filters) -> tuple[str, ...]:
        """What comes nearest where the model's own filters left nothing."""
        if own == Filters():
            return ()
        wider = SearchRequest(
            request.text, request.mode, self.question.filters, _NEAREST, timezone=request.timezone, now=request.now,
            spread=True,
        )  # fmt: skip
        result = await engine.search(scope, wider, embedder=self.embedder)
        return tuple(hit.head.message_id for hit in result.hits)

    async def _read_thread(self, scope: Scope, arguments: Arguments) -> ToolResult:
        found = await reading.thread(scope, arguments["thread"])
        messages = await self._narrowed(scope, found or ())
        if not messages:
            return ToolResult(finding=NOT_FOUND)
        offset, limit = arguments.get("offset", 0), arguments.get("limit", _PAGE)
        page = messages[offset : offset + limit]
        return ToolResult(
            messages=tuple(ToolMessage(message, _piece(message, "body", 0, _BEGINNING)) for message in page),
            total=len(messages),
            applied={"thread": arguments["thread"], "offset": offset},
            next_offset=offset + limit if len(messages) > offset + limit else None,
        )

    async def _read_message(self, scope: Scope, arguments: Arguments) -> ToolResult:
        found = await reading.message(scope, arguments["message"])
        messages = await self._narrowed(scope, [found] if found else [])
        if not messages:
            return ToolResult(finding=NOT_FOUND)
        return _read_part(messages[0], "body", arguments)

    async def _read_attachment(self, scope: Scope, arguments: Arguments) -> ToolResult:
        found = await reading.attachment(scope, arguments["attachment"])
        owner = await reading.message(scope, found[0].message_id) if found else None
        messages = await self._narrowed(scope, [owner] if owner else [])
        if not messages:
            return ToolResult(finding=NOT_FOUND)
        part = f"attachment:{arguments['attachment']}"
        if messages[0].part(part) is None:
            return ToolResult(finding="this attachment has no text", applied={"attachment": arguments["attachment"]})
        return _read_part(messages[0], part, arguments)

    async def _find_related(self, scope: Scope, arguments: Arguments) -> ToolResult:
        hits = await related.find_related(scope, arguments["message"], arguments.get("limit", _PAGE))
        if hits is None:
            return ToolResult(finding=NOT_FOUND)
        texts = await reading.messages(scope, [hit.head.message_id for hit in hits])
        kept = {message.head.message_id for message in await self._narrowed(scope, list(texts.values()))}
        messages = tuple(
            ToolMessage(texts[hit.head.message_id], hit.excerpts) for hit in hits if hit.head.message_id in kept
        )
        return ToolResult(messages=messages, total=len(messages), applied={"message": arguments["message"]})

    async def _contacts(self, scope: Scope, arguments: Arguments) -> ToolResult:
        offset, limit = arguments.get("offset", 0), arguments.get("limit", _PAGE)
        found = await contacts.search(scope, arguments["query"], offset + limit + 1)
        page = found[offset : offset + limit]
        lines = tuple(
            f"{', '.join(contact.names)} <{contact.address}>: {contact.messages} messages,"
            f" {contact.first_seen:%Y-%m-%d} to {contact.last_seen:%Y-%m-%d}"
            + (", a list" if contact.is_list else "")
            + (", a name known from another address" if contact.name_conflict else "")
            for contact in page
        )
        return ToolResult(
            total=len(found),
            mail_lines=lines,
            applied={"contacts": arguments["query"]},
            next_offset=offset + limit if len(found) > offset + limit else None,
        )

    async def _narrowed(self, scope: Scope, messages: Sequence[MessageText]) -> list[MessageText]:
        """Those of *messages* that fit the caller's own filters."""
        if not messages or self.question.filters == Filters():
            return list(messages)
        ids = tuple(message.head.message_id for message in messages)
        wanted = filters.both(self.question.filters, Filters(messages=ids))
        request = SearchRequest("", "keyword", wanted, limit=len(ids), now=self.question.now)
        result = await engine.search(scope, request, embedder=self.embedder)
        fitting = {hit.head.message_id for hit in result.hits}
        return [message for message in messages if message.head.message_id in fitting]


def _joined(arguments: Arguments, operators: Iterable[tuple[str, str]]) -> Arguments:
    """*arguments* with the places that the query named as operators. One filter more only narrows."""
    joined = dict(arguments)
    for name, value in operators:
        if name in _PLACES:
            joined[name] = (*_values(joined.get(name)), value)
    return joined


def _read_part(message: MessageText, part: str, arguments: Arguments) -> ToolResult:
    offset = arguments.get("offset", 0)
    found = message.part(part)
    length = len(found.text) if found else 0
    applied = {name: arguments[name] for name in ("message", "attachment") if name in arguments}
    return ToolResult(
        messages=(ToolMessage(message, _piece(message, part, offset, _READING)),),
        total=1,
        notes=(f"Characters {min(offset, length)} to {min(offset + _READING, length)} of {length}.",),
        applied={**applied, "offset": offset},
        next_offset=offset + _READING if offset + _READING < length else None,
    )


def _piece(message: MessageText, name: str, start: int, length: int) -> tuple[Excerpt, ...]:
    part = message.part(name)
    text = part.text[start : start + length] if part else ""
    if part is None or not text:
        return ()
    return (Excerpt(name, start, start + len(text), text, part.page_at(start)),)


def _unknown_property(tool: str, argument: str, value: object) -> WidenAttempt:
    # The name is the model's, too: what is no plain word is kept with the value alone.
    name = argument if _PLAIN_NAME.fullmatch(argument) else "(unreadable)"
    requested = f"{argument}={json.dumps(value, ensure_ascii=False, default=str)}"
    kind: WidenKind = "quarantine" if "quarantin" in argument.casefold() else "unknown_property"
    return WidenAttempt(kind, tool, name, requested[:1000])


def _kind(value: str) -> WidenKind:
    return "quarantine" if "quarantin" in value.casefold() else "outside_scope"


def _misfit(place: str, rule: object, known: Mapping[str, object]) -> str:
    """What a call must look like, without a word of what it looked like."""
    wanted = known.get(place)
    told = f" It must fit {json.dumps(wanted)}." if wanted is not None and len(json.dumps(wanted)) < 400 else ""
    missing = " A required argument is missing." if rule == "required" else ""
    return f"{place} does not fit the tool's schema.{missing}{told}"


def _values(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()
