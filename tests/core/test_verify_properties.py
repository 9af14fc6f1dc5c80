"""What holds for any draft: no error, the same verdict twice, true spans, and an answer that stays when verified again."""

# ruff: noqa: E501, SIM905
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.core.answer import Draft, DraftQuote, DraftSentence
from agentic.core.verify import MAX_ANSWER, SourceCache, rebuild, redraft, repair_hints, verify
from tests.core.verify_setup import messages

SOURCES = messages(
    {
        "m1": {
            "text": 'The oven leaves on Friday, 5 EUR "at least".\n\n> on paper\n\nblue heron: 10\u00b2 \u00bd \u4ed6\u4eec\u5468\u4e09\u5f00\u4f1a\u3002\n| a | b |\n| 1 | 2 |',
            "from": "Ann <ann@mail.example>",
            "date": "2026-03-04",
        },
        "m2": {
            "html": "<p>Bo said 'x' oui 1,234.50</p><table><tr><td>4 March</td><td>8 p.m.</td></tr></table>",
            "from": "Bo <bo@mail.example>",
        },
    }
)
CACHE = SourceCache()
PIECES = st.sampled_from(
    [
        *"[m1]|[m2]|[m9]|[m1, m2]|[M1]|[m1-m2]|.|!|?|\u2026|\u3002|\u0964|\"|'|`|\u201c|\u201d|\u201e|\u2018|\u2019|\u00ab|\u00bb|\u300c|\u300d|The oven leaves on Friday".split("|"),
        *"5 EUR|10\u00b2|1,234.50|4 March|8 p.m.|12\"|Ann|Bo|said|wrote|not|if|z. B.|Dr.|No. 5|http://mail.example/a|a@mail.example|\u4ed6\u4eec\u5468\u4e09\u5f00\u4f1a".split("|"),
        "|", "| --- |", "\n", "\n\n", "- ", "1. ", "> ", "# ", "```", "~~~", "**", "[sic]", "[T]he", "<b>", "&quot;", "\\", "\t", "\x00", "\ud83d", "\u200b", "\u202e", "\ue000", "\ufb01", "\U0001f44d",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES, max_size=25).map("".join), st.text(max_size=80)
)
SENTENCES = st.builds(
    DraftSentence,
    TEXTS,
    st.lists(st.sampled_from(["m1", "m2", "m9"]), max_size=2).map(tuple),
    st.lists(
        st.builds(DraftQuote, st.sampled_from(["m1", "m2"]), TEXTS | st.just("The oven leaves on Friday")), max_size=2
    ).map(tuple),
)
DRAFTS = st.one_of(
    TEXTS.map(lambda text: Draft(text=text)),
    st.lists(SENTENCES, min_size=1, max_size=3).map(lambda found: Draft(sentences=tuple(found))),
)


@settings(max_examples=250, deadline=None)
@given(DRAFTS)
def test_every_draft_gets_the_same_verdict_twice_and_true_spans(draft: Draft) -> None:
    first = verify(draft, SOURCES, cache=CACHE)
    assert verify(draft, SOURCES, cache=SourceCache()) == first
    for sentence in first.sentences:
        assert sentence.kept != bool(sentence.reason)
        for citation in sentence.citations:
            part = SOURCES[citation.label].part(citation.part)
            assert citation.start is None or (
                part is not None and part.text[citation.start : citation.end] == citation.quote
            )
    assert not any("oven" in hint or "heron" in hint for hint in repair_hints(first))


@settings(max_examples=250, deadline=None)
@given(DRAFTS)
def test_verifying_the_rebuilt_answer_removes_nothing_more(draft: Draft) -> None:
    first = verify(draft, SOURCES, cache=CACHE)
    again = verify(redraft(first, SOURCES), SOURCES, cache=CACHE)
    assert again.removed == ()
    assert len(again.kept) == len(first.kept)
    assert "[m" not in rebuild(first, SOURCES) or "[m" in draft.text + "".join(
        sentence.text for sentence in draft.sentences
    )


def test_what_lies_beyond_the_cap_is_one_unit_that_does_not_stand() -> None:
    draft = Draft(text="The oven leaves on Friday [m1]. " * (MAX_ANSWER // 10))
    verification = verify(draft, SOURCES, cache=CACHE)
    assert len(verification.kept) <= MAX_ANSWER // 30
    assert verification.sentences[-1].kept is False


def test_a_caller_may_have_fewer_units_and_quotations_checked() -> None:
    unit = 'It says "leaves on Friday" and "The oven" [m1]. '
    few = verify(Draft(text=unit * 5), SOURCES, cache=CACHE, max_units=3)
    assert [one.reason for one in few.sentences] == ["", "", "", "too_long"]
    quoted = verify(Draft(text=unit * 5), SOURCES, cache=CACHE, max_quotes=5)
    assert [one.reason for one in quoted.sentences] == ["", "", "too_long"]
    given = DraftSentence("So it is.", ("m1",), (DraftQuote("m1", "leaves on Friday"),) * 3)
    structured = verify(Draft(sentences=(given,) * 3), SOURCES, cache=CACHE, max_quotes=6)
    assert [one.reason for one in structured.sentences] == ["", "", "too_long"]
    assert len(verify(Draft(text=unit * 5), SOURCES, cache=CACHE, max_units=5, max_quotes=10).kept) == 5
