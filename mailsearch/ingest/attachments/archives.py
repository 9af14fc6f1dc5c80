"""Zip archives, one level deep: the text of each file under its name."""

from collections.abc import Callable, Iterable

from mailsearch.ingest.attachments.packages import EncryptedError, Package, TooLargeError
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.bodies import join
from mailsearch.ingest.headers import one_line, safe_filename
from mailsearch.ingest.parsed import ParsedText

ReadMember = Callable[[bytes, str], tuple[str, ParsedText]]
_MOST_FILES = 500


def read(content: bytes, read_member: ReadMember) -> tuple[str, ParsedText]:
    """State and text of a zip archive. *read_member* reads one file of it by content and name."""
    members: list[tuple[str, ParsedText]] = []
    states: list[str] = []
    with Package(content) as package:
        names = [name for name in package.names if not name.endswith("/")]
        for name in names[:_MOST_FILES]:
            try:
                state, text = read_member(package.read(name), safe_filename(name))
            except EncryptedError:
                state, text = "encrypted", ParsedText("")
            except TooLargeError:
                states.append("too_large")
                break
            states.append(state)
            members.append((name, text))
    joined = join_members(ParsedText(""), members)
    if not names:
        return "empty", joined
    if states and all(state == "encrypted" for state in states):
        return "encrypted", joined
    cut = len(names) > _MOST_FILES or "too_large" in states or "truncated" in states
    return ("truncated" if cut else "ok"), joined


def join_members(first: ParsedText, members: Iterable[tuple[str, ParsedText]]) -> ParsedText:
    """*first*, then the text of each member under its name as heading."""
    texts = [first]
    for name, text in members:
        heading = TextBuilder()
        heading.add(one_line(name), "heading")
        texts += [heading.parsed(), text]
    return join(texts)
