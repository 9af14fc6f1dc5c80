"""Units for readers, their labels read back, intervals, and the page of a report."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from agentic.core.answer import Citation, Sentence, Verification
from agentic.core.events import Event, Finished, Found, Verified
from agentic.core.evidence import EvidenceItem
from agentic.core.ports import Usage
from agentic.evaluation import support
from agentic.evaluation.intervals import clustered, exact
from agentic.evaluation.page import page
from agentic.evaluation.plots import Share, Shares, Spread, Stacks
from agentic.evaluation.questions.asking import asked
from agentic.evaluation.questions.cases import Case
from agentic.evaluation.questions.units import Material, key_of, write
from agentic.evaluation.report import BadInput, Gate, Report
from mailsearch.hits import Address, MessageHead, MessageText, PartText

_THINGS = ["crane", "slip", "berth", "barge", "winch", "hoist", "locker", "jetty", "ramp", "buoy", "tug", "scale"]
SENTENCES = [f"The {name} of the harbour office costs {n} euros this spring." for n, name in enumerate(_THINGS, 110)]


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    # Known values: 1 - 0.025 ** (1 / n) for none of n, and tables of the exact interval.
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (5, 10, 0.1871, 0.8129), (1, 100, 0.0003, 0.0545), (0, 0, 0.0, 1.0)],
)
def test_exact_intervals_are_those_of_the_tables(hits: int, n: int, low: float, high: float) -> None:
    assert exact(hits, n) == pytest.approx((low, high), abs=5e-5)


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        exact(3, 2)


def test_groups_that_fail_together_make_an_interval_wider() -> None:
    alone = {str(number): [number < 50] for number in range(100)}
    together = {str(number): [number < 5] * 10 for number in range(10)}
    narrow, wide = clustered(alone, seed=1), clustered(together, seed=1)
    assert wide[0] < narrow[0] < 0.5 < narrow[1] < wide[1]
    assert clustered(alone, seed=1) == narrow
    assert clustered({}, seed=1) == (0.0, 1.0)


def _evidence() -> dict[str, EvidenceItem]:
    at = datetime(2026, 3, 14, tzinfo=UTC)
    head = MessageHead("msg_1", "thr_1", "1@a.example", "box", "INBOX", "Fees", Address("Ann", "ann@a.example"),
                       (), (), at, at)  # fmt: skip
    body = PartText("body", "\n".join(SENTENCES), (), ())
    # Longer than what is shown whole, and what matters stands far behind.
    filler = "Nothing of note happened at the quay on that day.\n" * 200
    scan = PartText("attachment:att_1", f"{filler}The lantern of the pier was sold for 42 crowns.\n{filler}",
                    filename="ledger.txt")  # fmt: skip
    message = MessageText(head, (PartText("subject", "Fees", (), ()), body, scan))
    return {"ab2c3d": EvidenceItem("ab2c3d", message, (), (), "")}


def _material(cases: int = 10) -> Material:
    text = SENTENCES[0]
    citation = Citation("ab2c3d", "msg_1", "body", 0, len(text), text, text)
    sentences = (
        Sentence(0, f"“{text}” [ab2c3d]", text, True, "quote", citations=(citation,)),
        Sentence(1, "The crane is old [ab2c3d].", "The crane is old.", True, "reference", citations=(citation,)),
        Sentence(2, "The crane costs 999 euros [ab2c3d].", "", False, reason="fact_mismatch"),
    )
    material = Material()
    for case in range(cases):
        material.add(f"q{case}", [Verification(sentences, "2")], _evidence(), answered=True)
    return material


QUESTIONS = {f"q{case}": f"What does thing {case} cost?" for case in range(10)}


def _write(file: Path) -> int:
    return write(file, _material(), QUESTIONS, seed=3)


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_readers_get_every_unit_with_its_sources_and_no_verdict(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    assert _write(file) == 33
    rows, key = _read(file), {row["unit"]: row for row in _read(key_of(file))}
    assert {name for row in rows for name in row} == {"unit", "question", "text", "sources"}
    assert {row["question"] for row in rows} == set(QUESTIONS.values())
    assert not any("[ab2c3d" in row["text"] for row in rows)
    for row in rows:
        assert row["sources"][0]["sender"] == "Ann <ann@a.example>"
    plants = [row for row in rows if key[row["unit"]]["plant"]]
    true = [row for row in plants if key[row["unit"]]["verdict"] == "true"]
    assert len(plants) == 3
    assert len(true) == 2
    assert all(row["text"] in row["sources"][0]["text"] for row in true)
    assert all(row["text"] not in row["sources"][0]["text"] for row in plants if row not in true)
    # Nothing in what is shown tells a removed unit from a kept one.
    kept, removed = ([row for row in rows if (key[row["unit"]]["verdict"] == "kept") is kept] for kept in (True, False))
    assert {json.dumps(row["sources"]) for row in kept} == {json.dumps(row["sources"]) for row in removed}


def _only(sentence: Sentence, *, answered: bool = False, earlier: Sequence[Sentence] = ()) -> Material:
    material = Material()
    drafts = [Verification((sentence,), "2"), *(Verification((one,), "2") for one in earlier)]
    material.add("q0", drafts, _evidence(), answered=answered)
    return material


def test_a_removed_unit_is_shown_with_the_attachment_that_may_bear_it(tmp_path: Path) -> None:
    text = "The lantern of the pier went for 42 crowns."
    removed = Sentence(0, f"{text} [ab2c3d]", text, False, reason="fact_not_found")
    (unit,) = _only(removed).units
    body, attachment = unit.sources
    assert (body.part, attachment.part) == ("body", "attachment ledger.txt")
    assert "sold for 42 crowns" in attachment.text
    assert attachment.text.startswith("[…]\n")
    assert attachment.text.endswith("\n[…]")
    assert len(attachment.text) < 2_000


def test_units_of_drafts_that_made_no_answer_are_there_once_and_not_as_shown() -> None:
    kept = Sentence(0, f"{SENTENCES[1]} [ab2c3d]", SENTENCES[1], True, "quote")
    first = Sentence(0, "The slip is free [ab2c3d].", "The slip is free.", False, reason="not_found")
    units = _only(kept, earlier=[kept, first]).units
    assert [(unit.text, unit.verdict, unit.shown) for unit in units] == [
        (SENTENCES[1], "kept", False),
        ("The slip is free.", "not_found", False),
    ]
    assert [unit.shown for unit in _only(kept, answered=True, earlier=[kept, first]).units] == [True, False]


@pytest.mark.parametrize(("outcome", "reason"), [("insufficient_evidence", "all_removed"), ("budget_exhausted", None)])
def test_a_run_without_an_answer_gives_the_units_of_all_its_drafts(outcome: Any, reason: str | None) -> None:
    first = Sentence(0, "The slip is free [ab2c3d].", "The slip is free.", False, reason="not_found")
    second = Sentence(0, "The tug is free [ab2c3d].", "The tug is free.", False, reason="not_found")
    drafts = [Verification((one,), "2") for one in (first, second)]
    events: list[Event] = [
        Found("search", 1, "call_0", "search", {}, tuple(_evidence().values()), (), 1, "", (), 5),
        *(Verified(number, number, draft, 5) for number, draft in enumerate(drafts, 1)),
        Finished(outcome, reason, drafts[1], 2, 1.5, 2, 1, Usage(), 100, "m"),
    ]
    case = Case("q0", "What is free?", True, "", (), frozenset(), (), "")
    units = asked(case, events, replies=2).material.units
    assert {(unit.text, unit.shown) for unit in units} == {("The slip is free.", False), ("The tug is free.", False)}


def test_the_page_to_label_holds_the_rows_and_lets_no_mail_act(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    material = _only(Sentence(0, f"{evil} [ab2c3d]", evil, False, reason="active_content"))
    write(tmp_path / "units.jsonl", material, {"q0": evil}, seed=0)
    text = (tmp_path / "units.html").read_text(encoding="utf-8")
    tags = _Tags()
    tags.feed(text)
    assert tags.names.count("script") == 1
    assert "img" not in tags.names
    assert "default-src 'none'" in text
    assert tags.names.count("article") == 3
    assert "active_content" not in text


def _label(file: Path, name: str, careless: bool = False, generous: bool = False) -> None:
    key = {row["unit"]: row for row in _read(key_of(file))}
    rows = []
    for unit, one in key.items():
        borne = one["support"] == "quote" or one["verdict"] == "true" or (generous and one["support"] == "reference")
        label = "supported" if borne or careless else "partly" if one["verdict"] == "kept" else "not"
        rows.append(json.dumps({"unit": unit, "label": label}))
    file.with_name(f"units.{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")


def test_labels_give_precision_and_leave_out_who_does_not_look(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    _label(file, "ann")
    _label(file, "ben", generous=True)
    _label(file, "cat", careless=True)
    report = support.run(file, {"seed": 1})
    readers: Any = report.figures["readers"]
    assert {name: one["counts"] for name, one in readers.items()} == {"ann": True, "ben": True, "cat": False}
    shares: Any = report.figures["shares"]
    assert (shares["kept with a quotation"]["hits"], shares["kept with a quotation"]["n"]) == (10, 10)
    assert (shares["kept by reference"]["hits"], shares["kept by reference"]["n"]) == (0, 10)
    assert (shares["removed, yet supported"]["hits"], shares["removed, yet supported"]["n"]) == (0, 10)
    agreement: Any = report.figures["agreement"]
    assert (agreement["n"], agreement["same"]) == (30, pytest.approx(20 / 30, abs=1e-3))
    assert (shares["shown in an answer"]["hits"], shares["shown in an answer"]["n"]) == (10, 20)
    assert report.ok


def test_who_passes_plants_over_is_no_careful_reader(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    _label(file, "ann")
    labels = tmp_path / "units.ann.jsonl"
    true = {row["unit"] for row in _read(key_of(file)) if row["verdict"] != "false"}
    labels.write_text("\n".join(json.dumps(row) for row in _read(labels) if row["unit"] in true), encoding="utf-8")
    readers: Any = support.run(file, {}).figures["readers"]
    assert not readers["ann"]["counts"]


def test_nobody_is_careful_where_no_plant_is_false(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    _label(file, "ann")
    rows = [row for row in _read(key_of(file)) if row["verdict"] != "false"]
    key_of(file).write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    labels = tmp_path / "units.ann.jsonl"
    left = [row for row in _read(labels) if row["unit"] in {one["unit"] for one in rows}]
    labels.write_text("\n".join(map(json.dumps, left)), encoding="utf-8")
    readers: Any = support.run(file, {}).figures["readers"]
    assert not readers["ann"]["counts"]


def test_removed_units_that_one_reader_supports_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    _label(file, "ann")
    _label(file, "ben")
    key = {row["unit"]: row for row in _read(key_of(file))}
    rows = _read(tmp_path / "units.ben.jsonl")
    changed = next(row for row in rows if key[row["unit"]]["verdict"] == "fact_mismatch")
    changed["label"] = "supported"
    (tmp_path / "units.ben.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    shares: Any = support.run(file, {}).figures["shares"]
    assert shares["removed, yet supported"]["hits"] == 0
    assert shares["removed, supported to any"]["hits"] == 1


def test_one_careful_reader_is_too_few(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    _label(file, "ann")
    assert not support.run(file, {}).ok


@pytest.mark.parametrize(
    "text",
    ["no json", '{"unit": "u9999", "label": "not"}', '{"unit": "u0001"}', '{"unit": "u0001", "label": "perhaps"}'],
)
def test_labels_that_are_none_are_bad_input(tmp_path: Path, text: str) -> None:
    file = tmp_path / "units.jsonl"
    _write(file)
    (tmp_path / "units.ann.jsonl").write_text(text)
    with pytest.raises(BadInput, match=r"units\.ann\.jsonl"):
        support.run(file, {})


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.outside += [value or "" for name, value in attrs if name in ("src", "href", "style") or name[:2] == "on"]


def test_a_page_needs_nothing_else_and_shows_text_as_text() -> None:
    long = "questions whose latest mail reverses an earlier one"
    plots = (
        Stacks("By <kind>", ("right", "wrong"), (("a<b", {"right": 3}), (long, {"wrong": 1}))),
        Shares("Shares", (Share.exactly("some", 3, 10), Share.exactly("none", 0, 0))),
        Spread("Seconds", "s", [0.5, 1.0, 7.9], limit=8.0),
        Spread("Nothing", "s", []),
    )
    deep: dict[str, object] = {"deep": {"er": None}}
    report = Report(
        "questions", "<file>", 3, 2, ("<script>alert(1)</script>",), {"leaks": Gate(1, 0)}, deep, plots=plots
    )
    text = page([report], {"seed": 0}, ["labels"], datetime(2026, 3, 14, tzinfo=UTC))
    tags = _Tags()
    tags.feed(text)
    assert not {"script", "link", "img", "iframe"} & set(tags.names)
    assert not tags.outside
    assert "&lt;script&gt;" in text
    assert "MISSED" in text
    assert text.count("not measured") == 4
    assert "30.0%" in text
    # What was missed is told at the top, and names that are too long for a plot stand whole in its table.
    assert text.index("<td>leaks</td>") < text.index("<h2>")
    assert '<td class="missed">MISSED</td>' in text
    assert f"{long[:35]}…<" in text
    assert f">{long}</th>" in text


def test_everything_in_a_folder_is_tried_and_what_is_missing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"id": "v1", "sources": {"ab2c3d": {"text": SENTENCES[0]}}, "answer": f"“{SENTENCES[0]}” [ab2c3d]",
            "expected": [{"sentence": f"“{SENTENCES[0]}” [ab2c3d]", "kept": True}]}  # fmt: skip
    (tmp_path / "verifier.jsonl").write_text(json.dumps(case))
    call_command("evaluate", "all", str(tmp_path), html=tmp_path / "report.html")
    lines = capsys.readouterr().out.splitlines()
    last = json.loads(lines[-1])
    assert (last["subject"], last["n"], last["ok"]) == ("all", 1, True)
    assert "verifier.false_keeps" in last["gates"]
    assert any(name.startswith("questions") for name in last["not_measured"])
    assert last["made_with"]["prompts_sha256"]
    assert last["made_with"]["sample"] == "all cases"
    assert "verifier" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_folder_without_cases_and_an_unknown_subject_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for subject in ("all", "weather"):
        with pytest.raises(SystemExit) as ended:
            call_command("evaluate", subject, str(tmp_path))
        assert ended.value.code == 2
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["ok"] is False
