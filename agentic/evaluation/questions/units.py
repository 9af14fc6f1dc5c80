"""Units of answers for readers who say whether the cited mail supports them, without knowing any verdict.

Two files: rows for readers (`unit`, `text`, `sources`), shuffled, and beside it the key (`unit`, `verdict`, `support`,
`case`, `plant`), which no reader may see. One unit in ten is a plant: a sentence of the mail itself, half of them with
a number changed, by which `evaluate support` tells who reads with care.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agentic.core.answer import Sentence, Verification
from agentic.core.evidence import EvidenceItem
from agentic.core.labels import LABEL_PATTERN
from agentic.evaluation.report import BadInput

_AROUND = 600
_LABEL = re.compile(rf"\[({LABEL_PATTERN})\]")
_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]{2,6}(?![\w.,:/-])")
# Sentences that can be planted: long enough to say something, short enough to be read.
_PLANTED = re.compile(r"(?m)^[^\W\d_][^\n>|]{40,220}[.!]$")
_ONE_IN = 10
# Sentences that are kept of one run: as many with a number, and as many of any kind.
_OF_EACH = 3


@dataclass(frozen=True, slots=True)
class Source:
    """What one citation shows a reader: the head of its message and the words around."""

    sender: str
    date: str
    subject: str
    part: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of a draft. `verdict` is `kept` or the reason of its removal; plants have `true` or `false` there."""

    case: str
    text: str
    sources: tuple[Source, ...]
    verdict: str
    support: str = ""
    plant: bool = False


@dataclass(slots=True)
class Material:
    """What units are made of, run by run: those of the drafts, and sentences that can be planted."""

    units: list[Unit] = field(default_factory=list)
    sentences: list[tuple[str, str, Source]] = field(default_factory=list)

    def add(self, case: str, verification: Verification | None, evidence: Mapping[str, EvidenceItem]) -> None:
        """Take in what one run has drafted and read."""
        for sentence in verification.sentences if verification else ():
            if not sentence.structural:
                self.units.append(_unit(case, sentence, evidence))
        for item in evidence.values():
            body = item.message.part("body")
            for match in _PLANTED.finditer(body.text if body else ""):
                around = _source(item, "body", match.start(), match.end())
                self.sentences.append((case, match[0], around))

    def thinned(self) -> "Material":
        """The same with a few of its sentences, the same ones each time: of what one run read, few become plants."""
        draw = random.Random(len(self.sentences))  # noqa: S311 - a sample, no secret
        mixed = draw.sample(self.sentences, len(self.sentences))
        numbered = [one for one in mixed if _NUMBER.search(one[1])][:_OF_EACH]
        return Material(self.units, [*numbered, *[one for one in mixed if one not in numbered][:_OF_EACH]])


def write(file: Path, material: Material, seed: int) -> int:
    """Write the rows for readers to *file* and the key beside it; how many units there are. Raises BadInput."""
    # Not for secrets: the same seed shall give the same files.
    dice = random.Random(seed)  # noqa: S311
    units = [*material.units, *_plants(material.sentences, -(-len(material.units) // _ONE_IN), dice)]
    dice.shuffle(units)
    rows, keys = [], []
    for number, unit in enumerate(units, 1):
        name = f"u{number:04}"
        rows.append({"unit": name, "text": unit.text, "sources": [asdict(source) for source in unit.sources]})
        keys.append(
            {"unit": name, "case": unit.case, "verdict": unit.verdict, "support": unit.support, "plant": unit.plant}
        )
    try:
        file.write_text(_lines(rows), encoding="utf-8")
        key_of(file).write_text(_lines(keys), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} can't be written: {error.strerror}") from error
    return len(units)


def key_of(file: Path) -> Path:
    """Where the key to *file* lies."""
    return file.with_name(f"{file.stem}.key{file.suffix}")


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _unit(case: str, sentence: Sentence, evidence: Mapping[str, EvidenceItem]) -> Unit:
    sources = [
        _source(evidence[one.label], one.part, one.start, one.end)
        for one in sentence.citations
        if one.label in evidence
    ]
    named = {one.label for one in sentence.citations}
    for label in dict.fromkeys(_LABEL.findall(sentence.drafted)):
        if label in evidence and label not in named:
            sources.append(_source(evidence[label], "body", None, None))
    text = _LABEL.sub("", sentence.drafted).strip()
    return Unit(
        case, text, tuple(sources), "kept" if sentence.kept else sentence.reason or "removed", sentence.support or ""
    )


def _source(item: EvidenceItem, part: str, start: int | None, end: int | None) -> Source:
    head = item.message.head
    found = item.message.part(part)
    text = found.text if found else ""
    span = slice(4 * _AROUND) if start is None or end is None else slice(max(0, start - _AROUND), end + _AROUND)
    named = f"{head.sender.name} <{head.sender.address}>"
    return Source(named, head.sent_at.isoformat() if head.sent_at else "", head.subject, part, text[span])


def _plants(sentences: Sequence[tuple[str, str, Source]], wanted: int, dice: random.Random) -> Iterator[Unit]:
    """True ones as the mail has them, and false ones with one digit of a number changed."""
    once = list({text: (case, text, source) for case, text, source in sentences}.values())
    dice.shuffle(once)
    numbered = [one for one in once if _NUMBER.search(one[1])]
    false = numbered[: wanted // 2]
    spoilt = {text for _, text, _ in false}
    for case, text, source in false:
        yield Unit(case, _NUMBER.sub(lambda match: _other(match[0]), text, count=1), (source,), "false", plant=True)
    for case, text, source in [one for one in once if one[1] not in spoilt][: wanted - len(false)]:
        yield Unit(case, text, (source,), "true", plant=True)


def _other(number: str) -> str:
    """The number with its first digit moved on, never to zero."""
    return f"{int(number[0]) % 9 + 1}{number[1:]}"
