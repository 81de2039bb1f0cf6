"""The contenders of this package."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fives_env.bench.measure import Contender
from fives_env.engine import batch, state, view
from fives_env.engine.deal import below
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import OVER
from fives_env.engine.turn import act, legal
from fives_env.engine.turn import reset as start
from fives_env.engine.view import show
from fives_env.rules import Rules
from fives_env.table import Table

#: Decisions that one call of a batch contender makes, roughly.
CALL = 1 << 16


@jit
def play(tables, rules, obs, mask, steps, key, none, scratch, lo, hi):  # type: ignore[no-untyped-def]
    """Step tables ``lo`` to ``hi`` together, ``steps`` times, by random legal actions.

    Before each action, observation and mask are written, unless ``obs`` has no rows. Returns the
    number of decisions.
    """
    r = rules[0]
    extra = 28 << i64(r["bits"])
    decisions = 0
    for step in range(steps):
        for i in range(lo, hi):
            t = tables[i]
            n = show(t, r, scratch, obs[i], mask[i]) if len(obs) else legal(t, r, scratch)
            decisions += scratch[0] < extra
            act(t, r, i64(scratch[below(key, i * steps + step, n)]), none)
            if t["phase"] == OVER:
                start(t, r, t["seed"], t["game"] + np.uint64(1))
    return decisions


@jit
def pick(mask, key, actions):  # type: ignore[no-untyped-def]
    """Write a random legal action for each row of ``mask``."""
    for i in range(len(mask)):
        n = 0
        for action in range(mask.shape[1]):
            n += mask[i, action]
        left = below(key, i, n)
        for action in range(mask.shape[1]):
            if mask[i, action]:
                if left == 0:
                    actions[i] = action
                    break
                left -= 1


def batch_play(n: int, threads: int, watched: bool) -> Callable[[], int]:
    """Random games at ``n`` tables inside a kernel, with or without observations and masks."""
    rules = Rules()
    record = rules.record()
    tables = state.new_tables(n)
    obs = np.zeros((n if watched else 0, view.size(rules)), np.uint8)
    mask = np.zeros((len(obs), rules.n_actions), np.int8)
    scratch = np.zeros((threads, rules.n_actions), np.int32)
    decisions = np.zeros(threads, np.int64)
    batch.reset(tables, record, np.arange(n, dtype=np.uint64), 0, 0, n)
    steps = max(1, CALL // n)
    calls = 0

    def run() -> int:
        nonlocal calls
        calls += 1
        key = np.uint64(calls)

        def part(k: int, lo: int, hi: int) -> None:
            decisions[k] = play(
                tables, record, obs, mask, steps, key, batch.NO_EVENTS, scratch[k], lo, hi
            )

        batch.sliced(part, n, threads)
        return int(decisions.sum())

    return run


def table_play() -> Callable[[], int]:
    """One :class:`~fives_env.Table`, a game after the other."""
    chance = random.Random(0)
    seed = 0

    def run() -> int:
        nonlocal seed
        seed += 1
        table = Table(seed=seed)
        count = 0
        while not table.over:
            table.play(chance.choice(table.legal))
            count += 1
        return count

    return run


def aec(make: Callable[[], Any]) -> Callable[[], int]:
    """A PettingZoo environment with an action mask, a game after the other."""
    env = make()
    chance = random.Random(0)
    seed = 0

    def run() -> int:
        nonlocal seed
        seed += 1
        env.reset(seed=seed)
        count = 0
        for _ in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            if termination or truncation:
                env.step(None)
            else:
                env.step(chance.choice(np.flatnonzero(observation["action_mask"]).tolist()))
                count += 1
        return count

    return run


def one_seat() -> Callable[[], int]:
    """``FivesEnv`` against a greedy player, an episode after the other."""
    from fives_env.envs.single import FivesEnv

    env = FivesEnv()
    chance = random.Random(0)
    env.reset(seed=0)

    def run() -> int:
        _, info = env.reset()
        count, over = 0, False
        while not over:
            actions = np.flatnonzero(info["action_mask"]).tolist()
            _, _, over, _, info = env.step(chance.choice(actions))
            count += 1
        return count

    return run


def self_play(n: int, threads: int) -> Callable[[], int]:
    """``SelfPlay`` with a random policy that reads the mask."""
    from fives_env.envs.self_play import SelfPlay

    tables = SelfPlay(n, threads=threads, episode="game")
    return stepped(n, lambda: tables.mask, tables.step)


def vector(n: int, threads: int) -> Callable[[], int]:
    """``FivesVectorEnv`` against greedy players, with the same policy."""
    from fives_env.envs.vector import FivesVectorEnv

    env = FivesVectorEnv(n, threads=threads, autoreset_mode="SameStep")
    _, infos = env.reset(seed=0)
    last = [infos]

    def step(actions: Any) -> None:
        last[0] = env.step(actions)[-1]

    return stepped(n, lambda: last[0]["action_mask"].view(np.bool_), step)


def sb3(n: int) -> Callable[[], int]:
    """``SB3VecEnv`` against greedy players, stepped as ``MaskablePPO`` does."""
    from fives_env.envs.sb3 import SB3VecEnv

    env = SB3VecEnv(n)
    env.seed(0)
    env.reset()
    return stepped(n, lambda: np.stack(env.env_method("action_masks")), env.step)


def stepped(n: int, mask: Callable[[], Any], step: Callable[[Any], Any]) -> Callable[[], int]:
    """A step of ``n`` tables by random legal actions."""
    actions = np.zeros(n, np.int64)
    calls = 0

    def run() -> int:
        nonlocal calls
        calls += 1
        pick(mask(), np.uint64(calls), actions)
        step(actions)
        return n

    return run


def match() -> Callable[[], int]:
    """Rounds of a duplicate match between greedy players."""
    from fives_env.arena.evaluate import duel
    from fives_env.arena.jobs import Hall

    hall = Hall(duel("greedy", "greedy", Rules(), 0), threads=1)
    return lambda: hall.play(0, 1000).blocks.rounds.size


def copies(n: int) -> Callable[[], int]:
    """The floor: NumPy copies the bytes of ``n`` observations and masks."""
    rules = Rules()
    rows = CALL // n or 1
    source, target = np.zeros((2, n, view.size(rules) + rules.n_actions), np.uint8)

    def run() -> int:
        for _ in range(rows):
            np.copyto(target, source)
        return n * rows

    return run


def contenders(sizes: tuple[int, ...], threads: tuple[int, ...], many: int) -> list[Contender]:
    """All of them.

    Args:
        sizes: Numbers of tables for the batch.
        threads: Numbers of threads.
        many: Number of tables for the environments.
    """

    def aec_env(kind: str) -> Callable[[], int]:
        from fives_env import fives_v0 as module

        return aec(getattr(module, kind))

    return [
        Contender("Table.play, legal", table_play),
        Contender("raw_env", partial(aec_env, "raw_env")),
        Contender("env", partial(aec_env, "env")),
        Contender("FivesEnv", one_seat),
        *(
            Contender(what, partial(batch_play, n, k, watched), n, k)
            for what, watched in (("batch", False), ("batch, observed", True))
            for k in threads
            for n in sizes
        ),
        *(Contender("NumPy copy", partial(copies, n), n) for n in sizes[1:]),
        *(Contender("SelfPlay", partial(self_play, many, k), many, k) for k in threads),
        *(Contender("FivesVectorEnv", partial(vector, many, k), many, k) for k in threads),
        Contender("SB3VecEnv", partial(sb3, many), many),
        Contender("greedy match", match, unit="rounds"),
    ]
