"""The sandbox's fixed questions over the sample mail, each with the replies of its model.

Only what a model would say is fixed. The loop, the tools, the verification and the rows are those of every run, so a
question ends as it does because the replies lead there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agentic.core.events import Outcome

Arguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Searches:
    """A reply that calls `search`, once with each of these arguments."""

    arguments: tuple[Arguments, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a draft with words given as a quote, cited to the message that holds `source`."""

    text: str
    quote: str
    source: str


@dataclass(frozen=True, slots=True)
class Answers:
    """A reply that answers."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Declares:
    """A reply that declares that the mail does not hold the answer."""

    missing: str


@dataclass(frozen=True, slots=True)
class Fails:
    """No reply: the model's server fails with this reason code."""

    code: str


@dataclass(frozen=True, slots=True)
class Hangs:
    """No reply, until it is cancelled."""


Turn = Searches | Answers | Declares | Fails | Hangs


@dataclass(frozen=True, slots=True)
class FixedQuestion:
    """A question with one reply for each time the model is asked; the last one is given again and again.

    `outcome` is how its run ends; None where it is not admitted, because the day's cap counts as used up for it.
    """

    text: str
    shows: str
    outcome: Outcome | None
    turns: tuple[Turn, ...] = ()


_ACCEPTED = "we accept liability for the damage to the Golf"
_CAR = "we pay for a replacement car at up to EUR 39.00 a day, for no more than four days"
_NORDLICHT: Arguments = {"query": "Golf liability", "mode": "keyword", "from": "nordlicht.example"}
_LIABILITY = Claim("The insurer accepts liability for the damage to the Golf.", _ACCEPTED, _ACCEPTED)
_SPECIES = ("oak", "ash", "beech", "birch", "pine", "walnut")
QUESTIONS = (
    FixedQuestion(
        "Did Nordlicht accept liability for the damage to the Golf?",
        "an answer with a verified quote",
        "answered",
        (Searches((_NORDLICHT,)), Answers((_LIABILITY,))),
    ),
    FixedQuestion(
        "What does Nordlicht pay while the Golf is in the garage?",
        "an answer, and a sentence that was removed because its quote is in no mail",
        "answered",
        (
            Searches((_NORDLICHT,)),
            Answers(
                (
                    Claim(
                        "Nordlicht pays for a replacement car at up to EUR 39.00 a day, for no more than four days.",
                        _CAR,
                        _ACCEPTED,
                    ),
                    Claim(
                        "Nordlicht also pays EUR 500.00 for the lost time.",
                        "we also pay EUR 500.00 for the lost time",
                        _ACCEPTED,
                    ),
                )
            ),
        ),
    ),
    FixedQuestion(
        "When will the cellar be painted?",
        "a declared insufficiency",
        "insufficient_evidence",
        (Searches(({"query": "cellar paint", "mode": "keyword"},)), Declares("No mail says when.")),
    ),
    FixedQuestion(
        "Which wood is the best?",
        "a run that searches until its steps end",
        "budget_exhausted",
        tuple(Searches(({"query": species, "mode": "keyword"},)) for species in _SPECIES),
    ),
    FixedQuestion(
        "How long can an answer take?",
        "a run that waits for the model until its seconds end: to cancel it, to leave it, to start too many",
        "budget_exhausted",
        (Searches(({"query": "garage appointment", "mode": "keyword"},)), Hangs()),
    ),
    FixedQuestion(
        "What if the model is out of order?",
        "plain search results in place of an answer",
        "degraded",
        (Fails("server_error"),),
    ),
    FixedQuestion(
        "Who else wrote about the Golf?",
        "an attempt to read a mailbox that the key may not read, and what came of it",
        "answered",
        (Searches(({"query": "Golf", "mailbox": "claims"}, _NORDLICHT)), Answers((_LIABILITY,))),
    ),
    FixedQuestion(
        "What if the searches of today are used up?",
        "a refusal with status 429 and `Retry-After`",
        None,
    ),
)
_BY_WORDS = {" ".join(question.text.casefold().split()): question for question in QUESTIONS}


def find(text: str) -> FixedQuestion | None:
    """The fixed question that *text* is, but for case and white space; None for any other."""
    return _BY_WORDS.get(" ".join(text.casefold().split()))
