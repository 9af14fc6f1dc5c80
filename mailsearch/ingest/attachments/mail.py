"""Messages kept as files: .eml by our own reader, Outlook's .msg by its library."""

import io

import oxmsg

from mailsearch.ingest import bodies, charset, entities, headers, html, plain
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.parsed import ParsedText

_SHOWN = (("from", "From"), ("to", "To"), ("cc", "Cc"), ("date", "Date"), ("subject", "Subject"))


def read_eml(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a message: its main headers as rows, then its body."""
    root = entities.read(content)
    if not root.fields:
        return "corrupt", ParsedText("")
    builder = TextBuilder()
    for key, label in _SHOWN:
        value = headers.text(root.header(key)).value
        if value:
            builder.add(f"{label}: {value}", "row")
    return "ok", bodies.join([builder.parsed(), bodies.read(root).text])


def read_msg(content: bytes) -> tuple[str, ParsedText]:
    """State and text of an Outlook message."""
    message = oxmsg.Message.load(io.BytesIO(content))
    builder = TextBuilder()
    recipients = ", ".join(f"{one.name} <{one.email_address}>" for one in message.recipients)
    sent = message.sent_date
    rows = (("From", message.sender or ""), ("To", recipients), ("Date", str(sent or "")), ("Subject", message.subject))
    for label, value in rows:
        if value:
            builder.add(f"{label}: {headers.one_line(value)}", "row")
    names = [headers.safe_filename(one.file_name or "") for one in message.attachments]
    if any(names):
        builder.add(f"Attachments: {', '.join(filter(None, names))}", "row")
    return "ok", bodies.join([builder.parsed(), _msg_body(message)])


def _msg_body(message: oxmsg.Message) -> ParsedText:
    text = plain.visible_text(charset.clean(message.body or ""))
    if text.text.strip():
        return text
    return html.visible_text(message.html_body or "")
