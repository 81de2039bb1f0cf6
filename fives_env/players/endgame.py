"""``endgame``: exact play once nothing is hidden, and :func:`solve` for a table seen whole."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch
from fives_env.engine.jit import i64, jit
from fives_env.engine.redeal import Deals, deal, new_deals, prepare
from fives_env.engine.state import DRAW_NONE
from fives_env.engine.turn import legal
from fives_env.errors import choice, threads_of, whole
from fives_env.players.base import Views
from fives_env.players.solver import Board, new_board
from fives_env.players.solver import solve as solve_board
from fives_env.players.tactician import tactic
from fives_env.table import Table

#: Positions that ``solve`` remembers, and that the player remembers for each thread.
SLOTS, PLAYER_SLOTS = 1 << 18, 1 << 16
#: Positions after which ``solve`` gives up, about five minutes' worth.
MOST = 10**9


def solve(table: Table, most: int = MOST) -> dict[int, int]:
    """The exact value of every legal action, with everything on the table known.

    The value is the margin that the side of the seat on turn makes from here to the end of the
    round under best play of both sides: points (or pegs) of its own less those of the other side,
    settlement included, under the table's rules and from its scores. Draws come from the boneyard
    in its order. The best actions are those of the largest value.

    Args:
        table: A table of two sides.
        most: Positions to look at before giving up.

    Raises:
        ValueError: The table is over or has more than two sides, or the limit was reached.
    """
    if not isinstance(table, Table):
        raise ValueError(choice("table", table, "a Table"))
    most = whole("most", most, 1, 2**62)
    rules = table.rules
    if rules.sides != 2:
        raise ValueError(choice("sides", rules.sides, "2 to be solved"))
    if table.over:
        raise ValueError(choice("phase", "over", "one in which somebody is to act"))
    board = new_board(rules.n_actions, SLOTS, most)
    board.tables[0] = table.state[0]
    actions = np.array(table.legal, np.int32)
    values = np.zeros(len(actions), np.int64)
    if not solve_board_of(board, rules.record(episode="round"), actions, values):
        raise ValueError(choice("most", most, "more than these positions need"))
    return dict(zip(actions.tolist(), values.tolist(), strict=True))


@jit
def solve_board_of(board, rules, actions, values):  # type: ignore[no-untyped-def]
    """Solve the position at depth 0."""
    return solve_board(board, rules[0], actions, len(actions), values)


@jit
def settled(t, r, deals):  # type: ignore[no-untyped-def]
    """Whether a record just planned leaves nothing to be known that matters."""
    if deals.plan[0]["loose"] or deals.ways[0, deals.plan[0]["states"] - 1] != 1:
        return False
    yard = i64(t["tiles"]) - i64(t["top"])
    return yard <= max(1, i64(r["reserve"])) or r["draw"] == DRAW_NONE


@jit
def exact_or(usual, board, r, deals, actions, n, values):  # type: ignore[no-untyped-def]
    """The best of ``n`` actions at depth 0, a record just planned; ``usual`` if that is not known.

    Of equally good ones it is ``usual`` again, if that is among them.
    """
    t = board.tables[0]
    if n == 1 or r["sides"] != 2 or not settled(t, r, deals):
        return usual
    if not deal(t, r, deals.plan, deals.left, deals.ways, np.uint64(0)):
        return usual
    if not solve_board(board, r, actions, n, values):
        return usual
    best = 0
    for k in range(n):
        if values[k] > values[best] or (values[k] == values[best] and actions[k] == usual):
            best = k
    return i64(actions[best])


@jit
def answer(records, rules, chosen, board, deals, actions, values, lo, hi):  # type: ignore[no-untyped-def]
    """Actions of the endgame player for the redacted records ``lo`` to ``hi``."""
    r = rules[0]
    for k in range(lo, hi):
        t = board.tables[0]
        board.tables[0] = records[k]
        prepare(t, r, True, deals.plan, deals.left, deals.ways)
        n = legal(t, r, actions)
        usual = tactic(t, r, actions, n)
        chosen[k] = exact_or(usual, board, r, deals, actions, n, values)


class EndgamePlayer:
    """The tactician until nothing is hidden, exact from then on (two sides).

    That is: only one deal obeys what is known, and no more than one tile can be drawn.

    Args:
        positions: Positions to look at in one decision; beyond them it stays the tactician.
        threads: Slices of a batch that are worked on at the same time; the result is the same.

    Raises:
        ValueError: One of these is not what it may be.
    """

    def __init__(self, positions: int = 1_000_000, threads: int | None = None) -> None:
        self.positions = whole("positions", positions, 1, MOST)
        self.threads = threads_of(threads)
        self.name = "endgame" if positions == 1_000_000 else f"endgame:positions={positions}"
        self._rooms: dict[int, list[tuple[Board, Deals, NDArray[np.int32]]]] = {}

    def _room(self, n: int) -> list[tuple[Board, Deals, NDArray[np.int32]]]:
        """Room for each thread, under rules of ``n`` actions."""
        if n not in self._rooms:
            self._rooms[n] = [
                (new_board(n, PLAYER_SLOTS, self.positions), new_deals(), np.zeros(n, np.int32))
                for _ in range(self.threads)
            ]
        return self._rooms[n]

    def __getstate__(self) -> dict[str, Any]:
        """All but the room, of which a copy makes its own."""
        return self.__dict__ | {"_rooms": {}}

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view."""
        rules = views.rules.record(episode="round")
        room = self._room(views.rules.n_actions)
        chosen = np.zeros(len(views.records), np.int64)

        def kernel(slice_: int, lo: int, hi: int) -> None:
            values = np.zeros(views.rules.n_actions, np.int64)
            answer(views.records, rules, chosen, *room[slice_], values, lo, hi)

        kernel(0, 0, 0)  # compiles, before threads start
        batch.sliced(kernel, len(chosen), self.threads)
        return chosen
