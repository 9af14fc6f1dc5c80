"""How mail looks in a prompt: a few lines a message, cleaned, behind a fence of its own for each tool result."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from agentic.core.fence import clean, clean_line, fence, new_marker
from agentic.core.labels import Below
from agentic.core.ports import ShownMessage, ToolResult
from mailsearch.hits import Address, Excerpt, MessageHead, MessageText

_PEOPLE_AT_MOST = 4
_LINE_AT_MOST = 200
_LEAST_SHARE = 300


def fenced(lines: Iterable[str], below: Below) -> tuple[str, str]:
    """Cleaned *lines* behind a fence, and the fence's marker."""
    text = "\n".join(lines)
    # Fresh for each result: a mail written before cannot contain it.
    marker = new_marker(text, below)
    return fence(text, marker), marker


def render_message(shown: ShownMessage, zone: ZoneInfo) -> str:
    """One message with its label, who wrote it and when, and the excerpts in *shown*."""
    head = shown.message.head
    lines = [
        f"[{shown.label}] {_when(head, zone)} from {_person(head.sender)}{_marks(head)}",
        f"to {_people(head.to + head.cc)}",
        f"subject: {_short(head.subject)}",
    ]
    if not shown.excerpts:
        lines.append("(nothing new of it to show)")
    lines.extend(_excerpt(excerpt, shown.message) for excerpt in shown.excerpts)
    lines.extend(
        f"attachment {attachment.attachment_id}: {_short(attachment.filename)} ({attachment.state})"
        for attachment in head.attachments
    )
    return "\n".join(lines)


def _when(head: MessageHead, zone: ZoneInfo) -> str:
    moment = head.sent_at or head.received_at
    text = _in_zone(moment, zone)
    if head.date_disputed:
        text += f" (its own date is doubtful; received {_in_zone(head.received_at, zone)})"
    return text


def _in_zone(moment: datetime, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _marks(head: MessageHead) -> str:
    marks = ""
    if head.sender.name_conflict:
        marks += " (this name is known from another address)"
    if head.attached_to:
        marks += f" (attached to a mail from {_short(head.attached_to)})"
    return marks


def _person(person: Address) -> str:
    address = clean_line(person.address)[:_LINE_AT_MOST]
    return f"{_short(person.name)} <{address}>" if person.name else f"<{address}>"


def _people(people: tuple[Address, ...]) -> str:
    names = ", ".join(_person(person) for person in people[:_PEOPLE_AT_MOST])
    more = len(people) - _PEOPLE_AT_MOST
    return (names or "nobody named") + (f" and {more} more" if more > 0 else "")


def _excerpt(excerpt: Excerpt, message: MessageText) -> str:
    place = excerpt.part
    part = message.part(excerpt.part)
    if excerpt.part.startswith("attachment:"):
        place = f"attachment {_short(part.filename if part else '')}"
    if excerpt.page is not None:
        place += f", page {excerpt.page}"
    return f"{place}: {_whose(excerpt, message)}{clean(excerpt.text)}"


def _whose(excerpt: Excerpt, message: MessageText) -> str:
    """A note where the excerpt's words are mostly not the sender's own."""
    part = message.part(excerpt.part)
    for region in part.regions if part else ():
        overlap = min(excerpt.end, region.end) - max(excerpt.start, region.start)
        if region.kind != "signature" and overlap * 2 > excerpt.end - excerpt.start:
            word = "repeats an earlier mail" if region.kind == "quoted" else "forwarded"
            return f"({word}) "
    return ""


def _short(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= _LINE_AT_MOST else line[: _LINE_AT_MOST - 1] + "…"


def render_result(
    result: ToolResult, shown: Iterable[ShownMessage], left_out: int, room: int, zone: ZoneInfo, below: Below
) -> tuple[str, str]:
    """What the model reads of one result, and the marker of its fence ("" where it shows no mail).

    Notes and counts are the service's own words and stand before the fence; all that a stranger can write stands in it.
    """
    lines = [render_message(message, zone) for message in shown]
    lines.extend(_mail_lines(result.mail_lines, room))
    told = [f"Could not be done: {result.finding}"] if result.finding else []
    told.extend(result.notes)
    if lines:
        told.append(f"{len(lines)} shown of {max(result.total, len(lines))}.")
    elif not result.finding:
        told.append("Nothing found.")
    if left_out:
        told.append(f"{left_out} more had no room: narrow the search, or read a single one.")
    if result.next_offset is not None:
        told.append(f"More with offset {result.next_offset}.")
    if not lines:
        return "\n".join(told), ""
    text, marker = fenced(lines, below)
    return "\n".join([*told, text]), marker


def _mail_lines(lines: Iterable[str], room: int) -> Iterable[str]:
    for line in lines:
        text = clean_line(line)
        room -= len(text)
        if room < 0:
            return
        yield text


def render_everything(shown: Sequence[ShownMessage], room: int, zone: ZoneInfo, below: Below) -> tuple[str, str]:
    """All of *shown* in about *room* characters, each message with an equal share; and the fence's marker."""
    if not shown:
        return "Nothing found.", ""
    share = max(_LEAST_SHARE, room // len(shown))
    lines = [render_message(message, zone)[:share] for message in shown[: max(1, room // share)]]
    return fenced(lines, below)
