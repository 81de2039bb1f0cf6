"""The same game over many tables: arrays in, arrays out, on slices that threads may share.

Every kernel works on tables ``lo`` to ``hi`` of an array and touches nothing else, so that the
result does not depend on how the tables are sliced. Nothing is allocated.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any

import numpy as np

from fives_env.engine.deal import fold
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import BY_BLOCK, OVER
from fives_env.engine.turn import act
from fives_env.engine.turn import reset as start
from fives_env.engine.view import show

#: Passed where events are not wanted.
NO_EVENTS = np.zeros((0, 5), np.int32)
#: Columns of the statistics of finished rounds, one row a slice.
ROUNDS, BLOCKS, GAMES = range(3)


@jit
def reset(tables, rules, seeds, game, lo, hi):  # type: ignore[no-untyped-def]
    """Start game number ``game`` of each table's own seed."""
    for i in range(lo, hi):
        start(tables[i], rules[0], seeds[i], game)


@jit
def gain(t, r, before, row):  # type: ignore[no-untyped-def]
    """Write each seat's change of margin since the scores ``before``, which are then renewed.

    Margin is the own side's score less the mean of the other sides'.
    """
    sides = i64(r["sides"])
    total = 0
    for side in range(sides):
        total += i64(t["scores"][side]) - i64(before[side])
    for seat in range(i64(r["players"])):
        own = i64(t["scores"][side_of(r, seat)]) - i64(before[side_of(r, seat)])
        row[seat] = own - (total - own) / (sides - 1)
    for side in range(sides):
        before[side] = t["scores"][side]


@jit
def look(tables, rules, obs, mask, seats, scratch, lo, hi):  # type: ignore[no-untyped-def]
    """Write the view of each table's seat on turn: observation, mask, seat."""
    r = rules[0]
    for i in range(lo, hi):
        t = tables[i]
        show(t, r, scratch, obs[i], mask[i])
        seats[i] = t["turn"]


@jit
def allowed(mask, i, action):  # type: ignore[no-untyped-def]
    """Whether row ``i`` of a mask has an action, which may be any whole number."""
    return 0 <= action < mask.shape[1] and mask[i, action] != 0


@jit
def first_illegal(mask, actions):  # type: ignore[no-untyped-def]
    """The first table whose action is not legal, -1 if all are."""
    for i in range(len(mask)):
        if not allowed(mask, i, i64(actions[i])):
            return i
    return -1


@jit
def step(tables, rules, actions, before, delta, ended, stats, none, lo, hi):  # type: ignore[no-untyped-def]
    """Do one action at each table; start the next game where one has ended.

    Args:
        before: Scores by side before the step, int32 (n, 4); renewed.
        delta: Out: change of margin by seat, float32 (n, players).
        ended: Out: whether a round ended, bool (n,).
        stats: Row of counts of finished rounds, blocked ones and games, int64 (3,); added to.
        none: An empty event buffer.
    """
    r = rules[0]
    for i in range(lo, hi):
        t = tables[i]
        round_ = t["round"]
        act(t, r, i64(actions[i]), none)
        gain(t, r, before[i], delta[i])
        over = t["phase"] == OVER
        ended[i] = over or t["round"] != round_
        if ended[i]:
            stats[ROUNDS] += 1
            stats[BLOCKS] += t["ended"] == BY_BLOCK
        if over:
            stats[GAMES] += 1
            start(t, r, t["seed"], t["game"] + np.uint64(1))
            for side in range(4):
                before[i, side] = 0


@jit
def decision(t):  # type: ignore[no-untyped-def]
    """A number that no two decisions of a round share."""
    number = i64(t["played"])
    for field in (t["top"], t["passes"], t["phase"], t["turn"]):
        number = number * 32 + i64(field)
    return number


@jit
def decision_key(t, key):  # type: ignore[no-untyped-def]
    """Key of the randomness that a player may use at this decision of a table keyed ``key``.

    The last step keeps a player from undoing the others, and so from knowing what others draw.
    """
    return fold(fold(key, t["round"]), decision(t)) ^ key


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "fives")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork inherits the pool, no threads


def sliced(kernel: Callable[[int, int, int], Any], n: int, threads: int) -> None:
    """Call ``kernel(slice_number, lo, hi)`` for ``threads`` slices of ``n`` tables.

    The caller works on the first one itself, as waking another thread takes its time.
    """
    if threads == 1:
        kernel(0, 0, n)
        return
    cuts = [n * k // threads for k in range(threads + 1)]
    jobs = [_pool().submit(kernel, k, cuts[k], cuts[k + 1]) for k in range(1, threads)]
    try:
        kernel(0, 0, cuts[1])
    finally:
        wait(jobs)
    for job in jobs:
        job.result()
