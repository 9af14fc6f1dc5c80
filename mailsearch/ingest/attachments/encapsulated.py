"""HTML, or plain text, that Exchange and Outlook wrapped in RTF (MS-OXRTFEX), as it was before.

An own walk, in linear time: the libraries for it recurse over the groups, and take longer for a few tables than a
message may.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mailsearch.ingest import charset
from mailsearch.ingest.charset_labels import code_page

# The word stands among the first of the file.
_MARKED = re.compile(rb"\\from(html1?|text)(?![a-zA-Z0-9])")
_HEAD = 1000
_TOKEN = re.compile(
    r"\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,10})? ?|\\(?P<symbol>[^a-zA-Z])"
    r"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\",
    re.DOTALL,
)
_FONT = re.compile(r"\\f([0-9]{1,5})(?![0-9])[^{};]{0,200}?\\fcharset([0-9]{1,3})")
_DEFAULT_PAGE = re.compile(r"\\ansicpg([0-9]{1,5})")
_ENTITY = re.compile(r"&(?!#?\w{1,30};)")
# Destinations whose words are no text. Every other one is marked as such by a star.
_UNSAID = frozenset(("fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "pntext", "header", "footer"))
_SAID = {
    "par": "\n", "line": "\n", "tab": "\t", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "endash": "–", "emdash": "—",
}  # fmt: skip
_SYMBOLS = {"~": "\u00a0", "_": "\u2011", "-": "\u00ad", "\n": "\n", "\r": "\n", "{": "{", "}": "}", "\\": "\\"}
# Code pages by the numbers that fonts give their character sets.
_CHARSETS = {
    128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
    186: 1257, 204: 1251, 222: 874, 238: 1250,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Original:
    """What was wrapped. `kind` is "html" or "plain"."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _State:
    """What holds in a group and ends with it."""

    # The words of the group are for nobody.
    unsaid: bool = False
    # Made for programs that know no HTML.
    only_rtf: bool = False
    # Of the page itself: markup.
    markup: bool = False
    page: str = ""
    # Characters that follow each one in Unicode, for programs that know none.
    doubles: int = 1


@dataclass(slots=True)
class _Output:
    escapes: bool
    pieces: list[str] = field(default_factory=list)
    # Bytes in a code page, some of which make a character only together.
    waiting: bytearray = field(default_factory=bytearray)
    page: str = ""

    def bytes(self, data: bytes, page: str) -> None:
        if page != self.page:
            self.flush(markup=False)
            self.page = page
        self.waiting += data

    def flush(self, *, markup: bool) -> None:
        if self.waiting:
            data = bytes(self.waiting)
            self.waiting.clear()
            self.text(charset.decode(data, self.page).text if not data.isascii() else data.decode("ascii"), markup)

    def text(self, text: str, markup: bool) -> None:
        if self.escapes and not markup:
            text = _ENTITY.sub("&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
        self.pieces.append(text)


def original(source: bytes) -> Original | None:
    """What *source*, an RTF file, was made from; None where it is RTF of its own."""
    marked = _MARKED.search(source[:_HEAD])
    if marked is None:
        return None
    kind = "plain" if marked[1] == b"text" else "html"
    text = source.decode("latin-1")
    walk = _Walk(text, kind)
    walk.run()
    said = "".join(walk.output.pieces)
    if not said.isascii():
        # What lies beyond 16 bits is written in two halves.
        said = said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return Original(kind, charset.clean(said))


class _Walk:
    """One pass over the words of an RTF file."""

    def __init__(self, source: str, kind: str) -> None:
        self.source = source
        stated = _DEFAULT_PAGE.search(source[:_HEAD])
        self.page = code_page(int(stated[1])) if stated else ""
        self.page = self.page or "cp1252"
        self.fonts = _pages_of_fonts(source, self.page)
        self.output = _Output(escapes=kind == "html")
        self.state = _State(page=self.page)
        self.around: list[_State] = []
        self.starred = False
        # Characters still to be passed over: they stand for the one in Unicode before them.
        self.passing = 0

    def run(self) -> None:
        """Collect everything in `output`."""
        for token in self._tokens():
            self._token(token)
        self.output.flush(markup=self.state.markup)

    def _tokens(self) -> Iterator[re.Match[str]]:
        place = 0
        while match := _TOKEN.match(self.source, place):
            place = match.end()
            if match["word"] == "bin":
                place += max(int(match["number"] or 0), 0)
            else:
                yield match

    def _token(self, token: re.Match[str]) -> None:
        if token["word"]:
            self._control(token["word"], token["number"])
        elif token["brace"]:
            self._brace(token["brace"])
        elif token["hex"]:
            self._said(bytes((int(token["hex"], 16),)))
        elif token["symbol"] == "*":
            self.starred = True
        elif token["symbol"]:
            self._say(_SYMBOLS.get(token["symbol"], ""))
        elif token["text"]:
            self._said(token["text"].encode("latin-1"))

    def _brace(self, brace: str) -> None:
        self.output.flush(markup=self.state.markup)
        self.starred, self.passing = False, 0
        if brace == "{":
            self.around.append(self.state)
        elif self.around:
            self.state = self.around.pop()

    def _control(self, word: str, number: str | None) -> None:
        starred, self.starred = self.starred, False
        if word == "htmltag" and starred:
            # Markup is in the code page of the file, whatever the font is.
            self.state = replace(self.state, markup=True, page=self.page)
        elif starred or word in _UNSAID:
            self.state = replace(self.state, unsaid=True)
        elif word == "htmlrtf":
            self.output.flush(markup=self.state.markup)
            self.state = replace(self.state, only_rtf=number is None or int(number) != 0)
        elif word == "u" and number is not None:
            self._say(_character(int(number)))
            self.passing = self.state.doubles
        elif word == "uc":
            self.state = replace(self.state, doubles=min(max(int(number or 1), 0), 100))
        elif word in _SAID:
            self._say(_SAID[word])
        else:
            self._font(word, number)

    def _font(self, word: str, number: str | None) -> None:
        if self.state.markup:
            return
        if word == "f" and number is not None:
            self.state = replace(self.state, page=self.fonts.get(number, self.page))
        elif word == "plain":
            self.state = replace(self.state, page=self.page)

    def _said(self, data: bytes) -> None:
        """Bytes in the code page that holds here."""
        if self.passing:
            passed = min(self.passing, len(data))
            self.passing -= passed
            data = data[passed:]
        if data and not (self.state.unsaid or self.state.only_rtf):
            self.output.bytes(data, self.state.page)

    def _say(self, text: str) -> None:
        """A character by its name or number."""
        if self.passing:
            self.passing -= 1
        elif text and not (self.state.unsaid or self.state.only_rtf):
            self.output.flush(markup=self.state.markup)
            self.output.text(text, self.state.markup)


def _character(number: int) -> str:
    """Numbers above 32,767 are written as negative ones."""
    return chr(number % 65_536)


def _pages_of_fonts(source: str, default: str) -> Mapping[str, str]:
    start = source.find("{\\fonttbl")
    if start < 0:
        return {}
    table = source[start : start + 50_000].partition("{\\colortbl")[0]
    pages = {}
    for number, charset_number in _FONT.findall(table):
        page = _CHARSETS.get(int(charset_number))
        pages[number] = (code_page(page) if page else "") or default
    return pages
