"""Questions with known answers, and what counts as right, wrong and refused (DESIGN.md §14)."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentic.core.answer import Citation
from agentic.evaluation.report import BadInput
from agentic.evaluation.sampling import sample

Verdict = Literal["right", "wrong", "refused"]
# A citation covers a gold quote from this share of it on.
_SHARE = 0.5
_QUOTE_PREFIX = re.compile(r"(?m)^[ \t]*(?:>[ \t]?)+")


@dataclass(frozen=True, slots=True)
class Gold:
    """One statement that a right answer cites: words of one message, known by its Message-ID without brackets."""

    message: str
    quote: str


@dataclass(frozen=True, slots=True)
class Case:
    """One question. `corpus` is the path of its mail below the folder of mail; `others` hold the same quotes."""

    case_id: str
    question: str
    answerable: bool
    corpus: str
    gold: tuple[Gold, ...]
    others: frozenset[str]
    never: tuple[re.Pattern[str], ...]
    kind: str
    # The answer in few words, and other ways to put it.
    answers: tuple[str, ...] = ()


def read(file: Path, limit: int | None = None, seed: int = 0) -> list[Case]:
    """The cases of *file*, one JSON object a line; rows of type `header` are skipped. Raises BadInput.

    With *limit* a sample of so many, of each kind its share, the same for the same *seed*.
    """
    cases = []
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if row.get("type") != "header":
                cases.append(_case(row, number))
        except (ValueError, KeyError, TypeError, AttributeError, re.error) as error:
            raise BadInput(f"line {number} of {file} is no question: {error}") from error
    if not cases:
        raise BadInput(f"{file} holds no question")
    return sample(cases, lambda case: f"{case.answerable} {case.kind}", lambda case: case.case_id, limit, seed)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split("\n")  # splitlines would cut at U+2028 inside a text
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} can't be read: {error}") from error


def _case(row: Mapping[str, Any], number: int) -> Case:
    return Case(
        case_id=str(row.get("id", number)),
        question=str(row["question"]),
        answerable=bool(row["answerable"]),
        corpus=str(row.get("corpus", "")),
        gold=tuple(Gold(str(gold["message_id"]).strip("<>"), str(gold["quote"])) for gold in row.get("gold", ())),
        others=frozenset(str(other).strip("<>") for other in row.get("alt_message_ids", ())),
        never=tuple(re.compile(pattern, re.IGNORECASE) for pattern in row.get("must_not_match", ())),
        kind=str(row.get("kind", "")),
        answers=tuple(str(one) for one in (row.get("answer_canonical"), *row.get("aliases", ())) if one),
    )


@dataclass(frozen=True, slots=True)
class Cited:
    """One citation of a kept unit: its message by Message-ID, the stored text between its offsets, and whether those
    characters really stand there."""

    message: str
    quote: str
    stands: bool

    @classmethod
    def of(cls, citation: Citation, rfc_message_id: str, stored: str | None) -> "Cited":
        """*stored* is the text of the cited part as it was read in the run."""
        if citation.start is None or citation.end is None:
            return cls(rfc_message_id, "", True)
        found = stored[citation.start : citation.end] if stored is not None else ""
        return cls(rfc_message_id, found, bool(found) and found == citation.quote)


def judge(case: Case, answered: bool, cited: Iterable[Cited]) -> Verdict:
    """Right: answered, and for every gold pair a kept unit cites that message, or another that holds the same words,
    with a span over at least half of the gold quote. Wrong: answered otherwise, or at all where nothing answers."""
    if not answered:
        return "refused"
    if not case.answerable:
        return "wrong"
    given = list(cited)
    return "right" if all(_covered(gold, case, given) for gold in case.gold) else "wrong"


def _covered(gold: Gold, case: Case, given: Iterable[Cited]) -> bool:
    wanted = plain(gold.quote)
    allowed = {gold.message, *(other.message for other in case.gold if other.quote == gold.quote), *case.others}
    return any(one.message in allowed and shared(wanted, plain(one.quote)) >= _SHARE * len(wanted) for one in given)


def plain(text: str) -> str:
    """Lower case, one space between words, without marks of quoting and quotation marks."""
    bare = unquoted(text).casefold()
    return " ".join(re.sub('["“”„«»]', "", bare).split())


def unquoted(text: str) -> str:
    """Without what mail programs put before the lines of quoted text."""
    return _QUOTE_PREFIX.sub("", text)


def shared(one: str, other: str) -> int:
    """Characters of the longest stretch that both texts have in common."""
    best = 0
    lengths = [0] * (len(other) + 1)
    for sign in one:
        previous = 0
        for at, against in enumerate(other, 1):
            previous, lengths[at] = lengths[at], previous + 1 if sign == against else 0
            best = max(best, lengths[at])
    return best
