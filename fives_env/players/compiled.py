"""The players that are kernels: they act inside the batch without returning to Python."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.batch import decision_key
from fives_env.engine.deal import below
from fives_env.engine.jit import i64, jit
from fives_env.engine.layout import total_after
from fives_env.engine.redeal import relay
from fives_env.engine.state import A_ANNOUNCE, A_CALL, NOBODY, OVER
from fives_env.engine.turn import act, legal
from fives_env.players.base import Views
from fives_env.players.tactician import tactic

#: Number of each compiled player; EXTERNAL stands for one that must be asked in Python.
EXTERNAL, RANDOM, GREEDY, TACTICIAN = -1, 0, 1, 2
KINDS = {"random": RANDOM, "greedy": GREEDY, "tactician": TACTICIAN}


@jit
def points_now(t, r, action):  # type: ignore[no-untyped-def]
    """Points that an action brings at once; below 0 for one that only greed's opposite would do."""
    bits = i64(r["bits"])
    extra = action - (28 << bits)
    if extra < 0:
        return i64(r["points"][total_after(t, action >> bits, action & ((1 << bits) - 1))])
    if extra == A_ANNOUNCE or extra == A_CALL:
        return i64(t["pending"]) if t["pending"] else -1
    return 0 if extra > A_ANNOUNCE else -1


@jit
def keep_best(t, r, actions, n):  # type: ignore[no-untyped-def]
    """Keep, at the front of ``actions``, those that bring the most points at once; their number."""
    best = -2
    kept = 0
    for k in range(n):
        action = actions[k]
        points = points_now(t, r, i64(action))
        if points > best:
            best = points
            kept = 0
        if points == best:
            actions[kept] = action
            kept += 1
    return kept


@jit
def choose(kind, t, r, key, actions):  # type: ignore[no-untyped-def]
    """Action of a compiled player for the seat on turn; ``actions`` is scratch."""
    n = legal(t, r, actions)
    if kind == TACTICIAN:
        return tactic(t, r, actions, n)
    if kind == GREEDY:
        n = keep_best(t, r, actions, n)
    return i64(actions[below(key, 0, n)]) if n > 1 else i64(actions[0])


@jit
def play_on(tables, rules, kinds, keys, none, actions, lo, hi):  # type: ignore[no-untyped-def]
    """Play tables ``lo`` to ``hi`` until each is over or waits for an external player.

    Args:
        kinds: Player of each table and seat, (n, players).
        keys: Key of each table's randomness, uint64, (n,).
        none: An empty event buffer.
        actions: Scratch, (n_actions,).
    """
    r = rules[0]
    for i in range(lo, hi):
        t = tables[i]
        while t["phase"] != OVER and kinds[i, t["turn"]] != EXTERNAL:
            action = choose(kinds[i, t["turn"]], t, r, decision_key(t, keys[i]), actions)
            act(t, r, action, none)


@jit
def answer(kind, records, rules, keys, chosen, actions):  # type: ignore[no-untyped-def]
    """Actions of a compiled player for redacted records, which are changed."""
    r = rules[0]
    for i in range(len(records)):
        t = records[i]
        if t["muggins"] and t["viewer"] != NOBODY:
            relay(t, r)
        chosen[i] = choose(kind, t, r, keys[i], actions)


class CompiledPlayer:
    """A compiled player as one that answers views.

    Args:
        name: A key of :data:`KINDS`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = KINDS[name]

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view."""
        chosen = np.zeros(len(views.records), np.int64)
        scratch: NDArray[Any] = np.zeros(views.rules.n_actions, np.int32)
        records = views.records.copy()
        answer(self.kind, records, views.rules.record(), views.keys, chosen, scratch)
        return chosen
