"""The least that can be said of a message that could not be parsed, read in a way that can't fail or take long."""

import re

from mailsearch.hits import Authentication
from mailsearch.ingest import charset
from mailsearch.ingest.parsed import Defect, ParsedAddress, ParsedMessage, ParsedText

_HEADERS = 16_000
_FIELD = re.compile(r"(?im)^(subject|from|to|cc|message-id)[ \t]*:[ \t]*([^\r\n]{0,500})")
_ADDRESS = re.compile(r"[\w.+%'-]{1,64}@[\w.-]{1,200}")
_SAID = {
    "timed_out": "Reading the message took longer than allowed; only some headers were read.",
    "crashed": "Reading the message ended the process; only some headers were read.",
}


def message(raw: bytes, reason: str) -> ParsedMessage:
    """A message with subject, addresses and Message-ID where they stand plainly; *reason* is the defect's code."""
    head = re.split(r"\r?\n\r?\n|\r\r", charset.decode(raw[:_HEADERS]).text, maxsplit=1)[0]
    fields: dict[str, str] = {}
    for match in _FIELD.finditer(head):
        fields.setdefault(match[1].lower(), charset.clean(match[2]).strip())
    people = tuple(
        ParsedAddress(role, "", address)
        for role in ("from", "to", "cc")
        for address in _ADDRESS.findall(fields.get(role, ""))[:50]
    )
    return ParsedMessage(
        rfc_message_id=fields.get("message-id", "").strip("<> ")[:990],
        in_reply_to=(),
        references=(),
        subject=fields.get("subject", ""),
        addresses=people,
        sent_at=None,
        received_at=None,
        body=ParsedText(""),
        language="",
        authentication=Authentication(),
        attachments=(),
        defects=(Defect(reason, "", _SAID.get(reason, "The message could not be read.")),),
    )
