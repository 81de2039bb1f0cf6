"""A small compiled network that gives each action a value: what it will bring, in points.

A layer over all columns of :mod:`.features`, a second one, and a straight line over the scalars
beside them. The part of the first layer that all actions of a decision share is computed once. Sums
run in the same order always, so that an answer depends on its decision alone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import PLAY
from fives_env.engine.turn import legal
from fives_env.players.features import (
    ROOM,
    SCALARS,
    Sight,
    describe,
    describe_decision,
    new_sight,
)
from fives_env.players.positions import alike
from fives_env.players.tactician import holdable, speak_up

#: Points that a network's output of 1 stands for.
UNIT = 10
#: Actions that a decision can have.
MOST = 28 * 16 + 6


class Net(NamedTuple):
    """Weights, all float32.

    Attributes:
        planes: (columns, first), as many columns as the network sees of :data:`.features.SEES`.
        scalars: (SCALARS, first).
        bias: (first,).
        second: (first, second).
        second_bias: (second,).
        last: (second,).
        straight: (SCALARS,).
        offset: (1,).
    """

    planes: NDArray[np.float32]
    scalars: NDArray[np.float32]
    bias: NDArray[np.float32]
    second: NDArray[np.float32]
    second_bias: NDArray[np.float32]
    last: NDArray[np.float32]
    straight: NDArray[np.float32]
    offset: NDArray[np.float32]


class Desk(NamedTuple):
    """Room for thinking, of one thread and one network.

    Attributes:
        sight: What an action looks like.
        base: First layer's sums that all actions share, float32, (first,).
        one: First layer, float32, (first,).
        two: Second layer, float32, (second,).
        values: Of each action, float32, (MOST,).
    """

    sight: Sight
    base: NDArray[np.float32]
    one: NDArray[np.float32]
    two: NDArray[np.float32]
    values: NDArray[np.float32]


def shapes(columns: int, first: int, second: int) -> dict[str, tuple[int, ...]]:
    """Shape of each array of weights."""
    return {
        "planes": (columns, first),
        "scalars": (SCALARS, first),
        "bias": (first,),
        "second": (first, second),
        "second_bias": (second,),
        "last": (second,),
        "straight": (SCALARS,),
        "offset": (1,),
    }


def net_of(weights: Mapping[str, NDArray[Any]]) -> Net:
    """A network of weights by name."""
    return Net(**{name: np.ascontiguousarray(weights[name], np.float32) for name in Net._fields})


def no_net() -> Net:
    """A network of no units, where there is none."""
    return Net(*(np.zeros(shape, np.float32) for shape in shapes(0, 0, 0).values()))


def new_desk(net: Net) -> Desk:
    """Room for thinking with a network."""
    first, second = net.second.shape
    return Desk(
        new_sight(max(ROOM, first)),  # units above 0 are listed there too
        np.zeros(first, np.float32),
        np.zeros(first, np.float32),
        np.zeros(second, np.float32),
        np.zeros(MOST, np.float32),
    )


@jit
def copy(to, row):  # type: ignore[no-untyped-def]
    """Copy a row: an assignment would allocate, in case the two overlap."""
    for k in range(len(row)):
        to[k] = row[k]


@jit
def add_rows(sums, columns, amounts, m, weights):  # type: ignore[no-untyped-def]
    """Add to ``sums`` the ``m`` rows of ``weights`` that are listed, times their amounts.

    Four at a time, so that the sums are read and written a quarter as often.
    """
    fours = m & ~3
    for k in range(0, fours, 4):
        one, two, three, four = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        w, x, y, z = amounts[k], amounts[k + 1], amounts[k + 2], amounts[k + 3]
        for j in range(len(sums)):
            sums[j] += (w * weights[one, j] + x * weights[two, j]) + (
                y * weights[three, j] + z * weights[four, j]
            )
    for k in range(fours, m):
        column = columns[k]
        amount = amounts[k]
        for j in range(len(sums)):
            sums[j] += amount * weights[column, j]


@jit
def list_positive(x, columns, amounts):  # type: ignore[no-untyped-def]
    """List what is above 0, without a branch to guess wrong; how many there are."""
    m = 0
    for i in range(len(x)):
        columns[m] = i
        amounts[m] = x[i]
        m += x[i] > 0
    return m


@jit
def dot(x, weights, total):  # type: ignore[no-untyped-def]
    """``total + max(x, 0) @ weights``."""
    for i in range(len(x)):
        total += max(x[i], np.float32(0)) * weights[i]
    return total


@jit
def write_values(net, desk, t, r, actions, n):  # type: ignore[no-untyped-def]
    """Write the values of ``n`` actions of the play phase, in points, into ``desk.values``."""
    sight = desk.sight
    columns = sight.columns
    amounts = sight.amounts
    x = sight.scalars
    one = desk.one
    two = desk.two
    near, far = holdable(t, r)
    seen = len(net.planes)
    copy(desk.base, net.bias)
    m = describe_decision(t, r, near, far, seen, sight)
    add_rows(desk.base, columns, amounts, m, net.planes)
    for a in range(n):
        m = describe(t, r, i64(actions[a]), near, far, seen, 0, sight)
        copy(one, desk.base)
        add_rows(one, columns, amounts, m, net.planes)
        m = list_positive(x, columns, amounts)
        add_rows(one, columns, amounts, m, net.scalars)
        copy(two, net.second_bias)
        m = list_positive(one, columns, amounts)
        add_rows(two, columns, amounts, m, net.second)
        desk.values[a] = UNIT * dot(two, net.last, dot(x, net.straight, net.offset[0]))


@jit
def distinct(t, r, actions, n):  # type: ignore[no-untyped-def]
    """Keep, at the front of ``actions``, those that no other is the same as; their number."""
    if t["phase"] != PLAY or t["played"] == 0:
        return n
    same = alike(t)
    bits = i64(r["bits"])
    kept = 0
    for k in range(n):
        action = i64(actions[k])
        if action >= 28 << bits or not (same >> (action & ((1 << bits) - 1))) & 1:
            actions[kept] = action
            kept += 1
    return kept


@jit
def best_of(desk, n):  # type: ignore[no-untyped-def]
    """Index of the largest of the first ``n`` values."""
    best = 0
    for k in range(1, n):
        if desk.values[k] > desk.values[best]:
            best = k
    return best


@jit
def lone(t, actions, n):  # type: ignore[no-untyped-def]
    """The action that needs no thought, -1 if there is a choice."""
    if n == 1:
        return i64(actions[0])
    if t["phase"] != PLAY:
        return speak_up(t, actions)
    return -1


@jit
def expect(net, desk, t, r, side, actions, n):  # type: ignore[no-untyped-def]
    """What a side can expect from here to the round's end, in points ahead.

    The seat on turn, of that side or of the only other one, has a choice of ``n`` actions.
    """
    write_values(net, desk, t, r, actions, n)
    value = desk.values[best_of(desk, n)]
    return value if side_of(r, i64(t["turn"])) == side else -value


@jit
def think(net, desk, t, r, actions):  # type: ignore[no-untyped-def]
    """Action of the network for the seat on turn; ``actions`` is scratch."""
    n = distinct(t, r, actions, legal(t, r, actions))
    action = lone(t, actions, n)
    if action >= 0:
        return action
    write_values(net, desk, t, r, actions, n)
    return i64(actions[best_of(desk, n)])
