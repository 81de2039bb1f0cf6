"""A tile as shapes: ivory with pips, or its back."""

from fives_env.render.poses import DX, DY, body
from fives_env.render.shapes import Box, Dots, Shape

IVORY = "#fbf7ea"
RIM = "#d5c8a4"
PIP = "#2a2b2e"
GROOVE = "#c9bb96"
SHADOW = "#1f5143"
BACK = "#6079b8"
BACK_RIM = "#9db1e0"
GOLD = "#f4bb35"
BRASS = "#c8922a"

#: Where the pips of a half lie: steps along the tile and across it.
PIPS: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((0, 0),),
    ((-1, -1), (1, 1)),
    ((-1, -1), (0, 0), (1, 1)),
    ((-1, -1), (-1, 1), (1, -1), (1, 1)),
    ((-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)),
    ((-1, -1), (0, -1), (1, -1), (-1, 1), (0, 1), (1, 1)),
)


def face(
    tile: str | None,
    x: float,
    y: float,
    turn: int,
    unit: float,
    spinner: bool = False,
    marked: bool = False,
) -> list[Shape]:
    """A tile around (x, y).

    Args:
        tile: Its name; None is drawn face down.
        x: Middle of the tile in pixels.
        y: The same.
        turn: Quarter turns clockwise from lying with the lower half to the left.
        unit: Pixels of a quarter of its length.
        spinner: Draw the pin of a spinner.
        marked: Draw it as the last one played.
    """
    left, top, width, height = (side * unit for side in body(0, 0, turn))
    rim = 0.07 * unit
    frame = x + left + rim, y + top + rim, width - 2 * rim, height - 2 * rim, 0.36 * unit
    shadow = Box(frame[0] + rim, frame[1] + 2.2 * rim, *frame[2:], SHADOW)
    if tile is None:
        inner = Box(*_shrunk(frame, 0.24 * unit), None, BACK_RIM, 0.09 * unit)
        return [shadow, Box(*frame, BACK, BACK_RIM, 0.05 * unit), inner]
    shapes: list[Shape] = [shadow, Box(*frame, IVORY, RIM, 0.07 * unit), _groove(x, y, turn, unit)]
    shapes += _pips(tile, x, y, turn, unit)
    if spinner:
        shapes.append(Dots(((x, y),), 0.27 * unit, BRASS))
        shapes.append(Dots(((x, y),), 0.15 * unit, GOLD))
    if marked:
        shapes.append(Box(*_shrunk(frame, 0.02 * unit), None, GOLD, 0.22 * unit))
    return shapes


def _shrunk(
    frame: tuple[float, float, float, float, float], by: float
) -> tuple[float, float, float, float, float]:
    x, y, width, height, radius = frame
    return x + by, y + by, width - 2 * by, height - 2 * by, max(0.0, radius - by)


def _groove(x: float, y: float, turn: int, unit: float) -> Box:
    """The line between the halves."""
    long, thin = 1.5 * unit, 0.08 * unit
    width, height = (long, thin) if turn % 2 else (thin, long)
    return Box(x - width / 2, y - height / 2, width, height, 0, GROOVE)


def _pips(tile: str, x: float, y: float, turn: int, unit: float) -> list[Shape]:
    along, across = (DX[turn % 4], DY[turn % 4]), (-DY[turn % 4], DX[turn % 4])
    spots = []
    for half, middle in ((tile[2], -1.0), (tile[0], 1.0)):
        for a, b in PIPS[int(half)]:
            far, wide = (middle + 0.52 * a) * unit, 0.52 * b * unit
            spot_x = x + far * along[0] + wide * across[0]
            spots.append((spot_x, y + far * along[1] + wide * across[1]))
    return [Dots(tuple(spots), 0.2 * unit, PIP)] if spots else []
