"""What a reader of one message sees as its text, and which parts hang on it as attachments.

Which alternative wins: text/plain, unless it is blank or a stub beside the HTML ("view this in a browser").
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mailsearch.hits import Block, PartLinks, Region
from mailsearch.ingest import charset, cms, entities, headers, html, invitations, links, plain, reports, words, yenc
from mailsearch.ingest.blocks import MOST_TEXT
from mailsearch.ingest.entities import Entity
from mailsearch.ingest.parsed import Defect, ParsedText
from mailsearch.ingest.transfer import Content, decode

_META_CHARSET = re.compile(rb"(?i)<meta[^>]{1,200}charset\s*=\s*[\"']?([\w:.-]{2,40})")
_HTML_START = re.compile(r"^\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_ENRICHED = re.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,60}>")
_ENRICHED_PARAMETER = re.compile(r"(?is)<param>.{0,500}?</param>")
_STUB = re.compile(
    r"(?i)html|view (?:this|it|the) .{0,40}(?:browser|online)|web ?browser|im browser|navegador|navigateur"
    r"|does not support|cannot be displayed"
)
_DELIVERY = ("message/delivery-status", "message/global-delivery-status")
_REPORTS = (
    "message/disposition-notification",
    "message/global-disposition-notification",
    "message/feedback-report",
    "message/tracking-status",
)
# As many words as may only say where a text is to be had.
_SHORT = 20
# Messages inside signatures, and pieces of messages, that are opened within each other.
_MOST_OPENED = 20
_CLEARSIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_INLINE_ENCRYPTED = "-----BEGIN PGP MESSAGE-----"
SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")


@dataclass(slots=True)
class Leaf:
    """A part that is no body text: an attachment or an image of the page."""

    entity: Entity
    content: Content
    filename: str
    inline: bool = False
    # Part of what only its recipient can decrypt.
    sealed: bool = False


@dataclass(slots=True)
class Found:
    """What one part and all below it hold."""

    # Visible text in reading order, each with "plain" or "html".
    pieces: list[tuple[str, ParsedText]] = field(default_factory=list)
    # In the order in which attachments and messages occur.
    order: list[Leaf | Entity] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    # Text that counts where nothing else gives the body any.
    spare: list[ParsedText] = field(default_factory=list)
    signed: bool = False
    encrypted: bool = False
    differ: bool = False

    def take(self, other: "Found", *, pieces: bool = True) -> None:
        """Add what *other* holds."""
        if pieces:
            self.pieces += other.pieces
        self.order += other.order
        self.files += other.files
        self.defects += other.defects
        self.hidden += other.hidden
        self.spare += other.spare
        self.facts = other.facts | self.facts
        self.signed |= other.signed
        self.encrypted |= other.encrypted
        self.differ |= other.differ

    def beside(self, other: "Found") -> None:
        """Add what a container holds as the body: the text where there is none, else what it alone tells."""
        text = other.text
        if not text.text.strip():
            return
        self.spare.append(text)
        self.differ |= other.differ
        own = join(piece for _, piece in self.pieces)
        if not own.text.strip():
            return
        self.differ |= words.differ(own.text, text.text)
        self.hidden += filter(None, [text.hidden_text])
        if text.links.kept:
            kind, piece = self.pieces[-1]
            added = links.together([piece.links, links.moved(text.links, text.text, piece.text)])
            self.pieces[-1] = kind, replace(piece, links=added)

    @property
    def text(self) -> ParsedText:
        """The pieces as one text."""
        joined = join(text for _, text in self.pieces)
        if not joined.text:
            joined = join([joined, *self.spare])
        if not self.hidden:
            return joined
        hidden = [joined.hidden_text, *self.hidden]
        return replace(joined, hidden_text="\n".join(filter(None, hidden)))


def read(root: Entity, *, forwards: bool = False, subject: str = "") -> Found:
    """Everything that the message with tree *root* holds. *forwards* says that its subject calls it forwarded."""
    reader = _Reader(forwards, subject)
    found = reader.read(root)
    if not any(text.text for _, text in found.pieces):
        reader.promote(found)
    return found


def join(texts: Iterable[ParsedText]) -> ParsedText:
    """Several texts as one, with an empty line between them."""
    texts = [text for text in texts if text.text or text.hidden_text or text.links.kept]
    if len(texts) == 1:
        return texts[0]
    pieces: list[str] = []
    blocks: list[Block] = []
    regions: list[Region] = []
    hidden: list[str] = []
    found: list[PartLinks] = []
    length = 0
    for text in texts:
        if text.hidden_text:
            hidden.append(text.hidden_text)
        if not text.text.strip():
            found.append(links.shifted(text.links, length))
            continue
        shift = length + (2 if pieces else 0)
        blocks += [replace(block, start=block.start + shift, end=block.end + shift) for block in text.blocks]
        regions += [replace(region, start=region.start + shift, end=region.end + shift) for region in text.regions]
        found.append(links.shifted(text.links, shift))
        pieces.append(text.text)
        length = shift + len(text.text)
    joined = links.together(found)
    return ParsedText("\n\n".join(pieces), tuple(blocks), tuple(regions), (), "\n".join(hidden), joined)


@dataclass(slots=True)
class _Reader:
    forwards: bool
    subject: str
    opened: int = 0

    def read(self, entity: Entity) -> Found:
        found = Found()
        found.defects += [Defect(code, entity.path, explanation) for code, explanation in entity.problems]
        kind = entity.content_type
        if entities.is_message(entity) and entity.children:
            found.order.append(entity)
        elif kind.startswith("multipart/") and entity.children:
            self._multipart(entity, found)
        else:
            self._leaf(entity, found)
        return found

    def _multipart(self, entity: Entity, found: Found) -> None:
        subtype = entity.content_type.partition("/")[2]
        children = [self.read(child) for child in entity.children]
        if subtype == "alternative":
            _choose(children, found)
            return
        found.signed |= subtype == "signed"
        found.encrypted |= subtype == "encrypted"
        for child in children:
            found.take(child)
        for leaf in found.order if subtype == "encrypted" else ():
            if isinstance(leaf, Leaf):
                leaf.sealed = True

    def _leaf(self, entity: Entity, found: Found) -> None:
        encoding = entity.header("content-transfer-encoding").decode("latin-1")
        content = decode(entity.body, encoding)
        if content.problem:
            found.defects.append(Defect(content.problem[0], entity.path, content.problem[1]))
        placed, filename = disposition(entity)
        kind = entity.content_type
        named = filename or placed == "attachment"
        if (kind == "text/calendar" and (entity.depth or named)) or kind == "application/ics":
            # Beside other text the event is an attachment; by itself it is what the message says.
            found.spare.append(_invitation(entity, content).text)
            filename = filename or "invite.ics"
        if placed != "attachment" and not filename and _is_body(kind):
            self.text(entity, content, found)
        elif not self._opened(entity, content, filename, found):
            inline = placed == "inline" or bool(entity.header("content-id"))
            leaf = Leaf(entity, content, filename, inline, cms.is_encrypted(content.data))
            found.order.append(leaf)
            found.signed |= kind in SIGNATURES

    def _opened(self, entity: Entity, content: Content, filename: str, found: Found) -> bool:
        """Read the message inside an opaque signature or a part that is a piece of one; whether there was one."""
        if entity.content_type == "message/partial":
            found.defects.append(Defect("message-partial", entity.path, "The message is one piece of a longer one."))
            inside: bytes | None = content.data if entity.parameters.get("number") == "1" else b"\n" + content.data
        elif entity.content_type.endswith("pkcs7-mime") or filename.lower().endswith((".p7m", ".p7z")):
            data = cms.unarmoured(content.data)
            found.encrypted |= cms.is_encrypted(data) or entity.parameters.get("smime-type") == "enveloped-data"
            inside = cms.content_inside(data)
            found.signed |= inside is not None and cms.is_signed(data)
        else:
            return False
        if inside is None or self.opened >= _MOST_OPENED:
            return False
        self.opened += 1
        found.take(self.read(entities.read(inside)))
        self.opened -= 1
        return True

    def promote(self, found: Found) -> None:
        """Where nothing gives the body any text, a text that only carries a file name is the body."""
        for leaf in found.order:
            if not isinstance(leaf, Leaf):
                continue
            kind, (placed, filename) = leaf.entity.content_type, disposition(leaf.entity)
            # Text of an unknown kind is read as plain (RFC 2046 §4.1.4).
            is_text = kind in ("text/plain", "text/html") or (kind.startswith("text/") and not filename)
            if is_text and placed != "attachment":
                found.order.remove(leaf)
                self.text(leaf.entity, leaf.content, found)
                return

    def text(self, entity: Entity, content: Content, found: Found) -> None:
        """Add a text part to the body."""
        kind = entity.content_type
        if kind == "text/calendar":
            invitation = _invitation(entity, content)
            found.pieces.append(("calendar", invitation.text))
            found.facts |= invitation.facts
            return
        text = self._decoded(entity, content, found)
        if kind in _DELIVERY:
            found.facts |= reports.bounce(text)
        if kind in ("text/html", "application/xhtml+xml") or _HTML_START.match(text):
            found.pieces.append(("html", html.visible_text(text, forwards=self.forwards, subject=self.subject)))
            return
        if kind in ("text/enriched", "text/richtext"):
            text = _ENRICHED.sub("", _ENRICHED_PARAMETER.sub("", text)).replace("<<", "<")
        self._plain(entity, charset.clean(text), found)

    def _decoded(self, entity: Entity, content: Content, found: Found) -> str:
        """The text of a part in characters; what is wrong with it is noted in *found*."""
        kind, declared = entity.content_type, entity.parameters.get("charset", "")
        if b"=ybegin " in content.data:
            content = self._without_files(entity, content, found)
        if not declared and kind == "text/html" and (meta := _META_CHARSET.search(content.data[:4096])):
            declared = meta[1].decode("latin-1")
        decoded = charset.decode(content.data, declared)
        _note_charset(entity.path, declared, decoded, found)
        text = decoded.text
        if smuggled := charset.tagged(text):
            found.hidden.append(smuggled)
        if content.trailer and kind == "text/plain":
            text = f"{text.rstrip()}\n\n{charset.decode(content.trailer).text}"
        if len(text) > MOST_TEXT:
            said = f"Only {MOST_TEXT} characters of text are kept."
            found.defects.append(Defect("text-truncated", entity.path, said))
        return text

    def _without_files(self, entity: Entity, content: Content, found: Found) -> Content:
        """A part without the files that stand in it as bytes."""
        rest, files = yenc.take_files(content.data)
        for name, data, sound in files:
            found.files.append((headers.text(name).value, data))
            said = "A file was in the text in yEnc; it was taken out" + ("." if sound else ", damaged.")
            found.defects.append(Defect("yenc-inline", entity.path, said))
        return content._replace(data=rest)

    def _plain(self, entity: Entity, text: str, found: Found) -> None:
        text, files = plain.take_files(text)
        for name, data, sound in files:
            found.files.append((name, data))
            said = "A file was uuencoded in the text; it was taken out" + ("." if sound else ", damaged.")
            found.defects.append(Defect("uuencode-inline", entity.path, said))
        if _CLEARSIGNED in text:
            found.signed, text = True, plain.without_armour(text)
        found.encrypted |= _INLINE_ENCRYPTED in text
        flowed = entity.parameters.get("format", "").lower() == "flowed"
        delsp = entity.parameters.get("delsp", "").lower() == "yes"
        parsed = plain.visible_text(text, flowed=flowed, delsp=delsp, forwards=self.forwards)
        found.pieces.append(("plain", parsed))


def chosen(plain_text: ParsedText, html_text: ParsedText) -> Found:
    """What a message says that has these two forms; either may be empty."""
    found = Found()
    _choose([Found([("plain", plain_text)]), Found([("html", html_text)])], found)
    return found


def _choose(children: list[Found], found: Found) -> None:
    """The winner of a multipart/alternative gives its text; attachments of all are kept."""
    texts = {
        kind: join(text for child in children for form, text in child.pieces if form == kind)
        for kind in ("plain", "html", "calendar")
    }
    for child in children:
        found.take(child, pieces=False)
    plain_text, html_text, event = texts["plain"], texts["html"], texts["calendar"]
    if not html_text.text.strip() and not plain_text.text.strip():
        kind, winner, loser = "calendar", event, html_text
    elif _is_stub(plain_text.text, html_text.text):
        kind, winner, loser = "html", html_text, plain_text
    else:
        kind, winner, loser = "plain", plain_text, html_text
    if loser.links.kept:
        # Most programs show the HTML: what its links say and where they lead is of use whichever text is kept.
        winner = replace(winner, links=links.moved(loser.links, loser.text, winner.text))
    found.pieces.append((kind, winner))
    if loser.text.strip() and winner.text.strip():
        found.differ |= words.differ(plain_text.text, html_text.text)
    if loser.hidden_text:
        found.hidden.append(loser.hidden_text)


def _is_stub(plain_text: str, html_text: str) -> bool:
    if not html_text.strip():
        return False
    said, meant = words.words(plain_text[:200_000]), words.words(html_text[:200_000])
    if len(said) < 3 <= len(meant):
        return True
    if len(said) < _SHORT and 2 * len(meant) >= 3 * len(said) and 2 * len({*said} & {*meant}) < len({*said}):
        # A few words that the page does not say are about it, whatever their language.
        return True
    if len(said) < 60 and _STUB.search(plain_text):
        # What only speaks of the page shares few words with it.
        return len(said) * 3 < len(meant) or (len(said) < len(meant) and 2 * len({*said} & {*meant}) < len({*said}))
    return len(said) * 8 < len(meant) and len(said) < 100


def _invitation(entity: Entity, content: Content) -> invitations.Invitation:
    return invitations.read(content.data, entity.parameters.get("charset", ""))


def _is_body(kind: str) -> bool:
    if kind in ("text/plain", "text/html", "text/calendar", "text/enriched", "text/richtext", "application/xhtml+xml"):
        return True
    return kind in _DELIVERY or kind in _REPORTS or kind in ("text/markdown", "text/x-markdown")


def disposition(entity: Entity) -> tuple[str, str]:
    """Disposition and file name, the latter from either of the two headers that may give it."""
    from_type = entity.parameters.get("name", "")
    value = entity.header("content-disposition")
    if not value:
        return "", from_type
    placed, parameters = headers.parameters(value)
    return placed, parameters.get("filename", "") or parameters.get("name", "") or from_type


def _note_charset(path: str, declared: str, decoded: charset.Decoded, found: Found) -> None:
    if declared and not charset.lookup(declared):
        found.defects.append(
            Defect(
                "charset-unknown",
                path,
                f"The charset {declared[:40]!r} is unknown or not allowed; read as {decoded.charset}.",
            )
        )
    elif decoded.step not in ("declared", "windows-1252") and not (decoded.step == "utf-8" and not declared):
        named = repr(declared[:40]) if declared else "none"
        found.defects.append(
            Defect(
                "charset-mismatch",
                path,
                f"The text is not in its declared charset ({named}); read as {decoded.charset} "
                f"by the step {decoded.step!r}.",
            )
        )
    if "\x00" in decoded.text:
        found.defects.append(Defect("nul-characters", path, "NUL characters were taken out of the text."))
