"""text/plain as visible text with blocks: flowed lines joined (RFC 3676), files in the text taken out (uuencode)."""

import binascii
import re
from collections.abc import Iterator

from mailsearch.hits import Block, BlockKind
from mailsearch.ingest import blocks, charset, lines, regions, transfer
from mailsearch.ingest.parsed import ParsedText

_PREFIX = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_ITEM = re.compile(r"(?:[-*+•·‣–o]|\(?[0-9]{1,3}[.)]|\(?[a-z][.)])[ \t]+\S")
_ROW = re.compile(r"^\s*\|.*\|\s*$|\S\t+\S.*\t|[^|\s] *\| .+ \| ?|^\S[^\t]*\t+[^\t]+$|\S {3,}\S.* {3,}\S")
_CODE = re.compile(r"^(?: {4,}|\t)\S|^(?:diff |index [0-9a-f]+\.\.|@@ |--- a/|\+\+\+ b/)")
_PATCH = ("diff ", "index ")
# What stands behind a letter that marks an item.
_AFTER_MARK = " \t.)"
_CODE_BEGINS = frozenset(" \tdi@-+")
_RULE = re.compile(r"^[-=_*~#+.]{3,}\s*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_UU_BEGIN = re.compile(r"begin(-base64)?[ \t]+[0-7]{3,6}[ \t]+(\S.{0,200})")
_MOST_SIGNED = 20
_CLEARSIGNED = re.compile(
    r"(?ms)^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:[A-Za-z]{1,20}:[^\n]*\n)*(?:[ \t]*\n)?(.*?)"
    r"^-----BEGIN PGP SIGNATURE-----[ \t]*\n.*?^-----END PGP SIGNATURE-----[ \t]*$"
)
_ESCAPED_DASH = re.compile(r"(?m)^- (?=-)")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]{1,100}={0,2}")


def visible_text(text: str, *, flowed: bool = False, delsp: bool = False, forwards: bool = False) -> ParsedText:
    """The text as the mail has it, with blocks and regions.

    Quote prefixes stay; white space at line ends goes. With *flowed*, soft line breaks are joined (without the blank
    before them if *delsp*) and stuffed blanks are taken out.
    """
    text = charset.clean(text)
    if flowed:
        text = _unflow(text, delsp)
    if " \n" in text or "\t\n" in text or text.endswith((" ", "\t")):
        text = _TRAILING.sub("", text)
    text = text.strip("\n")[: blocks.MOST_TEXT]
    found = mark_blocks(text)
    return ParsedText(text, found, regions.mark(text, found, forwards=forwards))


def without_armour(text: str) -> str:
    """*text* without what PGP put around the words that it signs (RFC 9580 §7)."""
    if not 0 < text.count("-----BEGIN PGP SIGNED MESSAGE-----") <= _MOST_SIGNED:
        return text
    return _CLEARSIGNED.sub(lambda match: _ESCAPED_DASH.sub("", match[1]), text)


def take_files(text: str) -> tuple[str, tuple[tuple[str, bytes, bool], ...]]:
    """*text* without its uuencoded files, and the files: name, content, and whether every line could be decoded."""
    if "begin " not in text and "begin-base64" not in text:
        return text, ()
    lines = text.split("\n")
    kept: list[str] = []
    files: list[tuple[str, bytes, bool]] = []
    index = 0
    while index < len(lines):
        match = _UU_BEGIN.fullmatch(lines[index].rstrip())
        is_base64 = match is not None and match[1] is not None
        stop, closed = _uu_end(lines, index + 1, is_base64=is_base64) if match else (0, False)
        if match is None or not stop:
            kept.append(lines[index])
            index += 1
            continue
        content, sound = _decoded(lines[index + 1 : stop], is_base64=is_base64)
        files.append((match[2].strip(), content, sound and closed))
        index = stop + closed
    return "\n".join(kept), tuple(files)


def _uu_end(lines: list[str], index: int, *, is_base64: bool) -> tuple[int, bool]:
    """Where the lines of an encoded file end, and whether by its last line; (0, False) where there is no such file."""
    first = index
    last, is_line = ("====", _is_base64) if is_base64 else ("end", _is_uu)
    full = is_base64
    while index < len(lines):
        line = lines[index].rstrip()
        if line == last:
            return (index, True) if index > first and (full or not any(lines[first:index])) else (0, False)
        if line.strip("`"):
            if not is_line(line):
                break
            full = full or _is_full(line)
        index += 1
    return (index, False) if full and index > first + 1 else (0, False)


def _decoded(lines: list[str], *, is_base64: bool) -> tuple[bytes, bool]:
    if not is_base64:
        return _uudecode(lines)
    content = transfer.base64("".join(lines).encode("ascii", "replace"))
    return content.data, content.problem is None


def _is_base64(line: str) -> bool:
    return _BASE64_LINE.fullmatch(line) is not None


def _is_uu(line: str) -> bool:
    """Whether a line has no more characters than its first one says, all of the alphabet.

    It has fewer where blanks at its end, which stand for zeros, got lost on the way.
    """
    return len(line) <= _needed(line) + 5 and line.isascii() and line.isprintable() and line == line.upper()


def _is_full(line: str) -> bool:
    return len(line) >= _needed(line) - 3


def _needed(line: str) -> int:
    return ((ord(line[0]) - 32 & 63) * 4 + 2) // 3 + 1


def mark_blocks(text: str, *, printed: bool = False) -> tuple[Block, ...]:
    """The blocks of *text* in order: each line with words belongs to exactly one.

    Lines that were wrapped make one paragraph; lines that end where their writer wanted are blocks of their own.
    *printed* says that the text is from pages in proportional type.
    """
    found: list[Block] = []
    for block in _marked(text):
        if block.kind == "paragraph" and text.find("\n", block.start, block.end) >= 0:
            found += _apart(text, block, printed)
        else:
            found.append(block)
    return tuple(found)


def _apart(text: str, block: Block, printed: bool) -> list[Block]:
    """What *block* of several lines falls apart into at the line ends that were chosen."""
    own = text[block.start : block.end].split("\n")
    contents = [_split_prefix(line)[1] if ">" in line[:4] else line for line in own]
    ends = lines.chosen_ends(contents, printed=printed)
    if True not in ends:
        return [block]
    found: list[Block] = []
    start = position = block.start
    first = 0
    for number, line in enumerate(own):
        if number == len(ends) or ends[number]:
            kind = lines.kind_of(contents[number]) if first == number else "paragraph"
            found.append(Block(start, position + len(line), kind))
            start, first = position + len(line) + 1, number + 1
        position += len(line) + 1
    return found


def _marked(text: str) -> Iterator[Block]:
    start = end = -1
    kind: BlockKind = "paragraph"
    quote = ""
    fenced = False
    position = 0
    columns = "\t" in text or "|" in text or "   " in text
    for line in text.split("\n"):
        prefix, content = _split_prefix(line) if ">" in line[:4] else ("", line)
        line_end = position + len(line)
        line_kind: BlockKind = "paragraph"
        blank = not content or content.isspace()
        if not fenced and (blank or _is_prose(content, columns)):
            # As most lines are.
            ends = blank or prefix != quote or kind != "paragraph"
        else:
            line_kind = _kind(content, fenced, kind if start >= 0 else "paragraph")
            if ("```" in content or "~~~" in content) and _FENCE.match(content):
                fenced = not fenced
                line_kind = "code"
            ends = (blank and not fenced) or prefix != quote or _parts(kind, line_kind, content)
        if start >= 0 and ends:
            yield Block(start, end, kind)
            start = -1
        if not blank:
            if start < 0:
                start, kind, quote = position, line_kind, prefix
            end = line_end
        position = line_end + 1
    if start >= 0:
        yield Block(start, end, kind)


def _split_prefix(line: str) -> tuple[str, str]:
    match = _PREFIX.match(line) if ">" in line[:4] else None
    if match is None:
        return "", line
    return ">" * match[0].count(">"), line[match.end() :]


def _is_prose(content: str, columns: bool) -> bool:
    """Whether *content* surely is a line of a paragraph. *columns*: some line of the text may have some."""
    if not content[0].isalpha() or content[1:2] in _AFTER_MARK or content.startswith(_PATCH):
        return False
    return not (columns and ("\t" in content or "|" in content or "   " in content))


def _kind(content: str, fenced: bool, before: BlockKind) -> BlockKind:
    if fenced:
        return "code"
    if content[:1] == "#" and re.match(r"#{1,6} \S", content):
        return "heading"
    stripped = content.lstrip()
    if _ITEM.match(stripped):
        return "item"
    if ("\t" in stripped or "|" in stripped or "   " in stripped) and _ROW.search(stripped):
        return "row"
    if content[:1] in _CODE_BEGINS and before in ("paragraph", "code") and _CODE.match(content):
        return "code" if before == "code" or not stripped[:1].isalnum() else before
    return "item" if before == "item" and content[:1] in " \t" else "paragraph"


def _parts(kind: BlockKind, following: BlockKind, content: str) -> bool:
    """Whether a block of *kind* ends before a line of kind *following*."""
    if following in ("row", "heading") or kind in ("row", "heading"):
        return True
    if following == "item":
        return bool(_ITEM.match(content.lstrip()))
    if _RULE.match(content):
        return kind != "code"
    return following != kind


def _unflow(text: str, delsp: bool) -> str:
    """Join lines that end in a blank with the next of the same quote depth (RFC 3676 §4.2); "-- " never flows."""
    out: list[str] = []
    depth_before, open_line = -1, False
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        prefix = ">" * depth + (" " if depth else "")
        soft = content.endswith(" ") and content != "-- "
        joins = open_line and depth == depth_before and content != "-- "
        content = content[:-1] if soft and delsp else content
        if joins:
            out[-1] += content
        else:
            out.append(prefix + content)
        depth_before, open_line = depth, soft
    return "\n".join(out)


def _uudecode(lines: list[str]) -> tuple[bytes, bool]:
    content: list[bytes] = []
    sound = True
    for line in lines:
        if not line.strip("` "):
            continue
        needed = _needed(line)
        # Blanks at the end get lost on the way, and some encoders pad too much.
        try:
            content.append(binascii.a2b_uu(line.rstrip("\r")[:needed].ljust(needed)))
        except (binascii.Error, ValueError):
            sound = False
    return b"".join(content), sound
