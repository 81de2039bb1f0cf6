"""The ways in which a tile may lie against the edge of another.

Lengths are in quarters of a tile: a tile is 4 long and 2 wide. An edge is the middle of the border
that the next tile will touch, and the direction in which it looks. A double is laid crosswise and
never bends an arm. A plain tile goes straight on, or bends: across the edge with the side of its
half (a corner after the edge), or out of the side of the half behind the edge.
"""

from functools import cache
from typing import NamedTuple

from fives_env.render.joins import AHEAD, LOWER, RIGHT, UPPER

#: Steps of one unit to the right, down, left and up; directions are numbers 0 to 3 in this order.
DX = (1, 0, -1, 0)
DY = (0, 1, 0, -1)

#: Kinds of edge: the short border of a plain tile, the long and the short one of a double.
PLAIN, LONG, SHORT = range(3)

Rect = tuple[int, int, int, int]  # left, top, width, height


class Edge(NamedTuple):
    """A place where a tile may be joined: middle of the border, direction, kind of border."""

    x: int
    y: int
    heading: int
    kind: int


class Pose(NamedTuple):
    """A tile against an edge at (0, 0).

    Attributes:
        x: Middle of the tile.
        y: Middle of the tile.
        turn: Direction from the half that touches the edge to the other one.
        edges: The tile's own edges by side.
        natural: Whether a double lies across the middle of the arm, and the arm goes on from there.
    """

    x: int
    y: int
    turn: int
    edges: dict[int, Edge]
    natural: bool

    @property
    def rect(self) -> Rect:
        """Space that the tile takes."""
        return body(self.x, self.y, self.turn)


def body(x: int, y: int, turn: int) -> Rect:
    """Space of a tile around (x, y) that lies along direction ``turn``."""
    return (x - 1, y - 2, 2, 4) if turn % 2 else (x - 2, y - 1, 4, 2)


def ahead(edge: Edge, start: int, stop: int, breadth: int) -> Rect:
    """Strip of the given breadth from ``start`` to ``stop`` units beyond an edge."""
    d, half = edge.heading, breadth // 2
    x = edge.x + DX[d] * (start if DX[d] >= 0 else stop)
    y = edge.y + DY[d] * (start if DY[d] >= 0 else stop)
    if d % 2:
        return x - half, y, breadth, stop - start
    return x, y - half, stop - start, breadth


def first(double: bool, spins: bool) -> Pose:
    """The set, its middle at (0, 0): a plain tile lies along the table, a double across it."""
    if not double:
        return Pose(0, 0, 0, {0: Edge(-2, 0, 2, PLAIN), RIGHT: Edge(2, 0, 0, PLAIN)}, True)
    edges = {0: Edge(-1, 0, 2, LONG), RIGHT: Edge(1, 0, 0, LONG)}
    if spins:
        edges |= {UPPER: Edge(0, -2, 3, SHORT), LOWER: Edge(0, 2, 1, SHORT)}
    return Pose(0, 0, 1, edges, True)


@cache
def poses(heading: int, kind: int, double: bool, spins: bool) -> list[Pose]:
    """All ways to join a tile to an edge at (0, 0), the most natural one first."""
    dx, dy = DX[heading], DY[heading]
    sideways = [(heading + 1) % 4, (heading + 3) % 4]
    if double:
        shifts = [(0, 0)] + [(DX[d], DY[d]) for d in sideways]
        return [_crosswise(x, y, heading, spins) for x, y in shifts]
    ways = [_along(0, 0, heading)]
    if kind == LONG:
        ways += [_along(DX[d], DY[d], heading, natural=False) for d in sideways]
        ways += [_along(dx, dy, d, natural=False) for d in sideways]
    else:
        ways += [_along(dx - DX[d], dy - DY[d], d) for d in sideways]
    if kind == PLAIN:
        ways += [_along(DX[d] - dx, DY[d] - dy, d) for d in sideways]
    return ways


def _along(x: int, y: int, d: int, natural: bool = True) -> Pose:
    """A plain tile from (x, y) on in direction ``d``."""
    dx, dy = DX[d], DY[d]
    edges = {AHEAD: Edge(x + 4 * dx, y + 4 * dy, d, PLAIN)}
    return Pose(x + 2 * dx, y + 2 * dy, d, edges, natural)


def _crosswise(x: int, y: int, d: int, spins: bool) -> Pose:
    """A double across the direction ``d``, joined at (x, y)."""
    natural = (x, y) == (0, 0)
    x, y = x + DX[d], y + DY[d]
    edges = {AHEAD: Edge(x + DX[d], y + DY[d], d, LONG)}
    if spins:
        for at, way in zip((UPPER, LOWER), (2, 0) if d % 2 else (3, 1), strict=True):
            edges[at] = Edge(x + 2 * DX[way], y + 2 * DY[way], way, SHORT)
    return Pose(x, y, 0 if d % 2 else 1, edges, natural)
