"""How long a decision takes a player."""

import time

import numpy as np

from fives_env.engine import batch, state
from fives_env.engine.deal import fold
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import OVER
from fives_env.engine.turn import act, reset
from fives_env.players.compiled import GREEDY, KINDS, choose
from fives_env.rules import Rules

#: Positions that are decided, and the least that each decision's measurement goes over.
POSITIONS, SECONDS = 2048, 0.05


@jit
def write_positions(tables, rules, none, actions):  # type: ignore[no-untyped-def]
    """Fill ``tables`` with positions from all stages of rounds between greedy players."""
    r = rules[0]
    for i in range(len(tables)):
        t = tables[i]
        reset(t, r, np.uint64(i), np.uint64(0))
        for number in range(i % 16):
            if t["phase"] != OVER:
                act(t, r, choose(GREEDY, t, r, fold(np.uint64(i), number), actions), none)
        if t["phase"] == OVER:
            reset(t, r, np.uint64(i), np.uint64(1))


@jit
def choose_all(tables, rules, kind, actions):  # type: ignore[no-untyped-def]
    """Let a compiled player decide every position; the sum of its actions."""
    total = 0
    for i in range(len(tables)):
        total += choose(kind, tables[i], rules[0], np.uint64(i), actions)
    return i64(total)


def micros_of(name: str, rules: Rules) -> float:
    """Microseconds of processor time that a compiled player takes for a decision.

    Args:
        name: A key of :data:`~fives_env.players.compiled.KINDS`.
        rules: The rules.
    """
    tables, record = state.new_tables(POSITIONS), rules.record(episode="round")
    actions = np.zeros(rules.n_actions, np.int32)
    write_positions(tables, record, batch.NO_EVENTS, actions)
    choose_all(tables[:1], record, KINDS[name], actions)  # compiles
    began, times = time.process_time(), 0
    while time.process_time() - began < SECONDS:
        choose_all(tables, record, KINDS[name], actions)
        times += 1
    return 1e6 * (time.process_time() - began) / (times * POSITIONS)
