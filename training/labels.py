"""Decisions to learn from, and what each of their actions would bring: all compiled.

At every table a network plays all seats. At each decision with a choice, every action is tried on a
copy of the table, hidden tiles and all, and played on for a while; what the side has won by then,
with what the network makes of the position reached, is the target of that action.
"""

import numpy as np

from fives_env.engine.deal import below, fold
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import OVER, PLAY
from fives_env.engine.turn import act, legal
from fives_env.engine.turn import reset as start
from fives_env.players.compiled import choose
from fives_env.players.features import SCALARS, describe, describe_decision
from fives_env.players.playouts import lead_of
from fives_env.players.tactician import holdable, speak_up
from fives_env.players.values import best_of, distinct, write_values

#: Player of a play-out that stands for the network itself.
ITSELF = -2


@jit
def lone(t, actions, n):  # type: ignore[no-untyped-def]
    """The action that needs no thought, -1 if there is a choice."""
    if n == 1:
        return i64(actions[0])
    if t["phase"] != PLAY:
        return speak_up(t, actions)
    return -1


@jit
def outcome(t, r, net, desk, kind, turns, key, none, row):  # type: ignore[no-untyped-def]
    """What the side that has just acted at a table can expect, in points ahead.

    Args:
        t: The table, played on in place.
        r: Its rules.
        net: The network.
        desk: Room for it.
        kind: Compiled player that plays on, or ``ITSELF``.
        turns: Decisions with a choice that are played before the network judges; -1: to the end.
        key: All randomness.
        none: An empty event buffer.
        row: Scratch for actions.
    """
    side = side_of(r, i64(t["mover"]))
    k = 0
    while t["phase"] != OVER:
        n = legal(t, r, row)
        n = distinct(t, r, row, n)
        action = lone(t, row, n)
        if action < 0:
            on_turn = side_of(r, i64(t["turn"]))
            judged = k >= turns >= 0 and (on_turn == side or r["sides"] == 2)
            if judged or kind == ITSELF:
                write_values(net, desk, t, r, row, n)
                best = best_of(desk, n)
                if judged:
                    value = desk.values[best]
                    return lead_of(t, r, side) + (value if on_turn == side else -value)
                action = i64(row[best])
            else:
                action = choose(kind, t, r, fold(key, k), row)
            k += 1
        act(t, r, action, none)
    return lead_of(t, r, side)


@jit
def explore(desk, n, heat, key):  # type: ignore[no-untyped-def]
    """Index of a value drawn with probability proportional to exp(value / heat)."""
    best = -1
    most = 0.0
    for k in range(n):
        noise = -np.log(-np.log((below(key, k, 1 << 30) + 0.5) / (1 << 30)))
        value = desk.values[k] + heat * noise
        if best < 0 or value > most:
            best = k
            most = value
    return best


@jit
def next_choice(t, r, none, row):  # type: ignore[no-untyped-def]
    """Play a table on to a decision with a choice, dealing afresh; how many actions it has."""
    while True:
        if t["phase"] == OVER:
            start(t, r, t["seed"], t["game"] + np.uint64(1))
        n = distinct(t, r, row, legal(t, r, row))
        action = lone(t, row, n)
        if action < 0:
            return n
        act(t, r, action, none)


@jit
def gather(  # type: ignore[no-untyped-def]
    tables, copy, rules, net, desk, kind, turns, heat, key, none, row, play_row,
    shared, planes, scalars, owner, targets, values, starts,
):  # fmt: skip
    """Write one decision of each table with the targets of its actions, and play it.

    Args:
        tables: The tables, ``STATE``, (n,); each is one decision further afterwards.
        copy: Scratch, ``STATE``, (1,).
        rules: Their rules; every round is an episode.
        net: The network that plays.
        desk: Room for it.
        kind: Player of the play-outs.
        turns: Decisions after which the network judges them.
        heat: Points by which actions may differ and yet both be played.
        key: All randomness.
        none: An empty event buffer.
        row: Scratch for actions.
        play_row: The same.
        shared: Out: planes of each decision, float32, (n, TILE).
        planes: Out: planes of each action, float32, (most, PLANES - TILE).
        scalars: Out: scalars of each action, float32, (most, SCALARS).
        owner: Out: decision that each action belongs to, int64, (most,).
        targets: Out: what each action brought, float32, (most,).
        values: Out: what the network expected, float32, (most,).
        starts: Out: first action of each decision, then the end of the last, int64, (n + 1,).
    """
    r = rules[0]
    at = 0
    columns = shared.shape[1]
    for i in range(len(tables)):
        t = tables[i]
        n = next_choice(t, r, none, row)
        starts[i] = at
        near, far = holdable(t, r)
        if columns:
            shared[i] = 0
            for k in range(describe_decision(t, r, near, far, desk.sight)):
                shared[i, desk.sight.columns[k]] = desk.sight.amounts[k]
        for a in range(n):
            m = describe(t, r, i64(row[a]), near, far, columns > 0, 0, desk.sight)
            if columns:
                planes[at + a] = 0
                for k in range(m):
                    planes[at + a, desk.sight.columns[k] - columns] = desk.sight.amounts[k]
            for k in range(SCALARS):
                scalars[at + a, k] = desk.sight.scalars[k]
            owner[at + a] = i
        side = side_of(r, i64(t["turn"]))
        before = lead_of(t, r, side)
        chance = fold(key, i)
        for a in range(n):
            copy[0] = t
            act(copy[0], r, i64(row[a]), none)
            lead = outcome(copy[0], r, net, desk, kind, turns, chance, none, play_row)
            targets[at + a] = lead - before
        write_values(net, desk, t, r, row, n)
        for a in range(n):
            values[at + a] = desk.values[a]
        act(t, r, i64(row[explore(desk, n, heat, fold(chance, 1))]), none)
        at += n
    starts[len(tables)] = at
    return at
