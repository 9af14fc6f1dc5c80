"""A question, taken apart: what is asked, in which words, about whom."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agentic.llm.extractive.kinds import STRICT, Expectation, expected
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
    r"(?:which|what|who|whom|whose|how|when|where|why|welche\w*|was|wer|wem|wen|wessen|wie|wieviel\w*|wann|"
    r"wo(?:hin|her|für|mit|nach|rauf|ran|von|zu|durch|rin|gegen|rüber)?|warum|weshalb|wieso|quel\w*|lequel|laquelle|qui|que|qu['’]|"
    r"combien|quand|où|pourquoi|comment)"
)
_PREPOSITIONS = (
    r"(?:in|at|on|to|for|with|from|by|until|since|under|up to|an|auf|bis|mit|für|von|zu|seit|um|ab|à|de|dans|pour|avec|"
    r"par|depuis|jusqu['’]à|sur|chez)"
)
_NEXT_ASK = re.compile(
    rf"[,;]?\s+(?:and|und|et|&)\s+(?=(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b)|;\s+(?=(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b)"
    r"|,\s+(?:and|und|et)\s+(?=(?:did|does|do|is|are|was|were|has|have|had|can|may|must|will|hat|ist|sind|war|kann|muss|darf|wird|wurde|gibt|est|sont|"
    r"a-t|peut|faut)\b)",
    re.I,
)
_EXACT = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])(?=[\w./:-]*\d)(?=[\w./:-]*[A-Za-z])[\w./:-]{3,}(?<![.:/-])|\b\d{5,}\b"
)
_WHETHER = re.compile(rf"\W*(?:(?:and|und|et)\s+)?{_VERBS}", re.I)
_NAME_SHORTEST = 2
_ENDS_AT_MOST = 3
# A part of a question with fewer words of its own takes those of the part beside it along; the first seldom needs to.
_ENOUGH_FIRST, _ENOUGH_LATER = 2, 3
# A question in more parts is read as one.
_PARTS_AT_MOST = 5
# Kinds that tell by themselves which thing is asked for.
_TOLD = STRICT - {"count", "identifier"}


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a question that an answer should share."""

    stem: str
    raw: str
    weak: bool = False
    # Written with a capital inside the sentence, or with a digit: a name or an identifier more likely than not.
    proper: bool = False
    # Taken from another part of the question.
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that is asked. *context* are the words around it that say what it is about.

    "And to which date was it moved?" says too little by itself: *terms* then hold words of the part beside it, marked
    as shared.
    """

    text: str
    terms: tuple[Term, ...]
    context: tuple[Term, ...]
    expectation: Expectation
    # The thing asked for by "which" or "what": words between that and the verb. Empty where a kind tells it.
    head: tuple[Term, ...] = ()

    @property
    def whether(self) -> bool:
        """Whether yes or no answers it: then a sentence that only says the same again does."""
        return _WHETHER.match(self.text) is not None

    @property
    def own_terms(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if not term.shared)


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
        asked = (*(term for ask in self.asks for term in ask.own_terms), *self.asks[0].context)
        first: dict[str, Term] = {}
        for term in asked:
            first.setdefault(term.stem, term)
        return tuple(first.values())


def read_question(text: str) -> Question:
    """Take *text* apart. Sentences before the one that asks, and other asks, are context."""
    pieces = [piece for piece in _pieces(text) if piece.text.strip()] or [_Piece(text, True)]
    asking = [piece for piece in pieces if piece.asks] or pieces[-1:]
    if len(asking) > _PARTS_AT_MOST:
        pieces = asking = [_Piece(text, True)]
    language = language_of(text)
    asks = []
    for at, piece in enumerate(asking):
        expectation = expected(piece.text)
        named = _naming(expectation)
        terms = tuple(term for term in terms_of(piece.text, language) if term.stem not in named or term.proper)
        rest = tuple(term for other in pieces if other is not piece for term in terms_of(other.text, language))
        context = tuple(term for term in dict.fromkeys(rest) if term not in terms)
        beside = asking[at - 1 if at else 1].text if len(asking) > 1 else ""
        enough = _ENOUGH_LATER if at else _ENOUGH_FIRST
        lent = _lent(terms, terms_of(beside, language), named) if _strong(terms) < enough else ()
        head = _head_of(piece.text, terms) if expectation.kind not in _TOLD else ()
        asks.append(Ask(piece.text, (*terms, *lent), context, expectation, head))
    return Question(text, language, tuple(asks), tuple(words_of(text)), tuple(_EXACT.findall(text)))


def _lent(terms: tuple[Term, ...], beside: tuple[Term, ...], named: set[str]) -> tuple[Term, ...]:
    """What a part with few words of its own takes from the part *beside* it."""
    known = {term.stem for term in terms} | named
    return tuple(replace(term, shared=True) for term in beside if not term.weak and term.stem not in known)


def _strong(terms: Iterable[Term]) -> int:
    return sum(not term.weak for term in terms)


def _naming(expectation: Expectation) -> set[str]:
    """Stems of the words that only say which kind is asked for: the first two and the last two of what named it.

    "How much did the new boxes cost" is named by "how much" and "cost"; what stands between is what it is about.
    """
    if expectation.kind in ("", "person"):
        return set()
    words = words_of(expectation.named_by)
    if expectation.kind == "identifier":
        # "Paint code" and "policy number" say which of many; what they share says nothing.
        words = [word for word in words if fold(word.raw) in listed("numbered")]
    if expectation.kind == "money":
        # So does "rent" or "deposit", while "cost" or "amount" only ask for a sum.
        words = [word for word in words if fold(word.raw) in listed("priced")]
    ends = words if len(words) <= _ENDS_AT_MOST else [*words[:2], words[-1]]
    return {word.stem for word in ends}


def _head_of(piece: str, terms: tuple[Term, ...]) -> tuple[Term, ...]:
    match = _HEAD.search(piece) or _COUNTED.search(piece)
    wanted = {word.stem for word in words_of(match.group(1))} if match else set()
    return tuple(term for term in terms if term.stem in wanted and not term.weak)


def terms_of(text: str, language: str) -> tuple[Term, ...]:
    """Words of *text* that say something, each once, in order. A capital tells no name where all nouns have one."""
    terms: dict[str, Term] = {}
    for word in words_of(text):
        folded = fold(word.raw)
        if folded in stop_words() or (len(folded) < _NAME_SHORTEST and not folded.isdigit()):
            continue
        has_digit = any(sign.isdigit() for sign in word.raw)
        first = not text[: word.start].strip(" \t\"'“„«(")
        proper = has_digit or (word.raw[0].isupper() and not first and language != "de")
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


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    asks: bool


def _pieces(text: str) -> Iterable[_Piece]:
    for sentence in _SENTENCE_END.split(text):
        # What stands before "and when …?" asks as well, whatever it begins with.
        asking = sentence.rstrip("\"'”’» ").endswith("?")
        for piece in _NEXT_ASK.split(sentence):
            yield _Piece(piece, asking or _asks(piece))


def _asks(piece: str) -> bool:
    return re.match(rf"\W*(?:{_PREPOSITIONS}\s+)?{_INTERROGATIVES}\b", piece, re.I) is not None
