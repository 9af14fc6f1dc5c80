"""Codes of the service in plain words, with what to do next."""

from collections.abc import Mapping
from typing import Any

OUTCOMES: Mapping[str, str] = {
    "answered": "Answered",
    "insufficient_evidence": "The mail does not answer this",
    "budget_exhausted": "Ran out of budget",
    "degraded": "The model was unavailable",
}
REASONS: Mapping[str, str] = {
    "model_declared": "Mail was found and read, and none of it holds the answer.",
    "all_removed": "Every sentence of the draft failed its check against the mail, so none is shown.",
    "question_not_covered": "The mail that was cited does not name everything that the question names.",
    "nothing_found": "No message in your scope fits the question.",
    "judged_insufficient": "What could be verified does not answer the question.",
    "cancelled": "It was cancelled.",
    "steps": "All its steps were used before there was an answer.",
    "seconds": "Its time was over before there was an answer.",
    "tokens": "The day's tokens were used up before there was an answer.",
    "cost": "The day's money was used up before there was an answer.",
    "interrupted": "The service stopped while it was at work.",
    "internal": "Something went wrong here; it was recorded.",
    "audit_unavailable": "Its end could not be written down, so there is no answer.",
    "timeout": "The model did not reply in time.",
    "rate_limited": "The model refused because of too many requests.",
    "daily_quota": "The model's quota for today is used up.",
    "out_of_capacity": "The model had no capacity left.",
    "server_error": "The model's server failed.",
    "unreachable": "The model's server could not be reached.",
    "auth": "The model's server refused our credentials; an administrator has to look.",
    "no_such_model": "There is no model of the configured name; an administrator has to look.",
    "circuit_open": "The model failed several times lately and is given a rest.",
}
NEXT: Mapping[str, str] = {
    "insufficient_evidence": "Search yourself with other words, or widen the dates.",
    "budget_exhausted": "Ask again with more steps or seconds, or ask for one thing at a time.",
    "degraded": "Plain search still works: its results are below. Ask again in a while.",
}
REMOVALS: Mapping[str, str] = {
    "no_citation": "cites nothing",
    "unknown_label": "cites what was not found in this run",
    "quote_not_found": "its quote is not in the message",
    "quote_in_quoted_text": "its quote stands only in a reply's quotation",
    "quote_negated": "the message denies or conditions the quote",
    "quote_unbalanced": "its quotation marks do not match",
    "elided": "its quote leaves out words that matter",
    "quilt": "its quote is patched together",
    "fact_not_found": "a number, date or name is not in the message",
    "fact_scattered": "its facts stand far apart",
    "speaker_mismatch": "somebody else said it",
    "active_content": "it held a link or code",
    "marker_leak": "it repeated a secret marker",
    "hidden_text": "its source is hidden text",
    "absence_claim": "it says that something is not there",
    "too_long": "it is too long",
    "source_withdrawn": "its source was withdrawn",
    "not_supported_strict": "it has no verified quote, which this tenant asks for",
}
WIDENING: Mapping[str, str] = {
    "outside_scope": "asked for mail outside of the scope",
    "unknown_property": "used an argument that does not exist",
    "unseen_id": "named a message that it had not seen",
    "quarantine": "asked for quarantined mail",
    "marker": "repeated a secret marker",
}
STATUSES: Mapping[str, str] = {
    "queued": "Waiting",
    "running": "Running",
    "cancelled": "Cancelled",
    "interrupted": "Interrupted",
}


def outcome(code: str | None, status: str = "") -> str:
    """How a run ended, or where it stands, in words."""
    return OUTCOMES.get(code or "", code or "") or STATUSES.get(status, "Not finished")


def detail(values: Mapping[str, Any]) -> str:
    """`{"fact": "1,450 EUR"}` as `fact: 1,450 EUR`."""
    return " · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in values.items() if value not in (None, ""))
