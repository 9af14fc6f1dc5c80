"""Support by labels: how often the cited mail bears a kept unit, and how often a removed one was borne, too.

Readers get the file of `evaluate questions --units FILE` and write rows of `unit` and `label` (`supported`, `partly`,
`not`; partly counts as not) into files beside it that are named after it: `units.jsonl` has readers `units.ann.jsonl`
and `units.ben.jsonl`. A unit counts as supported where all readers that are left say so. A reader who is right on less
than 95 % of the plants is left out. Definitions follow ALCE (Gao et al., EMNLP 2023), per unit.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader's labels by unit, and the share of plants that they got right."""

    name: str
    labels: Mapping[str, str]
    careful: Share

    @property
    def counts(self) -> bool:
        return self.careful.n > 0 and self.careful.hits >= _CAREFUL * self.careful.n


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Hold the labels beside *file* against its key; `seed` is that of the bootstrap. Raises BadInput."""
    key = {
        row["unit"]: Key(row["case"], row["verdict"], row["support"], bool(row["plant"]))
        for row in _rows(key_of(file), {"unit", "case", "verdict", "support", "plant"})
    }
    readers = _readers(file, key)
    left = [reader for reader in readers if reader.counts]
    seed = int(options.get("seed") or 0)
    supported = _supported(key, left)
    groups = {
        "kept with a quotation": [u for u, one in key.items() if one.verdict == "kept" and one.support == "quote"],
        "kept by reference": [u for u, one in key.items() if one.verdict == "kept" and one.support != "quote"],
        "kept": [u for u, one in key.items() if one.verdict == "kept" and not one.plant],
        "removed, yet supported": [u for u, one in key.items() if one.verdict != "kept" and not one.plant],
    }
    shares = [_share(name, units, supported, key, seed) for name, units in groups.items()]
    both = [unit for unit in key if len(left) > 1 and all(unit in reader.labels for reader in left)]
    figures: dict[str, object] = {
        "units": sum(not one.plant for one in key.values()),
        "readers": {reader.name: {**reader.careful.as_json(), "counts": reader.counts} for reader in readers},
        "shares": {share.name: share.as_json() for share in shares},
        "agreement": _agreement(both, left),
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
        lines=tuple(
            f"{share.name}: {share.hits} of {share.n}, {share.low:.1%} to {share.high:.1%}" for share in shares
        ),
        plots=(
            Shares("Units that the cited mail supports", tuple(shares)),
            Shares("Plants that each reader got right", tuple(reader.careful for reader in readers)),
        ),
    )


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


def _supported(key: Mapping[str, Key], readers: Sequence[Reader]) -> dict[str, bool]:
    """Units that every careful reader has labelled, and whether all say that they are supported."""
    if not readers:
        return {}
    return {
        unit: all(reader.labels[unit] == "supported" for reader in readers)
        for unit, one in key.items()
        if not one.plant and all(unit in reader.labels for reader in readers)
    }


def _agreement(units: Sequence[str], readers: Sequence[Reader]) -> dict[str, object] | None:
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
        plants = [unit for unit, one in key.items() if one.plant]
        # A plant that was passed over is no careful reading.
        right = sum((labels[unit] == "supported") == (key[unit].verdict == "true") for unit in plants if unit in labels)
        name = path.name.removeprefix(f"{file.stem}.").removesuffix(file.suffix)
        found.append(Reader(name, labels, Share.exactly(name, right, len(plants))))
    if not found:
        raise BadInput(f"no labels lie beside {file}; a reader's are in {file.stem}.NAME{file.suffix}")
    return found


def _rows(path: Path, fields: set[str]) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} can't be read: {error}") from error
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not fields <= set(row):
            raise BadInput(f"row {number} of {path} needs {', '.join(sorted(fields))}")
    return rows
