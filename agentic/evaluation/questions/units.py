"""Units of answers for readers who say whether the cited mail supports them, without knowing any verdict.

Three files: rows for readers (`unit`, `question`, `text`, `sources`), shuffled; the same as a page to be labelled in a
browser; and the key (`unit`, `verdict`, `support`, `case`, `plant`, `shown`), which no reader may see. One unit in ten
is a plant: a sentence of the mail itself, half of them with a number changed, by which `evaluate support` tells who
reads with care.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agentic.core.answer import Sentence, Verification
from agentic.core.evidence import EvidenceItem
from agentic.core.labels import LABEL_PATTERN
from agentic.evaluation.questions import sheet
from agentic.evaluation.questions.shown import Source, Span, sources
from agentic.evaluation.report import BadInput

_LABEL = re.compile(rf"\[({LABEL_PATTERN})\]")
_NUMBER = re.compile(r"(?<![\w.,:/-])[0-9]{2,6}(?![\w.,:/-])")
# Sentences that can be planted: long enough to say something, short enough to be read.
_PLANTED = re.compile(r"(?m)^[^\W\d_][^\n>|]{40,220}[.!]$")
_ONE_IN, _LEAST_PLANTS = 10, 2
# Sentences that are kept of one run: as many with a number, and as many of any kind.
_OF_EACH = 3


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of a draft. `verdict` is `kept` or the reason of its removal; plants have `true` or `false` there.

    `shown`: it stood in an answer. A unit can be kept of a draft that made no answer.
    """

    case: str
    text: str
    sources: tuple[Source, ...]
    verdict: str
    support: str = ""
    plant: bool = False
    shown: bool = False


@dataclass(slots=True)
class Material:
    """What units are made of, run by run: those of the drafts, and a few sentences that can be planted."""

    units: list[Unit] = field(default_factory=list)
    sentences: list[tuple[str, str, Source]] = field(default_factory=list)

    def add(
        self, case: str, drafts: Iterable[Verification], evidence: Mapping[str, EvidenceItem], *, answered: bool
    ) -> None:
        """Take in what one run has drafted and read. The first of *drafts* is the one that counted, an answer if
        *answered*; of others only what is not in those before."""
        there: set[tuple[str, tuple[Source, ...]]] = set()
        for number, draft in enumerate(drafts):
            for sentence in draft.sentences:
                unit = _unit(case, sentence, evidence, shown=answered and not number and sentence.kept)
                if not sentence.structural and (unit.text, unit.sources) not in there:
                    there.add((unit.text, unit.sources))
                    self.units.append(unit)
        for item, start, end in _some(evidence.values()):
            body = item.message.part("body")
            text = body.text[start:end] if body else ""
            self.sentences.append((case, text, sources(item, text, [Span("body", start, end)])[0]))


def _some(evidence: Iterable[EvidenceItem]) -> list[tuple[EvidenceItem, int, int]]:
    """Places of a few sentences that can be planted, the same ones each time: as many with a number as of any kind."""
    found = [
        (item, match.start(), match.end(), bool(_NUMBER.search(match[0])))
        for item in evidence
        for body in item.message.parts
        if body.name == "body"
        for match in _PLANTED.finditer(body.text)
    ]
    mixed = random.Random(len(found)).sample(found, len(found))  # noqa: S311 - a sample, no secret
    numbered = [one for one in mixed if one[3]][:_OF_EACH]
    others = [one for one in mixed if one not in numbered][:_OF_EACH]
    return [(item, start, end) for item, start, end, _ in (*numbered, *others)]


def write(file: Path, material: Material, questions: Mapping[str, str], seed: int) -> int:
    """Write the rows for readers to *file*, a page to label them on and the key beside; how many units there are.

    *questions* gives the words of each case. Raises BadInput.
    """
    # Not for secrets: the same seed shall give the same files.
    dice = random.Random(seed)  # noqa: S311
    wanted = max(-(-len(material.units) // _ONE_IN), _LEAST_PLANTS) if material.units else 0
    units = [*material.units, *_plants(material.sentences, wanted, dice)]
    dice.shuffle(units)
    rows, keys = [], []
    for number, unit in enumerate(units, 1):
        name = f"u{number:04}"
        shown = [asdict(source) for source in unit.sources]
        rows.append({"unit": name, "question": questions.get(unit.case, ""), "text": unit.text, "sources": shown})
        verdict = {key: value for key, value in asdict(unit).items() if key not in ("text", "sources")}
        keys.append({"unit": name, **verdict})
    try:
        file.write_text(_lines(rows), encoding="utf-8")
        key_of(file).write_text(_lines(keys), encoding="utf-8")
        file.with_suffix(".html").write_text(sheet.page(file, rows), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{file} can't be written: {error.strerror}") from error
    return len(units)


def key_of(file: Path) -> Path:
    """Where the key to *file* lies."""
    return file.with_name(f"{file.stem}.key{file.suffix}")


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _unit(case: str, sentence: Sentence, evidence: Mapping[str, EvidenceItem], *, shown: bool) -> Unit:
    labels = [*(one.label for one in sentence.citations), *_LABEL.findall(sentence.drafted)]
    text = _LABEL.sub("", sentence.text or sentence.drafted).strip()
    found: list[Source] = []
    for label in dict.fromkeys(label for label in labels if label in evidence):
        spans = [
            Span(one.part, one.start, one.end)
            for one in sentence.citations
            if one.label == label and one.start is not None and one.end is not None
        ]
        found += sources(evidence[label], text, spans)
    verdict = "kept" if sentence.kept else sentence.reason or "removed"
    return Unit(case, text, tuple(found), verdict, sentence.support or "", shown=shown)


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
