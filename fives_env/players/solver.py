"""Exact play with everything known: alpha-beta over the rest of a round between two sides.

Values are margins still to come: what side 0 will score to the end of the round, settlement
included, less what side 1 will. Each is found by questions of yes or no (is it at least so much?),
and what they told about a position is remembered under a hash of all that decides its rest: within
one search, so that no answer depends on what was asked before.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.deal import fold
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import OVER, new_tables
from fives_env.engine.turn import act
from fives_env.players.positions import hash_of, order_moves

#: Depth that no round exceeds: 28 placements with their windows, and draws between.
DEPTH = 160
#: Beyond any margin.
INFINITE = 1 << 20

#: A position being looked at.
FRAME = np.dtype(
    [
        ("key", "u8"),
        ("low", "i4"),  # the values asked about when it was begun
        ("high", "i4"),
        ("at_least", "i4"),  # and those that still matter
        ("at_most", "i4"),
        ("best", "i4"),  # value so far
        ("move", "i4"),  # the action that brought it
        ("n", "i4"),  # actions to try
        ("k", "i4"),  # the one being tried
        ("gain", "i4"),  # what it brought at once
        ("ours", "i4"),  # whether side 0 is on turn
    ]
)
#: A position remembered.
SLOT = np.dtype(
    [
        ("key", "u8"),
        ("low", "i4"),  # the value is at least this
        ("high", "i4"),  # and at most this
        ("move", "i4"),  # the action that was best
        ("search", "i4"),  # number of the search that it belongs to
    ]
)


class Board(NamedTuple):
    """Room for a search, of one thread and of one set of rules.

    Attributes:
        tables: The position, and behind it those that led on from it, ``STATE``, (DEPTH,).
        frames: The same positions as ``FRAME``, (DEPTH,).
        moves: Their actions, int32, (DEPTH, n_actions).
        slots: Positions remembered, ``SLOT``, a power of two of them; may be full of others.
        nodes: Positions looked at; how many may be, beyond which values are void; and the number of
            the search; int64, (3,).
        none: An empty event buffer.
    """

    tables: NDArray[Any]
    frames: NDArray[Any]
    moves: NDArray[np.int32]
    slots: NDArray[Any]
    nodes: NDArray[np.int64]
    none: NDArray[np.int32]


def new_board(n_actions: int, slots: int, most: int) -> Board:
    """Room with ``slots`` places to remember positions, for searches of at most ``most``."""
    return Board(
        new_tables(DEPTH),
        np.zeros(DEPTH, FRAME),
        np.zeros((DEPTH, n_actions), np.int32),
        np.zeros(slots, SLOT),
        np.array([0, most, 0], np.int64),
        np.zeros((0, 5), np.int32),
    )


@jit
def lead_of(t):  # type: ignore[no-untyped-def]
    """What side 0 is ahead by."""
    return i64(t["scores"][0]) - i64(t["scores"][1])


@jit
def enter(t, frame, row, slots, search, r, low, high, salt):  # type: ignore[no-untyped-def]
    """Begin a position, for a value between ``low`` and ``high``; whether it is known at once."""
    frame["best"] = 0
    if t["phase"] == OVER:
        return True
    key = hash_of(t, r, salt)
    slot = slots[i64(key & np.uint64(len(slots) - 1))]
    first = -1
    if slot["key"] == key and slot["search"] == search:
        if slot["low"] >= high or slot["low"] == slot["high"]:
            frame["best"] = slot["low"]
            return True
        if slot["high"] <= low:
            frame["best"] = slot["high"]
            return True
        low = max(low, i64(slot["low"]))
        high = min(high, i64(slot["high"]))
        first = i64(slot["move"])
    frame["key"] = key
    frame["low"] = low
    frame["high"] = high
    frame["at_least"] = low
    frame["at_most"] = high
    frame["ours"] = side_of(r, i64(t["turn"])) == 0
    frame["best"] = -INFINITE if frame["ours"] else INFINITE
    frame["move"] = first
    frame["n"] = order_moves(t, r, first, row)
    frame["k"] = 0
    return False


@jit
def take(frame, reached, move):  # type: ignore[no-untyped-def]
    """Note that ``move`` leads to a value of ``reached``."""
    if frame["ours"]:
        if reached > frame["best"]:
            frame["best"] = reached
            frame["move"] = move
            frame["at_least"] = max(frame["at_least"], reached)
    elif reached < frame["best"]:
        frame["best"] = reached
        frame["move"] = move
        frame["at_most"] = min(frame["at_most"], reached)


@jit
def leave(frame, slots, search):  # type: ignore[no-untyped-def]
    """Remember what a finished position is worth."""
    slot = slots[i64(frame["key"] & np.uint64(len(slots) - 1))]
    if slot["key"] != frame["key"] or slot["search"] != search:
        slot["key"] = frame["key"]
        slot["search"] = search
        slot["low"] = -INFINITE
        slot["high"] = INFINITE
    slot["move"] = frame["move"]
    if frame["best"] > frame["low"]:
        slot["low"] = frame["best"]
    if frame["best"] < frame["high"]:
        slot["high"] = frame["best"]


@jit
def bound(board, r, low, high, salt):  # type: ignore[no-untyped-def]
    """Value of the position at depth 1: exact if between ``low`` and ``high``, else a bound."""
    tables, frames, moves, slots, nodes = board[:5]
    search = nodes[2]
    d = 1
    known = enter(tables[1], frames[1], moves[1], slots, search, r, low, high, salt)
    while True:
        frame = frames[d]
        if not known and frame["k"] < frame["n"] and frame["at_least"] < frame["at_most"]:
            t = tables[d + 1]
            tables[d + 1] = tables[d]
            act(t, r, i64(moves[d, frame["k"]]), board.none)
            gain = lead_of(t) - lead_of(tables[d])
            frame["gain"] = gain
            low = i64(frame["at_least"]) - gain
            high = i64(frame["at_most"]) - gain
            d += 1
            known = enter(t, frames[d], moves[d], slots, search, r, low, high, salt)
            nodes[0] += 1
            if nodes[0] > nodes[1]:
                return 0
            continue
        if not known:
            leave(frame, slots, search)
        reached = i64(frame["best"])
        d -= 1
        if d == 0:
            return reached
        frame = frames[d]
        take(frame, i64(frame["gain"]) + reached, moves[d, frame["k"]])
        frame["k"] += 1
        known = False


@jit
def exact(board, r, guess, salt):  # type: ignore[no-untyped-def]
    """Value of the position at depth 1, asked about from a ``guess`` on."""
    low = -INFINITE
    high = INFINITE
    while low < high and board.nodes[0] <= board.nodes[1]:
        asked = guess + 1 if guess == low else guess
        guess = bound(board, r, asked - 1, asked, salt)
        if guess < asked:
            high = guess
        else:
            low = guess
    return guess


@jit
def salt_of(t):  # type: ignore[no-untyped-def]
    """Hash of the boneyard, which no position of one search differs in."""
    salt = np.uint64(0)
    for i in range(i64(t["top"]), i64(t["tiles"])):
        salt = fold(salt, i64(t["order"][i]))
    return salt


@jit
def solve(board, r, actions, n, values):  # type: ignore[no-untyped-def]
    """Write the value of each of ``n`` actions at depth 0, to the side of the seat on turn.

    Returns:
        Whether all could be found; else ``values`` are void.
    """
    tables = board.tables
    salt = salt_of(tables[0])
    ours = side_of(r, i64(tables[0]["turn"])) == 0
    board.nodes[0] = 0
    board.nodes[2] = (board.nodes[2] + 1) & 0x7FFFFFFF
    guess = 0
    for k in range(n):
        tables[1] = tables[0]
        act(tables[1], r, i64(actions[k]), board.none)
        gain = lead_of(tables[1]) - lead_of(tables[0])
        guess = exact(board, r, guess, salt)
        values[k] = gain + guess if ours else -gain - guess
    return board.nodes[0] <= board.nodes[1]
