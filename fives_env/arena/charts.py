"""The plots of a report, as SVG text."""

import io
from collections.abc import Mapping, Sequence
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.arena.standing import Standing
from fives_env.arena.statistics import Interval

#: Letters of a name that a plot shows.
LONGEST = 40
#: Colours, the first for what is measured, the second for what stands beside it.
COLOURS = INK, BESIDE, *_ = "#2d6f5d", "#d1703c", "#3b6ea5", "#8a5ea7"
#: What curves show of a training run, and what they call it.
FIGURES = {
    "against_greedy": "margin against greedy",
    "against_tactician": "against the tactician",
    "entropy": "entropy",
}
#: What they show it over.
AXES = ("decisions", "minutes")

Rows = Sequence[Mapping[str, float]]


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> Any:
    """A figure of some panels, which share what they measure with those beside and below."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        needed = 'reports need Matplotlib, which is missing: pip install "fives-env[report]"'
        raise ValueError(needed) from None
    with rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.subplots(rows, columns, sharex="col", sharey="row")
    return figure


def _svg(figure: Any) -> str:
    """A figure as an SVG element; the same figure always gives the same text."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "fives"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    drawn = text.getvalue()
    # Its style is meant for a file of its own; in a page it must not reach other pictures.
    return drawn[drawn.index("<svg") :].replace("*{stroke", ".plot *{stroke")


def label(name: str) -> str:
    """A name as it is, but short enough to leave room for a plot."""
    cut = name if len(name) <= LONGEST else f"{name[: LONGEST - 13]}...{name[-10:]}"
    return cut.replace("$", r"\$")  # which would begin a formula


def _rows(names: Sequence[str], measured: str, inches: float = 0.36) -> Any:
    """A figure with a row for each name, the first on top."""
    figure = _figure(8, 0.9 + inches * len(names))
    axes = figure.axes[0]
    axes.set_yticks(range(len(names)), [label(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(measured)
    axes.grid(axis="x", color="#8884", linewidth=0.7)
    axes.set_axisbelow(True)
    return figure


def _dots(
    axes: Any, found: Sequence[Interval | None], shift: float, colour: str, said: str
) -> None:
    places = [k + shift for k, interval in enumerate(found) if interval]
    shown = [interval for interval in found if interval]
    values = [interval.value for interval in shown]
    ends = [(i.value if isinf(end) else end) for i in shown for end in (i.low, i.high)]
    errors = np.abs(np.repeat(values, 2) - ends).reshape(-1, 2).T
    for place, interval in zip(places, shown, strict=True):
        for end, mark in ((interval.low, "<"), (interval.high, ">")):
            if isinf(end):  # an arrow, towards nowhere
                axes.plot(interval.value, place, mark, markersize=11, color=colour)
    axes.errorbar(values, places, xerr=errors, fmt="o", capsize=3, color=colour, label=said)


def ladder(names: Sequence[str], ratings: Sequence[Interval]) -> str:
    """Ratings with their intervals, the best on top."""
    figure = _rows(names, "Elo, 95 % interval")
    _dots(figure.axes[0], ratings, 0, INK, "")
    return _svg(figure)


def heat(names: Sequence[str], payoffs: Sequence[Sequence[Interval | None]]) -> str:
    """Margins of rows against columns, in numbers and colours."""
    count = len(names)
    figure = _figure(3.2 + 0.95 * count, 0.8 + 0.55 * count)
    axes = figure.axes[0]
    values = np.array([[cell.value if cell else np.nan for cell in row] for row in payoffs])
    most = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else 1.0
    axes.imshow(values, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    for i, row in enumerate(payoffs):
        for j, cell in enumerate(row):
            if cell:
                pale = abs(cell.value) < 0.6 * most
                text = f"{cell.value:+.1f}\n±{(cell.high - cell.low) / 2:.1f}"
                colour = "#222" if pale else "white"
                axes.text(j, i, text, ha="center", va="center", color=colour, fontsize=8)
    axes.set_yticks(range(count), [f"{k + 1}  {label(name)}" for k, name in enumerate(names)])
    axes.set_xticks(range(count), [str(k + 1) for k in range(count)])
    axes.tick_params(length=0)
    return _svg(figure)


def sides(names: Sequence[str], found: Standing, order: Sequence[int]) -> str:
    """Margins by side, and leading and following."""
    places = [found.places[k] for k in order]
    figure = _rows(names, "margin", 0.5)
    axes = figure.axes[0]
    axes.axvline(0, color="#888", linewidth=0.8)
    kinds = [
        (f"side {k + 1}", [place.by_side[k] for place in places], "s^Dv"[k], COLOURS[k], -0.2)
        for k in range(len(places[0].by_side))
    ]
    kinds.append(("leading", [place.leading for place in places], ">", "#666", 0.2))
    kinds.append(("following", [place.following for place in places], "<", "#666", 0.2))
    for said, values, mark, colour, shift in kinds:
        heights = [row + shift for row in range(len(names))]
        axes.scatter(values, heights, color=colour, label=said, marker=mark, s=28)
    figure.legend(loc="outside upper center", ncols=len(kinds), frameon=False)
    return _svg(figure)


def luck(names: Sequence[str], found: Standing, order: Sequence[int]) -> str:
    """Margins as played, and without luck."""
    places = [found.places[k] for k in order]
    figure = _rows(names, "margin, 95 % interval", 0.5)
    axes = figure.axes[0]
    axes.axvline(0, color="#888", linewidth=0.8)
    _dots(axes, [place.margin for place in places], -0.15, INK, "as played")
    without = [place.adjusted.margin if place.adjusted else None for place in places]
    _dots(axes, without, 0.15, BESIDE, "without luck")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return _svg(figure)


def bars(
    names: Sequence[str], values: Sequence[float], measured: str, scale: str = "linear"
) -> str:
    """A bar for each name, with its number."""
    figure = _rows(names, measured)
    axes = figure.axes[0]
    axes.set_xscale(scale)
    shown = axes.barh(range(len(names)), values, color=INK, height=0.6)
    axes.bar_label(shown, [f"{value:,.3g}" for value in values], padding=4)
    axes.margins(x=0.15)
    return _svg(figure)


def curves(runs: Mapping[str, Sequence[Rows]]) -> str:
    """What training runs reached, over the decisions and the minutes that it took them.

    Runs of several seeds are thin lines around their mean, in a band from the lowest to the
    highest.

    Args:
        runs: Rows of ``metrics.jsonl`` of each seed, by the curve's name; each has ``decisions``.
    """
    every = [row for seeds in runs.values() for rows in seeds for row in rows]
    drawn = [name for name in FIGURES if any(name in row for row in every)] or ["against_greedy"]
    columns = AXES[: 1 + all("seconds" in row for row in every)]
    figure = _figure(8, 1 + 2.2 * len(drawn), len(drawn), len(columns))
    grid = np.reshape(figure.axes, (len(drawn), len(columns)))
    for name, panels in zip(drawn, grid, strict=True):
        panels[0].set_ylabel(FIGURES[name])
        for column, axes in enumerate(panels):
            if name.startswith("against"):
                axes.axhline(0, color="#888", linewidth=0.8)
            for k, (said, seeds) in enumerate(runs.items()):
                found = [_points(rows, name) for rows in seeds]
                _curve(axes, found, column, COLOURS[k % len(COLOURS)], label(said))
    for axes, measured in zip(grid[-1], columns, strict=True):
        axes.set_xlabel(measured)
    handles = grid[0][0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=2, frameon=False)
    return _svg(figure)


def _points(rows: Rows, name: str) -> NDArray[np.float64]:
    """Decisions, minutes and the figure of that name, one below the other, (points, 3)."""
    found = {
        row["decisions"]: (row["decisions"], row.get("seconds", 0) / 60, row[name])
        for row in rows
        if name in row
    }
    return np.array(list(found.values()), np.float64).reshape(-1, 3)


def _curve(
    axes: Any, found: Sequence[NDArray[np.float64]], column: int, colour: str, said: str
) -> None:
    """Draw the points of a run's seeds over one of their columns."""
    mean = found[0]
    if len(found) > 1:
        for line in found:
            axes.plot(line[:, column], line[:, 2], color=colour, linewidth=0.8, alpha=0.5)
        # A run that was stopped says nothing about later ones; minutes are those of the same row.
        shared = set.intersection(*(set(line[:, 0]) for line in found))
        rows = np.array([line[[at in shared for at in line[:, 0]]] for line in found])
        mean, values = rows.mean(0), rows[:, :, 2]
        band = values.min(0), values.max(0)
        axes.fill_between(mean[:, column], *band, color=colour, alpha=0.2, linewidth=0)
    style = "o-" if len(mean) < 40 else "-"
    axes.plot(mean[:, column], mean[:, 2], style, markersize=4, color=colour, label=said)
