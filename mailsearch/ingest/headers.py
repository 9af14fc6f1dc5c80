"""Header fields as text: RFC 2047 words, RFC 2231 parameters, message ids and file names, however broken.

Everything works on raw bytes and returns one clean line: what a header decodes to can never become another header.
"""

import binascii
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from mailsearch.ingest import charset

_LONGEST = 100_000
_FOLD = re.compile(rb"(?:\r*\n|\r)[ \t]*")
# =?charset*language?B-or-Q?text?=, where broken programs leave blanks and single question marks in the text.
_WORD = re.compile(
    rb"=\?([^?*\s=]{1,40})(?:\*[^?\s]{0,20})?\?([bBqQ])\?([^?]{0,99999}(?:\?(?!=)[^?]{0,99999}){0,8})\?="
    # The end of a header that was cut off.
    rb"|=\?([^?*\s=]{1,40})(?:\*[^?\s]{0,20})?\?([bBqQ])\?([^?\s]{1,1000})\??\Z"
)
_BETWEEN = re.compile(rb"[ \t\r\n]*")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
_Q_BYTE = re.compile(rb"=([0-9A-Fa-f]{2})")
# Some programs fold long ones in their midst.
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,990}|[^<>\s][^<>]{0,500}@[^<>]{1,400})>")
# As many characters as the expression takes, and the brackets.
_LONGEST_ID = 992
_LONGEST_USUAL = 20_000
_BARE_ID = re.compile(r"^[^<>\s@]+@[^<>\s@]+$")
_PARAMETER = re.compile(
    rb";[ \t\r\n]*([^\s=;*\"]{1,80})(?:\*([0-9]{1,3}))?(\*)?[ \t\r\n]*=[ \t\r\n]*"
    rb"(\"(?:[^\"\\]|\\.)*\"?|[^;]*)",
    re.DOTALL,
)
_FIRST_WORD = re.compile(rb"([^\s=\"]+)[\s,]+(?=[^\s=\"]+\s*=)")
_RESERVED = re.compile(r"^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)", re.IGNORECASE)


class Text(NamedTuple):
    """A decoded header. `problem` says in one sentence what was wrong with it, empty if nothing."""

    value: str
    problem: str = ""


def unfold(value: bytes) -> bytes:
    """*value* on one line (RFC 5322 §2.2.3)."""
    value = value[:_LONGEST]
    if b"\n" not in value and b"\r" not in value:
        return value.strip()
    lines = value.replace(b"\r\n", b"\n").split(b"\n")
    # Carriage returns by themselves are ends too.
    if b"\r" in value and any(b"\r" in line for line in lines):
        return _FOLD.sub(b" ", value).strip()
    return b" ".join([lines[0], *[line.lstrip(b" \t") for line in lines[1:]]]).strip()


def text(value: bytes, hint: str = "") -> Text:
    """Decode an unstructured header. *hint* is the charset that the message's body declares, for raw 8-bit headers."""
    value = unfold(value)
    if b"=?" not in value and value.isascii() and b"\x1b" not in value:
        return Text(one_line(value.decode("ascii")))
    decoded, problem = _decode_words(value, hint)
    return Text(one_line(decoded), problem)


def one_line(value: str) -> str:
    """*value* cleaned, its line ends and runs of white space as single blanks."""
    return " ".join(charset.clean(value).split())


def message_ids(value: bytes) -> tuple[str, ...]:
    """The ids of a References or In-Reply-To header in order, without angle brackets and repeats."""
    if not value:
        return ()
    usual = _usual_ids(value) if len(value) < _LONGEST_USUAL else None
    return _any_ids(value) if usual is None else usual


def _usual_ids(value: bytes) -> tuple[str, ...] | None:
    """The ids of a header that holds nothing but ids in brackets with blanks between them; None for any other."""
    found = value.split()
    opened = value.count(b"<")
    if opened != len(found) or value.count(b">") != opened or not value.isascii():
        return None
    ids = []
    for one in found:
        if not 3 <= len(one) <= _LONGEST_ID or one[:1] != b"<" or one[-1:] != b">":
            return None
        ids.append(one[1:-1].decode("ascii"))
    return tuple(dict.fromkeys(ids)) if "".join(ids).isprintable() else None


def _any_ids(value: bytes) -> tuple[str, ...]:
    # The last of very many count.
    decoded = charset.clean(unfold(value[-_LONGEST:]).decode("utf-8", "replace"))
    if "=?" in decoded and "<" not in decoded:
        decoded = text(value).value
    found = ["".join(one.split()) for one in _MESSAGE_ID.findall(decoded)]
    return tuple(dict.fromkeys(found)) or tuple(word for word in decoded.split()[:50] if _BARE_ID.match(word))


def message_id(value: bytes) -> str:
    """The id of a Message-ID header without angle brackets; "" where it holds none."""
    found = message_ids(value)
    if found:
        return found[0]
    rest = one_line(unfold(value).decode("utf-8", "replace")).strip("<> ")
    return rest.replace(" ", "")[:990]


def parameters(value: bytes, hint: str = "") -> tuple[str, dict[str, str]]:
    """A structured header as its lower-case first word and its parameters (RFC 2045, RFC 2231, RFC 2047 by mistake).

    Sections of an RFC 2231 value are joined as bytes before they are decoded, since they may cut a character.
    """
    first, found = _parameters(unfold(value), hint)
    return first, dict(found)


# Most mail is text/plain in one of a few charsets.
@lru_cache(500)
def _parameters(value: bytes, hint: str) -> tuple[str, dict[str, str]]:
    head, _, _ = value.partition(b";")
    if b"=" in head:
        # The semicolon before the first parameter is missing, or the first word is.
        word = _FIRST_WORD.match(value)
        head, value = (word[1], b";" + value[word.end() :]) if word else (b"", b";" + value)
        value = head + value
    first = one_line(head.decode("latin-1")).lower()
    plain: dict[str, str] = {}
    sections: dict[str, list[tuple[int, bool, bytes]]] = {}
    for match in _PARAMETER.finditer(value, len(head)):
        name = match[1].decode("latin-1").lower()
        if match[2] is None and match[3] is None:
            plain.setdefault(name, text(_unquote(match[4]), hint).value)
        else:
            sections.setdefault(name, []).append((int(match[2] or 0), match[3] is not None, _unquote(match[4])))
    return first, plain | {name: _join_sections(found, hint) for name, found in sections.items()}


def safe_filename(name: str) -> str:
    """A file name that names no place: the last part of a path, without controls, reserved names and leading dots."""
    name = one_line(name).replace("\\", "/").rstrip("/")
    name = re.sub(r"[<>:\"|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", "_", name.rsplit("/", 1)[-1])
    name = name.strip(" ").lstrip(".").rstrip(". ")
    if _RESERVED.match(name):
        name = f"_{name}"
    if len(name) > 200:
        stem, dot, extension = name.rpartition(".")
        name = f"{stem[:180]}.{extension[:19]}" if dot and stem else name[:200]
    return name


def _unquote(value: bytes) -> bytes:
    value = value.strip()
    if not value.startswith(b'"'):
        return value
    value = value[1:-1] if value.endswith(b'"') and len(value) > 1 else value[1:]
    # A backslash before a letter is a Windows path that was never escaped, not a quoted pair.
    return re.sub(rb"\\([\"\\])", rb"\1", value)


def _join_sections(found: list[tuple[int, bool, bytes]], hint: str) -> str:
    found.sort(key=lambda section: section[0])
    declared, data = "", b""
    for position, (_number, extended, value) in enumerate(found[:200]):
        if extended and position == 0 and value.count(b"'") >= 2:
            label, _, value = value.split(b"'", 2)
            declared = label.decode("latin-1")
        data += unquote_to_bytes(value) if extended else value
    if data.startswith(b"=?") or (b"=?" in data and not declared):
        # An encoded word that was cut into sections, against all rules.
        return text(data, hint).value
    return one_line(charset.decode(data, declared, hint).text)


def _decode_words(value: bytes, hint: str) -> tuple[str, str]:
    pieces: list[str] = []
    run: list[tuple[bytes, bytes]] = []
    run_charset = ""
    problem = ""
    end = 0
    for match in _WORD.finditer(value):
        between = value[end : match.start()]
        stated, encoding, content = match.groups()[:3] if match[1] else match.groups()[3:]
        label = stated.decode("latin-1")
        adjacent = end > 0 and _BETWEEN.fullmatch(between) is not None
        if run and not (adjacent and label.lower() == run_charset.lower()):
            pieces.append(_decode_run(run, run_charset, hint))
            run = []
        if not adjacent:
            raw, raw_problem = _decode_raw(between, hint)
            pieces.append(raw)
            problem = problem or raw_problem
        if not charset.lookup(label):
            problem = f"The charset of an encoded word is unknown or not allowed: {label[:40]}."
        run.append((encoding, content))
        run_charset = label
        end = match.end()
    if run:
        pieces.append(_decode_run(run, run_charset, hint))
    raw, raw_problem = _decode_raw(value[end:], hint)
    return "".join([*pieces, raw]), problem or raw_problem


def _decode_run(run: list[tuple[bytes, bytes]], label: str, hint: str) -> str:
    """The text of neighbouring words, each with its encoding: joined before decoding, since they may cut a character.

    Some programs even cut groups of base64; then the words make sense only as one.
    """
    decoded = charset.decode(b"".join(_word_bytes(encoding, content) for encoding, content in run), label, hint)
    if decoded.step in ("detected", "fallback") and len(run) > 1 and all(encoding in b"bB" for encoding, _ in run):
        joined = charset.decode(_word_bytes(b"B", b"".join(content for _, content in run)), label, hint)
        return joined.text if joined.step in ("declared", "utf-8") else decoded.text
    return decoded.text


def _decode_raw(value: bytes, hint: str) -> tuple[str, str]:
    if value.isascii() and b"\x1b" not in value:
        return value.decode("ascii"), ""
    decoded = charset.decode(value, "", hint)
    if decoded.charset == "utf-8" and decoded.step == "utf-8":
        return decoded.text, ""
    return decoded.text, f"The header has raw 8-bit text; its encoding was taken to be {decoded.charset}."


def _word_bytes(encoding: bytes, content: bytes) -> bytes:
    if encoding in b"qQ":
        return _Q_BYTE.sub(lambda match: bytes((int(match[1], 16),)), content.replace(b"_", b" "))
    content = _NOT_BASE64.sub(b"", content)
    content = content[: len(content) - 1] if len(content) % 4 == 1 else content
    try:
        return binascii.a2b_base64(content + b"=" * (-len(content) % 4))
    except binascii.Error:
        return b""
