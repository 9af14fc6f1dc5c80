"""Asking on a terminal: a line for each event of the run, then the response for people."""

import asyncio
import json
from typing import Any

from rich.console import Console
from rich.markup import escape

from agentic import answering, records, responses, runs, stream, verifiers
from agentic.callers import Principal
from agentic.mailjson import Json
from mailsearch import embeddings
from mailsearch.sessions import pool


def console_on(stream: Any) -> Console:
    """A console that writes where a command's `stdout` or `stderr` does."""
    return Console(file=getattr(stream, "_out", stream))


async def watch(principal: Principal, ask: runs.Ask, console: Console) -> Json | None:
    """Ask, and tell each event as it happens. None if the caller may not read the run any more.

    Raises what `runs.start` raises, AuditUnavailable, and NotVerified where no verifier starts.
    """
    async with pool(), answering.connected():
        await asyncio.to_thread(_prepare, console)
        started = await runs.begin(principal, ask, await answering.models_for(principal.tenant, ask.text))
        if isinstance(started, runs.Started):
            await _follow(started, console)
        record = await records.load(principal, started.public_id)
    return responses.build(record) if record else None


def _prepare(console: Console) -> None:
    """What a process loads once is not the question's time: the encoder's weights, and a verifier."""
    try:
        embeddings.warm()
    except embeddings.EmbeddingUnavailable as error:
        console.print(f"[dim]Semantic search is off: {escape(str(error))}[/]")
    verifiers.ready()


async def _follow(started: runs.Started, console: Console) -> None:
    """Drive the run and tell of it. A run whose end could not be written has no last event to wait for."""
    task = runs.launch(started)
    with console.status("asking"):
        telling = asyncio.create_task(_tell_all(started, console))
        try:
            await task
            await telling
        finally:
            telling.cancel()


async def _tell_all(started: runs.Started, console: Console) -> None:
    async for frame in stream.follow(started.principal, started.public_id):
        _tell(console, frame)


def _tell(console: Console, frame: str) -> None:
    """One line for what happened."""
    lines = dict(line.partition(": ")[::2] for line in frame.splitlines())
    if lines.get("event") not in ("step", "evidence"):
        return
    data = json.loads(lines["data"])
    words = {
        "called": "calls {tool}",
        "found": "{tool}: {total} found",
        "asked": "asks {model}",
        "replied": "has a reply",
        "drafted": "drafts an answer",
        "verified": "verified: {kept} kept, {removed} removed",
        "cut": "stopped by {limit}",
        "finished": "{outcome}",
    }
    told = words.get(data["event"], data["event"]).format_map(data)
    console.print(f"[dim]{data['at_ms']:>6} ms[/] {data['phase']:<7} {escape(told)}")


def _show_citation(console: Console, citation: Json) -> None:
    if citation.get("withheld"):
        return
    if citation["quote"]:
        console.print(f"  [dim]“{escape(citation['quote'])}”[/]")
    sender, when = citation["from"], citation["sent_at"] or citation["received_at"]
    console.print(f"  [dim]{escape(sender['address'])}, {when}, {citation['message_id']}[/]")


def show(console: Console, response: Json) -> None:
    """A response for people: the answer with where it stands, or why there is none, and what was removed."""
    answer = response["answer"]
    if answer:
        for sentence in answer["sentences"]:
            console.print(escape(str(sentence["text"])))
            for citation in sentence["citations"]:
                _show_citation(console, citation)
    else:
        console.print(f"No answer: {response['outcome']} ({response['reason']}).")
        for search in response["searched"]:
            console.print(
                f"  searched for {escape(json.dumps(search['query'], ensure_ascii=False))}: {search['total']}"
            )
    for removed in response["removed_sentences"]:
        console.print(f"removed ({removed['reason']}): {escape(str(removed['text']))}", style="dim")
    for attempt in response["widen_attempts"]:
        console.print(f"blocked ({attempt['kind']}): {attempt['tool']} {escape(attempt['argument'])}", style="dim")
    usage, budget = response["usage"], response["budget"]
    console.print(
        f"{response['run_id']}: {usage['steps']} of {budget['max_steps']} steps,"
        f" {usage['seconds']} of {budget['max_seconds']} s, {response['model']}",
        style="dim",
    )
