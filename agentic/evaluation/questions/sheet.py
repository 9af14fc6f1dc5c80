"""Units as a page for people: read in a browser, labelled by clicks, saved as the file that `evaluate support` reads.

Nothing is fetched or sent: labels stay in the browser until they are saved to a file.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

_LABELS = (
    ("supported", "Supported", "all that the statement says is said in the mail shown"),
    ("partly", "Partly", "some of it is, and some is not, or is said otherwise"),
    ("not", "Not", "it is not said, is said of something else, or is contradicted"),
)
_HOW = (
    "Does the mail shown below it say what the statement says? Go by that mail alone: not by what you know, nor by what"
    " stands beside another statement.",
    "Whether the statement answers the question does not matter. The question only tells what words like “it” and “yes”"
    " stand for.",
    "A statement counts whole, with its numbers, dates and names, and with every “not” and “if”. It may be put"
    " otherwise, or in another language.",
    "Who wrote to whom, when, and the subject count as said. Words that stand in quoted or forwarded text count as said"
    " by who is named there.",
    "Where no mail is shown, nothing is said.",
)


def page(file: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """The page for the *rows* of *file*; labels are saved as a file that is named after it and the reader."""
    script = files(__package__).joinpath("sheet.js").read_text(encoding="utf-8")
    style = files(__package__).joinpath("sheet.css").read_text(encoding="utf-8")
    title = f"Does the mail say so? {len(rows)} statements"
    print_of = hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    units = "".join(_unit(number, row) for number, row in enumerate(rows, 1))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script, style)}">'
        f"<style>{style}</style></head><body><main><h1>{escape(title)}</h1>{_how()}"
        f'<form id="units" data-stem="{escape(file.stem)}" data-suffix="{escape(file.suffix)}" data-print="{print_of}">'
        f'{units}</form></main><footer><label>Your name <input id="name" autocomplete="off" size="12"></label>'
        f'<span id="told" role="status">0 of {len(rows)}</span><button type="button" id="next">Next open one</button>'
        f'<button type="button" id="save">Save labels</button></footer><script>{script}</script></body></html>\n'
    )


def _policy(script: str, style: str) -> str:
    """Only this script and this style: whatever a mail holds can do nothing."""
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (script, style)]
    return f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'"


def _how() -> str:
    labels = "".join(f"<dt>{escape(word)}</dt><dd>{escape(means)}</dd>" for _, word, means in _LABELS)
    return f"<section><ul>{''.join(f'<li>{escape(line)}</li>' for line in _HOW)}</ul><dl>{labels}</dl></section>"


def _unit(number: int, row: Mapping[str, Any]) -> str:
    name = escape(str(row["unit"]))
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"> {word}</label>' for value, word, _ in _LABELS
    )
    mail = "".join(_source(one) for one in row["sources"]) or "<p class=none>No mail of the run is cited.</p>"
    return (
        f'<article id="{name}"><h2>{number}</h2><p class="question">Asked: {escape(row["question"])}</p>'
        f'<blockquote dir="auto">{escape(row["text"])}</blockquote>{mail}'
        f"<fieldset><legend>Does this mail say so?</legend>{radios}</fieldset></article>"
    )


def _source(source: Mapping[str, str]) -> str:
    head = "".join(
        f"<dt>{word}</dt><dd>{escape(source[field])}</dd>"
        for word, field in (("From", "sender"), ("To", "to"), ("Date", "date"), ("Subject", "subject"), ("Of", "part"))
        if source[field]
    )
    return f'<div class="mail"><dl>{head}</dl><pre dir="auto">{escape(source["text"])}</pre></div>'
