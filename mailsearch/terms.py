"""The terms of a text: what keyword search compares, made by the same code for mail and for queries.

A text is folded (`fold`: case, accents, width, format characters) and cut into lexemes (`positioned_tokens`,
`index_tokens`):

- a plain word is one lexeme;
- anything with inner punctuation or digits (part numbers, e-mail addresses, URLs, file names, amounts, hyphenated
  words) is found whole (`pn-4711a`), joined (`pn4711a`), by segment (`example.com`) and by part (`pn`, `4711a`,
  `4711`). Parts follow each other in position; the larger pieces stand at the position of their first part;
- scripts without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) give overlapping pairs of characters,
  one position each, and the last character of a run by itself. So a single such character in a query is asked for
  as a prefix (`is_dense(lexeme)` and one character long), and longer ones as their pairs;
- an emoji is a lexeme;
- letters that no accent makes and that keyboards elsewhere lack (ł, đ, ø, ı, æ) stand for themselves, and beside each
  such word stands what others write for it (`łódź` is `łodz` and `lodz`, `được` is `đuoc` and `duoc`).

How the index is made (`SearchDocument.words`): every lexeme of `positioned_tokens` at its position, unstemmed, and
beside it at the same position the stem of each plain word in the language of its message, as Postgres'
`ts_lexize(dictionary(language), word)` gives it for the folded word (mail in an unknown language is stemmed as
English). Stop words keep their unstemmed lexeme and have no stem. So a query word finds mail when any of these
lexemes is in the vector: its `index_tokens`, or its stem by the dictionaries of the languages in question. Lexemes
go into a tsquery quoted ('…', with ' and \\ doubled); Postgres' own parser is used on neither side, since it cuts
identifiers, paths and CJK in ways of its own.

Weights: A subject · B participants and file names · C what this message itself says, with attachments' text · D text
quoted from other messages. Fields are apart by a gap of positions, so no phrase runs from one into the next.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

# Postgres refuses lexemes of 2 KB; nobody types more than this, and a query's lexeme is cut at the same place.
LONGEST_LEXEME = 200

# Scripts that are written without spaces between words.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af"
)
# Signs that stand inside words of Indic scripts and others, which `\w` does not know.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc"
)
_EMOJI = "\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_LETTER = rf"(?:[^\W{_DENSE}]|[{_SIGNS}])"
_TOKEN = re.compile(rf"[{_DENSE}]+|{_LETTER}+(?:(?:://|[-./:@+'&#=%~?]|(?<=[0-9]),(?=[0-9])){_LETTER}+)*|[{_EMOJI}]")
# The same for text that has none of these characters, or is ASCII throughout, at less than half of the cost.
_SPECIAL = re.compile(rf"[{_DENSE}{_SIGNS}{_EMOJI}]")
_SIMPLE = r"\w+(?:(?:://|[-./:@+'&#=%~?]|(?<=[0-9]),(?=[0-9]))\w+)*"
_SIMPLE_TOKEN, _ASCII_TOKEN = re.compile(_SIMPLE), re.compile(_SIMPLE, re.ASCII)
_DENSE_RUN = re.compile(rf"[{_DENSE}]+")
# From the coarsest cut to the finest.
_SEGMENT = re.compile(r"[/@:?=&#%~]+")
_NAME = re.compile(r"[/@:?=&#%~.]+")
_PART = re.compile(rf"(?:(?!_){_LETTER})+")
_PIECE = re.compile(r"[0-9]+|[^\W0-9_]+")
_SEPARATOR = re.compile(r"[-./:_,]+")
# Accents, vowel points; but й is a letter of its own.
_ACCENT = re.compile("(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u064b-\u065f\u0670]")
_FORMAT = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_STROKED = re.compile("[łđøħŧıæœðþ]")
_BARE = str.maketrans(
    {"ł": "l", "đ": "d", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
)
_APOSTROPHE = re.compile("[\u2019\u02bc\u00b4\u2018`]")
_NOT_ASCII = re.compile("[^\x00-\x7f]+")
# Of so many characters one in each may be none of ASCII for a text to be folded by its runs of these.
_MOSTLY = 8
_SHORT_RUN = 8

# Language of a message (ISO 639-1) to the dictionary that stems it; all of them come with every Postgres.
_DICTIONARIES = {
    "ar": "arabic_stem", "ca": "catalan_stem", "da": "danish_stem", "de": "german_stem", "el": "greek_stem",
    "en": "english_stem", "es": "spanish_stem", "eu": "basque_stem", "fi": "finnish_stem", "fr": "french_stem",
    "ga": "irish_stem", "hi": "hindi_stem", "hu": "hungarian_stem", "hy": "armenian_stem", "id": "indonesian_stem",
    "it": "italian_stem", "lt": "lithuanian_stem", "nb": "norwegian_stem", "ne": "nepali_stem", "nl": "dutch_stem",
    "nn": "norwegian_stem", "no": "norwegian_stem", "pt": "portuguese_stem", "ro": "romanian_stem",
    "ru": "russian_stem", "sr": "serbian_stem", "sv": "swedish_stem", "ta": "tamil_stem", "tr": "turkish_stem",
    "yi": "yiddish_stem",
}  # fmt: skip


def dictionary(language: str) -> str:
    """The Postgres dictionary that stems words of *language* (ISO 639-1); `simple` where there is none."""
    return _DICTIONARIES.get(language, "simple") if language else "english_stem"


def fold(text: str) -> str:
    """*text* without the differences that search ignores: case, accents, width, format characters, apostrophes."""
    if text.isascii():
        return text.lower().replace("`", "'")
    text = text.casefold()
    if len(text.encode("utf-8", "surrogatepass")) - len(text) > len(text) // _MOSTLY:
        return _folded(text)
    # No character of ASCII takes part in what becomes of the others, at a third of the cost.
    return _NOT_ASCII.sub(_folded_run, text).replace("`", "'")


def _folded_run(match: re.Match[str]) -> str:
    run = match[0]
    return _known_run(run) if len(run) <= _SHORT_RUN else _folded(run)


@lru_cache(5_000)
def _known_run(run: str) -> str:
    return _folded(run)


def _folded(text: str) -> str:
    """`fold` for *text* after its first change of case."""
    text = unicodedata.normalize("NFKD", text)
    text = _ACCENT.sub("", _FORMAT.sub("", _APOSTROPHE.sub("'", text)))
    # Once more: decomposition can yield capitals (mathematical letters and the like).
    return unicodedata.normalize("NFC", text.casefold())


def is_dense(lexeme: str) -> bool:
    """Whether *lexeme* is of a script that is written without spaces between words."""
    return _DENSE_RUN.fullmatch(lexeme) is not None


def index_tokens(text: str) -> list[str]:
    """The lexemes of *text* in order, unstemmed, with repetitions."""
    return [lexeme for lexeme, _ in positioned_tokens(text)]


def positioned_tokens(text: str) -> Iterator[tuple[str, int]]:
    """The lexemes of *text*, each with the number of its word from 1. Several lexemes may share a position."""
    return zip(*lexemes_and_places(text), strict=True)


def lexemes_and_places(text: str) -> tuple[list[str], list[int]]:
    """`positioned_tokens` as two lists, which is quicker to go through."""
    text = fold(text)
    simple = text.isascii() or not _SPECIAL.search(text)
    tokens = (_ASCII_TOKEN if text.isascii() else _SIMPLE_TOKEN if simple else _TOKEN).findall(text)
    if len(text) > LONGEST_LEXEME and len(max(tokens, key=len, default="")) > LONGEST_LEXEME:
        tokens = [token[:LONGEST_LEXEME] if token.isalpha() and token[0] < "\u0e00" else token for token in tokens]
    lexemes: list[str] = []
    places: list[int] = []
    at = 0
    for token in tokens:
        # Most tokens are plain words, and this loop is most of what indexing costs.
        if token.isalpha() and (simple or token[0] < "\u0e00"):
            at += 1
            lexemes.append(token)
            places.append(at)
        elif not simple and _DENSE_RUN.match(token):
            lexemes += [token[start : start + 2] for start in range(len(token))]
            places += range(at + 1, at + 1 + len(token))
            at += len(token)
        else:
            pieces, offsets = _pieces(token)
            lexemes += pieces
            places += [at + offset for offset in offsets]
            at += offsets[-1]
    return _with_bare(lexemes, places) if not text.isascii() and _STROKED.search(text) else (lexemes, places)


def _with_bare(lexemes: list[str], places: list[int]) -> tuple[list[str], list[int]]:
    """The same, and beside each word with a letter that has one what others write for it."""
    pairs: list[tuple[str, int]] = []
    for lexeme, place in zip(lexemes, places, strict=True):
        pairs.append((lexeme, place))
        if _STROKED.search(lexeme):
            pairs.append((lexeme.translate(_BARE)[:LONGEST_LEXEME], place))
    # A compound stands at the place of its first part.
    pairs.sort(key=itemgetter(1))
    return [lexeme for lexeme, _ in pairs], [place for _, place in pairs]


@lru_cache(40_000)
def _pieces(token: str) -> tuple[Sequence[str], Sequence[int]]:
    """An identifier whole, joined, by segments and by parts; of each the position of its first part, from 1."""
    parts = [(match.group(), match.start()) for match in _PART.finditer(token)]
    starts = {start: number for number, (_, start) in enumerate(parts, 1)}
    found: dict[tuple[str, int], None] = {}
    for piece, start in _larger(token):
        if start in starts:
            found[piece[:LONGEST_LEXEME], starts[start]] = None
    for number, (part, _) in enumerate(parts, 1):
        found[part[:LONGEST_LEXEME], number] = None
        if not part.isalpha() and not part.isdigit() and len(part) <= LONGEST_LEXEME:
            found |= {(piece, number): None for piece in _PIECE.findall(part) if len(piece) > 1}
    # An emoji has no parts.
    ordered = sorted(found, key=lambda item: item[1]) or [(token, 1)]
    return tuple(piece for piece, _ in ordered), tuple(place for _, place in ordered)


def _larger(token: str) -> Iterator[tuple[str, int]]:
    """The pieces of *token* that hold several parts, with their offsets in it."""
    yield token, 0
    for cut in (_SEGMENT, _NAME):
        start = 0
        for gap in [*cut.finditer(token), None]:
            end = gap.start() if gap else len(token)
            if token[start:end]:
                yield token[start:end], start
                yield _SEPARATOR.sub("", token[start:end]), start
            start = gap.end() if gap else end


def parts(text: str) -> list[str]:
    """The finest whole words of *text*, in order: `PN-4711a/2` gives `pn`, `4711a`, `2`."""
    return [match.group()[:LONGEST_LEXEME] for match in _PART.finditer(fold(text))]


def dictionaries() -> list[str]:
    """Every dictionary that mail may have been stemmed by."""
    return sorted({*_DICTIONARIES.values(), dictionary("")})
