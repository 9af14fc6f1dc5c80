"""What came of each question, noted in a file as soon as it is there, so that a long evaluation can be gone on with.

A line holds the model and the question's words: what another model said, or what was asked otherwise, is passed over.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agentic.evaluation.questions.asking import Asked
from agentic.evaluation.questions.baselines import Compared
from agentic.evaluation.questions.cases import Case, Cited
from agentic.evaluation.questions.shown import Source
from agentic.evaluation.questions.twins import Twin
from agentic.evaluation.questions.units import Material, Unit
from agentic.evaluation.report import BadInput


@dataclass(frozen=True, slots=True)
class Noted:
    """What came of one question, in the loop and, unless it was asked alone, in the simpler ways beside it."""

    asked: Asked
    compared: Compared | None


class Kept:
    """Results so far of *model* on *cases*; without a file they are only kept in memory. Raises BadInput."""

    def __init__(self, file: Path | None, model: str, cases: Sequence[Case]) -> None:
        self._file, self._model = file, model
        self._cases = {case.case_id: case for case in cases}
        self.questions: dict[str, Noted] = {}
        self.twins: dict[str, Twin] = {}
        try:
            text = file.read_text(encoding="utf-8") if file is not None and file.exists() else ""
            for line in filter(None, text.split("\n")):
                self._take(json.loads(line))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{file} holds no results of this evaluation: {error!r}") from error

    def note_question(self, noted: Noted) -> None:
        """Add what came of a question."""
        case = noted.asked.case
        self.questions[case.case_id] = noted
        asked = {one.name: getattr(noted.asked, one.name) for one in fields(noted.asked) if one.name != "case"}
        told = {**asked, "cited": [asdict(one) for one in noted.asked.cited], "seen": sorted(noted.asked.seen)}
        self._write(
            case,
            asked={**told, "material": asdict(noted.asked.material)},
            compared=noted.compared and asdict(noted.compared),
        )

    def note_twin(self, case: Case, twin: Twin) -> None:
        """Add what came of a question's twins."""
        self.twins[case.case_id] = twin
        self._write(case, twin=asdict(twin))

    def _write(self, case: Case, **told: object) -> None:
        if self._file is None:
            return
        line = {"model": self._model, "id": case.case_id, "question": case.question, **told}
        try:
            with self._file.open("a", encoding="utf-8") as opened:
                opened.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise BadInput(f"{self._file} can't be written: {error.strerror}") from error

    def _take(self, line: Mapping[str, Any]) -> None:
        case = self._cases.get(line["id"])
        if case is None or (line["model"], line["question"]) != (self._model, case.question):
            return
        if "twin" in line:
            self.twins[case.case_id] = Twin(**line["twin"])
        else:
            compared = line["compared"] and Compared(**line["compared"])
            self.questions[case.case_id] = Noted(_asked(case, line["asked"]), compared)


def _asked(case: Case, value: Mapping[str, Any]) -> Asked:
    cited = tuple(Cited(**one) for one in value["cited"])
    read = {**value, "cited": cited, "seen": frozenset(value["seen"]), "removed": tuple(value["removed"])}
    return Asked(case=case, **{**read, "material": _material(value["material"])})


def _material(value: Mapping[str, Any]) -> Material:
    units = [Unit(**{**unit, "sources": tuple(Source(**one) for one in unit["sources"])}) for unit in value["units"]]
    return Material(units, [(case, text, Source(**source)) for case, text, source in value["sentences"]])
