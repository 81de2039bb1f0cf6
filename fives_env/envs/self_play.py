"""Every seat's decisions at many tables at once: what a trainer steps through."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch, state, view
from fives_env.errors import whole, whole_numbers
from fives_env.rules import Rules
from fives_env.table import SEEDS, IllegalAction


class SelfPlay:
    """``n`` tables, each waiting for the decision of the seat on turn.

    Forced draws and passes are played; the next round or game is dealt by itself. All arrays below
    are overwritten by :meth:`step`.

    Args:
        n: Number of tables.
        rules: A preset's name, :class:`Rules` or a dict of options.
        seed: Table ``i`` plays the games of a seed hashed from ``(seed, i)``.
        episode: ``"round"`` makes every round a game of its own, led by lot, from scores of 0.
        threads: Slices that are played at the same time; the result does not depend on it.
        **options: Any option of :class:`Rules`.

    Raises:
        ValueError: One of these is not what it may be.

    Attributes:
        obs: Observations of the seats on turn, uint8 counts, (n, size).
        mask: Their legal actions, bool, (n, n_actions).
        seats: The seats on turn, int64, (n,).
        delta: Change of margin that the last step brought each seat, float32, (n, players): own
            side's points less the mean of the other sides'. A settlement reaches every seat.
        ended: Whether the last step ended a round, bool, (n,).
    """

    def __init__(
        self,
        n: int,
        rules: Any = None,
        *,
        seed: int = 0,
        episode: Literal["game", "round"] = "round",
        threads: int = 1,
        **options: Any,
    ) -> None:
        self.rules = Rules.of(rules, **options)
        self.n = n = whole("number of tables", n, 1, 10**7)
        self.threads = threads = whole("threads", threads, 1, 1024)
        seed = whole("seed", seed, 0, SEEDS - 1)
        self._record = self.rules.record("auto", episode)
        self.tables = state.new_tables(n)
        self.obs = np.zeros((n, view.size(self.rules)), np.uint8)
        self.mask = np.zeros((n, self.rules.n_actions), np.bool_)
        self.seats = np.zeros(n, np.int64)
        self.delta = np.zeros((n, self.rules.players), np.float32)
        self.ended = np.zeros(n, np.bool_)
        self._before = np.zeros((n, 4), np.int32)
        self._stats = np.zeros((threads, 8), np.int64)  # a cache line to each slice
        self._scratch = np.zeros((threads, self.rules.n_actions), np.int32)
        seeds = np.random.SeedSequence(seed).generate_state(n, np.uint64) >> np.uint64(1)
        batch.reset(self.tables, self._record, seeds, 0, 0, n)
        self._look()

    def _look(self) -> None:
        def run(k: int, lo: int, hi: int) -> None:
            batch.look(
                self.tables,
                self._record,
                self.obs,
                self.mask.view(np.int8),
                self.seats,
                self._scratch[k],
                lo,
                hi,
            )

        batch.sliced(run, self.n, self.threads)

    def step(self, actions: NDArray[Any]) -> None:
        """Do a legal action at each table and renew all arrays.

        Args:
            actions: Whole numbers, (n,), each legal under :attr:`mask`.

        Raises:
            ValueError: They are no ``n`` whole numbers.
            IllegalAction: One of them is not legal; nothing has changed.
        """
        actions = whole_numbers("actions", actions, self.n)
        i = batch.first_illegal(self.mask.view(np.int8), actions)
        if i >= 0:
            raise IllegalAction(
                f"action {actions[i]} at table {i} is illegal; "
                f"legal: {self.rules.names_of(self.mask[i])}."
            )

        def run(k: int, lo: int, hi: int) -> None:
            batch.step(
                self.tables,
                self._record,
                actions,
                self._before,
                self.delta,
                self.ended,
                self._stats[k],
                batch.NO_EVENTS,
                lo,
                hi,
            )
            batch.look(
                self.tables,
                self._record,
                self.obs,
                self.mask.view(np.int8),
                self.seats,
                self._scratch[k],
                lo,
                hi,
            )

        batch.sliced(run, self.n, self.threads)

    def take_stats(self) -> dict[str, int]:
        """Rounds, blocked rounds and games finished since the last call."""
        rounds, blocked, games = (int(count) for count in self._stats.sum(0)[:3])
        self._stats[:] = 0
        return {"rounds": rounds, "blocked": blocked, "games": games}
