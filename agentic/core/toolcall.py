"""Calls of tools: the two that end a run, what a call is known by, and labels in the place of ids."""

import json
from collections.abc import Mapping, Sequence

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.labels import LABEL_PATTERN
from agentic.core.ledger import Ledger
from agentic.core.ports import ToolSpec

ANSWER = "answer"
INSUFFICIENT = "insufficient"
SEARCH = "search"

_SENTENCES_AT_MOST = 40
_LABEL_SCHEMA = {"type": "string", "pattern": f"^{LABEL_PATTERN}$", "maxLength": 12}

# Quotes come first: who has copied the words before saying what they mean invents less.
FINAL_TOOLS = (
    ToolSpec(
        ANSWER,
        "Give the answer and end. For each sentence: first the words of the mail that prove it, copied letter by "
        "letter, with the mail's label; then the statement that answers the question.",
        {
            "type": "object",
            "properties": {
                "sentences": {
                    "type": "array",
                    "maxItems": _SENTENCES_AT_MOST,
                    "items": {
                        "type": "object",
                        "properties": {
                            "quotes": {
                                "type": "array",
                                "maxItems": 4,
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "label": _LABEL_SCHEMA,
                                        "text": {"type": "string", "maxLength": 400},
                                    },
                                    "required": ["label", "text"],
                                    "additionalProperties": False,
                                },
                            },
                            "citations": {"type": "array", "minItems": 1, "maxItems": 4, "items": _LABEL_SCHEMA},
                            "text": {"type": "string", "maxLength": 400},
                        },
                        "required": ["quotes", "citations", "text"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["sentences"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        INSUFFICIENT,
        "End without an answer. Only after reading what was found, and only if no mail says what was asked.",
        {
            "type": "object",
            "properties": {"missing": {"type": "string", "maxLength": 300}},
            "required": ["missing"],
            "additionalProperties": False,
        },
    ),
)


def memory_key(name: str, arguments: Mapping[str, object]) -> str:
    """The same text for calls that are the same: names in order, white space and case of strings aside."""
    return f"{name} {json.dumps(_plain(arguments), sort_keys=True, ensure_ascii=False, default=str)}"


def query_of(arguments: Mapping[str, object]) -> str:
    """The words that a call searched for; empty for calls that name a message."""
    query = arguments.get("query")
    return query if isinstance(query, str) else ""


def ids_for_labels(arguments: Mapping[str, object], ledger: Ledger) -> Mapping[str, object]:
    """*arguments* with the id of the message or thread wherever the model gave a label in its place."""
    return {name: _id_for(name, value, ledger) for name, value in arguments.items()}


def read_final(name: str, arguments: Mapping[str, object]) -> Draft | str:
    """The draft in a call of `answer` or `insufficient`, or what is wrong with it in words for the model."""
    if name == INSUFFICIENT:
        return Draft(insufficient=True, missing=_text(arguments.get("missing")))
    sentences = arguments.get("sentences")
    if isinstance(sentences, str):
        return Draft(text=sentences)
    if isinstance(sentences, Mapping):
        sentences = [sentences]
    if not isinstance(sentences, Sequence):
        text = _text(arguments.get("text")) or _text(arguments.get("answer"))
        return Draft(text=text) if text else "`sentences` must be a list of objects with text, citations and quotes."
    drafted = tuple(sentence for sentence in map(_sentence, sentences) if sentence is not None)
    if drafted:
        return Draft(sentences=drafted, missing=_text(arguments.get("missing")))
    if sentences:
        return "Every sentence needs a text."
    return Draft(insufficient=True, missing=_text(arguments.get("missing")))


def cites(draft: Draft, label: str) -> bool:
    """Whether *draft* names the message with *label* anywhere."""
    return label in draft.text or any(label in one.citations or label in one.text for one in draft.sentences)


def _sentence(value: object) -> DraftSentence | None:
    if isinstance(value, str):
        return DraftSentence(value) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    text = _text(value.get("text")) or _text(value.get("sentence"))
    if not text:
        return None
    citations = _labels(value.get("citations"))
    quotes = tuple(_quotes(value.get("quotes"), citations))
    # Who names a message beside a quote cites it.
    named = dict.fromkeys((*citations, *(quote.label for quote in quotes if quote.label)))
    return DraftSentence(text, tuple(named), quotes)


def _quotes(value: object, citations: tuple[str, ...]) -> list[DraftQuote]:
    if isinstance(value, str | Mapping):
        value = [value]
    quotes = []
    for entry in value if isinstance(value, Sequence) else ():
        if isinstance(entry, Mapping):
            text, label = _text(entry.get("text")) or _text(entry.get("quote")), _bare(_text(entry.get("label")))
        else:
            text, label = _text(entry), ""
        if not label and len(citations) == 1:
            label = citations[0]
        if text:
            quotes.append(DraftQuote(label, text))
    return quotes


def _labels(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.strip(" []").replace(";", ",").split(",")
    if not isinstance(value, Sequence):
        return ()
    entries = (_text(entry.get("label")) if isinstance(entry, Mapping) else _text(entry) for entry in value)
    return tuple(dict.fromkeys(label for label in map(_bare, entries) if label))


def _bare(label: str) -> str:
    return label.strip(" []")


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(value: object) -> object:
    if isinstance(value, str):
        return " ".join(value.casefold().split())
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if inner not in (None, "", [], {})}
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    return value


def _id_for(name: str, value: object, ledger: Ledger) -> object:
    if isinstance(value, str):
        head = ledger.head(_bare(value))
        if head is None:
            return value
        if "thread" in name:
            return head.thread_id
        return head.message_id if "message" in name else value
    if isinstance(value, list | tuple):
        return [_id_for(name, inner, ledger) for inner in value]
    return value
