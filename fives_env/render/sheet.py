"""The score sheet of a game: a row a round, each side's sum as it was scored, totals beside it."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fives_env.render import words
from fives_env.tiles import INDEX, PIPS

#: Columns of the sheet as text.
COLUMNS = 78
_LAST = 6  # columns of the number of a round, and of a total
#: Who pays at the end of a round, and how that is rounded: the options, by what was done.
_SETTLED = {"out": ("out", "rounding"), "blocked": ("block", "block_rounding")}


class Row(NamedTuple):
    """What a round brought.

    Attributes:
        sums: What each side was paid or charged, in order, on the scoreboard.
        totals: Score of each side after it.
    """

    sums: list[list[int]]
    totals: list[int]


class Sheet(NamedTuple):
    """A score sheet.

    Attributes:
        heads: A heading for each side: its seats, and who sat there.
        start: Score of each side to begin with.
        rows: The rounds.
    """

    heads: list[tuple[str, str]]
    start: list[int]
    rows: list[Row]


def sheet(ends: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Sheet:
    """The score sheet of a game.

    Args:
        ends: Each round's table at its end, as ``Table.to_dict()`` has it where the round is all
            that is played.
        names: Who played, by seat.
    """
    rows = [_row(data) for data in ends]
    sides = len(rows[0].totals)
    start = [total - sum(sums) for sums, total in zip(*rows[0], strict=True)]
    heads = []
    for side in range(sides):
        seats = range(side, len(names), sides)
        label = f"Seats {side} and {side + 2}" if len(seats) > 1 else words.seat_name(side)
        heads.append((label, " and ".join(names[seat] for seat in seats)))
    return Sheet(heads, start, rows)


def written(sums: Sequence[int]) -> str:
    """A sum as it was scored: ``10 + 15 + 10 - 5``."""
    first, rest = "".join(str(n) for n in sums[:1]), sums[1:]
    return first + "".join(f" {'+' if n > 0 else '-'} {abs(n)}" for n in rest)


def text(sheet: Sheet) -> str:
    """A score sheet as lines of text."""
    width = (COLUMNS - _LAST) // len(sheet.heads) - _LAST - 2
    lines = _lines("", [label for label, _ in sheet.heads], [""] * len(sheet.heads), width)
    lines += _lines("Round", [name for _, name in sheet.heads], [""] * len(sheet.heads), width)
    lines.append("-" * COLUMNS)
    if any(sheet.start):
        lines += _lines("", [""] * len(sheet.heads), sheet.start, width)
    for number, row in enumerate(sheet.rows, 1):
        sums = [written(sums).replace("+ ", "+\xa0").replace("- ", "-\xa0") for sums in row.sums]
        lines += _lines(str(number), sums, row.totals, width)
    return "\n".join(lines) + "\n"


def _lines(first: str, cells: Sequence[str], last: Sequence[Any], width: int) -> list[str]:
    """A row whose cells may take several lines, with a number at the foot of each."""
    wrapped = [textwrap.wrap(cell, width) or [""] for cell in cells]
    height = max(map(len, wrapped))
    lines = []
    for i in range(height):
        line = f"{first if i == 0 else '':<{_LAST}}"
        for cell, total in zip(wrapped, last, strict=True):
            here = cell[i] if i < len(cell) else ""
            foot = total if i == height - 1 else ""
            line += f"{here:<{width}}{foot:>{_LAST}}  "
        lines.append(line.replace("\xa0", " ").rstrip())
    return lines


def _row(data: Mapping[str, Any]) -> Row:
    sides = 2 if data["rules"]["teams"] else len(data["hands"])
    sums: list[list[int]] = [[] for _ in range(sides)]
    for event in data["events"]:
        if event["points"]:
            sums[event["seat"] % sides] += _shares(data, event, sides)
    return Row(sums, data["scores"][:sides])


def _shares(data: Mapping[str, Any], event: Mapping[str, Any], sides: int) -> list[int]:
    """An award in parts: one for each loser's hand where each was rounded by itself."""
    rules, points, seat = data["rules"], event["points"], event["seat"]
    if [rules[option] for option in _SETTLED.get(event["do"], ())] == ["others", "each"]:
        seats = len(data["hands"])
        losers = [(seat + i) % seats for i in range(1, seats) if i % sides]
        pips = [sum(int(PIPS[INDEX[tile]]) for tile in data["hands"][loser]) for loser in losers]
        shares = [5 * ((n + 2) // 5) // rules["peg"] for n in pips]
        if sum(shares) == points:
            return [share for share in shares if share]
    return [points]
