"""What delivery reports say (RFC 3464), as facts about the message that brings them."""

import json
import re

_FIELD = re.compile(r"(?m)^([A-Za-z-]{2,40})[ \t]*:[ \t]*([^\n]{0,500}(?:\n[ \t]+[^\n]{0,500}){0,20})")
_GROUPS = re.compile(r"\n[ \t]*\n")
_MOST_RECIPIENTS = 100


def bounce(text: str) -> dict[str, str]:
    """A report as a JSON object under `bounce`: the first recipient that it failed, and all where there are several."""
    groups = [_fields(group) for group in _GROUPS.split(text.replace("\r\n", "\n").strip())]
    reached = [fields for fields in groups if "final-recipient" in fields or "original-recipient" in fields]
    chosen = next((one for one in reached if one.get("action", "").lower() == "failed"), reached[0] if reached else {})
    facts: dict[str, object] = {
        "recipient": _recipient(chosen),
        "action": chosen.get("action", ""),
        "status": chosen.get("status", ""),
        "diagnostic": chosen.get("diagnostic-code", "").rpartition("; ")[2],
    }
    if len(reached) > 1:
        facts["recipients"] = [_recipient(one) for one in reached[:_MOST_RECIPIENTS]]
    return {"bounce": json.dumps({key: value for key, value in facts.items() if value}, sort_keys=True)}


def _fields(group: str) -> dict[str, str]:
    return {name.lower(): " ".join(value.split()) for name, value in _FIELD.findall(group)}


def _recipient(fields: dict[str, str]) -> str:
    stated = fields.get("final-recipient", fields.get("original-recipient", ""))
    return stated.rpartition(";")[2].strip()
