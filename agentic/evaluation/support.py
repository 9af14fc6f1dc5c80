"""Support by labels: how often the cited mail bears a kept unit, and how often a removed one was borne, too.

Readers get the file of `evaluate questions --units FILE` and write rows of `unit` and `label` (`supported`, `partly`,
`not`; partly counts as not) into files beside it that are named after it: `units.jsonl` has readers `units.ann.jsonl`
and `units.ben.jsonl`. A unit counts as supported where all readers that are left say so; of removed ones it is also
told how many any reader finds supported. A reader who is right on less than 95 % of the plants is left out, and nobody
is known to read with care where no plant is false. Definitions follow ALCE (Gao et al., EMNLP 2023), per unit.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic.evaluation.intervals import clustered
from agentic.evaluation.plots import Share, Shares
from agentic.evaluation.questions.units import key_of
from agentic.evaluation.report import BadInput, Gate, Report

LABELS = ("supported", "partly", "not")
_CAREFUL = 0.95
_READERS = 2


@dataclass(frozen=True, slots=True)
class Key:
    """What the readers did not know of one unit."""

    case: str
    verdict: str
    support: str
    plant: bool
    # It stood in an answer, and was not only kept of a draft that made none.
    shown: bool

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Key":
        """From a row of the file of keys."""
        return cls(row["case"], row["verdict"], row["support"], bool(row["plant"]), bool(row.get("shown")))


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader's labels by unit, and the share of plants that they got right, of all and of the false ones."""

    name: str
    labels: Mapping[str, str]
    careful: Share
    spotted: Share

    @property
    def counts(self) -> bool:
        return self.spotted.n > 0 and self.careful.hits >= _CAREFUL * self.careful.n


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Hold the labels beside *file* against its key; `seed` is that of the bootstrap. Raises BadInput."""
    rows = _rows(key_of(file), {"unit", "case", "verdict", "support", "plant"})
    key = {row["unit"]: Key.of(row) for row in rows}
    readers = _readers(file, key)
    left = [reader for reader in readers if reader.counts]
    seed = int(options.get("seed") or 0)
    supported = _supported(key, left, all)
    shares = _shares(key, supported, _supported(key, left, any), seed)
    agreement = _agreement(list(supported) if len(left) > 1 else [], left)
    figures: dict[str, object] = {
        "units": sum(not one.plant for one in key.values()),
        "plants": sum(one.plant for one in key.values()),
        "readers": {reader.name: {**reader.careful.as_json(), "counts": reader.counts} for reader in readers},
        "shares": {share.name: share.as_json() for share in shares},
        "agreement": agreement,
        "unlabelled": [unit for unit in key if not key[unit].plant and unit not in supported],
    }
    return Report(
        subject="support",
        file=str(file),
        n=len(supported),
        agree=sum(supported[unit] == (key[unit].verdict == "kept") for unit in supported),
        differ=tuple(unit for unit in supported if supported[unit] != (key[unit].verdict == "kept")),
        gates={"readers": Gate(len(left), _READERS, "min")},
        figures=figures,
        lines=(*_told_of(readers), _agreed(agreement), *map(_told, shares)),
        plots=(
            Shares("Units that the cited mail supports", tuple(shares)),
            Shares("Plants that each reader got right", tuple(reader.careful for reader in readers)),
        ),
    )


def _told_of(readers: Sequence[Reader]) -> Iterator[str]:
    for reader in readers:
        left_out = "" if reader.counts else "; left out"
        yield f"reader {reader.name}: {reader.careful.hits} of {reader.careful.n} plants right{left_out}"


def _agreed(agreement: Mapping[str, float] | None) -> str:
    if agreement is None:
        return "agreement: not measured"
    return f"agreement: {agreement['same']:.1%} of {agreement['n']}, kappa {agreement['kappa']:.2f}"


def _told(share: Share) -> str:
    if not share.n:
        return f"{share.name}: not measured"
    return f"{share.name}: {share.hits} of {share.n}, {share.low:.1%} to {share.high:.1%}"


def _shares(key: Mapping[str, Key], by_all: Mapping[str, bool], by_any: Mapping[str, bool], seed: int) -> list[Share]:
    """What is told of the labels: precision of kept units by kind of support, and how much was removed wrongly."""
    kept = [unit for unit, one in key.items() if one.verdict == "kept" and not one.plant]
    removed = [unit for unit, one in key.items() if one.verdict != "kept" and not one.plant]
    groups = {
        "kept with a quotation": ([unit for unit in kept if key[unit].support == "quote"], by_all),
        "kept by reference": ([unit for unit in kept if key[unit].support != "quote"], by_all),
        "kept": (kept, by_all),
        "shown in an answer": ([unit for unit in kept if key[unit].shown], by_all),
        "removed, yet supported": (removed, by_all),
        "removed, supported to any": (removed, by_any),
    }
    return [_share(name, units, supported, key, seed) for name, (units, supported) in groups.items()]


def _share(name: str, units: Sequence[str], supported: Mapping[str, bool], key: Mapping[str, Key], seed: int) -> Share:
    """The share of *units* that are supported; drawn anew by questions, since units of one answer stand together."""
    cases: defaultdict[str, list[bool]] = defaultdict(list)
    for unit in units:
        if unit in supported:
            cases[key[unit].case].append(supported[unit])
    labels = [label for case in cases.values() for label in case]
    low, high = clustered(cases, seed=seed)
    # All alike, the bootstrap sees no spread where there may well be some.
    if labels and len(set(labels)) == 1:
        return Share.exactly(name, sum(labels), len(labels))
    return Share(name, sum(labels), len(labels), low, high, "bootstrap by question")


def _supported(
    key: Mapping[str, Key], readers: Sequence[Reader], agreeing: Callable[[Iterable[bool]], bool]
) -> dict[str, bool]:
    """Units that every careful reader has labelled, and whether *agreeing* many say that they are supported."""
    if not readers:
        return {}
    return {
        unit: agreeing(reader.labels[unit] == "supported" for reader in readers)
        for unit, one in key.items()
        if not one.plant and all(unit in reader.labels for reader in readers)
    }


def _agreement(units: Sequence[str], readers: Sequence[Reader]) -> dict[str, float] | None:
    """How often the first two readers say the same, and Cohen's kappa (1960); None where there are no two."""
    if not units:
        return None
    ours = [(readers[0].labels[unit] == "supported", readers[1].labels[unit] == "supported") for unit in units]
    same = sum(one == other for one, other in ours) / len(ours)
    first, second = (sum(pair[at] for pair in ours) / len(ours) for at in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    kappa = 1.0 if chance == 1 else (same - chance) / (1 - chance)
    return {"n": len(ours), "same": round(same, 4), "kappa": round(kappa, 4)}


def _readers(file: Path, key: Mapping[str, Key]) -> list[Reader]:
    found = []
    for path in sorted(file.parent.glob(f"{file.stem}.*{file.suffix}")):
        if path == key_of(file):
            continue
        labels = {row["unit"]: row["label"] for row in _rows(path, {"unit", "label"})}
        strange = {label for label in labels.values() if label not in LABELS}
        if strange:
            raise BadInput(f"{path} has labels other than {', '.join(LABELS)}: {', '.join(sorted(map(str, strange)))}")
        unknown = sorted(labels.keys() - key.keys())
        if unknown:
            raise BadInput(f"{path} has labels of units that are none of {file}: {', '.join(map(str, unknown[:5]))}")
        name = path.name.removeprefix(f"{file.stem}.").removesuffix(file.suffix)
        careful, spotted = _right(name, labels, key, ("true", "false")), _right(name, labels, key, ("false",))
        found.append(Reader(name, labels, careful, spotted))
    if not found:
        raise BadInput(f"no labels lie beside {file}; a reader's are in {file.stem}.NAME{file.suffix}")
    return found


def _right(name: str, labels: Mapping[str, str], key: Mapping[str, Key], kinds: Collection[str]) -> Share:
    """How many plants of *kinds* are labelled as they are; one that was passed over is no careful reading."""
    plants = [unit for unit, one in key.items() if one.plant and one.verdict in kinds]
    right = sum((labels[unit] == "supported") == (key[unit].verdict == "true") for unit in plants if unit in labels)
    return Share.exactly(name, right, len(plants))


def _rows(path: Path, fields: set[str]) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} can't be read: {error}") from error
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not fields <= set(row):
            raise BadInput(f"row {number} of {path} needs {', '.join(sorted(fields))}")
    return rows
