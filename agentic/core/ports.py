"""What the loop is handed: a model that replies and a toolbox that reads mail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from mailsearch.hits import Excerpt, MessageText

WidenKind = Literal["outside_scope", "unknown_property", "unseen_id", "quarantine", "marker"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more replies, and what they cost in USD."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it: a name, one paragraph, and a closed JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model sent it. `arguments` is None where they were no JSON object."""

    call_id: str
    name: str
    arguments: Mapping[str, object] | None
    raw_arguments: str = ""


@dataclass(frozen=True, slots=True)
class WidenAttempt:
    """An argument that would have reached beyond the caller's scope. It had no effect."""

    kind: WidenKind
    tool: str
    argument: str
    requested: str
    effective: str | None = None


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A message that a tool returned: whole for verification, with the excerpts that the model is shown."""

    message: MessageText
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back. `messages` become evidence; `notes` are lines without mail text (counts, contacts).

    `mail_lines` are lines made of strings an attacker can write (names, addresses, subjects), to be fenced.
    `finding` says what to repair in the call; it never echoes the argument's text.
    """

    messages: tuple[ToolMessage, ...] = ()
    total: int = 0
    notes: tuple[str, ...] = ()
    mail_lines: tuple[str, ...] = ()
    applied: Mapping[str, object] = field(default_factory=dict)
    finding: str = ""
    widen: tuple[WidenAttempt, ...] = ()
    nearest: tuple[str, ...] = ()
    # Offset at which the next page of this result begins; None at its end.
    next_offset: int | None = None


class ToolUnavailable(Exception):
    """A tool could not be used for a reason that is not the call's: the database, a deadline."""


class Toolbox(Protocol):
    """The read-only mail tools, bound to one caller's scope."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def call(self, call: ToolCall, seen: frozenset[str], deadline: float) -> ToolResult:
        """Validate, narrow to the scope, and read. *seen* are the message, thread and attachment ids that this run's
        tools have returned or the question names; *deadline* is on the clock of `time.monotonic`.

        Raises ToolUnavailable.
        """
        ...


@dataclass(frozen=True, slots=True)
class PromptTurn:
    """One turn of the conversation with the model: `system`, `user`, `assistant` or `tool`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message as this run's model may cite it, for a reader that works on values instead of text."""

    label: str
    message: MessageText
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is asked. A chat model reads `turns`; the extractive reader reads the values beside them."""

    phase: str
    turns: tuple[PromptTurn, ...]
    tools: tuple[ToolSpec, ...]
    # Name of the tool that must be called, or empty.
    forced_tool: str
    question: str
    shown: tuple[ShownMessage, ...]
    # Queries that were already run in this run.
    queries: tuple[str, ...]
    now: datetime
    timezone: str
    session: str
    max_output_tokens: int = 2000
    static_characters: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the model. `reasoning` is kept apart and is never an answer."""

    model: str
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = ""
    reasoning: str = ""


class ModelFault(Exception):
    """A reply did not come, or can't be used. `code` is a stable reason code, `charged` whether it cost a step."""

    def __init__(self, code: str, detail: str = "", *, charged: bool = False, usage: Usage | None = None) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.charged = charged
        self.usage = usage or Usage()


class Model(Protocol):
    """Something that replies to a prompt."""

    @property
    def name(self) -> str: ...

    async def reply(self, prompt: Prompt, deadline: float) -> Reply:
        """One reply, or ModelFault. *deadline* is on the clock of `time.monotonic`; cancelling is always safe."""
        ...
