"""A report as one HTML page that needs nothing else: no script, no style sheet, no picture from anywhere."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape

from agentic.evaluation.drawing import drawn, table
from agentic.evaluation.report import Report

NOT_MEASURED = "not measured"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1c1f24;
  background: #fff; overflow-wrap: anywhere }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-size: .875rem; display: block; overflow-x: auto }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #d5d8dd; vertical-align: top;
  font-variant-numeric: tabular-nums }
svg { width: 100%; font: 12px system-ui, sans-serif; fill: #1c1f24 }
svg rect, svg circle { forced-color-adjust: none }
.legend { list-style: none; padding: 0; display: flex; gap: 1rem } .legend svg { width: 10px }
.missed { color: #b3261e; font-weight: 600 } .held { color: #1b6e3c; font-weight: 600 }
@media (prefers-color-scheme: dark) { body { color: #e4e6ea; background: #15181d } svg { fill: #e4e6ea }
  th, td { border-color: #3a3f47 } .missed { color: #ff8a80 } .held { color: #7bd49b } }
"""


def page(reports: Sequence[Report], circumstances: Mapping[str, object], wanting: Sequence[str], at: datetime) -> str:
    """All *reports* on one page, made with *circumstances*; *wanting* names what was not measured."""
    held = all(report.ok for report in reports)
    heading = "Evaluation: " + ", ".join(report.subject for report in reports)
    body = "".join(
        [
            f"<h1>{escape(heading)}</h1>",
            f'<p>{at:%Y-%m-%d %H:%M} UTC. <span class="{"held" if held else "missed"}">'
            f"{'All gates held' if held else 'A gate was missed'}.</span></p>",
            _overview(reports),
            *(_section(report) for report in reports),
            _wanting(wanting),
            "<h2>Made with</h2>",
            table(("", "value"), list(_flat(circumstances))),
        ]
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(heading)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def _overview(reports: Sequence[Report]) -> str:
    """One row a subject: what came as expected, and which gates were missed."""
    rows = [
        (one.subject, f"{one.agree} of {one.n}", ", ".join(name for name, gate in one.gates.items() if not gate.ok))
        for one in reports
    ]
    return table(("", "cases as expected", "gates missed"), [(*row[:2], row[2] or "none") for row in rows])


def _section(report: Report) -> str:
    gates = [
        (name, gate.value, f"{'≤' if gate.bound == 'max' else '≥'} {gate.limit}", "held" if gate.ok else "MISSED")
        for name, gate in report.gates.items()
    ]
    return "".join(
        [
            f"<h2>{escape(report.subject)}</h2>",
            f"<p>{report.agree} of {report.n} cases of <code>{escape(report.file)}</code> as expected.</p>",
            _marked(table(("gate", "value", "limit", ""), gates)) if gates else "",
            *(drawn(plot) for plot in report.plots),
            f"<p>Not as expected: {escape(', '.join(report.differ))}</p>" if report.differ else "",
            "<details><summary>All figures</summary>",
            table(("", "value"), list(_flat(report.figures))),
            "</details>",
        ]
    )


def _marked(gates: str) -> str:
    """The table of gates with those that were missed told by colour, too."""
    return gates.replace("<td>MISSED</td>", '<td class="missed">MISSED</td>')


def _wanting(names: Sequence[str]) -> str:
    if not names:
        return ""
    return "<h2>Not measured</h2>" + table(("", ""), [(name, NOT_MEASURED) for name in names])


def _flat(values: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Figures within figures under joined names; None is what was not measured."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} · ")
        elif isinstance(value, (list, tuple)):
            yield f"{before}{name}", ", ".join(map(str, value)) or "none"
        else:
            yield f"{before}{name}", NOT_MEASURED if value is None else value
