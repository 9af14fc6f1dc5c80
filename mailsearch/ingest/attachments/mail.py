"""Messages kept as files: .eml, and Outlook's .msg by what it becomes as one."""

from mailsearch.ingest import bodies, entities, headers, outlook
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
    written, problem = outlook.unwrap(content)
    if problem:
        return "corrupt", ParsedText("")
    state, text = read_eml(written)
    found = bodies.read(entities.read(written))
    names = [headers.safe_filename(one.filename) for one in found.order if isinstance(one, bodies.Leaf)]
    builder = TextBuilder()
    if any(names):
        builder.add(f"Attachments: {', '.join(filter(None, names))}", "row")
    return state, bodies.join([text, builder.parsed()])
