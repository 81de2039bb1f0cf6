"""A deal that a redacted record allows, drawn uniformly.

A deal walks through the counts of :mod:`.ways` and gives each tile that some cap concerns to a hand
or the boneyard with its exact chance; the other tiles are drawn at the end. Caps that the counts
left out are met by rejection, which keeps what is left uniform.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.deal import below, mix
from fives_env.engine.jit import i64, jit, jit_allocating, lowest, popcount
from fives_env.engine.layout import lay
from fives_env.engine.state import ANNOUNCE, CALL, NOBODY
from fives_env.engine.ways import (
    PLAN,
    STATES,
    count_ways,
    hidden,
    obeys_caps,
    write_states,
    write_tiles,
)

#: Tries after which a record is taken to allow no deal at all.
TRIES = 1_000_000


class Deals(NamedTuple):
    """Room for planning deals, of one thread; see :func:`.redeal.prepare`."""

    plan: NDArray[Any]
    left: NDArray[np.int64]
    ways: NDArray[np.float64]


def new_deals() -> Deals:
    """Room for planning deals."""
    return Deals(np.zeros(1, PLAN), np.zeros(STATES, np.int64), np.zeros((29, STATES)))


@jit
def take_up(t):  # type: ignore[no-untyped-def]
    """Take up the layout, but for the list of what was played."""
    t["total"] = 0
    t["pending"] = 0
    for end in range(16):
        t["counts"][end] = 0
    t["played"] = 0
    t["spinner"] = NOBODY
    t["cross"] = 0
    t["ends"] = 0
    for v in range(7):
        t["joined"][v] = 0


@jit
def relay(t, r):  # type: ignore[no-untyped-def]
    """Lay the layout afresh, so that the total and the ends' counts are there."""
    played = i64(t["played"])
    take_up(t)
    for i in range(played):
        lay(t, r, i64(t["how"][i]) >> 4, i64(t["order"][i]), i64(t["how"][i]) & 15)
    if t["phase"] == ANNOUNCE or t["phase"] == CALL:
        t["pending"] = r["points"][t["total"]]


@jit
def prepare(t, r, voids, plans, left, ways):  # type: ignore[no-untyped-def]
    """Plan the deals of a redacted record, whose blanked places are cleared.

    Args:
        voids: Whether caps are obeyed; without, any deal of the right sizes will do.
        plans: ``PLAN``, (1,), written.
        left: Int64 (STATES,), written: the digits of each state that are not 0, as a set.
        ways: Float64 (29, STATES), written: ways to complete a deal, by planned tile and state.

    Returns:
        False if no deal obeys the caps that a state holds.
    """
    for seat in range(4):
        if seat != t["viewer"]:
            t["hands"][seat] = 0
    for i in range(i64(t["played"]), 28):
        t["order"][i] = NOBODY
    if t["muggins"]:
        relay(t, r)
    plan = plans[0]
    unseen = hidden(t, r)
    write_states(t, r, voids, unseen, plan, left)
    write_tiles(t, r, voids, unseen, plan)
    count_ways(t, plan, left, ways)
    return ways[0, plan["states"] - 1] > 0


@jit
def unit(key, counter):  # type: ignore[no-untyped-def]
    """A number of a stream, uniform in [0, 1) in steps of 2**-53; it uses up two."""
    high = below(key, counter, 1 << 27)
    return (high * (1 << 26) + below(key, counter + 1, 1 << 26)) / (1 << 53)


@jit
def draw_planned(t, plan, left, ways, key, counter):  # type: ignore[no-untyped-def]
    """Give each planned tile to a hand or to the boneyard; returns the latter's tiles."""
    bone = i64(plan["bone"])
    state = i64(plan["states"]) - 1
    for k in range(i64(plan["layers"])):
        bit = 1 << i64(plan["tile"][k])
        at = unit(key, counter + 2 * k) * ways[k, state] - ways[k + 1, state]
        receiver = -1
        for seat in range(4):
            needs = i64(plan["needs"][k][seat])
            if at >= 0 and needs & left[state] == needs:
                more = ways[k + 1, state - i64(plan["takes"][k][seat])]
                if more > 0:
                    receiver = seat
                    at -= more
        if receiver < 0:
            bone |= bit
        else:
            state -= i64(plan["takes"][k][receiver])
            t["hands"][receiver] = i64(t["hands"][receiver]) | bit
    return bone


@jit
def draw_free(t, r, free, bone, key, counter):  # type: ignore[no-untyped-def]
    """Fill the hands from the ``free`` tiles, shuffle the others with ``bone`` into the boneyard.

    Returns:
        The counter behind the numbers used.
    """
    order = t["order"]
    tiles = i64(t["tiles"])
    at = tiles - popcount(free)
    for i in range(at, tiles):
        order[i] = lowest(free)
        free &= free - 1
    for seat in range(i64(r["players"])):
        hand = i64(t["hands"][seat])
        for _ in range(i64(t["held"][seat]) - popcount(hand)):
            i = at + below(key, counter, tiles - at)
            hand |= 1 << i64(order[i])
            order[i] = order[at]
            order[at] = NOBODY
            at += 1
            counter += 1
        t["hands"][seat] = hand
    while bone:
        at -= 1
        order[at] = lowest(bone)
        bone &= bone - 1
    for i in range(tiles - 1, at, -1):
        j = at + below(key, counter, i - at + 1)
        order[i], order[j] = order[j], order[i]
        counter += 1
    return counter


@jit
def deal(t, r, plans, left, ways, key):  # type: ignore[no-untyped-def]
    """Fill in, in place, a copy of the record that was planned; the rest is as in ``prepare``.

    Returns:
        False if no deal was found that obeys all caps.
    """
    plan = plans[0]
    viewer = i64(t["viewer"])
    counter = 0
    for _ in range(TRIES):
        for seat in range(4):
            if seat != viewer:
                t["hands"][seat] = 0
        bone = draw_planned(t, plan, left, ways, key, counter)
        counter += 2 * i64(plan["layers"])
        counter = draw_free(t, r, i64(plan["free"]), bone, key, counter)
        obeyed = True
        if plan["loose"]:
            for seat in range(i64(r["players"])):
                if seat != viewer and not obeys_caps(t, seat, i64(t["hands"][seat])):
                    obeyed = False
        if obeyed:
            t["seed"] = mix(np.uint64(key)) >> np.uint64(1)
            t["game"] = 0
            t["viewer"] = NOBODY
            return True
    return False


@jit_allocating
def redeal(t, r, key):  # type: ignore[no-untyped-def]
    """Fill in a redacted record, in place, with a deal drawn uniformly from those it allows.

    Returns:
        False if no deal was found that obeys the caps.
    """
    plans = np.zeros(1, PLAN)
    left = np.empty(STATES, np.int64)
    ways = np.empty((29, STATES), np.float64)
    if not prepare(t, r, True, plans, left, ways):
        return False
    return deal(t, r, plans, left, ways, key)
