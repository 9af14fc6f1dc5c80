"""Which searches a question suggests, and which threads are worth reading whole."""

from collections.abc import Iterable, Sequence

from agentic.llm.extractive.people import name_runs
from agentic.llm.extractive.question import Ask, Question
from agentic.llm.extractive.reading import Reading
from agentic.llm.extractive.scoring import Candidate

SEARCHES_AT_MOST = 6
THREADS_AT_MOST = 4
_WORDS_AT_MOST = 12
_LIMIT = 10

Call = tuple[str, dict[str, object]]


def first_searches(question: Question, done: Sequence[str]) -> list[Call]:
    """Searches in other words than the question's own, which are searched already: names, things, and both apart."""
    strong = [term for term in question.terms if not term.weak]
    names = [" ".join(question.words[at].raw for at in run) for run in name_runs(question)]
    named = {word for name in names for word in name.split()}
    things = [term.raw for term in strong if term.raw not in named]
    proper = [term.raw for term in strong if term.proper]
    calls: list[Call] = [
        ("search", {"query": " ".join(things[:_WORDS_AT_MOST]), "from": name, "limit": _LIMIT})
        for name in names[:2]
        if things
    ]
    parts = [_whole(ask) for ask in question.asks] if len(question.asks) > 1 else []
    queries = [*question.exact[:1], *parts, " ".join(things), " ".join(proper)]
    calls.extend(("search", {"query": query[:300], "limit": _LIMIT}) for query in queries)
    return _new(calls, done)[:SEARCHES_AT_MOST]


def threads_to_read(candidates: Iterable[Candidate], readings: Sequence[Reading]) -> list[Call]:
    """Reading the threads of the best sentences: follow-ups and corrections stand in other mails of them."""
    best: dict[str, str] = {}
    for candidate in candidates:
        best.setdefault(candidate.reading.head.thread_id, candidate.reading.label)
    for reading in readings:
        best.setdefault(reading.head.thread_id, reading.label)
    return [("read_thread", {"thread": label, "limit": 20}) for label in list(best.values())[:THREADS_AT_MOST]]


def _whole(ask: Ask) -> str:
    """A part of a question as a query of its own, with the words that it takes from the part beside it."""
    return " ".join([ask.text.strip(), *(term.raw for term in ask.terms if term.shared)][:_WORDS_AT_MOST])


def _new(calls: Iterable[Call], done: Sequence[str]) -> list[Call]:
    seen = {" ".join(query.lower().split()) for query in done}
    kept = []
    for name, arguments in calls:
        query = " ".join(str(arguments["query"]).lower().split())
        key = f"{query} {arguments.get('from', '')}".strip()
        if query and key not in seen:
            seen.add(key)
            kept.append((name, arguments))
    return kept
