"""The fence around mail in a prompt: text is made harmless, then set between lines that no mail can forge.

Cleaning changes only what the model is shown. What is verified and stored is the mail's own text.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping

from agentic.core.labels import LABEL_PATTERN, Below

MARKER_BITS = 128
# A model that repeats half of a marker has repeated the marker.
_TELLTALE = 16

# Letters and marks that show nothing though they are no format characters: Hangul fillers, the grapheme joiner,
# Khmer's inherent vowels, the blank Braille cell.
_INVISIBLE = "\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5\u2800"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_PRINTABLE_BUT_UNSEEN = re.compile(f"[{_INVISIBLE}{_SELECTORS}]")
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# Written forms of the control tokens of chat templates (ChatML, Llama, Mistral, Gemma, DeepSeek, Qwen and their kin).
_TOKEN_TAG = re.compile(
    r"<(/?)((?:s|bos|eos|pad|unk|mask|sys|think|thinking|reasoning|system|assistant|user|developer|human|turn"
    r"|(?:start|end)_of_turn|start_of_\w{1,20}|end_of_\w{1,20}|tools?|tool_\w{1,20}|function|functions|function_\w{1,20}"
    r"|invoke|parameter|untrusted\w{0,20}|instructions?|important|context|documents?|mail|message|answer|result)"
    r"(?:[ =:][^<>\n]{0,200})?)(/?)>",
    re.IGNORECASE,
)
_PIPE_TOKEN = re.compile(r"<([|｜])([^<>\n]{0,80}?)([|｜])>")
_DOUBLE_ANGLE = re.compile(r"<<(/?[A-Za-z_]{2,20})>>")
_BRACKET_TOKEN = re.compile(
    r"\[(/?(?:INST|SYS|SYSTEM|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|TOOL_CONTENT)/?)\]", re.IGNORECASE
)
_ROLE_HEADER = re.compile(
    r"^([ \t>*#_-]{0,12})((?:system|assistant|user|human|developer|tool|function|ai|model|instruction|response)"
    r"(?: (?:message|prompt|note|result|response|instructions?))?[ \t]*[*_]{0,3}[ \t]*[:：])",
    re.IGNORECASE | re.MULTILINE,
)
# Lines that look like those of the fence. A mail can't know a marker, but a model may not compare them.
_FENCE_LINE = re.compile(r"^([ \t>]*)(-{2,}[ \t]*(?:mail|end)[ \t]+[0-9a-f]{8,})", re.IGNORECASE | re.MULTILINE)
# Brackets around anything that an answer's reader or the model might take for a label.
_LOOK_ALIKE_ITEM = rf"(?:{LABEL_PATTERN}|[A-Za-z]{{1,12}}[:_.#-]?[0-9]{{1,12}}[0-9A-Za-z]{{0,12}})"
_LOOK_ALIKE = re.compile(rf"\[( *{_LOOK_ALIKE_ITEM}(?: *[,;] *{_LOOK_ALIKE_ITEM}){{0,16}} *)\]")
_NOT_MARKER_SIGN = re.compile(r"[^0-9a-f]+")


def clean(text: str) -> str:
    """*text* without what is unseen by a reader or taken for structure by a model.

    Format characters (Unicode category Cf: bidi controls, zero widths, tags), variation selectors, controls and
    surrogates go; control tokens of chat templates, role headers at the start of a line, look-alikes of labels and of
    the fence's own lines stay readable in a harmless form. Words are never changed, so a quote taken from cleaned text
    is found again.
    """
    # What is printable holds no control and no format character, and so no line break of another kind.
    if not text.replace("\n", " ").isprintable() or (not text.isascii() and _PRINTABLE_BUT_UNSEEN.search(text)):
        text = _seen(_LINE_BREAKS.sub("\n", text))
    # Looking for one sign is many times cheaper than for a pattern, and most lines of mail hold none of these.
    if "<" in text or "[" in text:
        text = _without_tokens(text)
    if "--" in text:
        text = _FENCE_LINE.sub(r"\1| \2", text)
    return _ROLE_HEADER.sub(r"| \1\2", text) if ":" in text or "：" in text else text


def _seen(text: str) -> str:
    """*text* without the signs that no reader sees."""
    unseen = [sign for sign in set(text) if not _is_seen(sign)]
    return text.translate(dict.fromkeys(map(ord, unseen))) if unseen else text


def _without_tokens(text: str) -> str:
    # Twice: a token put together by the first pass must not survive it.
    for _ in range(2):
        before = text
        if "<" in text:
            text = _PIPE_TOKEN.sub(r"(\2)", text)
            text = _TOKEN_TAG.sub(r"(\1\2\3)", text)
            text = _DOUBLE_ANGLE.sub(r"(\1)", text)
        if "[" in text:
            text = _BRACKET_TOKEN.sub(r"(\1)", text)
        if text == before:
            break
    return _LOOK_ALIKE.sub(r"(\1)", text) if "[" in text else text


def clean_line(text: str) -> str:
    """*text* cleaned and on one line: for subjects, names, addresses and file names."""
    return " ".join(clean(text).split())


def new_marker(text: str, below: Below) -> str:
    """A marker of 128 random bits (32 hexadecimal digits) that does not occur in *text*."""
    while True:
        marker = f"{below(1 << MARKER_BITS):032x}"
        if marker not in text.casefold():
            return marker


def fence(text: str, marker: str) -> str:
    """*text*, cleaned before, between two lines that carry *marker*."""
    return f"--- mail {marker} ---\n{text}\n--- end {marker} ---"


def find_marker(value: object, markers: Collection[str]) -> str | None:
    """The name of the first argument in *value* that holds one of *markers* or half of one, else None.

    The name is a dotted path; "" where *value* is itself the text. Signs between the digits and upper case do not hide
    a marker.
    """
    for path, text in _strings(value, ""):
        if holds_marker(text, markers):
            return path
    return None


def holds_marker(text: str, markers: Collection[str]) -> bool:
    """Whether *text* repeats one of *markers*, whole or half of it, also with other signs between its digits."""
    squeezed = _NOT_MARKER_SIGN.sub("", text.casefold())
    if len(squeezed) < _TELLTALE:
        return False
    return any(
        marker[start : start + _TELLTALE] in squeezed
        for marker in markers
        for start in range(len(marker) - _TELLTALE + 1)
    )


def _is_seen(sign: str) -> bool:
    if sign in "\n\t":
        return True
    if _PRINTABLE_BUT_UNSEEN.match(sign):
        return False
    return unicodedata.category(sign) not in {"Cf", "Cc", "Cs", "Co", "Cn"}


def _strings(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            # A name that is a marker itself must not become the path that is told.
            yield path or "(name)", str(key)
            yield from _strings(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, Iterable):
        for inner in value:
            yield from _strings(inner, path)
