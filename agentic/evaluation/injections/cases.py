"""Hostile mails as a file of cases holds them, and each as the message that a server would have received."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

from agentic.evaluation import sampling
from agentic.evaluation.report import BadInput

BENIGN = "benign-control"
_STRANGER = "stranger@elsewhere.example"
_PLACE = re.compile(r"\{\{([A-Z_0-9]{1,40})\}\}")
_LINE_END = re.compile(r"[\r\n\x00]+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HEADER_NAME = re.compile(r"[!-9;-~]{1,70}")


@dataclass(frozen=True, slots=True)
class Row:
    """One mail of the file, the question that brings it up, and what must then not have happened."""

    case_id: str
    category: str
    question: str
    subject: str
    text: str | None
    html: str | None
    sender: tuple[str, str]
    headers: tuple[tuple[str, str], ...]
    # Name and text of each.
    attachments: tuple[tuple[str, str], ...]
    # Must not be in the response nor in an event.
    never_said: tuple[str, ...]
    # Must not be in an argument that takes effect.
    never_applied: tuple[str, ...]
    must_say: tuple[str, ...]
    # Rows with equal groups arrive together.
    group: str
    # What must not be said is in no text that a reader of the mail sees, so no quote excuses it.
    hidden: bool

    @property
    def benign(self) -> bool:
        return self.category == BENIGN


def read(file: Path) -> list[Row]:
    """The rows of *file*, one JSON object a line; those of type `header` are skipped. Raises BadInput."""
    rows = []
    try:
        lines = file.read_text(encoding="utf-8").split("\n")  # splitlines would cut at U+2028 inside a text
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} can't be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if value.get("type") != "header":
                rows.append(_row(value, number))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"line {number} of {file} is no hostile mail: {error!r}") from error
    if not rows:
        raise BadInput(f"{file} holds no hostile mail")
    return rows


def sample(rows: Sequence[Row], limit: int | None, seed: int) -> list[Row]:
    """*limit* of *rows*, from each category as near to its share as can be, the same ones for the same *seed*."""
    return sampling.sample(rows, lambda row: row.category, lambda row: row.case_id, limit, seed)


def filled(row: Row, values: Mapping[str, str]) -> Row:
    """*row* with `{{NAME}}` replaced wherever *values* knows the name."""

    def fill(text: str) -> str:
        return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)

    return replace(
        row,
        question=fill(row.question),
        subject=fill(row.subject),
        text=None if row.text is None else fill(row.text),
        html=None if row.html is None else fill(row.html),
        attachments=tuple((fill(name), fill(text)) for name, text in row.attachments),
        never_said=tuple(map(fill, row.never_said)),
        never_applied=tuple(map(fill, row.never_applied)),
    )


def to_mail(row: Row) -> bytes:
    """*row* as an RFC 5322 message with MIME parts, as far as headers can hold what it says."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = _address(*row.sender)
    mail["To"] = "asker@home.example"
    mail["Subject"] = _line(row.subject)
    mail["Date"] = "Tue, 14 Apr 2026 09:30:00 +0000"
    mail["Message-ID"] = f"<{re.sub('[^A-Za-z0-9.-]', '-', row.case_id)}@elsewhere.example>"
    for name, value in row.headers:
        if _HEADER_NAME.fullmatch(name) and name.lower() not in {"from", "to", "subject", "date", "message-id"}:
            mail[name] = _line(value)
    if row.text is not None or row.html is None:
        mail.set_content(_whole(row.text or ""), cte="base64")
        if row.html is not None:
            mail.add_alternative(_whole(row.html), subtype="html", cte="base64")
    else:
        mail.set_content(_whole(row.html), subtype="html", cte="base64")
    for name, text in row.attachments:
        mail.add_attachment(_whole(text).encode(), "text", "plain", filename=_line(name))
    return mail.as_bytes()


def _row(value: Mapping[str, Any], number: int) -> Row:
    checks = value.get("checks") or {}
    case_id = str(value.get("id", number))
    category = str(value.get("category", ""))
    address = str(value.get("from_addr") or _STRANGER)
    return Row(
        case_id=case_id,
        category=category,
        question=str(value["user_query"]),
        subject=str(value.get("subject") or ""),
        text=_optional(value.get("body_text")),
        html=_optional(value.get("body_html")),
        sender=(str(value.get("from_display") or ""), address),
        headers=tuple(_headers(value.get("headers"))),
        attachments=tuple((str(one["filename"]), str(one.get("text", ""))) for one in value.get("attachments") or ()),
        never_said=_strings(checks.get("answer_must_not_contain")),
        never_applied=_strings(checks.get("tool_args_must_not_contain")),
        must_say=_strings(checks.get("answer_must_contain")),
        group=str(value.get("part_of") or case_id),
        hidden=bool(value.get("hidden_marker")) or category.startswith("hidden"),
    )


def _optional(value: Any) -> str | None:
    return None if value is None else str(value)


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value or () if str(one))


def _headers(value: Any) -> Iterable[tuple[str, str]]:
    pairs = value.items() if isinstance(value, Mapping) else value or ()
    return [(str(name), str(content)) for name, content in pairs]


def _address(name: str, address: str) -> Address | str:
    try:
        return Address(_line(name), addr_spec=_line(address))
    except (ValueError, IndexError):
        # No address at all: then the header is as it was written.
        return Address(_line(f"{name} {address}"), addr_spec=_STRANGER)


def _line(text: str) -> str:
    return _whole(_LINE_END.sub(" ", text)).strip()


def _whole(text: str) -> str:
    """*text* without half of a surrogate pair, which no charset can carry."""
    return _SURROGATE.sub("\ufffd", text)
