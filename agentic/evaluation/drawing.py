"""Plots as SVG and as tables: both stand in the page, for eyes and for readers of screens."""

from collections.abc import Callable, Sequence
from html import escape

from agentic.evaluation.plots import Plot, Share, Shares, Spread, Stacks

_WIDTH, _NAMES, _ROW, _SCALE = 720, 240, 22, 24
# Characters of a name that have room beside a plot; the table has it whole.
_NAME = 36
_PLOT = _WIDTH - _NAMES - 60
# Told apart in grey and by those who don't see red and green; further series go round.
_COLOURS = ("#1b6e3c", "#b3261e", "#8a8f98", "#2f5fb3", "#b7791f", "#6b4fa0")


def drawn(plot: Plot) -> str:
    """*plot* with its heading, its drawing and its table, as HTML."""
    match plot:
        case Stacks():
            parts = _stacks(plot)
        case Shares():
            parts = _shares(plot)
        case Spread():
            parts = _spread(plot)
    return f"<section><h3>{escape(plot.title)}</h3>{parts}</section>"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of text; the first cell of a row names it."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    lines = [
        f'<tr><th scope="row">{escape(str(row[0]))}</th>'
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _svg(title: str, rows: int, inside: Sequence[str], below: int = _SCALE) -> str:
    height = rows * _ROW + below
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}; the table tells the same">'
        + "".join(inside)
        + "</svg>"
    )


def _name(number: int, name: str) -> str:
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f'<text x="{_NAMES - 8}" y="{number * _ROW + 15}" text-anchor="end">{escape(short)}</text>'


def _stacks(plot: Stacks) -> str:
    if not plot.rows:
        return "<p>none</p>"
    most = max((sum(counts.values()) for _, counts in plot.rows), default=0) or 1
    inside = []
    for number, (name, counts) in enumerate(plot.rows):
        inside.append(_name(number, name))
        x = float(_NAMES)
        for series, colour in zip(plot.series, _round(_COLOURS), strict=False):
            width = _PLOT * counts.get(series, 0) / most
            inside.append(
                f'<rect x="{x:.1f}" y="{number * _ROW + 3}" width="{width:.1f}" height="{_ROW - 6}" fill="{colour}"/>'
            )
            x += width
        inside.append(f'<text x="{x + 6:.1f}" y="{number * _ROW + 15}">{sum(counts.values())}</text>')
    legend = "".join(
        f'<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" fill="{colour}"/></svg>'
        f" {escape(series)}</li>"
        for series, colour in zip(plot.series, _round(_COLOURS), strict=False)
    )
    rows = [(name, *(counts.get(series, 0) for series in plot.series)) for name, counts in plot.rows]
    return (
        _svg(plot.title, len(plot.rows), inside, below=4)
        + f'<ul class="legend">{legend}</ul>'
        + table(("", *plot.series), rows)
    )


def _shares(plot: Shares) -> str:
    inside = []
    for number, one in enumerate(plot.rows):
        y = number * _ROW + 11
        inside.append(_name(number, one.name))
        inside.append(_line(_NAMES, y, _NAMES + _PLOT, y, "#d5d8dd"))
        if one.n:
            inside.append(_line(_NAMES + _PLOT * one.low, y, _NAMES + _PLOT * one.high, y, _COLOURS[3], 3))
            inside.append(f'<circle cx="{_NAMES + _PLOT * one.hits / one.n:.1f}" cy="{y}" r="5" fill="{_COLOURS[3]}"/>')
    inside += _scale(len(plot.rows), lambda share: f"{share:.0%}")
    rows = [(one.name, *_in_words(one), one.hits, one.n, one.method) for one in plot.rows]
    heads = ("", "share", "interval at 95 %", "hits", "n", "method")
    return _svg(plot.title, len(plot.rows), inside) + table(heads, rows)


def _in_words(share: Share) -> tuple[str, str]:
    if not share.n:
        return "not measured", ""
    return f"{share.hits / share.n:.1%}", f"{share.low:.1%} to {share.high:.1%}"


def _spread(plot: Spread) -> str:
    values = sorted(plot.values)
    if not values:
        return "<p>not measured</p>"
    most = max(values[-1], plot.limit or 0.0) or 1.0
    rows, bottom = 6, 6 * _ROW
    steps = [f"M{_NAMES} {bottom}"]
    for number, value in enumerate(values, 1):
        x = _NAMES + _PLOT * value / most
        steps.append(f"H{x:.1f}V{bottom - bottom * number / len(values):.1f}")
    inside = []
    for share in (0.0, 0.5, 1.0):
        y = bottom - bottom * share
        inside.append(_line(_NAMES, y, _NAMES + _PLOT, y, "#d5d8dd"))
        inside.append(f'<text x="{_NAMES - 8}" y="{max(10, y + 4):.1f}" text-anchor="end">{share:.0%}</text>')
    inside.append(f'<path d="{"".join(steps)}" fill="none" stroke="{_COLOURS[3]}" stroke-width="2"/>')
    if plot.limit is not None:
        x = _NAMES + _PLOT * plot.limit / most
        inside.append(_line(x, 0, x, bottom, _COLOURS[1]))
    inside += _scale(rows, lambda share: f"{share * most:.3g} {plot.unit}")
    told = [(f"p{percent}", f"{_at(values, percent):.3g} {plot.unit}") for percent in (50, 90, 95, 99, 100)]
    return _svg(plot.title, rows, inside) + table(("of all values, at most", plot.unit), told)


def _at(values: Sequence[float], percent: int) -> float:
    """The least of the sorted *values* that so many per cent of them do not exceed."""
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def _scale(rows: int, words: Callable[[float], str]) -> list[str]:
    y = rows * _ROW + 16
    return [
        f'<text x="{_NAMES + _PLOT * share:.1f}" y="{y}" text-anchor="middle">{escape(words(share))}</text>'
        for share in (0.0, 0.5, 1.0)
    ]


def _round(colours: Sequence[str]) -> Sequence[str]:
    return tuple(colours) * 4
