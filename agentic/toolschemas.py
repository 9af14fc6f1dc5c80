"""The six mail tools as a model or an MCP client is told of them: closed JSON Schemas, everything in them bounded."""

from collections.abc import Mapping

from agentic.core.ports import ToolSpec
from agentic.filters import PROPERTIES

LIMIT, OFFSET = 20, 80
CHARACTERS = 5_000_000
_ID = {"type": "string", "minLength": 1, "maxLength": 60}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": OFFSET, "description": "How many results to pass over."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": LIMIT}
_FROM_CHARACTER = {
    "type": "integer",
    "minimum": 0,
    "maximum": CHARACTERS,
    "description": "Character at which to go on reading.",
}


def _closed(properties: Mapping[str, object], *required: str) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _properties(spec: ToolSpec) -> frozenset[str]:
    properties = spec.parameters["properties"]
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


SEARCH = ToolSpec(
    "search",
    "Search the mail by words and meaning. Use the words that the mail itself would use; narrow by who, when and where "
    "with the filters. Mail that these filters do not fit is not found.",
    _closed(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": 2000},
            "mode": {"type": "string", "enum": ["hybrid", "keyword", "semantic"]},
            **PROPERTIES,
            "limit": _LIMIT,
            "offset": _OFFSET,
        },
        "query",
    ),
)
READ_THREAD = ToolSpec(
    "read_thread",
    "Read a conversation in order of time: the beginning of each of its messages.",
    _closed({"thread": _ID, "offset": _OFFSET, "limit": _LIMIT}, "thread"),
)
READ_MESSAGE = ToolSpec(
    "read_message",
    "Read the body of one message that was found before.",
    _closed({"message": _ID, "offset": _FROM_CHARACTER}, "message"),
)
READ_ATTACHMENT = ToolSpec(
    "read_attachment_text",
    "Read the text of an attachment of a message that was found before.",
    _closed({"attachment": _ID, "offset": _FROM_CHARACTER}, "attachment"),
)
FIND_RELATED = ToolSpec(
    "find_related",
    "Find messages on the same matter as one that was found before, also in other conversations.",
    _closed({"message": _ID, "limit": _LIMIT}, "message"),
)
CONTACTS = ToolSpec(
    "contacts",
    "Look up who writes in this mail: addresses, the names they use, how often and when.",
    _closed(
        {"query": {"type": "string", "minLength": 1, "maxLength": 200}, "limit": _LIMIT, "offset": _OFFSET}, "query"
    ),
)
SPECS = (SEARCH, READ_THREAD, READ_MESSAGE, READ_ATTACHMENT, FIND_RELATED, CONTACTS)

# Names of arguments: those of the tools, and those by which others would reach further.
_FURTHER = (
    "tenant tenants tenant_id mailbox mailboxes mailbox_id folders folder_id all_mailboxes scope user owner account"
    " quarantine quarantined include_quarantined include_junk include_deleted"
)
ARGUMENTS = frozenset(_FURTHER.split()).union(*(_properties(spec) for spec in SPECS)) | {"(unreadable)"}
