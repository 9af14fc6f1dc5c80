"""Small drawings by day, made on the server: bars in a stack, and lines. What they show stands in a table, too."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 376, 136
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 368, 16, 112


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity by day; None where there is nothing to say of a day. `code` is how it looks."""

    code: str
    words: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a day's stack."""

    code: str
    # Coordinates are written out here: templates are slow at numbers, and there are hundreds.
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, slots=True)
class Column:
    """A day: its pieces, what it tells in words, and where its runs are listed."""

    x: str
    width: str
    bars: tuple[Bar, ...]
    # One of each series, empty where there is nothing to say; and the same after the name of the series.
    values: tuple[str, ...]
    cells: tuple[str, ...]
    day: str
    address: str

    @property
    def words(self) -> str:
        return f"{self.day}: {', '.join(cell for cell in self.cells if cell) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Line:
    """One series as a path, and its points."""

    code: str
    path: str
    points: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its words. `limit` is the height of a line that marks a limit, None without one."""

    name: str
    title: str
    summary: str
    series: tuple[Series, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    top: str
    limit: float | None
    limit_words: str

    width, height, left, right, bottom = WIDTH, HEIGHT, _LEFT, _RIGHT, _BOTTOM

    @property
    def first(self) -> str:
        return self.columns[0].day

    @property
    def last(self) -> str:
        return self.columns[-1].day


def chart(
    name: str,
    title: str,
    summary: str,
    series: Sequence[Series],
    days: Sequence[tuple[str, str]],
    *,
    unit: str = "",
    digits: int = 0,
    stacked: bool = True,
    limit: float | None = None,
    limit_words: str = "",
) -> Chart:
    """A drawing of *series* over *days*, each with the address of its runs. A *limit* is drawn as a line."""
    most = _most(series, stacked)
    top = max(most, (limit or 0) * 1.05) or 1
    step = (_RIGHT - _LEFT) / len(days)
    columns, heights = [], (_BOTTOM - _TOP) / top
    for number, (day, address) in enumerate(days):
        x = _LEFT + number * step
        values = tuple(_told(one.values[number], unit, digits) for one in series)
        cells = tuple(f"{one.words} {told}" for one, told in zip(series, values, strict=True) if told)
        bars = _stack(series, number, x, step, heights) if stacked else ()
        columns.append(Column(_at(x), _at(step), bars, values, cells, day, address))
    lines = () if stacked else tuple(_line(one, step, heights) for one in series)
    drawn = None if limit is None else _BOTTOM - limit * heights
    words = f"{top:,.{digits}f}{unit}"
    return Chart(name, title, summary, tuple(series), tuple(columns), lines, words, drawn, limit_words)


def _most(series: Sequence[Series], stacked: bool) -> float:
    """The highest point that is drawn."""
    days = list(zip(*(one.values for one in series), strict=True))
    heights = [sum(value or 0 for value in day) if stacked else max(value or 0 for value in day) for day in days]
    return max(heights, default=0)


def _told(value: float | None, unit: str, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}{unit}"


def _at(coordinate: float) -> str:
    return f"{coordinate:.1f}"


def _stack(series: Sequence[Series], number: int, x: float, step: float, heights: float) -> tuple[Bar, ...]:
    y, bars = float(_BOTTOM), []
    for one in series:
        height = (one.values[number] or 0) * heights
        y -= height
        if height:
            # Few of a day with many are seen all the same.
            bars.append(Bar(one.code, _at(x + 1), _at(y), _at(max(2, step - 2)), _at(max(height, 1))))
    return tuple(bars)


def _line(series: Series, step: float, heights: float) -> Line:
    """A path that stops where there is nothing to say."""
    parts, points, pen = [], [], "M"
    for number, value in enumerate(series.values):
        if value is None:
            pen = "M"
            continue
        point = _at(_LEFT + (number + 0.5) * step), _at(_BOTTOM - value * heights)
        parts.append(f"{pen}{point[0]} {point[1]}")
        points.append(point)
        pen = "L"
    return Line(series.code, " ".join(parts), tuple(points))
