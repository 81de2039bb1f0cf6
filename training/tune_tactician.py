"""Tunes the tactician's weights by duplicate matches against its own present weights.

An evolution strategy: each generation tries pairs of opposite steps around the present weights, all
on the same deals, and moves along the steps that paid. Prints what goes into
``fives_env/players/weights.py``::

    python -m training.tune_tactician --players 2 --tiles 9
    python -m training.tune_tactician --players 4 --teams
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import tyro
from numpy.typing import NDArray

from fives_env.engine import batch, state
from fives_env.engine.jit import i64, jit_allocating
from fives_env.engine.state import OVER, PLAY
from fives_env.engine.turn import act, legal
from fives_env.engine.turn import reset as start
from fives_env.players.tactician import best_placement, speak_up
from fives_env.players.weights import NAMES, WEIGHTS_OF, kind_of
from fives_env.rules import PRESETS, Rules
from fives_env.table import SEEDS
from training.runs import guarded
from training.settings import MOST, limit

#: A step in each weight that is worth trying.
STEP = np.array([0.15, 0.06, 1.0, 0.3, 0.2, 4.0, 0.1, 0.15, 3.0])


@dataclass(frozen=True)
class Settings:
    """What to tune, and how long.

    Attributes:
        rules: House rules.
        players: Seats.
        teams: Whether they are partners.
        tiles: Tiles dealt to each hand; 0 for the preset's number.
        may_draw: Whether a seat that can place may draw (tunes the weight of a draw too).
        generations: Moves of the weights.
        steps: Pairs of opposite steps in a generation.
        pairs: Deals on which each step is tried.
        rate: Steps to move for each point of margin that a step gains.
        seed: Seed of steps and deals.
        threads: Slices played at the same time; the result is the same.
        zero: Begin with all weights 0 instead of the present ones.
    """

    rules: Literal[tuple(PRESETS)] = "all_fives"  # type: ignore[valid-type]
    players: Literal[2, 3, 4] = 2
    teams: bool = False
    tiles: int = 0
    may_draw: bool = False
    generations: int = 12
    steps: int = 16
    pairs: int = 1500
    rate: float = 3.0
    seed: int = 0
    threads: int = os.cpu_count() or 1
    zero: bool = False


@jit_allocating
def play_rounds(tables, rules, weights, seed, first, margins, actions, lo, hi):  # type: ignore[no-untyped-def]
    """Play the rounds ``lo`` to ``hi``: the first weights on each side in turn, the second else."""
    r = rules[0]
    sides = i64(r["sides"])
    none = np.zeros((0, 5), np.int32)
    for i in range(lo, hi):
        t = tables[i]
        start(t, r, seed, first + i // sides)
        side = i % sides
        while t["phase"] != OVER:
            n = legal(t, r, actions)
            action = i64(actions[0])
            if t["phase"] != PLAY:
                action = speak_up(t, actions)
            elif n > 1:
                row = 0 if t["turn"] % sides == side else 1
                action = best_placement(t, r, weights[row], actions, n)
            act(t, r, action, none)
        own = i64(t["scores"][side])
        all_ = 0
        for k in range(sides):
            all_ += i64(t["scores"][k])
        margins[i] = own - (all_ - own) / (sides - 1)


class Duel:
    """Matches between two sets of weights.

    Args:
        rules: House rules.
        threads: Slices.
    """

    def __init__(self, rules: Rules, threads: int) -> None:
        self.sides = rules.sides
        self.threads = threads
        self.record = rules.record(episode="round")
        self.scratch = np.zeros((threads, rules.n_actions), np.int32)
        self.margins(WEIGHTS_OF[0, 7], WEIGHTS_OF[0, 7], 0, 1)  # compiles before threads start

    def margins(
        self, a: NDArray[np.float64], b: NDArray[np.float64], seed: int, pairs: int
    ) -> NDArray[np.float64]:
        """Margin of ``a`` on each deal, the mean over the sides it sat on, (pairs,)."""
        n = pairs * self.sides
        tables = state.new_tables(n)
        margins = np.zeros(n)
        weights = np.array([a, b])

        def kernel(k: int, lo: int, hi: int) -> Any:
            play_rounds(
                tables, self.record, weights, np.uint64(seed), 0, margins, self.scratch[k], lo, hi
            )

        batch.sliced(kernel, n, self.threads)
        return margins.reshape(pairs, self.sides).mean(1)


def tune(s: Settings) -> NDArray[np.float64]:
    """Tune as the settings say; the weights.

    Raises:
        ValueError: A setting is not what it may be.
    """
    limit(s, "generations steps pairs", 1, 10**9)
    limit(s, "threads", 1, 1024)
    limit(s, "rate", 0, MOST)
    limit(s, "seed", 0, SEEDS - 2)  # the match at the end has the next one
    options: dict[str, Any] = {"players": s.players, "teams": s.teams, "may_draw": s.may_draw}
    if s.tiles:
        options["tiles"] = s.tiles
    rules = Rules(s.rules, **options)
    duel = Duel(rules, s.threads)
    first = WEIGHTS_OF[kind_of(rules.record()[0]), rules.tiles].copy()
    if s.zero:
        first[:] = 0
    weights = first.copy()
    free = np.ones(len(NAMES))
    free[NAMES.index("later")] = rules.players > 2
    free[NAMES.index("draw")] = s.may_draw
    rng = np.random.default_rng(s.seed)
    trail = []
    for generation in range(s.generations):
        seed = int(rng.integers(2**62))
        steps = rng.standard_normal((s.steps, len(NAMES))) * free
        slopes = []
        for step in steps:
            up = duel.margins(weights + step * STEP, weights, seed, s.pairs)
            down = duel.margins(weights - step * STEP, weights, seed, s.pairs)
            slopes.append((up - down).mean() / 2)
        # Least squares, drawn towards 0: slope of the margin along each weight.
        gram = steps.T @ steps + np.eye(len(NAMES))
        slope = np.linalg.solve(gram, steps.T @ np.array(slopes))
        weights = weights + s.rate * slope * STEP
        trail.append(weights)
        print(f"{generation:3d}  " + " ".join(f"{w:7.2f}" for w in weights), flush=True)
    weights = np.mean(trail[len(trail) // 2 :], axis=0).round(2)
    gained = duel.margins(weights, first, s.seed + 1, 20_000)
    half = 1.96 * gained.std() / np.sqrt(len(gained))
    print(f"{rules}: {dict(zip(NAMES, weights.tolist(), strict=True))}")
    print(f"against the weights it began with: {gained.mean():+.2f} ±{half:.2f}")
    return weights


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings and tune; 2 if the settings are refused."""
    settings, began = tyro.cli(Settings, args=arguments), time.perf_counter()
    refused = guarded(lambda: tune(settings))
    if not refused:
        print(f"{time.perf_counter() - began:.0f} s")
    return refused


if __name__ == "__main__":
    sys.exit(main())
