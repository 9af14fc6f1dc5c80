"""A reply, understood: calls of tools in any of the forms in which models write them, an answer, or neither.

Hosted and small models write calls also as text: in fenced JSON, between `<tool_call>` tags, as bare JSON. All of them
become the same calls. Reasoning is taken away first and is never an answer.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from agentic.core.answer import Draft
from agentic.core.labels import CITATION_MARKER
from agentic.core.ports import Reply, ToolCall
from agentic.core.toolcall import ANSWER, INSUFFICIENT, read_final

_THINKING = re.compile(
    r"<(think|thinking|reasoning|reflection)>.*?</\1>|<(?:think|thinking|reasoning|reflection)>.*\Z"
    r"|\A.*?</(?:think|thinking|reasoning|reflection)>",
    re.DOTALL | re.IGNORECASE,
)
_TAGGED_CALL = re.compile(r"<(tool_call|function_call|tool)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_NAMED_CALL = re.compile(r"<function=([A-Za-z_]{1,40})>(.*?)(?:</function>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[A-Za-z_]{0,20}[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_CALL_LIST = re.compile(r"\[TOOL_CALLS\]\s*(.*)\Z", re.DOTALL)
_TEXT_AT_MOST = 60_000
# Deeper than any call is nested, and far from what the interpreter's stack bears.
_LAYERS_AT_MOST = 40


@dataclass(frozen=True, slots=True)
class ReadCall:
    """One call; `finding` says in words for the model why it can't be made, and is empty where it can."""

    call: ToolCall
    finding: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply asks for: a draft, or calls, or (with a `fault` code) nothing that can be used."""

    calls: tuple[ReadCall, ...] = ()
    draft: Draft | None = None
    fault: str = ""
    detail: str = ""
    # What was said where a reply holds no call and cites nothing.
    prose: str = ""
    # False where the model gave a fault in place of a reply.
    arrived: bool = True


def read_reply(reply: Reply, tools: Collection[str]) -> Reading:
    """Understand *reply*, where *tools* are the names of the mail tools.

    An answer wins over searches in the same reply; searches win over a declared insufficiency. Fault codes: `empty`,
    `no_call`, `invalid_json`, `unknown_tool`, `bad_answer`, `cut`.
    """
    text = split_reasoning(reply.text[:_TEXT_AT_MOST])[0]
    calls = reply.tool_calls or tuple(textual_calls(text))
    if not calls:
        return _read_prose(text, reply.finish_reason)
    finals = [call for call in calls if call.name in (ANSWER, INSUFFICIENT) and call.arguments is not None]
    searches = tuple(_check(call, tools) for call in calls if call.name not in (ANSWER, INSUFFICIENT))
    useful = [read for read in searches if not read.finding]
    final = next((call for call in finals if call.name == ANSWER), finals[0] if finals and not useful else None)
    if final is not None and final.arguments is not None:
        draft = read_final(final.name, final.arguments)
        if isinstance(draft, Draft):
            return Reading(draft=draft)
        return Reading((ReadCall(final, draft),), fault="bad_answer", detail=draft)
    return _read_searches(calls, searches, tools, reply.finish_reason)


def split_reasoning(text: str) -> tuple[str, str]:
    """What is said, and what was only thought: blocks between `<think>` tags, also unclosed or unopened ones."""
    thoughts = [match.group(0) for match in _THINKING.finditer(text)]
    return _THINKING.sub("", text).strip(), "\n".join(thoughts)


def textual_calls(text: str) -> Iterator[ToolCall]:
    """Calls that a model wrote as text. Nothing where *text* holds none."""
    for match in _NAMED_CALL.finditer(text):
        arguments = _load(match.group(2))
        yield ToolCall("", match.group(1), arguments if isinstance(arguments, Mapping) else None, match.group(2))
    for piece in _pieces(_NAMED_CALL.sub("", text)):
        yield from _calls_in(_load(piece))


def _read_prose(text: str, finish_reason: str) -> Reading:
    if not text:
        return Reading(fault="cut" if finish_reason == "length" else "empty")
    if CITATION_MARKER.search(text):
        return Reading(draft=Draft(text=text))
    return Reading(fault="no_call", detail="Reply by calling a tool.", prose=text)


def _read_searches(
    calls: tuple[ToolCall, ...], searches: tuple[ReadCall, ...], tools: Collection[str], finish_reason: str
) -> Reading:
    read = searches or tuple(_check(call, tools) for call in calls)
    if any(not one.finding for one in read):
        return Reading(read)
    broken = any(one.call.arguments is None for one in read)
    fault = "unknown_tool" if not broken else "cut" if finish_reason == "length" else "invalid_json"
    return Reading(read, fault=fault, detail=read[0].finding)


def _check(call: ToolCall, tools: Collection[str]) -> ReadCall:
    if call.arguments is None:
        return ReadCall(call, "The arguments were no JSON object.")
    if call.name not in tools:
        return ReadCall(call, "There is no such tool.")
    return ReadCall(call)


def _pieces(text: str) -> Iterator[str]:
    for pattern, group in ((_TAGGED_CALL, 2), (_CALL_LIST, 1), (_FENCED, 1)):
        found = [match.group(group) for match in pattern.finditer(text)]
        if found:
            yield from found
            return
    start = min((at for at in (text.find("{"), text.find("[{")) if at >= 0), default=-1)
    if start >= 0:
        yield text[start:]


def _load(text: str) -> object:
    """The first JSON value in *text*, or None where there is none that can be worked on."""
    text = text.strip()
    try:
        value: object = json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value if is_sound(value) else None


def is_sound(value: object, *, finite: bool = True) -> bool:
    """Whether *value*, read from JSON, is nested no deeper than code may follow, and (with *finite*) free of numbers
    that JSON itself has no form for: NaN and infinities, which no database keeps."""
    layer = [value]
    for _ in range(_LAYERS_AT_MOST):
        if finite and any(isinstance(one, float) and not math.isfinite(one) for one in layer):
            return False
        layer = [inner for one in layer for inner in _inside(one)]
        if not layer:
            return True
    return False


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _calls_in(value: object) -> Iterator[ToolCall]:
    if isinstance(value, list):
        for entry in value:
            yield from _calls_in(entry)
        return
    if not isinstance(value, Mapping):
        return
    nested = value.get("tool_calls") or value.get("function") or value.get("final")
    if isinstance(nested, list | Mapping):
        yield from _calls_in(nested)
        return
    call = _call_in(value)
    if call is not None:
        yield call


def _call_in(value: Mapping[object, object]) -> ToolCall | None:
    name = value.get("name") or value.get("tool") or value.get("tool_name") or value.get("function")
    if isinstance(name, str):
        arguments = next((value[key] for key in ("arguments", "parameters", "args", "input") if key in value), {})
        return ToolCall("", name, parse_arguments(arguments), json.dumps(arguments))
    if "sentences" in value:
        return ToolCall("", ANSWER, _named(value))
    if "missing" in value:
        return ToolCall("", INSUFFICIENT, _named(value))
    if "query" in value:
        return ToolCall("", "search", _named(value))
    return None


def parse_arguments(arguments: object) -> Mapping[str, object] | None:
    """Arguments as an object, also where they came as a string of JSON; None where they are neither."""
    if isinstance(arguments, str):
        arguments = _load(arguments) if arguments.strip() else {}
    return _named(arguments) if isinstance(arguments, Mapping) and is_sound(arguments) else None


def _named(value: Mapping[object, object]) -> Mapping[str, object]:
    return {str(key): inner for key, inner in value.items()}


def with_ids(calls: tuple[ReadCall, ...], first: int) -> tuple[ReadCall, ...]:
    """*calls* under ids of the run's own (`call_<n>` from *first* on): models repeat theirs or give none."""
    return tuple(
        replace(read, call=replace(read.call, call_id=f"call_{number}")) for number, read in enumerate(calls, first)
    )
