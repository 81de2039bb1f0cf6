"""A table in letters."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from fives_env.render import words
from fives_env.render.canvas import Canvas, styled
from fives_env.render.place import Arrangement, arrange
from fives_env.render.poses import DX, DY

#: Columns of the text, unless the layout needs more.
COLUMNS = 78
#: The box that the arms are bent to; a unit is two columns wide and a row high.
BOX = ((COLUMNS - 1) // 2, 24)
#: Rows up to which it grows in height only.
TALL = 60


def text(data: Mapping[str, Any], colour: bool = False) -> str:
    """The table that ``Table.to_dict()`` describes, as a few lines of text.

    Tiles that are not known are shown as ``?-?``; the last tile played has a heavy border, a
    spinner a diamond, and each open end, in brackets, the pips that it counts.

    Args:
        data: The table.
        colour: With escape sequences for a terminal's colours.
    """
    head = _both(words.asked(data), words.match(data))
    lines = [styled(head, "bold", colour)]
    for seat, hand in enumerate(data["hands"]):
        mark = ">" if data["turn"] == seat else " "
        partners = f" (with {(seat + 2) % 4})" if data["rules"]["teams"] else ""
        label = f"{mark} {words.seat_name(seat)}{partners} {data['scores'][seat]:>4}  "
        hand_lines = _tiles(label, hand)
        lines += [styled(line, "gold", colour and mark == ">") for line in hand_lines]
    bones = data["boneyard"]
    lines += _tiles(f"  Boneyard {len(bones)}  ", bones if any(bones) else [])
    lines += ["", *_layout(data, colour), ""]
    points = words.gained(data)
    total = words.total(data) + (f" (+{points})" if points else "")
    lines.append(styled(_both(total, ", ".join(words.happened(data)[-3:])), "bold", colour))
    ends = [f"{end['value']}@{end['end']}" for end in data["ends"]]
    if ends:
        lines += textwrap.wrap("Open ends: " + " ".join(ends), COLUMNS)
    return "\n".join(lines) + "\n"


def _both(left: str, right: str) -> str:
    """One text at the left and one at the right."""
    return f"{left}  {right:>{max(0, COLUMNS - len(left) - 2)}}".rstrip()


def _tiles(label: str, tiles: Sequence[str | None]) -> list[str]:
    named = " ".join(tile or "?-?" for tile in tiles)
    blank = " " * len(label)
    # textwrap would break a tile's name at its hyphen
    return textwrap.wrap(
        named,
        COLUMNS,
        initial_indent=label,
        subsequent_indent=blank,
        break_on_hyphens=False,
    ) or [label.rstrip()]


def _layout(data: Mapping[str, Any], colour: bool) -> list[str]:
    """The tiles played, drawn with lines."""
    if not data["layout"]:
        return ["(no tile yet)".center(COLUMNS).rstrip()]
    drawn = arrange(data["layout"], data["ends"], data["rules"]["spinner"], BOX, TALL)
    left, top, width, height = drawn.needed
    canvas = Canvas(2 * width + 1, height + 1)
    last = len(drawn.tiles) - 1
    for i, tile in enumerate(drawn.tiles):
        x, y, wide, high = tile.rect
        x, y = 2 * (x - left), y - top
        middle = x + wide, y + high // 2
        weight, style = (2, "gold") if i == last else (1, "")
        canvas.box(x, y, x + 2 * wide, y + high, weight, style)
        if tile.turn % 2:
            canvas.line(x, middle[1], x + 2 * wide, middle[1], 1, "")
        else:
            canvas.line(middle[0], y, middle[0], y + high, 1, "")
        if tile.spinner:
            canvas.write(*middle, "◆", "gold")
        for half, way in ((tile.tile[2], -1), (tile.tile[0], 1)):
            dx, dy = DX[tile.turn] * way, DY[tile.turn] * way
            canvas.write(middle[0] + 2 * dx, middle[1] + dy, half, "bold")
    _labels(data, drawn, canvas)
    indent = " " * max(0, (COLUMNS - 2 * width - 1) // 2)
    rows = [(indent + row).rstrip() for row in canvas.rows(colour)]
    return "\n".join(rows).strip("\n").split("\n")


def _labels(data: Mapping[str, Any], drawn: Arrangement, canvas: Canvas) -> None:
    left, top, _, _ = drawn.needed
    for end in data["ends"]:
        x, y, heading, _ = drawn.ends[end["end"]]
        counts = "?" if end["counts"] is None else str(end["counts"])
        shown = f"({counts})" if drawn.label > 1 else counts
        column = 2 * (x - left) + drawn.label * DX[heading]
        row = y - top + drawn.label * DY[heading] // 2
        canvas.write(column, row, shown, "gold" if end["counts"] else "dim")
