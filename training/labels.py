"""Decisions to learn from, and what each of their actions would bring: all compiled.

At every table a network plays all seats. At each decision with a choice, every action is tried on a
copy of the table, hidden tiles and all, and played on for a while; what the side has won by then,
with what the network makes of the position reached, is the target of that action.
"""

import numpy as np

from fives_env.engine.deal import below, fold
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import OVER
from fives_env.engine.turn import act, legal
from fives_env.engine.turn import reset as start
from fives_env.players.features import SCALARS, describe, describe_decision
from fives_env.players.playouts import answer, lead_of, play_out
from fives_env.players.tactician import holdable
from fives_env.players.values import distinct, expect, lone, think, write_values

#: Where targets come from, beside players that play out: a network's own values.
TEACHER = -3
#: Rounds without a choice after which a game is given up: a second or two.
ROUNDS = 100_000


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
def next_choice(t, r, side, kind, player, desk, key, none, row):  # type: ignore[no-untyped-def]
    """Play a table on to a decision with a choice, dealing afresh; how many actions it has.

    0 if no round of :data:`ROUNDS` has one. If ``side`` is not below 0, it is one of that side's,
    and the player decides for the others.
    """
    k = 0
    rounds = 0
    while rounds < ROUNDS:
        if t["phase"] == OVER:
            rounds += 1
            start(t, r, t["seed"], t["game"] + np.uint64(1))
        n = distinct(t, r, row, legal(t, r, row))
        action = lone(t, row, n)
        if action < 0:
            if side < 0 or side_of(r, i64(t["turn"])) == side:
                return n
            action = answer(t, r, kind, player, desk, fold(key, k), row)
        act(t, r, action, none)
        k += 1
    return 0


@jit
def look_ahead(  # type: ignore[no-untyped-def]
    t, r, side, net, desk, versus, kind, player, player_desk, turns, key, none, row
):
    """Play a table on by the network, in place; how far a side is ahead then or may expect to be.

    After ``turns`` decisions with a choice, -1 for never, the network judges the position. With
    ``versus`` it plays that side only, the player all others; else it plays all. It can judge where
    it is on turn for the side or, playing all, for the only other one.
    """
    k = 0
    while t["phase"] != OVER:
        own = side_of(r, i64(t["turn"])) == side
        n = distinct(t, r, row, legal(t, r, row))
        action = lone(t, row, n)
        if action < 0:
            if versus and not own:
                action = answer(t, r, kind, player, player_desk, fold(key, k), row)
            elif k >= turns >= 0 and (own or r["sides"] == 2):
                return lead_of(t, r, side) + expect(net, desk, t, r, side, row, n)
            else:
                action = think(net, desk, t, r, row)
            k += 1
        act(t, r, action, none)
    return lead_of(t, r, side)


@jit
def write_decision(t, r, row, n, i, at, desk, shared, planes, scalars, owner):  # type: ignore[no-untyped-def]
    """Write what decision ``i`` and its ``n`` actions, from number ``at`` on, look like."""
    near, far = holdable(t, r)
    sight = desk.sight
    common = shared.shape[1]
    columns = common + planes.shape[1]
    m = describe_decision(t, r, near, far, columns, sight)
    if columns:
        shared[i] = 0
        for k in range(m):
            shared[i, sight.columns[k]] = sight.amounts[k]
    for a in range(n):
        m = describe(t, r, i64(row[a]), near, far, columns, 0, sight)
        if columns:
            planes[at + a] = 0
            for k in range(m):
                planes[at + a, sight.columns[k] - common] = sight.amounts[k]
        for k in range(SCALARS):
            scalars[at + a, k] = sight.scalars[k]
        owner[at + a] = i


@jit
def gather(  # type: ignore[no-untyped-def]
    tables, copy, rules, net, desk, kind, player, player_desk, versus, turns, heat, key, none,
    row, rest, shared, planes, scalars, owner, targets, starts,
):  # fmt: skip
    """Write one decision of each table with the targets of its actions, and play it.

    Args:
        tables: The tables, ``STATE``, (n,); each is one decision further afterwards.
        copy: Scratch, ``STATE``, (1,).
        rules: Their rules; every round is an episode.
        net: The network that plays the tables, and judges.
        desk: Room for it.
        kind: Compiled player of the play-outs, ``NETWORK`` or ``TEACHER``.
        player: The network of either.
        player_desk: Room for that one.
        versus: Whether that player sits on all sides but one of each table, in play and in
            play-outs, and only the decisions of the network's side are written.
        turns: Decisions after which the network judges what it has played on; -1: none, and the
            player plays out, unless ``versus``.
        heat: Points by which actions may differ and yet both be played.
        key: All randomness.
        none: An empty event buffer.
        row: Scratch for actions.
        rest: The same.
        shared: Out: planes of each decision, float32, (n, TILE), or none.
        planes: Out: planes of each action, float32, (most, columns - TILE).
        scalars: Out: scalars of each action, float32, (most, SCALARS).
        owner: Out: decision that each action belongs to, int64, (most,).
        targets: Out: what each action brought, in points ahead, float32, (most,).
        starts: Out: first action of each decision, then the end of the last, int64, (n + 1,).

    Returns:
        How many actions there are; 0 if a table comes to no choice.
    """
    r = rules[0]
    at = 0
    for i in range(len(tables)):
        t = tables[i]
        chance = fold(key, i)
        seated = i % i64(r["sides"]) if versus else -1
        n = next_choice(t, r, seated, kind, player, player_desk, fold(chance, 2), none, row)
        if n == 0:
            return 0
        starts[i] = at
        write_decision(t, r, row, n, i, at, desk, shared, planes, scalars, owner)
        if kind == TEACHER:
            write_values(player, player_desk, t, r, row, n)
            for a in range(n):
                targets[at + a] = player_desk.values[a]
        else:
            side = side_of(r, i64(t["turn"]))
            before = lead_of(t, r, side)
            for a in range(n):
                copy[0] = t
                act(copy[0], r, i64(row[a]), none)
                if versus or turns >= 0:
                    lead = look_ahead(
                        copy[0], r, side, net, desk, versus, kind, player, player_desk, turns,
                        chance, none, rest,
                    )  # fmt: skip
                else:
                    lead = play_out(
                        copy[0], r, side, kind, -1, player, player_desk, chance, none, rest
                    )
                targets[at + a] = lead - before
        write_values(net, desk, t, r, row, n)
        act(t, r, i64(row[explore(desk, n, heat, fold(chance, 1))]), none)
        at += n
    starts[len(tables)] = at
    return at


@jit
def slopes(q, targets, starts, common, slope):  # type: ignore[no-untyped-def]
    """Write the slope of the loss along each value ``q``; its parts, and the share of best guesses.

    The loss of a decision is the mean square by which the values, less their mean, miss the
    targets, less theirs; and ``common`` times the square by which the means differ. Luck that all
    actions share is only in the second.

    Returns:
        Mean square error apart from the mean, that of the mean, share of decisions in which the
        action of the largest value has the largest target.
    """
    n = len(starts) - 1
    apart = 0.0
    together = 0.0
    agree = 0
    for i in range(n):
        lo = starts[i]
        hi = starts[i + 1]
        best = lo
        reached = lo
        mean = 0.0
        for a in range(lo, hi):
            mean += (q[a] - targets[a]) / (hi - lo)
            if q[a] > q[best]:
                best = a
            if targets[a] > targets[reached]:
                reached = a
        for a in range(lo, hi):
            error = q[a] - targets[a] - mean
            apart += error * error / (hi - lo)
            slope[a] = (error + common * mean / (hi - lo)) / n
        together += mean * mean
        agree += targets[best] == targets[reached]
    return apart / n, together / n, agree / n
