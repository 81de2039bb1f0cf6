"""The poses of a tile as bits on a board, so that whether one fits is a matter of a few ANDs.

A board has one bit for each unit of space (a quarter of a tile's length), row after row, with walls
around the box that are wider than anything that is tried across its border.
"""

from functools import lru_cache
from typing import NamedTuple

from fives_env.render.joins import AHEAD
from fives_env.render.poses import Pose, Rect, ahead, poses

#: Units of free space ahead (4 wide) that let an arm go on as it goes.
ROOM = 6

_WALL = 20  # width of the walls
_NEAR = 16  # reach of a pose to the left of the edge that it is laid on, and above


class Manner(NamedTuple):
    """How strictly tiles are laid.

    Attributes:
        natural: Doubles lie across the middle of their arm, and arms bend at plain tiles only.
        foresee: Space is kept for a label at every edge, not only at those that are open now.
        label: Length of that space.
        gap: Space between tiles that are not joined.
    """

    natural: bool
    foresee: bool
    label: int
    gap: int


class Stencil(NamedTuple):
    """A pose as bits around the edge that it is laid on.

    Attributes:
        pose: The pose.
        foot: The tile.
        ring: The tile and the gap around it.
        labels: Space of the label at each of its edges.
        zone: All labels.
        room: Strips ahead of the tile, the longest first.
    """

    pose: Pose
    foot: int
    ring: int
    labels: dict[int, int]
    zone: int
    room: tuple[int, ...]


class Board:
    """A box of the given size, and the stencils for it."""

    def __init__(self, width: int, height: int, manner: Manner) -> None:
        self.width, self.height = width, height
        self.manner = manner
        self.stride = width + 2 * _WALL
        self.walls = _walls(width, height)

    def shift(self, x: int, y: int) -> int:
        """How far a stencil is shifted that is laid at (x, y)."""
        return (y + _WALL - _NEAR) * self.stride + x + _WALL - _NEAR

    def first(self, pose: Pose, named: int) -> Stencil:
        """The stencil of the set; ``named`` are the sides that have labels, as bits."""
        return _stencil(pose, self.stride, self.manner, named)

    def ways(self, heading: int, kind: int, double: bool, spins: bool, named: int) -> list[Stencil]:
        """All ways to lay a tile on an edge."""
        return _stencils(heading, kind, double, spins, named, self.stride, self.manner)


@lru_cache(maxsize=4096)
def _stencils(
    heading: int, kind: int, double: bool, spins: bool, named: int, stride: int, manner: Manner
) -> list[Stencil]:
    return [
        _stencil(pose, stride, manner, named)
        for pose in poses(heading, kind, double, spins)
        if pose.natural or not manner.natural
    ]


@lru_cache(maxsize=64)
def _walls(width: int, height: int) -> int:
    """All of the board outside the box."""
    stride = width + 2 * _WALL
    everything = (1 << (stride * (height + 2 * _WALL))) - 1
    return everything ^ _block(width, height, stride) << (_WALL * stride + _WALL)


@lru_cache(maxsize=1024)
def _block(width: int, height: int, stride: int) -> int:
    """A rectangle as bits, its corner at bit 0."""
    bits = 0
    for row in range(height):
        bits |= ((1 << width) - 1) << (row * stride)
    return bits


def _stencil(pose: Pose, stride: int, manner: Manner, named: int) -> Stencil:
    def bits(rect: Rect) -> int:
        x, y, width, height = rect
        return _block(width, height, stride) << ((y + _NEAR) * stride + x + _NEAR)

    x, y, width, height = pose.rect
    gap = manner.gap
    labels = {
        at: bits(ahead(edge, 0, manner.label, 2)) if named >> at & 1 else 0
        for at, edge in pose.edges.items()
    }
    zone = 0
    for label in labels.values():
        zone |= label
    return Stencil(
        pose,
        bits(pose.rect),
        bits((x - gap, y - gap, width + 2 * gap, height + 2 * gap)),
        labels,
        zone,
        tuple(bits(ahead(pose.edges[AHEAD], 0, far, 4)) for far in range(ROOM, 0, -2)),
    )
