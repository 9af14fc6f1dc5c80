"""Sentences of the sample mail, said anew and forged: how many of each kind the verifier keeps."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from agentic.core.verify import SourceCache
from tests.core.verify_forgeries import FORGERIES
from tests.core.verify_ground import SAMPLE, Ground, grounds, stands
from tests.core.verify_spellings import SPELLINGS, Kind


def run(folder: Path = SAMPLE, each: int = 6) -> Mapping[str, object]:
    """Trials by kind and those that were decided wrongly, over at most *each* sentences of every message."""
    true, forged = (Counter[str](), Counter[str]()), (Counter[str](), Counter[str]())
    for found in grounds(folder, each):
        cache = SourceCache()
        for ground in found:
            _count(ground, SPELLINGS, *true, cache, wanted=True)
            _count(ground, FORGERIES, *forged, cache, wanted=False)
    return {
        "true": true[0].total(),
        "forged": forged[0].total(),
        "false_keeps": forged[1].total(),
        "wrong_removals": true[1].total(),
        "wrong_removal_rate": round(true[1].total() / max(true[0].total(), 1), 5),
        "true_kinds": _told(SPELLINGS, *true),
        "forged_kinds": _told(FORGERIES, *forged),
    }


def _count(
    ground: Ground, kinds: Mapping[str, Kind], tried: Counter[str], wrong: Counter[str], cache: SourceCache,
    *, wanted: bool,
) -> None:  # fmt: skip
    for kind, make in kinds.items():
        trial = make(ground)
        if trial is not None:
            tried[kind] += 1
            wrong[kind] += stands(trial, cache) is not wanted


def _told(kinds: Mapping[str, Kind], tried: Counter[str], wrong: Counter[str]) -> dict[str, str]:
    return {kind: f"{wrong[kind]} of {tried[kind]} wrong" for kind in kinds}
