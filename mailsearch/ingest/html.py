"""text/html as visible text: one walk over the parsed tree that knows what a reader would not see.

Blocks come out in reading order (paragraph, heading, list item, table row, code). Hidden text is kept apart and never
gets into the text, and neither do the targets of links; scripts and style sheets are dropped. Nothing is fetched.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from mailsearch.hits import Block, BlockKind
from mailsearch.ingest import charset, links, regions, styles
from mailsearch.ingest.blocks import TextBuilder
from mailsearch.ingest.links import Links, Span
from mailsearch.ingest.parsed import ParsedText
from mailsearch.ingest.styles import Look
from mailsearch.ingest.words import words

_DROPPED = frozenset(
    re.findall(r"\w+", "script style link meta base object embed applet svg math canvas audio video iframe frame map")
)
_UNSEEN = frozenset(("title", "datalist", "noframes", "noembed"))
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer"
        " form h1 h2 h3 h4 h5 h6 head header hr html legend li listing main menu nav ol optgroup option p plaintext pre"
        " section select summary table tbody tfoot thead caption tr td th ul xmp",
    )
)
# What an element makes of the text in it; elsewhere it is what it is around.
_KINDS: dict[str, BlockKind] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("li", "dt", "dd", "option"), "item"),
    **dict.fromkeys(("pre", "listing", "plaintext", "xmp"), "code"),
    **dict.fromkeys(("table", "td", "th"), "paragraph"),
}
_LINKING = frozenset(("a", "img", "input"))
_LEAVES = frozenset(("-text", "-comment", "-doctype", "!doctype", "template"))
_LONGEST_UNSEEN = 20_000
_SPACE = re.compile(r"[ \t\n\r\f\u00a0]+")
_FORMAT = re.compile(
    "(?<=[A-Za-z])\u200d(?=[A-Za-z])|[\u200b\u200c\u2060\ufeff\u00ad\u034f\u180e\u202a-\u202e\u2066-\u2069]"
)
_AROUND_BREAK = re.compile(r" *\n *")
_EMPTY_LINES = re.compile(r"\n{3,}")
_BLANKS = re.compile(r" {2,}")
_TAG = re.compile(r"<[^<>]*>")
_LAYOUT_CELL = 200
_DEEPEST_QUOTE = 50
# The tree builder's time grows with the square of the nesting: beyond this the rest is left out.
_DEEPEST = 5_000
_TAGS_TO_CHECK = 20_000
_ANY_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_VOID = frozenset(("br", "hr", "img", "input", "meta", "link", "p", "li", "td", "tr", "col", "area", "wbr"))
_LARGEST = 10_000_000


@dataclass(slots=True)
class _Piece:
    text: str
    kind: BlockKind
    quotes: tuple[int, ...]
    links: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    look: Look
    kind: BlockKind = "paragraph"
    quotes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rules:
    """What style sheets state for each element (by memory id), and the values of custom properties."""

    by_element: dict[int, dict[str, tuple[str, bool]]]
    named: Mapping[str, str]


@dataclass(slots=True)
class _Output:
    """Text on its way: inline text becomes pieces, pieces of a cell become cells, cells a row."""

    inline: list[str] = field(default_factory=list)
    sinks: list[list[_Piece]] = field(default_factory=lambda: [[]])
    rows: list[list[list[_Piece]]] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    quotes: int = 0
    links: Links = field(default_factory=Links)

    def flush(self, state: _State) -> None:
        """End the block that is open."""
        if not self.inline:
            return
        text = "".join(self.inline)
        text = text.strip("\n").rstrip() if state.kind == "code" else _tidy(text)
        blank = not text.strip()
        links = self.links
        spans = links.take(self.inline, blank=blank) if links.marks or links.waiting else ()
        self.inline.clear()
        if not blank:
            self.sinks[-1].append(_Piece(text, state.kind, state.quotes, spans))

    def end_row(self, state: _State) -> None:
        """Put the cells of the innermost row together."""
        cells = self.rows.pop() if self.rows else []
        filled = [cell for cell in cells if cell]
        if len(filled) < 2 or any(_is_layout(cell) for cell in filled):
            for cell in filled:
                self.sinks[-1].extend(cell)
            return
        while not cells[-1]:
            cells.pop()
        text = " | ".join(" ".join(piece.text.replace("\n", " ") for piece in cell) for cell in cells)
        self.sinks[-1].append(_Piece(text, "row", state.quotes, _links_of_row(cells) if self.links.found else ()))


def visible_text(html: str, *, forwards: bool = False, subject: str = "") -> ParsedText:
    """The text that a reader of *html* sees, with blocks and regions; hidden text apart. Never raises.

    A title that only repeats *subject* is not hidden: a reader sees it above the mail.
    """
    tree = LexborHTMLParser(charset.clean(_without_abyss(html[:_LARGEST])))
    output = _Output()
    root = tree.root
    if root is not None:
        # Comments may stand before the root.
        while root.prev is not None:
            root = root.prev
        sheets = styles.sheets(tree)
        named = styles.variables(html)
        _walk(root, _Rules(styles.rules(tree, sheets, named) if sheets else {}, named), output)
    builder = TextBuilder()
    quoted = _build(output.sinks[0], builder)
    titles = {node.text() for node in tree.css("title")[:20]} if subject and output.hidden else set()
    for text in output.hidden:
        if text not in titles or not _repeats(text, subject):
            builder.hide(text)
    parsed = builder.parsed()
    found = regions.mark(parsed.text, parsed.blocks, quoted=quoted, forwards=forwards)
    return ParsedText(parsed.text, parsed.blocks, found, (), parsed.hidden_text, output.links.part(len(parsed.text)))


def _repeats(title: str, subject: str) -> bool:
    """Whether the words of *title* stand in *subject*."""
    return f" {' '.join(words(title))} " in f" {' '.join(words(subject))} "


def _without_abyss(html: str) -> str:
    """*html* up to where its elements nest deeper than any mail's."""
    if html.count("<") < _TAGS_TO_CHECK:
        return html
    depth = 0
    for match in _ANY_TAG.finditer(html):
        if match[2].lower() not in _VOID:
            depth = max(depth - 1, 0) if match[1] else depth + 1
        if depth > _DEEPEST:
            return html[: match.start()]
    return html


def _walk(root: LexborNode, ruled: _Rules, output: _Output) -> None:
    """Depth first without recursion. The stack holds what is left of each level and the state to go back to."""
    stack: list[tuple[LexborNode | None, str, _State]] = [(root, "", _State(Look()))]
    while stack:
        node, parent_tag, state = stack.pop()
        if node is None:
            _leave(parent_tag, state, output)
            continue
        tag = node.tag or ""
        following = node.next
        if following is not None:
            stack.append((following, parent_tag, state))
        if tag == "br" or tag in _DROPPED or tag in _LEAVES:
            _leaf(node, tag, state, output)
            continue
        inner = _enter(node, tag, state, ruled, output)
        stack.append((None, tag, inner if tag in _BLOCKS else state))
        child = node.child
        if child is not None:
            stack.append((child, tag, inner))


def _leaf(node: LexborNode, tag: str, state: _State, output: _Output) -> None:
    if tag == "-text":
        _text(node.text_content or "", state, output)
    elif tag == "br":
        _text("\n", state, output, literal=True)
    elif tag == "-comment":
        output.hidden.append(_TAG.sub(" ", (node.comment_content or "")[:_LONGEST_UNSEEN]))
    elif tag == "template":
        output.hidden.append(_TAG.sub(" ", (node.html or "")[:_LONGEST_UNSEEN]))
    elif tag == "map" and state.look.shows:
        for area in node.css("area[href]"):
            _link("a", area.attributes, state.look, output)
            _link("img", {}, state.look, output)
            output.links.leave(len(output.inline))


def _text(text: str, state: _State, output: _Output, *, literal: bool = False) -> None:
    if not state.look.shows:
        output.hidden.append(text)
        return
    if not literal and state.kind != "code":
        text = _SPACE.sub(" ", text) if text != " " else text
    output.inline.append(text if text.isascii() else _FORMAT.sub("", text))


def _enter(node: LexborNode, tag: str, state: _State, ruled: _Rules, output: _Output) -> _State:
    attributes = node.attributes
    own = ruled.by_element.get(node.mem_id, {}) if ruled.by_element else {}
    look = _look(tag, attributes, state.look, own, ruled.named)
    if tag not in _BLOCKS:
        if tag in _LINKING:
            _link(tag, attributes, look, output)
        return state if look is state.look else _State(look, state.kind, state.quotes)
    output.flush(state)
    if tag == "tr":
        output.rows.append([])
    elif tag in ("td", "th"):
        output.sinks.append([])
    quotes = state.quotes
    if tag == "blockquote" and len(quotes) < _DEEPEST_QUOTE and _quotes(attributes):
        output.quotes += 1
        quotes = (*quotes, output.quotes)
    return _State(look, _KINDS.get(tag, state.kind), quotes)


def _link(tag: str, attributes: dict[str, str | None], look: Look, output: _Output) -> None:
    if tag == "a":
        output.links.enter(attributes.get("href") or "", len(output.inline), shows=look.shows)
    elif look.shows:
        output.links.picture()


def _leave(tag: str, state: _State, output: _Output) -> None:
    if tag not in _BLOCKS:
        if tag == "a":
            output.links.leave(len(output.inline))
        return
    output.flush(state)
    if tag in ("td", "th") and len(output.sinks) > 1:
        cell = output.sinks.pop()
        if output.rows:
            output.rows[-1].append(cell)
        else:
            output.sinks[-1].extend(cell)
    elif tag == "tr":
        output.end_row(state)


def _look(
    tag: str,
    attributes: dict[str, str | None],
    look: Look,
    ruled: dict[str, tuple[str, bool]],
    named: Mapping[str, str],
) -> Look:
    if tag in _UNSEEN:
        return styles.look(look, {"display": "none"})
    if not attributes and not ruled and tag != "dialog":
        return look
    style = _presented(tag, attributes)
    style |= styles.cascade(ruled, styles.declarations(styles.filled_in(attributes.get("style") or "", named)))
    if tag == "a":
        # Buttons have another form for Outlook; every other program shows this one.
        style.pop("mso-hide", None)
    if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
        style.setdefault("display", "none")
    return styles.look(look, style) if style else look


def _presented(tag: str, attributes: dict[str, str | None]) -> dict[str, str]:
    """What the old presentational attributes say, as style."""
    style: dict[str, str] = {}
    if tag == "a" and attributes.get("href"):
        style["color"] = "#0000ee"
    if attributes.get("bgcolor"):
        style["background-color"] = str(attributes["bgcolor"]).lower()
    if attributes.get("background"):
        style["background-image"] = "url(image)"
    colour = attributes.get("color" if tag == "font" else "text") if tag in ("font", "body") else None
    return style | {"color": colour.lower()} if colour else style


def _quotes(attributes: dict[str, str | None]) -> bool:
    """Whether a blockquote quotes; some programs use it to indent, and then say that it has no border."""
    if (attributes.get("type") or "").lower() == "cite" or "quote" in (attributes.get("class") or "").lower():
        return True
    return re.search(r"border(?:-width)?\s*:\s*(?:none|0|medium none)", attributes.get("style") or "", re.I) is None


def _tidy(text: str) -> str:
    if "\n" in text:
        text = _EMPTY_LINES.sub("\n\n", _AROUND_BREAK.sub("\n", text))
    return (_BLANKS.sub(" ", text) if "  " in text else text).strip()


def _is_layout(cell: list[_Piece]) -> bool:
    """Whether a cell holds a column of a page rather than a value of a table."""
    if any(piece.kind != "paragraph" for piece in cell):
        return True
    return len(cell) > 1 and sum(len(piece.text) for piece in cell) > _LAYOUT_CELL


def _links_of_row(cells: list[list[_Piece]]) -> tuple[Span, ...]:
    """The links of *cells*, in the text that they make together: with a bar between each two."""
    if not any(piece.links for cell in cells for piece in cell):
        return ()
    spans: list[Span] = []
    before = 0
    for number, cell in enumerate(cells):
        before += number > 0
        for piece in cell:
            spans += [(lead, before + start, before + end) for lead, start, end in piece.links]
            before += links.solid(piece.text)
    return tuple(spans)


def _build(pieces: list[_Piece], builder: TextBuilder) -> list[tuple[int, int]]:
    """Add the pieces to *builder*; the spans of the quotes that they stand in."""
    spans: dict[int, tuple[int, int]] = {}
    for piece in pieces:
        before, base = len(builder.pieces), builder.length
        for text in _paragraphs(piece):
            block: Block | None = builder.add(text, piece.kind)
            if block is None:
                continue
            for quote in piece.quotes:
                start, _ = spans.get(quote, (block.start, block.end))
                spans[quote] = (start, block.end)
        if piece.links:
            links.place(piece.links, "".join(builder.pieces[before:]), base)
    return list(spans.values())


def _paragraphs(piece: _Piece) -> list[str]:
    """Two line breaks in a row end a paragraph for the eye."""
    return piece.text.split("\n\n") if piece.kind == "paragraph" else [piece.text]
