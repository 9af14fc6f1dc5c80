"""Chosen sentences as an answer: an attribution and the mail's own words each, tried on the verifier first."""

from collections.abc import Iterator, Mapping

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.verify import SourceCache, verify
from agentic.llm.extractive.choosing import Choice
from agentic.llm.extractive.scoring import Candidate
from mailsearch.hits import MessageText

_WROTE = {"en": "{name} wrote: {quote}", "de": "{name} schrieb: {quote}", "fr": "{name} a écrit : {quote}"}
_MARKS = (("\u201c", "\u201d"), ('"', '"'))
_QUOTE_AT_MOST = 300
_NAME_AT_MOST = 60
_BREAKS = (". ", "; ", ", ", " ")


def draft(choices: list[Choice], language: str, sources: Mapping[str, MessageText]) -> tuple[DraftSentence, ...]:
    """The sentences that stand, in order; empty if for one ask none stands."""
    cache = SourceCache()
    sentences: dict[str, DraftSentence] = {}
    for choice in choices:
        stood = 0
        for candidate in choice.chosen:
            sentence = _standing(candidate, language, sources, cache)
            if sentence is not None:
                sentences.setdefault(sentence.text, sentence)
                stood += 1
        if not stood:
            return ()
    return tuple(sentences.values())


def _standing(
    candidate: Candidate, language: str, sources: Mapping[str, MessageText], cache: SourceCache
) -> DraftSentence | None:
    """The first wording of *candidate* that the verifier keeps with its quote."""
    label = candidate.reading.label
    for sentence in _wordings(candidate, language):
        verification = verify(Draft((sentence,)), {label: sources[label]}, cache=cache)
        if verification.sentences and all(one.kept and one.support == "quote" for one in verification.sentences):
            return sentence
    return None


def _wordings(candidate: Candidate, language: str) -> Iterator[DraftSentence]:
    label = candidate.reading.label
    quote = _quote(candidate)
    name = _name(candidate)
    for opening, closing in _MARKS:
        quoted = f"{opening}{quote}{closing}"
        if name and not candidate.sentence.forwarded:
            yield _sentence(_WROTE[language].format(name=name, quote=quoted), label, quote)
        yield _sentence(quoted, label, quote)


def _sentence(text: str, label: str, quote: str) -> DraftSentence:
    return DraftSentence(text, (label,), (DraftQuote(label, quote),))


def _quote(candidate: Candidate) -> str:
    """The sentence on one line, cut behind a clause where it is too long for one unit."""
    text = " ".join(candidate.sentence.text.split())
    if len(text) <= _QUOTE_AT_MOST:
        return text
    for mark in _BREAKS:
        cut = text.rfind(mark, _QUOTE_AT_MOST // 3, _QUOTE_AT_MOST)
        if cut > 0:
            return text[:cut].rstrip(" ,;")
    return text[:_QUOTE_AT_MOST]


def _name(candidate: Candidate) -> str:
    """The sender's name as the header gives it; empty where it is none that can stand in a sentence."""
    name = " ".join(candidate.reading.head.sender.name.split())
    plain = all(sign.isalpha() or sign in " .-'’," for sign in name)
    return name if name and plain and len(name) <= _NAME_AT_MOST else ""
