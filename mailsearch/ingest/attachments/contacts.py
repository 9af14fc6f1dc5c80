"""Contacts (vCard, RFC 6350) as text: one row for each thing that a card says."""

import vobject

from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.charset import clean, decode
from mailsearch.ingest.parsed import ParsedText

_MOST_CARDS = 5_000
_SHOWN = {
    "org": "Organisation", "title": "Title", "role": "Role", "tel": "Phone", "email": "E-mail", "adr": "Address",
    "bday": "Birthday", "url": "Web", "nickname": "Nickname", "note": "Note", "anniversary": "Anniversary",
}  # fmt: skip


def read(content: bytes) -> tuple[str, ParsedText]:
    """State and text of a vCard file; cards that can't be read are left out and make the state `truncated`."""
    source = clean(decode(content).text)
    builder = TextBuilder()
    count = 0
    cut = False
    try:
        for card in vobject.readComponents(source, ignoreUnreadable=True, allowQP=True):
            count += 1
            if count > _MOST_CARDS:
                cut = True
                break
            _write(builder, card)
    # The library raises whatever its parts raise on a broken card.
    except Exception:  # noqa: BLE001
        cut = True
    parsed = builder.parsed()
    if not parsed.text:
        return ("corrupt" if cut else "empty"), parsed
    return ("truncated" if cut else "ok"), parsed


def _write(builder: TextBuilder, card: vobject.base.Component) -> None:
    name = getattr(getattr(card, "fn", None), "value", "") or str(getattr(getattr(card, "n", None), "value", ""))
    builder.add(clean(str(name)), "heading")
    for key, label in _SHOWN.items():
        for line in card.contents.get(key, []):
            value = line.value
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            builder.add(f"{label}: {' '.join(clean(text).split())}", "row")
