"""Laying the tiles of one layout in one box.

They are laid in playing order, each in the way that leaves most room ahead. Where a tile finds no
room, the last of the tiles that stand in its way is laid otherwise (conflict-directed
backjumping), so that a search that ends without an answer has proved that there is none.
"""

from collections.abc import Sequence

from fives_env.render.joins import Play, is_double, side
from fives_env.render.poses import Edge, first
from fives_env.render.stencils import Board, Stencil


class Search:
    """A search for a place for each tile.

    Args:
        plays: The layout.
        spins: Which of the plays are spinners.
        named: For each play the sides that need space for a label, as bits.
        board: The box and how tiles are laid in it.

    Attributes:
        middle: Of each tile its middle, and the direction from the half that touches the tile
            before it to the other one.
        edges: Of each tile its edges by side.
    """

    def __init__(
        self, plays: Sequence[Play], spins: Sequence[bool], named: Sequence[int], board: Board
    ) -> None:
        n = len(plays)
        self.board = board
        self.spins = spins
        self.named = named
        self.on: list[int] = [play["on"] or 0 for play in plays]
        self.at = [0] + [side(plays, play["on"], play["end"]) for play in plays[1:]]
        self.doubles = [is_double(play["tile"]) for play in plays]

        self.middle = [(0, 0, 0)] * n
        self.edges: list[dict[int, Edge]] = [{}] * n
        self.foot = [0] * n  # bits of each tile
        self.labels: list[dict[int, int]] = [{}] * n  # bits of the labels of its edges
        self.before = [(0, 0)] * (n + 1)  # bits taken by tiles and by labels when a tile is laid
        self.way = [0] * n  # which of its ways each tile lies in
        self.barred = [0] * n  # those that led to a dead end, as bits
        self.blame = [0] * n  # the tiles (as bits) that made them so

    def run(self, patience: int) -> bool:
        """Whether all tiles found a place, with at most so many dead ends."""
        board = self.board
        start = board.first(first(self.doubles[0], self.spins[0]), self.named[0])
        self._put(0, start, board.width // 2, board.height // 2)
        i = 1
        while i < len(self.on):
            if self._lay(i):
                i += 1
                continue
            i = self._step_back(i)
            patience -= 1
            if i == 0 or patience < 0:
                return False
        return True

    def _put(self, i: int, stencil: Stencil, x: int, y: int) -> None:
        """Lay tile ``i`` on the edge at (x, y)."""
        shift = self.board.shift(x, y)
        pose = stencil.pose
        self.middle[i] = x + pose.x, y + pose.y, pose.turn
        self.edges[i] = {
            at: Edge(x + edge.x, y + edge.y, edge.heading, edge.kind)
            for at, edge in pose.edges.items()
        }
        self.foot[i] = stencil.foot << shift
        self.labels[i] = {at: label << shift for at, label in stencil.labels.items()}
        tiles, labels = self.before[i]
        if i:
            labels ^= self.labels[self.on[i]][self.at[i]]
        self.before[i + 1] = tiles | self.foot[i], labels | stencil.zone << shift

    def _ways(self, i: int) -> tuple[Edge, int, list[Stencil]]:
        """The edge that tile ``i`` is laid on, the shift to it and the ways to lie there."""
        edge = self.edges[self.on[i]][self.at[i]]
        ways = self.board.ways(
            edge.heading, edge.kind, self.doubles[i], self.spins[i], self.named[i]
        )
        return edge, self.board.shift(edge.x, edge.y), ways

    def _lay(self, i: int) -> bool:
        """Lay tile ``i`` in the way that leaves most room ahead; False where there is none."""
        edge, shift, ways = self._ways(i)
        on = self.on[i]
        tiles, labels = self.before[i]
        others = tiles ^ self.foot[on]
        walls = self.board.walls | (labels ^ self.labels[on][self.at[i]])
        solid = walls | tiles
        best, most = None, -1
        for way, stencil in enumerate(ways):
            if best is not None and not stencil.pose.natural:
                break
            if (
                self.barred[i] >> way & 1
                or stencil.foot << shift & walls
                or stencil.ring << shift & others
                or stencil.zone << shift & solid
            ):
                continue
            room = len(stencil.room)
            for strip in stencil.room:
                if not strip << shift & solid:
                    break
                room -= 1
            if room > most:
                best, most, self.way[i] = stencil, room, way
                if room == len(stencil.room):
                    break
        if best is None:
            return False
        self._put(i, best, edge.x, edge.y)
        return True

    def _step_back(self, i: int) -> int:
        """After a dead end at tile ``i``: the last tile to blame, which is to be laid anew."""
        blame = self.blame[i] | self._in_the_way(i) | 1 << self.on[i]
        last = (blame & ~1).bit_length() - 1
        if last <= 0:
            return 0
        self.barred[last] |= 1 << self.way[last]
        self.blame[last] |= blame ^ 1 << last
        for j in range(last + 1, i + 1):
            self.barred[j] = self.blame[j] = 0
        return last

    def _in_the_way(self, i: int) -> int:
        """For each way to lay tile ``i`` the first tile that forbids it, as bits."""
        _, shift, ways = self._ways(i)
        on = self.on[i]
        kept = self.before[i][1] ^ self.labels[on][self.at[i]]
        found = 0
        for way, stencil in enumerate(ways):
            zone = stencil.zone << shift
            body = stencil.foot << shift | zone
            if self.barred[i] >> way & 1 or body & self.board.walls:
                continue
            near = stencil.ring << shift | zone
            for j in range(i):
                labels = kept & sum(self.labels[j].values())
                if (zone if j == on else near) & self.foot[j] or body & labels:
                    found |= 1 << j
                    break
        return found
