"""What each feature counts, and how sure the reader must be. docs/extractive-reader.md tells on what they were set."""

from agentic.llm.extractive.scoring import Features

BIAS = -6.59
WEIGHTS = Features(
    inside=0.94,
    around=0.79,
    missing=-0.44,
    context=0.44,
    speaker=0.57,
    kind=0.12,
    length=0.14,
    proper_missing=-0.44,
    head=0.32,
    rank=1.52,
    label=0.48,
    whole=0.82,
    precise=0.99,
    aligned=1.04,
    borne=0.95,
    weakest=0.53,
)
# A first sentence below this is no answer: the reader declares that the mail does not hold one.
ANSWERS = -1.3
# Of a question in parts each must be answered by a sentence of its own, none worse than this, and all together no worse
# on average than that.
ANSWERS_EACH = -2.1
ANSWERS_TOGETHER = -1.7
# Where no part says what kind of thing it asks for, a sentence about the matter looks like an answer sooner.
OPEN_TOGETHER = -1.1
# Further sentences may follow a first one this far below it.
BELOW_FIRST = 3.0
# A later mail of the same thread may say it anew, if it is not much further from the question.
CORRECTS_BELOW = 2.5
AS_MUCH_AROUND = 0.15
# How far below a later sentence may be that speaks of a change.
CHANGES_BELOW = 6.0
# Words of the question that occur nowhere in a sentence's thread: more of their weight than this and it is no answer,
# unless words of the same meaning stand for that much of them. For names nothing stands.
MISSING_AT_MOST = 0.42
BORNE_ENOUGH = 0.5
NAMES_MISSING_AT_MOST = 0.5
HEAD_AT_LEAST = 0.3
# The part of the person asked about, at and below which a sentence is of others.
NO_PART = -0.5
# A contact line that the person signs with themselves.
CONTACT_SCORE = 9.0


def score(features: Features) -> float:
    """Log-odds that a sentence answers the question."""
    return BIAS + sum(weight * value for weight, value in zip(WEIGHTS.row(), features.row(), strict=True))
