"""Chosen sentences as an answer: an attribution and the mail's own words each, tried on the verifier first."""

import re
from collections.abc import Iterator, Mapping

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.verify import SourceCache, verify
from agentic.llm.extractive.choosing import Choice
from agentic.llm.extractive.eligible import gives_orders, is_header
from agentic.llm.extractive.scoring import Candidate
from mailsearch.hits import MessageText

_WROTE = {"en": "{name} wrote: {quote}", "de": "{name} schrieb: {quote}", "fr": "{name} a écrit : {quote}"}
_INNER_MARKS = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_QUOTE_AT_MOST = 300
_COMPANION_AT_MOST = 200
_COMPANION_WORDS = 4
_NAME_AT_MOST = 60
_BREAKS = (". ", "; ", ", ", " ")


def draft(choices: list[Choice], language: str, sources: Mapping[str, MessageText]) -> tuple[DraftSentence, ...]:
    """The sentences that stand, in order; empty if for one ask the surest one does not: others only go with it."""
    cache = SourceCache()
    sentences: dict[str, DraftSentence] = {}
    for choice in choices:
        stood = []
        for candidate in choice.chosen:
            before = choice.ask.expectation.kind == "reason"
            sentence = _standing(candidate, language, before, sources, cache)
            if sentence is not None:
                sentences.setdefault(sentence.text, sentence)
                stood.append(candidate)
        if not any(candidate is choice.surest for candidate in stood):
            return ()
    return tuple(sentences.values())


def _standing(
    candidate: Candidate, language: str, before: bool, sources: Mapping[str, MessageText], cache: SourceCache
) -> DraftSentence | None:
    """The first wording of *candidate* that the verifier keeps with its quote."""
    for sentence in _wordings(candidate, language, before):
        verification = verify(Draft((sentence,)), sources, cache=cache)
        if verification.sentences and all(one.kept and one.support == "quote" for one in verification.sentences):
            return sentence
    return None


def _wordings(candidate: Candidate, language: str, before: bool) -> Iterator[DraftSentence]:
    """Ways to give *candidate*, the best first: with its context, then alone."""
    label = candidate.reading.label
    name = "" if candidate.sentence.forwarded else _name(candidate)
    if candidate.sentence.in_signature:
        yield from _signed(candidate, quotable(candidate.sentence.text), name, language)
        return
    start, end = candidate.reading.with_context(candidate.index, before, _QUOTE_AT_MOST)
    wider = candidate.reading.texts[candidate.sentence.part][start:end]
    for quote in dict.fromkeys((quotable(wider), quotable(candidate.sentence.text))):
        if name:
            yield _sentence(_WROTE[language].format(name=name, quote=_marked(quote)), label, quote)
        yield _sentence(_marked(quote), label, quote)
        if name:
            # Words with a lone quotation mark in them stand without marks around them.
            yield _sentence(_WROTE[language].format(name=name, quote=quote), label, quote)


def _signed(candidate: Candidate, quote: str, name: str, language: str) -> Iterator[DraftSentence]:
    """A line of a signature beside a sentence of the mail that it signs: alone it proves nothing to the verifier, and
    beside it a reader sees whose line it is."""
    label = candidate.reading.label
    own = [one for one in candidate.reading.sentences if one.kind == "own" and len(one.text) <= _COMPANION_AT_MOST]
    plain = [one for one in own if not gives_orders(one.text) and not is_header(one.text)]
    # The first that says something; in mail of a word or two that word.
    plain.sort(key=lambda one: len(one.words) < _COMPANION_WORDS)
    for sentence in plain if name else ():
        companion = quotable(sentence.text)
        text = _WROTE[language].format(name=name, quote=f"{_marked(companion)} … {_marked(quote)}")
        yield DraftSentence(text, (label,), (DraftQuote(label, companion), DraftQuote(label, quote)))


def _marked(quote: str) -> str:
    """*quote* between quotation marks, without those inside it: the verifier does not count them."""
    return "\u201c" + _INNER_MARKS.sub("", quote) + "\u201d"


def _sentence(text: str, label: str, quote: str) -> DraftSentence:
    return DraftSentence(text, (label,), (DraftQuote(label, quote),))


def quotable(sentence: str) -> str:
    """*sentence* on one line, cut behind a clause where it is too long for one unit."""
    text = " ".join(sentence.split())
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
