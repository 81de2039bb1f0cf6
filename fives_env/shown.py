"""What tables of the arena show in their cells."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from fives_env.arena.statistics import Interval


def blunders(judged: Sequence[int]) -> str:
    """What was counted of a player's decisions, in words."""
    choices, solved, wrong, lost = judged
    if not solved:
        return f"none of {choices:,} decisions could be solved"
    each = f", {lost / wrong:.1f} points each" if wrong else ""
    return f"{wrong / solved:.1%} of the {solved / choices:.1%} solved{each}"


def span(low: float, high: float, digits: int = 2) -> str:
    """From where to where an interval goes."""
    return f"{low:+.{digits}f} to {high:+.{digits}f}"


def within(found: "Interval | None", digits: int) -> str:
    """An estimate and half its interval, or the end that the interval has; nothing for nothing."""
    if found is None:
        return ""
    if found.high == inf:
        return f"{found.value:+.{digits}f} >{found.low:+.{digits}f}"
    if found.low == -inf:
        return f"{found.value:+.{digits}f} <{found.high:+.{digits}f}"
    return f"{found.value:+.{digits}f} ±{(found.high - found.low) / 2:.{digits}f}"


#: Letters of a name that a table still has room for; longer ones are listed beneath it.
LONGEST = 24


def crosstable(
    second: str,
    names: Sequence[str],
    figures: Sequence[str],
    rows: Sequence[Sequence[str]],
    title: str | None = None,
) -> Group:
    """A table of players against each other: place and name, one figure, a cell for each other.

    Args:
        second: Head of the column of figures.
        names: The players, the first in the first row.
        figures: A figure for each.
        rows: Cells of each row.
        title: What stands above it.
    """
    grid = Grid(show_lines=True, title=title)
    places = [f"{place} {name}" for place, name in enumerate(names, 1)]
    beneath = [Text(place) for place in places] if max(map(len, names)) > LONGEST else []
    if beneath:
        places = [str(place) for place in range(1, len(names) + 1)]
    grid.add_column("", overflow="fold")
    for head in (second, *(str(k) for k in range(1, len(names) + 1))):
        grid.add_column(head, justify="right", no_wrap=True)
    for place, figure, cells in zip(places, figures, rows, strict=True):
        grid.add_row(place, figure, *cells)
    return Group(grid, *beneath)


def tall(found: "Interval | None", digits: int = 1) -> str:
    """An estimate and its interval in two lines, nothing for nothing."""
    return within(found, digits).replace(" ", "\n")
