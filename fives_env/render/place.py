"""Where each tile of a layout lies: the one drawing that text, SVG and the window show.

An arm goes straight on while there is room ahead and bends where there is more to a side. The box
that it bends in is as small as it can be: where the tiles find no place, a larger one is taken,
which the viewer sees as a smaller scale.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fives_env.render.joins import Play, is_double, joints, side, spinners
from fives_env.render.poses import Edge, Rect, ahead, body
from fives_env.render.search import Search
from fives_env.render.stencils import Board, Manner

#: Units beyond an open end where what it counts is written.
LABEL = 2

#: How tiles are laid, and the number of enlargements of the box after which that is tried.
MANNERS = (
    (0, Manner(natural=True, foresee=True, label=LABEL, gap=1)),
    (2, Manner(natural=False, foresee=False, label=LABEL, gap=1)),
    (5, Manner(natural=False, foresee=False, label=1, gap=1)),
    (7, Manner(natural=False, foresee=False, label=1, gap=0)),
    (9, Manner(natural=False, foresee=False, label=0, gap=0)),
)
ENLARGEMENTS = 16
#: Dead ends after which the next manner or box is tried, at first; a third more for each box.
PATIENCE = 16


class Placed(NamedTuple):
    """A tile on the table.

    Attributes:
        tile: Its name, ``"6-4"``.
        x: Middle of the tile, in quarters of a tile's length from the left of the box.
        y: The same, downwards.
        turn: Quarter turns clockwise from lying with the lower half to the left.
        spinner: Whether it may be joined on all four sides.
    """

    tile: str
    x: int
    y: int
    turn: int
    spinner: bool

    @property
    def rect(self) -> Rect:
        """Space that it takes: left, top, width, height."""
        return body(self.x, self.y, self.turn)


class Arrangement(NamedTuple):
    """A layout drawn.

    Attributes:
        tiles: The tiles in playing order.
        ends: Edge of each open end, by its number.
        needed: Left, top, width and height of what tiles and labels need of the box.
        size: Width and height of the box that the arms were bent to.
        label: Units that a label may take beyond its end: 2, or less where it is crowded.
    """

    tiles: list[Placed]
    ends: dict[int, Edge]
    needed: Rect
    size: tuple[int, int]
    label: int


def arrange(
    plays: Sequence[Play],
    ends: Sequence[Mapping[str, Any]] = (),
    spinner: str = "first",
    size: tuple[int, int] = (36, 27),
    tall: int = 0,
) -> Arrangement:
    """Lay the tiles of a layout in a box.

    Args:
        plays: ``layout`` of ``Table.to_dict()``.
        ends: Its ``ends``.
        spinner: The option of the rules.
        size: Width and height of the box in quarters of a tile's length. Where the tiles do not
            fit, it grows.
        tall: Height up to which it grows in height only; beyond, it keeps its shape.

    Returns:
        Tiles that do not overlap, lie in the box and touch the tile that they join, half against
        equal half; the same for the same arguments.
    """
    if not plays:
        return Arrangement([], {}, (size[0] // 2, size[1] // 2, 0, 0), size, LABEL)
    spins = spinners(plays, spinner)
    index = {play["tile"]: i for i, play in enumerate(plays)}
    where = {end["end"]: (index[end["tile"]], end["end"]) for end in ends}
    shown = {end: (i, side(plays, i, at)) for end, (i, at) in where.items()}
    named = [0] * len(plays)
    for i, at in shown.values():
        named[i] |= 1 << at
    for board, patience in _boards(*size, tall):
        every = [15] * len(plays)
        search = Search(plays, spins, every if board.manner.foresee else named, board)
        if search.run(patience):
            break
    else:
        raise RuntimeError("The layout finds no place in the largest box.")
    edges = {end: search.edges[i][at] for end, (i, at) in shown.items()}
    tiles = _turned(plays, spins, search.middle)
    rects = [tile.rect for tile in tiles]
    label = board.manner.label
    rects += [ahead(edge, 0, label, 2) for edge in edges.values()]
    return Arrangement(tiles, edges, _around(rects), (board.width, board.height), label)


def _boards(width: int, height: int, tall: int) -> Iterator[tuple[Board, int]]:
    """Boxes and manners to try, and the patience to have with each."""
    patience = PATIENCE
    for enlargement in range(ENLARGEMENTS):
        for start, manner in MANNERS:
            if enlargement >= start:
                yield Board(width, height, manner), patience
        width += max(1, width // 9) if height >= tall else 0
        height += max(1, height // 9)
        patience += patience // 3
    yield Board(width, height, MANNERS[-1][1]), 1_000_000


def _turned(
    plays: Sequence[Play], spins: Sequence[bool], middles: Sequence[tuple[int, int, int]]
) -> list[Placed]:
    """The tiles, turned so that the right half touches the tile before."""
    placed = []
    for play, spins_, joint, (x, y, turn) in zip(plays, spins, joints(plays), middles, strict=True):
        tile = play["tile"]
        if joint == tile[0] and not is_double(tile):
            turn = (turn + 2) % 4
        placed.append(Placed(tile, x, y, turn, spins_))
    return placed


def _around(rects: Sequence[Rect]) -> Rect:
    """The smallest rectangle that holds all of these."""
    left = min(x for x, _, _, _ in rects)
    top = min(y for _, y, _, _ in rects)
    right = max(x + width for x, _, width, _ in rects)
    bottom = max(y + height for _, y, _, height in rects)
    return left, top, right - left, bottom - top
