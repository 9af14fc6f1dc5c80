"""True pairs, changed in ways that must not matter and in ways that must."""

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import pytest

from agentic.core.answer import Draft, DraftQuote, DraftSentence, Sentence
from agentic.core.verify import SourceCache, verify
from tests.core.verify_forgeries import FORGED_QUOTES, FORGERIES, numbers_changed
from tests.core.verify_ground import Ground, grounds, stands
from tests.core.verify_pairs import PAIRS, Pair
from tests.core.verify_setup import messages
from tests.core.verify_spellings import HARMLESS_QUOTES, HARMLESS_SOURCES, SPELLINGS, Kind, wrapped

CACHE = SourceCache()
OTHER = "Nothing in here is about anything that the others say."


def decide(pair: Pair, quote: str | None = None, source: str | None = None, statement: str | None = None) -> Sentence:
    """The verdict on a pair, with some of it exchanged."""
    sources = messages({"m1": source or pair.source, "m2": OTHER})
    sentence = DraftSentence(statement or pair.statement, ("m1",), (DraftQuote("m1", quote or pair.quote),))
    return verify(Draft(sentences=(sentence,)), sources, cache=CACHE).sentences[0]


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
    assert not any(decide(pair, numbers_changed(pair.quote)).kept for pair in numbered)
    stated = [pair for pair in PAIRS if re.search(r"[0-9]", pair.statement)]
    assert not any(decide(pair, statement=numbers_changed(pair.statement)).kept for pair in stated)


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
        verdict = decide(pair, source="Thanks!\n\n" + wrapped(pair.source, "> ", 36))
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


@lru_cache(maxsize=1)
def _grounds() -> list[Ground]:
    """Some sentences of the sample mail; the benchmark takes all of it."""
    return [ground for found in grounds(each=4, messages=40) for ground in found]


def _wrong(kind: str, kinds: Mapping[str, Kind], *, wanted: bool) -> list[object]:
    trials = [trial for ground in _grounds() if (trial := kinds[kind](ground)) is not None]
    return [trial.draft for trial in trials[:40] if stands(trial, CACHE) is not wanted]


@pytest.mark.parametrize("kind", SPELLINGS)
def test_what_the_sample_mail_says_stands_however_it_is_said(kind: str) -> None:
    assert _wrong(kind, SPELLINGS, wanted=True) == []


@pytest.mark.parametrize("kind", FORGERIES)
def test_what_the_sample_mail_does_not_say_never_stands(kind: str) -> None:
    assert _wrong(kind, FORGERIES, wanted=False) == []


def test_the_mutations_are_the_same_in_every_run() -> None:
    first = _grounds()[0]
    assert [make(first) for make in FORGERIES.values()] == [make(first) for make in FORGERIES.values()]
