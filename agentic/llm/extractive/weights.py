"""What each feature counts, and how sure the reader must be. docs/extractive-reader.md tells on what they were set."""

from agentic.llm.extractive.scoring import Features

BIAS = -6.07
WEIGHTS = Features(
    inside=2.3, around=3.3, missing=0.0, context=0.0, alike=6.2, alike_window=4.3, speaker=1.5, kind=0.3, asking=-1.0,
    fresh=0.0, length=-0.9, signature=0.0, proper_missing=0.0, head=0.0, worst=0.0,
)  # fmt: skip
# A first sentence below this is no answer: the reader declares that the mail does not hold one.
ANSWERS = 2.3
# Further sentences may follow a first one down to this, and this far below it.
FOLLOWS = 1.0
BELOW_FIRST = 1.5
# Words of the question that occur nowhere in a sentence's thread: more of their weight than this and it is no answer.
MISSING_AT_MOST = 0.34
HEAD_AT_LEAST = 0.25
# A contact line that the person signs with themselves.
CONTACT_SCORE = 9.0


def score(features: Features) -> float:
    """Log-odds that a sentence answers the question."""
    return BIAS + sum(weight * value for weight, value in zip(WEIGHTS.row(), features.row(), strict=True))
