"""What a network sees of an action: the position after it, as the seat on turn may see it.

Two kinds of columns. *Scalars* are the quantities that the tactician weighs, and a few more.
*Planes* are sets of tiles and counts, most of them 0, written as a list of columns and amounts;
those before ``TILE`` belong to the decision and are the same for all of its actions, those from
``DECLINED`` on are about tiles that were declined. A network sees as much as :data:`SEES` names.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.jit import i64, jit, lowest, popcount
from fives_env.engine.layout import total_after
from fives_env.engine.settle import pips_of, seat_after
from fives_env.engine.state import NOBODY, new_tables
from fives_env.players.declined import write_declined
from fives_env.players.tactician import (
    KEPT,
    lay_aside,
    none_of,
    prospects,
    take_back,
    unseen,
)
from fives_env.tiles import HI, LO, PIPS, SUIT

#: Raised whenever the columns, their order or their meaning change.
VERSION = 2

#: The scalars, in order.
NAMES = (
    "points", "reply", "next", "later", "stuck", "pips", "double", "suits", "moves", "left", "out",
    "own", "near", "others", "yard", "dead", "idle", "total", "draw", "prize",
    "likely_reply", "likely_stuck",
)  # fmt: skip
SCALARS = len(NAMES)

#: First column of each plane: 28 tiles, or the numbers named.
HAND, NEAR, FAR, REST = 0, 28, 56, 84  # held; what the next two seats can hold; the other unseen
CAP = 112  # 7 suits of the next seat, each: at most 0, 1, 2 tiles
OWN, THEIRS, FARS = 133, 148, 163  # tiles held, from 0 to 14: own, next seat, the one after
YARD = 178  # tiles in the boneyard, 0 to 15
SEATS = 194  # two, three, four, partners
TILE = 198  # the tile laid
OWN_FITS, NEAR_FITS, FAR_FITS = 226, 254, 282  # which then fit
OWN_POINTS, NEAR_POINTS = 310, 338  # what each then scores, over 5
ENDS, DOUBLED = 366, 373  # open ends of each value, and those that a double shows
SPINNER = 380  # 7 values while its cross sides are closed, then the tiles joined
REMAINDER = 388  # the total modulo 5
DECLINED, FAR_DECLINED = 393, 421  # of what the next two seats can hold: declined
DECLINED_POINTS = 449  # what each declined by the next seat then scores, over 5
PLANES = 477
#: Planes that a network may see: none, those of the position, or what earlier plays tell as well.
SEES = {"scalars": 0, "tiles": DECLINED, "plays": PLANES}
#: The same the other way round.
SEEN = {columns: name for name, columns in SEES.items()}
#: Entries that a list of columns has room for, if no more are asked for.
ROOM = 1024


class Sight(NamedTuple):
    """Room for describing actions, of one thread.

    Attributes:
        kept: Scratch, int32, (64,).
        columns: Planes that are not 0, int32, (room,).
        amounts: What they hold, float32, (room,).
        scalars: float32, (SCALARS,).
        common: Of the decision: pips of the own hand, and those expected in the others', over 40.
        offers: Scores that an action leaves, int32, (57,).
        layout: Scratch, ``STATE``, (1,).
        declined: Of the decision: tiles that each seat has declined, int64, (4,).
    """

    kept: NDArray[np.int32]
    columns: NDArray[np.int32]
    amounts: NDArray[np.float32]
    scalars: NDArray[np.float32]
    common: NDArray[np.float64]
    offers: NDArray[np.int32]
    layout: NDArray[Any]
    declined: NDArray[np.int64]


def new_sight(room: int = ROOM) -> Sight:
    """Room for describing actions, with lists of so many entries."""
    return Sight(
        np.zeros(64, np.int32),
        np.zeros(room, np.int32),
        np.zeros(room, np.float32),
        np.zeros(SCALARS, np.float32),
        np.zeros(2),
        np.zeros(57, np.int32),
        new_tables(1),
        np.zeros(4, np.int64),
    )


@jit
def note(sight, m, column, amount):  # type: ignore[no-untyped-def]
    """Add a column to the list, which held ``m``."""
    sight.columns[m] = column
    sight.amounts[m] = amount
    return m + 1


@jit
def note_tiles(sight, m, first, tiles, amount):  # type: ignore[no-untyped-def]
    """Add a set of tiles to the list."""
    while tiles:
        m = note(sight, m, first + lowest(tiles), amount)
        tiles &= tiles - 1
    return m


@jit
def describe_decision(t, r, near, far, columns, sight):  # type: ignore[no-untyped-def]
    """Write what all actions of a decision share, and list its planes, of ``columns`` in all.

    Returns:
        How many columns the list holds.
    """
    turn = i64(t["turn"])
    players = i64(r["players"])
    hidden = unseen(t, r)
    others = 0
    for seat in range(players):
        if seat != turn:
            others += i64(t["held"][seat])
    sight.common[0] = pips_of(i64(t["hands"][turn]))
    sight.common[1] = others * pips_of(hidden) / (40 * max(1, popcount(hidden)))
    if columns > DECLINED:
        write_declined(t, r, sight.layout[0], sight.kept, sight.declined)
    if columns == 0:
        return 0
    next_seat = seat_after(r, turn)
    m = note_tiles(sight, 0, HAND, i64(t["hands"][turn]), 1)
    m = note_tiles(sight, m, NEAR, near, 1)
    m = note_tiles(sight, m, FAR, far, 1)
    m = note_tiles(sight, m, REST, hidden & ~near, 1)
    for v in range(7):
        for most in range(i64(t["cap"][next_seat][v]), 3):
            m = note(sight, m, CAP + 3 * v + most, 1)
    m = note(sight, m, OWN + min(14, i64(t["held"][turn])), 1)
    m = note(sight, m, THEIRS + min(14, i64(t["held"][next_seat])), 1)
    if players > 2:
        m = note(sight, m, FARS + min(14, i64(t["held"][seat_after(r, next_seat)])), 1)
    m = note(sight, m, YARD + min(15, i64(t["tiles"]) - i64(t["top"])), 1)
    m = note(sight, m, SEATS + players - 2, 1)
    if players > r["sides"]:
        m = note(sight, m, SEATS + 3, 1)
    return m


@jit
def write_scalars(t, r, action, near, far, columns, sight):  # type: ignore[no-untyped-def]
    """Write the scalars of an action; its tile, if it lays one, lies on the layout afterwards.

    Returns:
        The tile, -1 for a draw.
    """
    x = sight.scalars
    bits = i64(r["bits"])
    turn = i64(t["turn"])
    hand = i64(t["hands"][turn])
    hidden = unseen(t, r)
    tile = -1
    pips = sight.common[0]
    x[:] = 0
    if action < 28 << bits:
        tile = action >> bits
        end = action & ((1 << bits) - 1)
        hand &= ~(1 << tile)
        x[0] = i64(r["points"][total_after(t, tile, end)]) / 5
        pips -= PIPS[tile]
        x[5] = PIPS[tile] / 6
        x[6] = LO[tile] == HI[tile]
        lay_aside(t, r, tile, end, sight.kept)
    else:
        x[18] = 1
    for v in range(7):
        if hand & SUIT[v]:
            x[7] += 1 / 7
    fits = i64(t["fits"])
    near_held = i64(t["held"][seat_after(r, turn)])
    bases = sight.kept[KEPT + 16 :]
    own, reply, later = prospects(t, r, hand, near, far, bases, sight.offers)
    x[1] = reply / 5
    x[2] = own / 5
    x[3] = later / 5
    x[4] = none_of(popcount(near & fits), 0, popcount(near), near_held)
    x[8] = popcount(hand & fits) / 5
    x[9] = pips / 40
    x[10] = hand == 0
    x[11] = popcount(hand) / 7
    x[12] = near_held / 7
    x[13] = sight.common[1]
    x[14] = (i64(t["tiles"]) - i64(t["top"])) / 14
    x[15] = hidden & fits == 0
    x[16] = hand & fits == 0
    x[17] = i64(t["total"]) / 20
    x[19] = sight.common[1] if hand == 0 else 0
    if columns > DECLINED:
        likely = near & ~sight.declined[seat_after(r, turn)]
        if popcount(likely) < near_held:
            likely = near
        if likely != near:
            _, reply, _ = prospects(t, r, hand, likely, far, bases, sight.offers[:0])
        x[20] = reply / 5
        x[21] = none_of(popcount(likely & fits), 0, popcount(likely), near_held)
    return tile


@jit
def describe(t, r, action, near, far, columns, m, sight):  # type: ignore[no-untyped-def]
    """Write the scalars of an action and, if asked for, list its planes behind the first ``m``.

    It goes by what :func:`describe_decision` has written.

    Args:
        t: The table; it is changed for a moment.
        r: Its rules.
        action: A placement or a draw.
        near: Tiles that the next seat can hold.
        far: The same of the seat after it, if there is another.
        columns: How many planes there are, one of :data:`SEES`.
        m: Columns that the list holds already.
        sight: Room, written.

    Returns:
        How many columns the list holds then.
    """
    tile = write_scalars(t, r, action, near, far, columns, sight)
    if columns:
        hand = i64(t["hands"][t["turn"]])
        if tile >= 0:
            hand &= ~(1 << tile)
            m = note(sight, m, TILE + tile, 1)
        m = list_planes(t, r, hand, near, far, columns, m, sight)
    if tile >= 0:
        take_back(t, tile, action & ((1 << i64(r["bits"])) - 1), sight.kept)
    return m


@jit
def list_planes(t, r, hand, near, far, columns, m, sight):  # type: ignore[no-untyped-def]
    """List the planes of the layout as it lies, for a seat that holds ``hand``."""
    fits = i64(t["fits"])
    m = note_tiles(sight, m, OWN_FITS, hand & fits, 1)
    m = note_tiles(sight, m, NEAR_FITS, near & fits, 1)
    m = note_tiles(sight, m, FAR_FITS, far & fits, 1)
    next_seat = seat_after(r, i64(t["turn"]))
    declined = 0
    if columns > DECLINED:
        declined = near & sight.declined[next_seat]
        m = note_tiles(sight, m, DECLINED, declined, 1)
        far_declined = far & sight.declined[seat_after(r, next_seat)]
        m = note_tiles(sight, m, FAR_DECLINED, far_declined, 1)
    for k in range(sight.offers[0]):
        points = sight.offers[2 * k + 1] / 5
        tiles = i64(sight.offers[2 * k + 2])
        m = note_tiles(sight, m, OWN_POINTS, tiles & hand, points)
        m = note_tiles(sight, m, NEAR_POINTS, tiles & near, points)
        m = note_tiles(sight, m, DECLINED_POINTS, tiles & declined, points)
    return list_ends(t, m, sight)


@jit
def list_ends(t, m, sight):  # type: ignore[no-untyped-def]
    """List the open ends, the spinner and the total."""
    for v in range(7):
        count = 0
        doubled = 0
        for end in range(i64(t["ends"])):
            if t["value"][end] == v:
                count += 1
                doubled += i64(t["counts"][end]) == 2 * v
        if count:
            m = note(sight, m, ENDS + v, count)
        if doubled:
            m = note(sight, m, DOUBLED + v, doubled)
    if t["spinner"] != NOBODY:
        joined = i64(t["joined"][t["spinner"]])
        if joined < 2:
            m = note(sight, m, SPINNER + i64(t["spinner"]), 1)
        m = note(sight, m, SPINNER + 7, joined)
    return note(sight, m, REMAINDER + i64(t["total"]) % 5, 1)
