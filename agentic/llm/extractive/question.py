"""A question, taken apart: what is asked, in which words, about whom."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agentic.llm.extractive.kinds import Expectation, expected
from agentic.llm.extractive.words import Word, fold, listed, stop_words, weak_stems, words_of

_VERBS = (
    r"(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|that|hat|hatte|haben|ist|sind|war|waren|"
    r"wird|werden|wurde|wurden|soll|sollen|kann|muss|est|sont|a|ont|était|doit|peut)\b"
)
_IS_THE = r"(?:(?:is|are|was|were)\s+the|(?:ist|sind|war|waren)\s+(?:der|die|das)|(?:est|sont|était)\s+(?:le|la|les))"
_HEAD = re.compile(
    rf"(?:^|\W)(?:which|what|welche\w*|was für eine?[mnrs]?|quel\w*)\s+(?:{_IS_THE}\s+)?"
    rf"((?:(?!{_VERBS})[\w'’/-]+\s+){{1,4}}?)(?:{_VERBS}|of\b|for\b|von\b|de\b|\w+(?:es|ed|te|[^s]s)\b)",
    re.I,
)
# "How many drives": what is counted.
_COUNTED = re.compile(
    rf"\b(?:how many|wie ?viele|combien (?:de |d.))\s*((?:(?!{_VERBS})[\w'’/-]+\s*){{1,4}}?)"
    rf"(?:{_VERBS}|of\b|von\b|\w+(?:ed|te)\b|[?,.]|$)",
    re.I,
)
_SENTENCE_END = re.compile(r"(?:(?<=[?!])|(?<=\w\w\w\.))\s+(?=[^\W\d_])")
_INTERROGATIVES = (
    r"(?:which|what|who|whom|whose|how|when|where|why|welche\w*|was|wer|wem|wen|wie|wieviel\w*|wann|wo|warum|quel\w*|qui|que|combien|"
    r"quand|où|pourquoi|comment)"
)
_PREPOSITIONS = (
    r"(?:in|at|on|to|for|with|from|by|until|since|an|auf|bis|mit|für|von|zu|seit|à|de|dans|pour|avec|par|depuis)"
)
_NEXT_ASK = re.compile(
    rf"[,;]?\s+(?:and|und|et|&)\s+(?=(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b)|;\s+(?=(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b)"
    r"|,\s+(?:and|und|et)\s+(?=(?:did|does|is|are|was|were|has|have|can|will|hat|ist|sind|war|kann|wird|est|sont)\b)",
    re.I,
)
_EXACT = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])(?=[\w./:-]*\d)(?=[\w./:-]*[A-Za-z])[\w./:-]{3,}(?<![.:/-])|\b\d{5,}\b"
)
_NAME_SHORTEST = 2
_ENDS_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a question that an answer should share."""

    stem: str
    raw: str
    weak: bool = False
    # Written with a capital inside the sentence, or with a digit: a name or an identifier more likely than not.
    proper: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that is asked. *context* are the words around it that say what it is about."""

    text: str
    terms: tuple[Term, ...]
    context: tuple[Term, ...]
    expectation: Expectation
    # The thing asked for by "which" or "what": words between that and the verb. Empty where a kind tells it.
    head: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its asks (one or more), its language among en, de, fr, and what it names exactly."""

    text: str
    language: str
    asks: tuple[Ask, ...]
    words: tuple[Word, ...]
    exact: tuple[str, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys((*(term for ask in self.asks for term in ask.terms), *self.asks[0].context)))


def read_question(text: str) -> Question:
    """Take *text* apart. Sentences before the one that asks, and other asks, are context."""
    pieces = [piece for piece in _pieces(text) if piece.strip()] or [text]
    asking = [piece for piece in pieces if _asks(piece)] or pieces[-1:]
    asks = []
    for piece in asking:
        expectation = expected(piece)
        named = _naming(expectation)
        terms = tuple(term for term in terms_of(piece) if term.stem not in named or term.proper)
        rest = tuple(term for other in pieces if other is not piece for term in terms_of(other))
        context = tuple(term for term in dict.fromkeys(rest) if term not in terms)
        asks.append(Ask(piece, terms, context, expectation, _head_of(piece, terms)))
    return Question(text, language_of(text), tuple(asks), tuple(words_of(text)), tuple(_EXACT.findall(text)))


def _naming(expectation: Expectation) -> set[str]:
    """Stems of the words that only say which kind is asked for: the first two and the last two of what named it.

    "How much did the new boxes cost" is named by "how much" and "cost"; what stands between is what it is about.
    """
    if expectation.kind in ("", "person"):
        return set()
    words = words_of(expectation.named_by)
    ends = words if len(words) <= _ENDS_AT_MOST else [*words[:2], words[-1]]
    return {word.stem for word in ends}


def _head_of(piece: str, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    match = _HEAD.search(piece) or _COUNTED.search(piece)
    wanted = {word.stem for word in words_of(match.group(1))} if match else set()
    return tuple(term for term in terms if term.stem in wanted and not term.weak)


def terms_of(text: str) -> tuple[Term, ...]:
    """Words of *text* that say something, each once, in order."""
    terms: dict[str, Term] = {}
    for word in words_of(text):
        folded = fold(word.raw)
        if folded in stop_words() or (len(folded) < _NAME_SHORTEST and not folded.isdigit()):
            continue
        has_digit = any(sign.isdigit() for sign in word.raw)
        first = not text[: word.start].strip(" \t\"'“„«(")
        proper = has_digit or (word.raw[0].isupper() and not first)
        terms.setdefault(word.stem, Term(word.stem, word.raw, word.stem in weak_stems() and not proper, proper))
    return tuple(terms.values())


def language_of(text: str) -> str:
    """Which of en, de and fr the little words of *text* speak; en where they don't say."""
    found = [match.group().lower() for match in re.finditer(r"[^\W\d_]+", text)]
    score = {
        language: sum(word in words for word in found)
        for language, words in (("en", listed("english")), ("de", listed("german")), ("fr", listed("french")))
    }
    return max(score, key=lambda language: score[language])


def _pieces(text: str) -> Iterable[str]:
    for sentence in _SENTENCE_END.split(text):
        yield from _NEXT_ASK.split(sentence)


def _asks(piece: str) -> bool:
    return "?" in piece or re.match(rf"\W*(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b", piece, re.I) is not None
