"""Rounds of two players on the same deals, played in batches.

A *block* is one deal with every seating: player A sits on each side in turn, player B on all
others. Deal ``k`` of a match is that of (seed, game ``k``, round 0), whatever the players.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch, state
from fives_env.engine.deal import players_key
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import BY_BLOCK, NOBODY
from fives_env.engine.turn import act
from fives_env.engine.turn import reset as start
from fives_env.players.ask import ask
from fives_env.players.base import Player
from fives_env.players.compiled import EXTERNAL, CompiledPlayer, play_on
from fives_env.rules import Rules

#: Rounds that are played at the same time.
TABLES = 4096


class Blocks(NamedTuple):
    """Some blocks' scores.

    Attributes:
        own: Score of player A's side, int64, (blocks, sides).
        others: Mean score of the other sides, float64, (blocks, sides).
        blocked: Whether the round was blocked, bool, (blocks, sides).
    """

    own: NDArray[np.int64]
    others: NDArray[np.float64]
    blocked: NDArray[np.bool_]


@jit
def seat_players(tables, rules, seed, first, kind_a, kind_b, kinds, owner, keys, lo, hi):  # type: ignore[no-untyped-def]
    """Deal block after block from ``first`` on and seat the players."""
    r = rules[0]
    sides = i64(r["sides"])
    for i in range(lo, hi):
        game = first + i // sides
        side = i % sides
        start(tables[i], r, seed, game)
        keys[i] = players_key(seed, game, side)
        for seat in range(i64(r["players"])):
            is_a = seat % sides == side
            kinds[i, seat] = kind_a if is_a else kind_b
            owner[i, seat] = 0 if is_a else 1


@jit
def waiting(tables, owner, player, index):  # type: ignore[no-untyped-def]
    """Write the tables that wait for a player into ``index``; their number."""
    n = 0
    for i in range(len(tables)):
        turn = tables[i]["turn"]
        if turn != NOBODY and owner[i, turn] == player:
            index[n] = i
            n += 1
    return n


@jit
def do(tables, rules, index, actions, none, lo, hi):  # type: ignore[no-untyped-def]
    """Do an action at each of the tables ``index[lo:hi]``."""
    for k in range(lo, hi):
        act(tables[index[k]], rules[0], i64(actions[k]), none)


class Match:
    """Tables at which two players meet.

    Args:
        a: Player A.
        b: Player B.
        rules: Their rules.
        seed: Seed of the deals.
        threads: Slices that compiled kernels work on at the same time.
    """

    def __init__(self, a: Player, b: Player, rules: Rules, seed: int, threads: int) -> None:
        self.players = (a, b)
        self.rules = rules
        self.seed = np.uint64(seed)
        self.threads = threads
        self._record = rules.record(episode="round")
        self._scratch = np.zeros((threads, rules.n_actions), np.int32)
        self._play(0, 0)  # compiles, before threads start and before anybody looks at the clock

    def play(self, blocks: int) -> Iterator[Blocks]:
        """Play ``blocks`` blocks, some at a time."""
        at_once = max(1, TABLES // self.rules.sides)
        for first in range(0, blocks, at_once):
            yield self._play(first, min(at_once, blocks - first))

    def _play(self, first: int, blocks: int) -> Blocks:
        sides, seats = self.rules.sides, self.rules.players
        n = blocks * sides
        tables = state.new_tables(n)
        kinds, owner = np.zeros((2, n, seats), np.int64)
        keys = np.zeros(n, np.uint64)
        number_a, number_b = (
            p.kind if isinstance(p, CompiledPlayer) else EXTERNAL for p in self.players
        )

        def begin(k: int, lo: int, hi: int) -> None:
            seat_players(
                tables,
                self._record,
                self.seed,
                first,
                number_a,
                number_b,
                kinds,
                owner,
                keys,
                lo,
                hi,
            )

        def compiled(k: int, lo: int, hi: int) -> None:
            play_on(tables, self._record, kinds, keys, batch.NO_EVENTS, self._scratch[k], lo, hi)

        batch.sliced(begin, n, self.threads)
        batch.sliced(compiled, n, self.threads)
        while (tables["phase"] != state.OVER).any():
            for number in range(2):
                self._ask(number, tables, owner, keys)
            batch.sliced(compiled, n, self.threads)

        scores = tables["scores"][:, :sides].reshape(blocks, sides, sides).astype(np.int64)
        own = np.einsum("bss->bs", scores)
        others = (scores.sum(2) - own) / (sides - 1)
        return Blocks(own, others, (tables["ended"] == BY_BLOCK).reshape(blocks, sides))

    def _ask(self, number: int, tables: Any, owner: Any, keys: Any) -> None:
        """Let an external player act once at every table that waits for it."""
        index = np.zeros(len(tables), np.int64)
        n = waiting(tables, owner, number, index)
        if n == 0:
            return
        index = index[:n]
        player, record = self.players[number], self._record
        actions = ask(player, self.rules, record, tables, index, keys[index], self._scratch)
        do(tables, record, index, actions, batch.NO_EVENTS, 0, n)
