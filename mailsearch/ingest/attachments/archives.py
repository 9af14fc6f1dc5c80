"""Zip archives, one level deep: the text of each file under its name."""

from collections.abc import Callable

from mailsearch.ingest.attachments.packages import EncryptedError, Package, TooLargeError
from mailsearch.ingest.bodies import join
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.headers import one_line, safe_filename
from mailsearch.ingest.parsed import ParsedText

ReadMember = Callable[[bytes, str], tuple[str, ParsedText]]
_MOST_FILES = 500


def read(content: bytes, read_member: ReadMember) -> tuple[str, ParsedText]:
    """State and text of a zip archive. *read_member* reads one file of it by content and name."""
    texts: list[ParsedText] = []
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
            heading = TextBuilder()
            heading.add(one_line(name), "heading")
            texts += [heading.parsed(), text]
    joined = join(texts)
    if not names:
        return "empty", joined
    if states and all(state == "encrypted" for state in states):
        return "encrypted", joined
    cut = len(names) > _MOST_FILES or "too_large" in states or "truncated" in states
    return ("truncated" if cut else "ok"), joined
