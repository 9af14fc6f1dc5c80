"""What is stored, held against what is expected; each difference is one sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentic.evaluation.faults.account import Account
from mailsearch.models import Attachment, Message, RawMessage

Expected = Mapping[str, Any]

# What parsing calls a message of which next to nothing could be read.
_FATAL = {"timed_out", "crashed", "not-stored", "unreadable"}
_STATES = {"password_protected": {"encrypted"}, "failed": {"corrupt", "timed_out"}}


@dataclass(slots=True)
class Missed:
    """Searches that did not bring what they should."""

    required: list[str] = field(default_factory=list)
    wished: list[str] = field(default_factory=list)


def counts(account: Account, expected: Expected) -> Iterator[str]:
    """How many messages there are, which must not be, and how long it took."""
    with account.seeing():
        stored = Message.objects.filter(tenant=account.tenant, container=None).count()
        raw = RawMessage.objects.filter(tenant=account.tenant).count()
        present = [name for name in expected.get("not_imported", ()) if account.message(name)]
    allowed = expected.get("message_count_any_of") or [expected.get("message_count", stored)]
    if stored not in allowed:
        yield f"{stored} messages are stored, not {' or '.join(map(str, allowed))}"
    if raw != stored:
        yield f"{raw} raw messages are kept of {stored}"
    yield from (f"{name} was taken in" for name in present)
    most = expected.get("limits", {}).get("max_seconds")
    if most is not None and account.seconds > most:
        yield f"the import took {account.seconds:.1f} s, more than {most}"


def repeated(account: Account, inputs: Sequence[Path], expected: Expected) -> Iterator[str]:
    """A second import of the same mail adds as much as is expected: nothing, unless it says otherwise."""
    added = account.take_in(inputs)
    if added != expected.get("reimport_adds", 0):
        yield f"a second import added {added} messages"


def messages(account: Account, expected: Sequence[Expected]) -> Iterator[str]:
    """Every message that is described: is it there, and is it as described?"""
    with account.seeing():
        for described in expected:
            name = str(described.get("file") or described.get("message_id"))
            found = account.message(name) or account.message(str(described.get("message_id", "")))
            if found is None:
                yield f"{name} is not stored"
                continue
            yield from (f"{name}: {difference}" for difference in _message(found, described))


def _message(found: Message, described: Expected) -> Iterator[str]:
    yield from _status(found, described)
    yield from _headers(found, described)
    yield from _text(found, described)
    yield from _attachments(found, described)
    if "flags" in described and set(described["flags"]) != set(found.flags):
        yield f"the flags are {found.flags}"
    if "folder" in described and described["folder"] != found.folder.path:
        yield f"the folder is {found.folder.path!r}"
    if "event" in described:
        said = " ".join(map(str, found.extras.values())) + found.body_text
        yield from (
            f"the event lacks {key} {value}" for key, value in described["event"].items() if not _holds(said, value)
        )


def _holds(said: str, value: str) -> bool:
    """Whether a fact of an event is in *said*: literally, or as the same moment."""
    moment = _moment(value)
    if moment is None:
        return value.lower() in said.lower()
    stamps = re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[-+]\d\d:?\d\d)?", said)
    return any(_moment(stamp) == moment for stamp in stamps)


def _defects(found: Message) -> list[str]:
    """Everything recorded against a message, what is inside it, and its attachments, as words."""
    family = [found, *Message.objects.filter(container=found)]
    recorded = [" ".join((one["code"], one["part"], one["explanation"])) for row in family for one in row.defects]
    states = Attachment.objects.filter(message__in=family).exclude(state__in=("ok", "empty", "unsupported"))
    return recorded + [f"attachment {one.filename} {one.state}" for one in states]


def _status(found: Message, described: Expected) -> Iterator[str]:
    codes = {defect["code"] for defect in found.defects}
    status = described.get("status")
    recorded = _defects(found)
    if status in ("ok", "ok_or_defect") and codes & _FATAL and not (status == "ok_or_defect" and recorded):
        yield f"it could not be read: {', '.join(sorted(codes & _FATAL))}"
    if status == "stored_with_defect" and not recorded:
        yield "no defect is recorded"
    hints = [_plain(hint) for hint in described.get("defect_any_of", ())]
    said = _plain(" ".join(recorded))
    if recorded and hints and status == "stored_with_defect" and not any(hint in said for hint in hints):
        yield f"the defects are about something else: {recorded}"


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _headers(found: Message, described: Expected) -> Iterator[str]:
    subjects = _any_of(described, "subject")
    if subjects and _folded(found.subject) not in {_folded(one or "") for one in subjects}:
        yield f"the subject is {found.subject!r}"
    if described.get("subject_is_single_line") and len(found.subject.splitlines()) > 1:
        yield "the subject has several lines"
    senders = list(found.participants.filter(role="from").order_by("position"))
    if "from_count" in described and len(senders) != described["from_count"]:
        yield f"{len(senders)} senders"
    yield from _sender([(one.name, one.address) for one in senders], described)
    if "bcc" in described and found.participants.filter(role="bcc").count() != len(described["bcc"]):
        yield "there are blind copies"
    dates = _any_of(described, "date")
    if dates and found.sent_at not in [_moment(one) if one else None for one in dates]:
        yield f"the date is {found.sent_at}"


def _any_of(described: Expected, key: str) -> list[Any]:
    return [described[key]] if key in described else list(described.get(f"{key}_any_of", ()))


def _sender(senders: Sequence[tuple[str, str]], described: Expected) -> Iterator[str]:
    addresses = {address for _, address in senders}
    wanted = _any_of(described, "from_address")
    if isinstance(described.get("from"), str):
        wanted.append(described["from"])
    elif isinstance(described.get("from"), Mapping):
        pair = (described["from"].get("name", ""), described["from"].get("address", ""))
        if pair not in senders:
            yield f"the sender is {senders}"
    if wanted and not addresses & {one.lower() for one in wanted if one}:
        yield f"the sender is {senders}"
    for name in described.get("from_address_must_not_be", ()):
        if name.lower() in addresses:
            yield f"{name} is taken for an address"


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _contains(text: str, wanted: str) -> bool:
    """Whether *wanted* is in *text* but for white space; a line end before it means "at the start of a line"."""
    if wanted.startswith("\n"):
        return any(_folded(line).startswith(_folded(wanted)) for line in text.splitlines())
    return _folded(wanted) in _folded(text) if wanted.strip() else wanted in text


def _text(found: Message, described: Expected) -> Iterator[str]:
    text = found.body_text
    for wanted in described.get("text_contains", ()):
        if not _contains(text, wanted):
            yield f"the text lacks {wanted!r}"
    choices = described.get("text_contains_any_of", ())
    if choices and not any(_contains(text, one) for one in choices):
        yield f"the text has none of {choices}"
    for unwanted in described.get("text_excludes", ()):
        if _contains(text, unwanted):
            yield f"the text has {unwanted!r}"
    for wanted in _listed(described.get("text_contains_or_defect", ())):
        if not _contains(text, wanted) and not _defects(found):
            yield f"neither {wanted!r} nor a defect"


def _listed(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _attachments(found: Message, described: Expected) -> Iterator[str]:
    own = list(found.attachments.order_by("position"))
    inner = list(Attachment.objects.filter(message__container=found).order_by("message_id", "position"))
    yield from _filenames([one.filename for one in own], described)
    exact = described.get("attachments")
    if exact is not None and len(exact) != len(own):
        yield f"the attachments are {[one.filename for one in own]}"
    elif exact is not None:
        for wanted, one in zip(exact, own, strict=True):
            yield from _attachment(one, wanted)
    for wanted in described.get("attachments_include", ()):
        named = [one for one in own + inner if one.filename == wanted.get("filename", one.filename)]
        if all(list(_attachment(one, wanted)) for one in named):
            yield f"no attachment is as {wanted}"


def _filenames(names: Sequence[str], described: Expected) -> Iterator[str]:
    if "attachment_count" in described and len(names) != described["attachment_count"]:
        yield f"{len(names)} attachments"
    if described.get("filenames_have_no_path") and any(re.search(r"[/\\]|^\.\.?$", name) for name in names):
        yield f"a file name has a path: {names}"
    if described.get("filenames_have_no_control_characters") and not all(name.isprintable() for name in names):
        yield "a file name has control characters"


def _attachment(found: Attachment, wanted: Expected) -> Iterator[str]:
    for key, value in (("filename", found.filename), ("content_type", found.content_type), ("size", found.size)):
        if key in wanted and wanted[key] != value:
            yield f"the {key} of {found.filename!r} is {value!r}"
    status = wanted.get("extraction_status")
    if status and found.state not in _STATES.get(status, {status}):
        yield f"the state of {found.filename!r} is {found.state}"
    for text in _listed(wanted.get("text_contains", ())):
        if not _contains(found.text, text):
            yield f"the text of {found.filename!r} lacks {text!r}"
    for text in _listed(wanted.get("text_excludes", ())):
        if _contains(found.text, text):
            yield f"the text of {found.filename!r} has {text!r}"


def threads(account: Account, expected: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each list of messages is one thread, and no two lists share one."""
    seen: dict[int, Sequence[str]] = {}
    for names in expected:
        numbers = _thread_numbers(account, names)
        if len(numbers) != 1 or None in numbers:
            yield f"not in one thread: {list(names)}"
        for number in (one for one in numbers if one):
            if number in seen:
                yield f"in one thread: {[*seen[number], *names]}"
            seen[number] = names


def _thread_numbers(account: Account, names: Sequence[str]) -> set[int | None]:
    """The threads of the messages *names*; None for one that is not stored."""
    with account.seeing():
        found = [account.message(name) for name in names]
        return {one.thread_id if one else None for one in found}


def searches(account: Account, expected: Sequence[Expected]) -> Missed:
    """Each query brings what it must and not what it must not; no query fails."""
    missed = Missed()
    for row in expected:
        query = str(row["query"])
        shown = query if len(query) < 60 else f"{query[:60]}…"
        try:
            found = set(account.found_by(query))
        except Exception as error:  # noqa: BLE001
            # Whatever a query raises is the finding that this check is for.
            missed.required.append(f"the query {shown!r} fails: {type(error).__name__}: {error}")
            continue
        if row.get("must_return") == [] and found:
            missed.required.append(f"the query {shown!r} finds {sorted(found)}")
        missed.required += [
            f"the query {shown!r} misses {one}" for one in row.get("must_return", ()) if one not in found
        ]
        missed.required += [
            f"the query {shown!r} finds {one}" for one in row.get("must_not_return", ()) if one in found
        ]
        missed.wished += [
            f"the query {shown!r} misses {one}" for one in row.get("should_return", ()) if one not in found
        ]
    return missed
