"""What a trusted border says about who sent a message (RFC 8601)."""

import re
from collections.abc import Sequence

from mailsearch.hits import Authentication
from mailsearch.ingest import headers

_METHOD = re.compile(r"^\s*(spf|dkim|dmarc)\s*=\s*([a-z]+)", re.IGNORECASE)
_COMMENT = re.compile(r"\([^()]*\)")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BY = re.compile(rb"\bby\s+([^\s;()]+)")
_FROM = re.compile(rb"^\s*from\s+([^\s;()]+)")
_RESULTS = {"pass", "fail", "softfail", "neutral", "none", "temperror", "permerror", "policy", "bestguesspass"}


def read(fields: Sequence[tuple[str, bytes]], trusted: str) -> Authentication:
    """Results of *trusted* (an authserv-id) among a message's header *fields*, top first; `unknown` where it says none.

    Everything below the hop at which the trusted border took the message may have been written by the sender. So
    results above that hop count; failing those, the first below it and above the next Received, which is where a
    border that writes its trace first puts its results.
    """
    if not trusted:
        return Authentication()
    above: list[str] = []
    below: list[str] = []
    crossed = False
    for name, value in fields:
        if name == "authentication-results" and _authserv_id(value) == trusted.lower():
            (below if crossed else above).append(headers.unfold(value).decode("latin-1"))
        elif name == "received":
            if crossed or not _is_ours(_BY, value, trusted):
                break
            crossed = _FROM.match(headers.unfold(value)) is not None and not _is_ours(_FROM, value, trusted)
    return _results(above or below[:1])


def _authserv_id(value: bytes) -> str:
    first = _COMMENT.sub(" ", headers.unfold(value).decode("latin-1")).partition(";")[0].split()
    return first[0].strip('"').lower() if first else ""


def _is_ours(clause: re.Pattern[bytes], value: bytes, trusted: str) -> bool:
    match = clause.search(headers.unfold(value))
    if match is None:
        return False
    host = match[1].decode("latin-1").lower().strip("[]").rstrip(".")
    if clause is _BY and ("." not in host or re.fullmatch(r"[0-9a-f:.]+", host)):
        return True
    domain = trusted.lower().split(".")[-2:] if trusted.count(".") else [trusted.lower()]
    return host == ".".join(domain) or host.endswith("." + ".".join(domain))


def _results(values: list[str]) -> Authentication:
    found: dict[str, str] = {}
    for value in values:
        here: dict[str, str] = {}
        for statement in _COMMENT.sub(" ", _QUOTED.sub('""', value)).split(";")[1:]:
            match = _METHOD.match(statement)
            if match is None or match[2].lower() not in _RESULTS:
                continue
            method, result = match[1].lower(), match[2].lower()
            if here.get(method) != "pass":
                here[method] = result
        found = here | found
    return Authentication(**found)
