"""What each feature counts, and how sure the reader must be. docs/extractive-reader.md tells on what they were set."""

from agentic.llm.extractive.scoring import Features

BIAS = -7.93
WEIGHTS = Features(
    inside=-0.22,
    around=3.55,
    missing=-0.95,
    context=1.42,
    alike=2.04,
    speaker=0.89,
    asking=-2.77,
    length=1.36,
    proper_missing=-1.45,
    head=0.62,
    rank=1.19,
    label=0.49,
    whole=2.61,
    precise=0.94,
)
# A first sentence below this is no answer: the reader declares that the mail does not hold one.
ANSWERS = -0.4
# Of a question in parts each must be answered by a sentence of its own, none worse than this, and all together no worse
# on average than that.
ANSWERS_EACH = -1.0
ANSWERS_TOGETHER = -0.6
# Further sentences may follow a first one this far below it.
BELOW_FIRST = 3.0
# A later mail of the same thread may say it anew, if it is not much further from the question.
CORRECTS_BELOW = 2.5
AS_MUCH_AROUND = 0.15
# How far below a later sentence may be that speaks of a change.
CHANGES_BELOW = 6.0
# Words of the question that occur nowhere in a sentence's thread: more of their weight than this and it is no answer.
MISSING_AT_MOST = 0.42
HEAD_AT_LEAST = 0.3
# The part of the person asked about, at and below which a sentence is of others.
NO_PART = -0.5
# A contact line that the person signs with themselves.
CONTACT_SCORE = 9.0


def score(features: Features) -> float:
    """Log-odds that a sentence answers the question."""
    return BIAS + sum(weight * value for weight, value in zip(WEIGHTS.row(), features.row(), strict=True))
