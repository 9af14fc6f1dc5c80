"""Where sentences end: a multilingual splitter, and a guard that parts no text after an abbreviation or ordinal."""

import re
from functools import lru_cache
from itertools import pairwise

import sentencex

from agentic.core.verify.words import lexicons

_TERMINATORS = ".!?\u2026\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u0589\u104b\u17d4\u0f0d"
# Not for the splitter: lone surrogates it can't take, and open quotations cost it the square of their number.
_UNFIT = re.compile("[\ud800-\udfff\"'`\u2018-\u201f\u2039\u203a\u00ab\u00bb\u300c-\u300f\u301d-\u301f\uff02]")
_FULL_WIDTH = re.compile("[\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u0589\u104b\u17d4\u0f0d]+")
# A full stop glued to the next sentence, or followed by space and anything that can begin one.
_CANDIDATE = re.compile(r"(?P<stop>[.!?\u2026]+)(?P<close>[\"'\u201d\u2019\u00bb)\]*_~]*)(?P<gap>\s*)(?=(?P<next>\S))")
# A picture that closes what was said, as a full stop would.
_EMOJI = re.compile("[\u2600-\u27bf\u2b50\U0001f300-\U0001faff][\ufe0f\u200d\U0001f3fb-\U0001f3ff]*\\s+")
# Text in which nothing can end a sentence but what stands at its very end: no rule needs to look at it.
_ENDS_NOWHERE = re.compile(
    r"(?:[\w \u00a0,:()\[\]{}<>/|&%$#@+=*\"'\u2018-\u201e\u00ab\u00bb\u2013\u2014\ue000-]++"
    r"|(?<![\ue000\]])\.(?=[a-z0-9]))*+[.!?]*[ \u00a0]*"
)
_PARTICLE = re.compile(r"(?:Le|La|De|Du|Di|Da|Von|Van|Ten|Ter|El) [^\W\d_]")
_BEFORE = re.compile(r"(?:[^\W\d_]+\.[ \u00a0]?)*[^\W_]+$")
_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.[ \u00a0]?)*[^\W\d_]$")
_MONTHLIKE = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=1)
def _abbreviations() -> dict[str, frozenset[str]]:
    return {code: lexicon.abbreviations for code, lexicon in lexicons().items()}


@lru_cache(maxsize=1)
def _months() -> frozenset[str]:
    return frozenset(month for lexicon in lexicons().values() for month in lexicon.months)


def boundaries(text: str, language: str = "") -> list[int]:
    """Offsets where a new sentence begins in *text* (one paragraph, on one line); 0 and the end are not among them.

    *language* is a two-letter code or empty. Whatever must not be split (quotations, markers, addresses) has to be
    masked by the caller with characters that end no sentence.
    """
    # Armenian sentences end with what is a colon elsewhere.
    if language != "hy" and ends_nowhere(text):
        return []
    last = len(text.rstrip())
    proposed = {
        at
        for at in _proposed(text, language)
        if 0 < at < last and text[at - 1].isspace() and not _guarded(text, at, language)
    }
    proposed.update(_own(text, language))
    return sorted(at for at in proposed if 0 < at < last)


def ends_nowhere(text: str) -> bool:
    """Whether *text* plainly holds no end of a sentence before its own; most units do not, and this is quick."""
    return _ENDS_NOWHERE.fullmatch(text) is not None


def _proposed(text: str, language: str) -> set[int]:
    known = language if language in _abbreviations() else (language or "en")
    found, position = set(), 0
    for piece in sentencex.segment(known, _UNFIT.sub("x", text)):
        position += len(piece)
        found.add(position)
    # The splitter must give back the text it was given; if not, the rules here decide alone.
    return found if position == len(text) else set()


def _own(text: str, language: str) -> set[int]:
    found = set()
    for match in _FULL_WIDTH.finditer(text):
        end = match.end()
        while end < len(text) and text[end] in "\u201d\u2019\u300d\u300f\u00bb\"')\uff09":
            end += 1
        while end < len(text) and text[end].isspace():
            end += 1
        found.add(end)
    for match in _EMOJI.finditer(text):
        if match.start() and opens(text[match.end() : match.end() + 40], _MORE_OPENERS):
            found.add(match.end())
    for match in _CANDIDATE.finditer(text):
        if _starts_sentence(text, match, language):
            found.add(match.end("gap"))
    return found


def _starts_sentence(text: str, match: re.Match[str], language: str) -> bool:
    following = match.group("next")
    opens = (
        following.isupper()
        or following.istitle()
        or following.isdigit()
        or following in "\"'\u201c\u201e\u00ab\u2018([{#*-\u2013\u2014\u2022"
    )
    other_script = following.isalpha() and not following.islower() and not following.isupper()
    if match.group("gap"):
        symbol = not following.isalnum() and ord(following) > 0x2190
        return (opens or other_script or symbol) and not _guarded(text, match.end("gap"), language)
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    if before == "\ue000":
        return following.isalnum()
    glued = (
        following.isupper()
        and (before.islower() or before.isdigit())
        and text[match.start() - 2 : match.start() - 1].isalnum()
    )
    return (
        glued
        and text[match.end("gap") + 1 : match.end("gap") + 2].islower()
        and not _guarded(text, match.end("gap"), language)
    )


def _guarded(text: str, at: int, language: str) -> bool:
    """Whether the stop before *at* belongs to an abbreviation, an ordinal, an initial or a decimal."""
    head = text[max(0, at - 60) : at].rstrip(" \u00a0\n*_~")
    if not head.endswith(".") or head.endswith(".."):
        return False
    tail = text[at : at + 40].lstrip()
    before = _BEFORE.search(head[:-1])
    if before is None:
        return False
    token = before.group()
    if token[-1] in "0123456789":
        return _is_ordinal(token, tail, language) or _follows_article(head, tail, language)
    return _is_abbreviation(token, head, tail, language)


def _is_ordinal(token: str, tail: str, language: str) -> bool:
    """ "am 5. Juni": a short number, a stop, and a month or (where ordinals are written so) any word."""
    digits = re.search(r"(?<![^\W_])[0-9]{1,3}$", token)
    following = _MONTHLIKE.match(tail)
    if digits is None or following is None:
        return False
    if (
        following.group().casefold() in _months()
        and len(digits.group()) <= 2
        and following.group().casefold() not in ("may", "march")
    ):
        return True
    return (
        language in ("de", "pl", "cs", "da", "no", "fi", "hu")
        and len(digits.group()) <= 2
        and following.group()[0].islower()
    )


_ARTICLES = re.compile(
    r"(?<![^\W\d_])(?:der|die|das|den|dem|des|am|im|zum|zur|vom|beim|eine?[mnrs]?|unsere?[mnrs]?|ihre?[mnrs]?|seine?[mnrs]?|"
    r"diese[mnrs]?|jede[mnrs]?|ab|bis) [0-9]{1,2}\.$",
    re.IGNORECASE,
)


def _follows_article(head: str, tail: str, language: str) -> bool:
    """ "die 2. Rate": in German an article before the number and a noun after it."""
    return language == "de" and _ARTICLES.search(head) is not None and tail[:1].isalpha()


def _is_abbreviation(token: str, head: str, tail: str, language: str) -> bool:
    joined = re.sub(r"[ \u00a0]", "", token).casefold()
    lists = _abbreviations()
    last = joined.rsplit(".", 1)[-1]
    if _ROMAN.fullmatch(token) and tail[:1].islower():
        # "Ludwig II. baute"
        return True
    initials = _INITIALS.search(token)
    if initials:
        return _initials_go_on(initials.group(), tail)
    if last in _BEFORE_NUMBER and re.match(r"[0-9#]", tail):
        return True
    if last == "no":
        return False
    known = [lists[language]] if language in lists else []
    pool = frozenset().union(*(known or lists.values()), lists["en"], _RUSSIAN)
    if joined not in pool and last not in pool and not _STREET.search(last):
        return False
    if last in _MEASURES and language != "de" and re.search(r"[0-9] ?$", head[: -len(token) - 1]):
        return not tail[:1].isupper()
    return not (last in _MAY_END and opens(tail, _MORE_OPENERS))


_ROMAN = re.compile(r"[IVX]{1,6}")
# Abbreviations where a number follows, else words.
_BEFORE_NUMBER = frozenset(["no", "pos", "poz", "all", "tab", "tav", "anl", "ziff", "rn", "sect", "mod", "lfd"])
# Compounds that end in an abbreviation: "Lindenstr. 8".
_STREET = re.compile(r"[^\W\d_]{2}str$")
_RUSSIAN = frozenset(
    ["ул", "д", "г", "др", "пр", "пер", "кв", "стр", "тел", "см", "руб", "коп", "им", "тыс", "обл", "рис"]
)
# These may end a sentence as well: so they do before a word that begins one. Measures, firms, and words of their own.
_MAY_END = frozenset(
    """etc usw al inc ltd co corp jr sr ecc itd itp enz uvm min max s.a s.p.a s.r.l e.v ft lb lbs oz yr yrs hr hrs wk
    qty misc tbd univ ref lit vol vols loc ex fl fls ap eng sp os pl ks gr rag gem ong sen zus fam fa ing pol hl cap
    """.split()  # noqa: SIM905 - sixty words in quotation marks are harder to read
)


# Behind a number they end a sentence before any capital letter ("5 ft. Bob paid").
_MEASURES = frozenset(["ft", "lb", "lbs", "oz", "yr", "yrs", "hr", "hrs", "wk"])


def _initials_go_on(token: str, tail: str) -> bool:
    """Single letters with stops (a name's initials, U.S., z. B., p. m.) go on unless a new sentence is plain."""
    letters = re.sub(r"[^\w]", "", token)
    if letters.islower():
        return letters not in ("pm", "am") or not tail[:1].isupper() or _tells_when(tail)
    name = _PARTICLE.match(tail)
    return not opens(tail) or (name is not None and name.group()[-1].isupper())


def _tells_when(tail: str) -> bool:
    """Whether a time of day goes on with its zone or its day: "5 p.m. EST", "5 p.m. Friday [m1]"."""
    word = re.match(r"[^\W_]+", tail)
    if word is None:
        return False
    if _ZONE.match(tail):
        return True
    after = tail[word.end() :].lstrip(" ")
    return word.group().casefold() in _days() and not (after[:1].islower() and not _PLACE.match(after))


_ZONE = re.compile(r"(?:[A-Z]{1,3}ST|[A-Z]{1,3}DT|UTC|GMT|CET|EET|WET|MEZ|MESZ|PT|ET|CT|MT)(?![^\W_])")
# With these a day is still part of when; another word behind it begins a sentence.
_PLACE = re.compile(r"(?:at|in|on|and|or|to|until|till|by|for|with|from|via|through|morning|evening|night|afternoon)\b")


@lru_cache(maxsize=1)
def _days() -> frozenset[str]:
    return frozenset(day for lexicon in lexicons().values() for day in lexicon.weekdays) | _months()


def opens(tail: str, more: frozenset[str] = frozenset()) -> bool:
    """Whether a capitalised function word follows, which only a new sentence has; *more* are others to count."""
    word = re.match(r"[^\W_]+", tail)
    if word is None or not word.group()[0].isupper():
        return False
    return word.group().casefold() in _SENTENCE_OPENERS or word.group().casefold() in more


_SENTENCE_OPENERS = frozenset(
    [
        "the",
        "this",
        "that",
        "these",
        "those",
        "it",
        "he",
        "she",
        "we",
        "you",
        "they",
        "i",
        "a",
        "an",
        "in",
        "on",
        "at",
        "but",
        "and",
        "however",
        "there",
        "what",
        "who",
        "when",
        "no",
        "yes",
        "please",
        "if",
        "der",
        "die",
        "das",
        "es",
        "er",
        "sie",
        "wir",
        "ich",
        "ein",
        "eine",
        "im",
        "am",
        "aber",
        "und",
        "wenn",
        "nein",
        "ja",
        "bitte",
        "le",
        "la",
        "les",
        "il",
        "elle",
        "nous",
        "vous",
        "je",
        "un",
        "une",
        "mais",
        "et",
        "si",
    ]
)


# Behind an emoji these begin a sentence as well.
_MORE_OPENERS = frozenset(
    """nobody everybody everyone somebody someone all some one its his her their our my your as for from after before
    then also so not now here next only to with both each another nothing none kein keine keiner niemand alle auch dann
    jetzt mit f\u00fcr nach vor seine ihre unser unsere mein dieser diese dieses jeder man heute morgen gestern danach
    ce cette ces on ils elles aucun aucune personne tout tous son sa ses leur notre votre pour avec dans en el los las
    una nadie todo todos su lo gli non nessuno tutti de het een niet niemand wij hij zij dat dit er o os n\u00e3o
    ningu\u00e9m nie nikt to
    """.split()  # noqa: SIM905 - as above
)


def split(text: str, language: str = "") -> list[tuple[int, int]]:
    """Spans of the sentences of *text*, without the white space between them."""
    edges = [0, *boundaries(text, language), len(text)]
    spans: list[tuple[int, int]] = []
    waiting = -1
    for start, end in pairwise(edges):
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        last = start + len(text[start:end].rstrip())
        if last <= first:
            continue
        if _NUMBER_OF_ITEM.fullmatch(text[first:last]) and end < len(text):
            # "... [m1]. 2. Valve": the number goes with what it counts.
            waiting = first if waiting < 0 else waiting
        elif not _only_punctuation(text[first:last]):
            spans.append((first if waiting < 0 else waiting, last))
            waiting = -1
        elif spans:
            spans[-1] = (spans[-1][0], last)
        else:
            waiting = first if waiting < 0 else waiting
    return spans if waiting < 0 or spans else [(waiting, len(text.rstrip()))]


_NUMBER_OF_ITEM = re.compile(r"\(?[0-9]{1,2}[.)]")


def _only_punctuation(piece: str) -> bool:
    """Marks that say nothing by themselves and go with the sentence beside them."""
    return all(character in _STRAY or character.isspace() for character in piece)


# With the mark that stands for a citation.
_STRAY = frozenset("\ue000.!?\u2026,;:)]}\u3002\uff01\uff1f\u0964-_/|'\"*")
