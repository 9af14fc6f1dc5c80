"""What each feature counts, and how sure the reader must be. docs/extractive-reader.md tells on what they were set."""

from agentic.llm.extractive.scoring import Features

BIAS = -3.69
WEIGHTS = Features(
    inside=-0.87,
    around=3.35,
    missing=-0.55,
    context=1.0,
    alike=5.44,
    speaker=0.67,
    asking=-2.77,
    length=0.5,
    proper_missing=-1.09,
    worst=-0.14,
)
# A first sentence below this is no answer: the reader declares that the mail does not hold one.
ANSWERS = 1.0
# Of a question with several parts each must be answered, so each must be surer; a little less sure is enough in a
# thread that answers another part.
ANSWERS_EACH = 1.6
ANSWERS_BESIDE = 1.2
# Further sentences may follow a first one down to this, and this far below it.
FOLLOWS = 0.0
BELOW_FIRST = 1.5
# A later mail of the same thread may say a date or an amount anew, if it is not much further from the question.
CORRECTS_BELOW = 2.5
AS_MUCH_AROUND = 0.15
# The least for a later sentence that speaks of a change.
CHANGES_AT_LEAST = -1.5
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
