"""Folders and flags as mail systems name them, in the words of this store."""

import base64
import csv
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header, make_header

# Letters of a Maildir name's info part (cr.yp.to/proto/maildir.html), in the order in which flags are kept.
_MAILDIR_FLAGS = {"S": "seen", "R": "answered", "F": "flagged", "D": "draft", "T": "deleted", "P": "passed"}
_LABELS = re.compile(rb"(?im)^X-Gmail-Labels:[ \t]*((?:[^\r\n]|\r?\n[ \t])*)")
_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_HEADER_END = re.compile(rb"\r?\n\r?\n")
# Labels of Takeout that say where a message stands or what was done with it, in the languages of accounts; all others
# are the user's own.
_PLACES = {
    **dict.fromkeys(
        ("inbox", "posteingang", "boîte de réception", "recibidos", "bandeja de entrada", "posta in arrivo",
         "caixa de entrada", "postvak in", "odebrane", "doručená pošta", "beérkező levelek", "gelen kutusu",
         "inkorg", "innboks", "indbakke", "saapuneet", "входящие", "вхідні", "εισερχόμενα", "收件箱", "收件匣",
         "受信トレイ", "받은편지함", "דואר נכנס", "البريد الوارد"),
        "",
    ),
    **dict.fromkeys(
        ("sent", "gesendet", "messages envoyés", "enviados", "inviati", "posta inviata", "e-mails enviados",
         "verzonden", "wysłane", "odeslaná pošta", "elküldött levelek", "gönderilmiş postalar", "skickat", "sendt",
         "lähetetyt", "отправленные", "надіслані", "απεσταλμένα", "已发邮件", "寄件備份", "送信済みメール",
         "送信済み", "보낸편지함", "דואר יוצא", "البريد المُرسَل"),
        "Sent",
    ),
    **dict.fromkeys(("spam", "correo no deseado", "спам", "垃圾邮件", "垃圾郵件", "迷惑メール", "스팸함"), "Junk"),
    **dict.fromkeys(
        ("trash", "bin", "papierkorb", "corbeille", "papelera", "cestino", "lixeira", "prullenbak", "kosz", "koš",
         "kuka", "çöp kutusu", "papperskorgen", "papirkurv", "roskakori", "корзина", "кошик", "κάδος",
         "已删除邮件", "垃圾桶", "ゴミ箱", "휴지통"),
        "Trash",
    ),
    **dict.fromkeys(
        ("drafts", "draft", "entwürfe", "brouillons", "borradores", "bozze", "rascunhos", "concepten",
         "wersje robocze", "koncepty", "piszkozatok", "taslaklar", "utkast", "kladder", "luonnokset", "черновики",
         "чернетки", "πρόχειρα", "草稿", "下書き", "임시보관함"),
        "Drafts",
    ),
}  # fmt: skip
_STATES = {
    **dict.fromkeys(
        ("starred", "markiert", "favoris", "suivis", "destacados", "speciali", "com estrela", "met ster",
         "oznaczone gwiazdką", "stjärnmärkt", "помеченные", "із зірочкою", "已加星标", "スター付き", "별표편지함"),
        "flagged",
    ),
    **dict.fromkeys(
        ("opened", "geöffnet", "ouvert", "lu", "abierto", "abiertos", "aperto", "aperti", "aberto", "abertos",
         "geopend", "otwarte", "öppnad", "открыто", "прочитанные", "已打开", "開封済み", "열어본 메일"),
        "seen",
    ),
}  # fmt: skip
_UNREAD = frozenset(
    ("unread", "ungelesen", "non lus", "non lu", "no leídos", "no leído", "da leggere", "non letti", "não lidas",
     "não lido", "ongelezen", "nieprzeczytane", "olästa", "непрочитанные", "未读", "未読", "읽지않음")
)  # fmt: skip
_AUTOMATIC = frozenset(
    ("important", "wichtig", "importants", "importantes", "importante", "importanti", "belangrijk", "ważne",
     "viktigt", "важное", "важные", "重要", "중요", "archived", "archiviert", "archivés", "messages archivés",
     "archivado", "archivados", "archiviati", "archiviato", "arquivado", "arquivados", "gearchiveerd",
     "zarchiwizowane", "arkiverad", "архив", "已归档", "アーカイブ済み", "chat", "chats")
)  # fmt: skip
_CATEGORY = ("category ", "kategorie: ", "catégorie : ", "categoría: ", "categoria: ", "categorie: ", "kategoria: ")
_STATUS = re.compile(rb"(?im)^(X-)?Status:[ \t]*([A-Z]{1,8})[ \t]*\r?$|^X-Mozilla-Status:[ \t]*([0-9a-f]{4})\b")
_STATUS_LETTERS = {"R": "seen", "A": "answered", "F": "flagged", "D": "deleted", "T": "draft"}
_MOZILLA_BITS = {0x1: "seen", 0x2: "answered", 0x4: "flagged", 0x8: "deleted", 0x1000: "passed"}
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


def status_flags(data: bytes) -> tuple[str, ...]:
    """The flags that mail programs write into the headers of an mbox's messages: Status, X-Status, X-Mozilla-Status."""
    end = _HEADER_END.search(data, 0, 100_000)
    flags: set[str] = set()
    for found in _STATUS.finditer(data, 0, end.start() + 1 if end else min(len(data), 100_000)):
        if found[3]:
            flags |= {flag for bit, flag in _MOZILLA_BITS.items() if int(found[3], 16) & bit}
        else:
            letters = found[2].decode("ascii")
            flags |= {flag for letter, flag in _STATUS_LETTERS.items() if letter in letters}
    return _ordered(flags)


def _ordered(flags: set[str]) -> tuple[str, ...]:
    return tuple(flag for flag in _MAILDIR_FLAGS.values() if flag in flags)


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
    # A label with a comma in it is quoted.
    listed = next(csv.reader([_decoded(found[1]).replace("\n", " ")], skipinitialspace=True), [])
    labels = tuple(label.strip() for label in listed if label.strip())
    lowered = [label.casefold() for label in labels]
    flags = {_STATES[label] for label in lowered if label in _STATES}
    if not _UNREAD.isdisjoint(lowered):
        flags.discard("seen")
    folder = next((_PLACES[label] for label in lowered if label in _PLACES), None)
    if folder is None:
        own = [label for label in labels if not _is_automatic(label.casefold())]
        folder = own[0] if own else "Archive"
    return Place(folder, _ordered(flags), labels)


def _is_automatic(label: str) -> bool:
    return label in _AUTOMATIC | _UNREAD or label in _STATES or label.startswith(_CATEGORY)


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
