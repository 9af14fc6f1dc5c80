"""True pairs, changed in ways that must not matter and in ways that must."""

import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest

from agentic.core.answer import Draft, DraftQuote, DraftSentence, Sentence
from agentic.core.verify import SourceCache, verify
from tests.core.verify_pairs import PAIRS, Pair
from tests.core.verify_setup import messages

CACHE = SourceCache()
OTHER = "Nothing in here is about anything that the others say."


def decide(pair: Pair, quote: str | None = None, source: str | None = None, statement: str | None = None) -> Sentence:
    """The verdict on a pair, with some of it exchanged."""
    sources = messages({"m1": source or pair.source, "m2": OTHER})
    sentence = DraftSentence(statement or pair.statement, ("m1",), (DraftQuote("m1", quote or pair.quote),))
    return verify(Draft(sentences=(sentence,)), sources, cache=CACHE).sentences[0]


def _wrapped(text: str, prefix: str = "") -> str:
    words, lines = text.split(), [""]
    for word in words:
        if len(lines[-1]) > 30:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(prefix + line for line in lines)


def _hyphenated(text: str) -> str:
    """The longest word broken at the end of a line."""
    word = max(re.findall(r"[a-z]{8,}", text) or ["xx"], key=len)
    return text.replace(word, f"{word[:4]}-\n{word[4:]}", 1) if len(word) >= 8 else text


HARMLESS_QUOTES: dict[str, Callable[[str], str]] = {
    "as it stands": lambda quote: quote,
    "in capitals": str.upper,
    "with curly apostrophes": lambda quote: quote.replace("'", "\u2019"),
    "with a full stop": lambda quote: quote + ".",
    "with soft hyphens": lambda quote: re.sub(r"([a-z]{4})([a-z])", "\\1\u00ad\\2", quote),
    "with no-break spaces": lambda quote: quote.replace(" ", "\u00a0"),
    "with double spaces and wraps": lambda quote: quote.replace(" ", "  \n", 2),
    "decomposed": lambda quote: unicodedata.normalize("NFD", quote),
    "with marks around": lambda quote: f"\u201c{quote}\u201d",
    "with emphasis": lambda quote: re.sub(r"(\w{4,})", r"**\1**", quote, count=1),
    "between ellipses": lambda quote: f"\u2026 {quote} \u2026",
    "full width": lambda quote: "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in quote),
}
HARMLESS_SOURCES: dict[str, Callable[[str], str]] = {
    "wrapped": _wrapped,
    "hyphenated at a line end": _hyphenated,
    "with ligatures": lambda text: text.replace("fl", "\ufb02").replace("fi", "\ufb01"),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "with zero-width spaces": lambda text: re.sub(r"([a-z]{3})([a-z])", "\\1\u200b\\2", text),
    "with other dashes": lambda text: text.replace("-", "\u2011"),
    "beside other paragraphs": lambda text: f"Hello,\n\n{text}\n\nBye",
}


def _numbers_changed(quote: str) -> str:
    return re.sub(r"[0-9]+", lambda match: str(int(match.group()) + 1), quote)


def _one_word_changed(quote: str) -> str:
    words = quote.split()
    longest = max(range(len(words)), key=lambda at: len(words[at]))
    words[longest] = "otherwise"
    return " ".join(words)


def _one_word_dropped(quote: str) -> str:
    words = quote.split()
    del words[len(words) // 2]
    return " ".join(words)


def _cut_into_a_word(quote: str) -> str:
    """From the third letter of the longest word on."""
    longest = max(re.findall(r"[^\W\d_]+", quote), key=len)
    return quote[quote.index(longest) + 2 :]


def _turned(quote: str) -> str:
    words = quote.split()
    half = len(words) // 2
    return " ".join([*words[half:], *words[:half]])


FORGED_QUOTES: dict[str, Callable[[str], str]] = {
    "a negation added": lambda quote: " ".join([*quote.split()[:2], "not", *quote.split()[2:]]),
    "a word changed": _one_word_changed,
    "a word dropped": _one_word_dropped,
    "a word added": lambda quote: quote + " gladly",
    "turned around": _turned,
    "a homoglyph": lambda quote: quote.replace("e", "\u0435", 1),
    "a letter dropped": lambda quote: re.sub(r"(\w{4,})\w", r"\1", quote, count=1),
    "begun inside a word": _cut_into_a_word,
    "a word in brackets": lambda quote: " ".join([*quote.split()[:2], "[not]", *quote.split()[2:]]),
    "two fragments reversed": lambda quote: " \u2026 ".join(
        reversed([" ".join(quote.split()[:3]), " ".join(quote.split()[3:])])
    ),
    "spliced onto another message": lambda quote: quote + " nothing in here is about anything",
}


@pytest.mark.parametrize("change", HARMLESS_QUOTES)
def test_a_true_quotation_stands_however_it_is_spelled(change: str) -> None:
    lost = [
        (pair.quote, verdict.reason)
        for pair in PAIRS
        if not (verdict := decide(pair, HARMLESS_QUOTES[change](pair.quote))).kept
    ]
    assert lost == []


@pytest.mark.parametrize("change", HARMLESS_SOURCES)
def test_a_true_quotation_stands_however_the_mail_is_laid_out(change: str) -> None:
    lost = [
        (pair.quote, verdict.reason)
        for pair in PAIRS
        if not (verdict := decide(pair, source=HARMLESS_SOURCES[change](pair.source))).kept
    ]
    assert lost == []


@pytest.mark.parametrize("change", FORGED_QUOTES)
def test_a_forged_quotation_never_stands(change: str) -> None:
    kept = [pair.quote for pair in PAIRS if decide(pair, FORGED_QUOTES[change](pair.quote)).kept]
    assert kept == []


def test_a_changed_number_never_stands_in_or_beside_a_quotation() -> None:
    numbered = [pair for pair in PAIRS if re.search(r"[0-9]", pair.quote)]
    assert len(numbered) >= 8
    assert not any(decide(pair, _numbers_changed(pair.quote)).kept for pair in numbered)
    stated = [pair for pair in PAIRS if re.search(r"[0-9]", pair.statement)]
    assert not any(decide(pair, statement=_numbers_changed(pair.statement)).kept for pair in stated)


def test_a_negation_left_out_of_the_quotation_is_found_in_the_mail() -> None:
    for pair in PAIRS[:50]:
        words = pair.quote.split()
        verdict = decide(pair, source=pair.source.replace(pair.quote, "it is not true that " + pair.quote))
        assert (verdict.kept, verdict.reason) == (False, "quote_negated"), words


def test_a_quotation_of_another_message_never_stands() -> None:
    for pair, other in zip(PAIRS, [*PAIRS[1:], PAIRS[0]], strict=True):
        assert not decide(pair, other.quote).kept


def test_words_that_are_only_quoted_from_somebody_else_never_stand() -> None:
    for pair in PAIRS:
        verdict = decide(pair, source="Thanks!\n\n" + _wrapped(pair.source, "> "))
        assert (verdict.kept, verdict.reason) == (False, "quote_in_quoted_text"), pair


def test_a_true_statement_is_borne_by_its_quotation_and_a_random_one_is_not() -> None:
    """Figures of docs/verification.md: the threshold was set on these."""
    true = [decide(pair).support for pair in PAIRS]
    assert true.count("quote") >= 0.95 * len(true)
    rng = random.Random(11)
    mixed = [(one, two) for one in PAIRS for two in PAIRS if one is not two]
    rng.shuffle(mixed)
    false = [decide(replace(two, statement=one.statement)).support for one, two in mixed[:2000]]
    assert false.count("quote") < 0.01 * len(false)
