"""Folders and flags as mail systems name them, in the words of this store."""

import base64
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header

# Letters of a Maildir name's info part (cr.yp.to/proto/maildir.html), in the order in which flags are kept.
_MAILDIR_FLAGS = {"S": "seen", "R": "answered", "F": "flagged", "D": "draft", "T": "deleted", "P": "passed"}
_LABELS = re.compile(rb"(?im)^X-Gmail-Labels:[ \t]*((?:[^\r\n]|\r?\n[ \t])*)")
_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
# Labels of Takeout that say where a message stands or what was done with it; all others are the user's own.
_PLACES = {"inbox": "", "sent": "Sent", "spam": "Junk", "trash": "Trash", "drafts": "Drafts"}
_STATES = {"starred": "flagged", "opened": "seen"}
_AUTOMATIC = {"unread", "important", "archived", "chat"}
_ROLES = {
    "inbox": "inbox",
    **dict.fromkeys(
        ("sent", "sent items", "sent mail", "sent messages", "gesendet", "gesendete elemente", "gesendete objekte",
         "envoyes", "messages envoyes", "elements envoyes", "enviados", "elementos enviados", "itens enviados",
         "posta inviata", "inviati", "verzonden", "verzonden items", "skickat", "sendt", "wyslane",
         "отправленные", "已发送", "送信済み"),
        "sent",
    ),
    **dict.fromkeys(
        ("junk", "junk e-mail", "junk email", "junk mail", "spam", "bulk", "bulk mail", "unerwunscht", "werbung",
         "courrier indesirable", "indesirables", "correo no deseado", "posta indesiderata", "lixo eletronico",
         "ongewenste e-mail", "skrappost", "спам", "垃圾邮件", "迷惑メール"),
        "junk",
    ),
    **dict.fromkeys(
        ("trash", "deleted", "deleted items", "deleted messages", "bin", "papierkorb", "geloschte elemente",
         "geloscht", "corbeille", "elements supprimes",
         "papelera", "elementos eliminados", "lixeira", "itens excluidos",
         "cestino", "prullenbak", "verwijderde items", "papperskorg", "kosz", "корзина", "удаленные",
         "已删除", "ごみ箱"),
        "trash",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where Takeout's labels put a message."""

    folder: str
    flags: tuple[str, ...]
    labels: tuple[str, ...]


def maildir_flags(letters: str) -> tuple[str, ...]:
    """The flags of the letters after `2,` in a Maildir name; unknown letters say nothing."""
    return tuple(flag for letter, flag in _MAILDIR_FLAGS.items() if letter in letters)


def folder_name(name: str) -> str:
    """A folder's name as people read it: IMAP's modified UTF-7 (RFC 3501, 5.1.3) decoded, bytes that are none shown."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return _SHIFTED.sub(_unshifted, name)


def _unshifted(found: re.Match[str]) -> str:
    if not found[1]:
        return "&"
    packed = found[1].replace(",", "/")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode("utf-16-be")
    except ValueError:
        return found[0]


def takeout_place(data: bytes) -> Place | None:
    """Folder and flags by the `X-Gmail-Labels` header that Google Takeout writes; None where there is none."""
    end = _HEADER_END.search(data, 0, 100_000)
    found = _LABELS.search(data, 0, end.start() if end else min(len(data), 100_000))
    if not found:
        return None
    labels = tuple(label.strip() for label in _decoded(found[1]).split(",") if label.strip())
    lowered = [label.lower() for label in labels]
    flags = {_STATES[label] for label in lowered if label in _STATES}
    if "unread" in lowered:
        flags.discard("seen")
    folder = next((_PLACES[label] for label in lowered if label in _PLACES), None)
    if folder is None:
        own = [label for label in labels if label.lower() not in _AUTOMATIC | _STATES.keys()]
        folder = own[0] if own else "Archive"
    order = tuple(_MAILDIR_FLAGS.values())
    return Place(folder, tuple(sorted(flags, key=order.index)), labels)


def _decoded(value: bytes) -> str:
    text = re.sub(r"\r?\n[ \t]+", " ", value.decode("utf-8", "replace"))
    try:
        return str(make_header(decode_header(text)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return text


def folder_role(path: str, folded: str) -> str:
    """The role (inbox, sent, junk, trash or "") of a folder by its well-known name. *folded*: *path* folded."""
    steps = [step for step in folded.split("/") if step]
    if not steps:
        return "inbox"
    # Below junk and trash everything is junk and trash; other roles belong to the folder itself.
    for step in steps[:-1]:
        if _ROLES.get(step) in ("junk", "trash"):
            return _ROLES[step]
    return _ROLES.get(steps[-1], "")
