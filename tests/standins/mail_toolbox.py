"""The mail tools over a few messages in memory: enough of a search for the loop, and slow or broken where told."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from agentic.core.ports import ToolCall, ToolMessage, ToolResult, ToolSpec, ToolUnavailable
from mailsearch.hits import Address, AttachmentInfo, Excerpt, MessageHead, MessageText, PartText

_ID = {"type": "string", "maxLength": 60}


def _spec(name: str, *properties: str) -> ToolSpec:
    schema = {"type": "object", "properties": dict.fromkeys(properties, _ID), "additionalProperties": False}
    return ToolSpec(name, f"{name} in the mail.", schema)


SPECS = (_spec("search", "query"), _spec("read_message", "message"), _spec("read_thread", "thread"))


def message(
    number: int, body: str, *, sender: str = "ann@nordlicht.example", name: str = "Ann Berg", subject: str = "",
    thread: int | None = None, attachment: tuple[str, str] | None = None,
) -> MessageText:  # fmt: skip
    """A message of the *number*th day of March 2026, with an attachment (file name, text) if one is given."""
    received = datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=number)
    attachment_id = f"att_{number:022d}"
    parts = [PartText("subject", subject or f"Note {number}"), PartText("body", body)]
    infos: tuple[AttachmentInfo, ...] = ()
    if attachment:
        parts.append(PartText(f"attachment:{attachment_id}", attachment[1], filename=attachment[0]))
        infos = (AttachmentInfo(attachment_id, attachment[0], "text/plain", len(attachment[1]), "ok"),)
    head = MessageHead(
        message_id=f"msg_{number:022d}",
        thread_id=f"thr_{number if thread is None else thread:022d}",
        rfc_message_id=f"{number}@nordlicht.example",
        mailbox="family",
        folder="INBOX",
        subject=subject or f"Note {number}",
        sender=Address(name, sender),
        to=(Address("Jo Brandt", "jo@brandt.example"),),
        cc=(),
        sent_at=received,
        received_at=received,
        language="en",
        attachments=infos,
    )
    return MessageText(head, tuple(parts))


class MailToolbox:
    """Finds messages that share a word with the query. Keeps the calls, what was seen, and how many were stopped."""

    def __init__(self, *messages: MessageText, delay: float = 0.0, broken: bool = False) -> None:
        self.specs = SPECS
        self.calls: list[ToolCall] = []
        self.seen: list[frozenset[str]] = []
        self.stopped = 0
        self.delays: dict[str, float] = {}
        self.extra: Mapping[str, ToolResult] = {}
        self._messages = messages
        self._delay = delay
        self._broken = broken

    async def call(self, call: ToolCall, seen: frozenset[str], deadline: float) -> ToolResult:
        self.calls.append(call)
        self.seen.append(seen)
        assert call.arguments is not None
        try:
            await asyncio.sleep(self.delays.get(str(call.arguments.get("query")), self._delay))
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        if self._broken:
            raise ToolUnavailable("the database is away")
        if call.name in self.extra:
            return self.extra[call.name]
        found = self._found(call.name, call.arguments)
        if isinstance(found, str):
            return ToolResult(finding=found)
        messages = tuple(ToolMessage(one, tuple(_excerpts(one))) for one in found)
        return ToolResult(messages, len(messages), applied=dict(call.arguments))

    def _found(self, name: str, arguments: Mapping[str, object]) -> list[MessageText] | str:
        if set(arguments) - set(next(spec for spec in SPECS if spec.name == name).parameters["properties"]):  # type: ignore[call-overload]
            return "unknown argument"
        if name == "search":
            words = {word.strip("?.,").casefold() for word in str(arguments.get("query")).split()}
            return [one for one in self._messages if words & set(_words(one))]
        wanted = arguments.get("message") or arguments.get("thread")
        found = [one for one in self._messages if wanted in (one.head.message_id, one.head.thread_id)]
        return found or "not found"


def _words(one: MessageText) -> list[str]:
    return [word.strip("?.,:;").casefold() for part in one.parts for word in part.text.split()]


def _excerpts(one: MessageText) -> list[Excerpt]:
    return [Excerpt(part.name, 0, len(part.text), part.text) for part in one.parts if part.name != "subject"]
