"""The tactician: one placement ahead, weighed against the best reply that the next seat may hold.

A placement is worth its points, less the expected best reply over the tiles that the next seat can
hold, plus what it leaves: fewer pips, no double, suits and tiles that fit, the chance that the next
seat is stuck, the own next score. Only what the seat on turn may see is looked at.
"""

import numpy as np

from fives_env.engine.jit import i64, jit, popcount
from fives_env.engine.layout import lay, total_after
from fives_env.engine.settle import seat_after
from fives_env.engine.state import NOBODY, PLAY
from fives_env.engine.ways import allowed
from fives_env.players.weights import (
    DOUBLE,
    DRAW,
    LATER,
    MOVES,
    NEXT,
    PIP,
    REPLY,
    STUCK,
    SUITS,
    WEIGHTS_OF,
    kind_of,
)
from fives_env.tiles import HI, LO, PIPS, SUIT

#: Tile of two values, as a set of one.
TILE = np.array(
    [[int(SUIT[a] & SUIT[b]) if a != b else 0 for b in range(7)] for a in range(7)], np.int64
)
#: Double of each value.
DOUBLE_OF = np.array([i for i in range(28) if LO[i] == HI[i]], np.int64)
#: Totals that score, those that bring most first: under fives, under fives and threes.
FIVES = np.arange(75, 0, -5)
BOTH = np.array(
    sorted(
        (total for total in range(1, 76) if total % 5 == 0 or total % 3 == 0),
        key=lambda total: -(total // 5 * (total % 5 == 0) + total // 3 * (total % 3 == 0)),
    )
)
#: Numbers that :func:`lay_aside` keeps, before one for each end.
KEPT = 10


@jit
def lay_aside(t, r, tile, end, kept):  # type: ignore[no-untyped-def]
    """Lay a tile for a moment; :func:`take_back` undoes it with what is written into ``kept``."""
    below = i64(t["shows"][end])
    kept[0] = t["total"]
    kept[1] = t["cross"]
    kept[2] = t["ends"]
    kept[3] = t["suits"]
    kept[4] = t["fits"]
    kept[5] = t["spinner"]
    kept[6] = below
    kept[7] = t["value"][end]
    kept[8] = t["joined"][LO[below]] if below != NOBODY else 0
    kept[9] = t["joined"][LO[tile]]
    for e in range(i64(t["ends"])):
        kept[KEPT + e] = t["counts"][e]
    lay(t, r, i64(t["turn"]), tile, end)


@jit
def take_back(t, tile, end, kept):  # type: ignore[no-untyped-def]
    """Undo :func:`lay_aside`, to the byte."""
    before = i64(kept[2])
    for e in range(before, i64(t["ends"])):
        t["value"][e] = NOBODY
        t["counts"][e] = 0
        t["shows"][e] = NOBODY
    for e in range(before):
        t["counts"][e] = kept[KEPT + e]
    t["total"] = kept[0]
    t["cross"] = kept[1]
    t["ends"] = before
    t["suits"] = kept[3]
    t["fits"] = kept[4]
    t["spinner"] = kept[5]
    t["shows"][end] = kept[6]
    t["value"][end] = kept[7]
    t["joined"][LO[tile]] = kept[9]
    if kept[6] != NOBODY:
        t["joined"][LO[kept[6]]] = kept[8]
    played = i64(t["played"]) - 1
    t["played"] = played
    t["order"][played] = NOBODY
    t["how"][played] = NOBODY


@jit
def unseen(t, r):  # type: ignore[no-untyped-def]
    """Tiles that the seat on turn sees nowhere."""
    seen = i64(t["hands"][t["turn"]])
    for seat in range(4):
        seen |= i64(t["laid"][seat])
    return i64(r["everything"]) & ~seen


@jit
def landing(t, total, bases):  # type: ignore[no-untyped-def]
    """Tiles that leave the layout at ``total``."""
    tiles = 0
    for end in range(i64(t["ends"])):
        pips = total - i64(bases[end])
        if 0 <= pips <= 12:
            value = i64(t["value"][end])
            if pips <= 6:
                tiles |= TILE[value, pips]
            if pips == 2 * value:
                tiles |= 1 << DOUBLE_OF[value]
    return tiles


@jit
def none_of(some, before, can, held):  # type: ignore[no-untyped-def]
    """Chance that a hand holds none of ``some`` tiles, given none of the ``before`` ones.

    The hand is ``held`` tiles out of ``can`` equally likely ones.
    """
    none = 1.0
    for k in range(before, before + some):
        none *= max(0, can - held - k) / (can - k)
    return none


@jit
def write_bases(t, bases):  # type: ignore[no-untyped-def]
    """Write what the layout counts without the pips laid at each end; the most it can come to."""
    most = 0
    for end in range(i64(t["ends"])):
        value = i64(t["value"][end])
        base = total_after(t, DOUBLE_OF[value], end) - 2 * value
        most = max(most, base + max(6, 2 * value))
        bases[end] = base
    return most


@jit
def prospects(t, r, hand, near, far, bases, offers):  # type: ignore[no-untyped-def]
    """What the layout offers: the own best score, and those expected of the next two seats.

    Args:
        t: The table.
        r: Its rules.
        hand: Tiles of the seat that looks.
        near: Tiles that the next seat can hold.
        far: The same of the seat after it.
        bases: Scratch, one for each end.
        offers: Out, unless it has no room: how many scores there are, then for each, the dearest
            first, its points and the tiles that make it.
    """
    most = write_bases(t, bases)
    next_seat = seat_after(r, i64(t["turn"]))
    near_held = i64(t["held"][next_seat])
    far_held = i64(t["held"][seat_after(r, next_seat)])
    near_can = popcount(near)
    far_can = popcount(far)
    near_none = 1.0
    far_none = 1.0
    near_known = 0
    far_known = 0
    known = 0
    n = 0
    own = 0
    reply = 0.0
    later = 0.0
    for total in BOTH if r["points"][3] else FIVES:
        if total > most:
            continue
        tiles = landing(t, total, bases) & ~known
        if tiles == 0:
            continue
        known |= tiles
        points = i64(r["points"][total])
        if len(offers):
            offers[2 * n + 1] = points
            offers[2 * n + 2] = tiles
            n += 1
        if hand & tiles:
            own = points
            hand = 0
        some = popcount(tiles & near)
        if some:
            after = near_none * none_of(some, near_known, near_can, near_held)
            reply += points * (near_none - after)
            near_none = after
            near_known += some
        some = popcount(tiles & far)
        if some:
            after = far_none * none_of(some, far_known, far_can, far_held)
            later += points * (far_none - after)
            far_none = after
            far_known += some
    if len(offers):
        offers[0] = n
    return own, reply, later


@jit
def worth(t, r, weights, action, near, far, rest):  # type: ignore[no-untyped-def]
    """Worth of a placement or of a draw to the seat on turn; ``rest`` is scratch."""
    bits = i64(r["bits"])
    if action >= 28 << bits:
        return weights[DRAW]
    tile = action >> bits
    end = action & ((1 << bits) - 1)
    hand = i64(t["hands"][t["turn"]]) & ~(1 << tile)
    total = 1.0 * i64(r["points"][total_after(t, tile, end)])
    if hand == 0:
        return total
    total += weights[PIP] * PIPS[tile]
    if LO[tile] == HI[tile]:
        total += weights[DOUBLE]
    for v in range(7):
        if hand & SUIT[v]:
            total += weights[SUITS]
    lay_aside(t, r, tile, end, rest)
    fits = i64(t["fits"])
    total += weights[MOVES] * popcount(hand & fits)
    held = i64(t["held"][seat_after(r, i64(t["turn"]))])
    total += weights[STUCK] * none_of(popcount(near & fits), 0, popcount(near), held)
    own, reply, later = prospects(t, r, hand, near, far, rest[KEPT + 16 :], rest[:0])
    total += weights[NEXT] * own - weights[REPLY] * reply - weights[LATER] * later
    take_back(t, tile, end, rest)
    return total


@jit
def holdable(t, r):  # type: ignore[no-untyped-def]
    """Tiles that the next seat can hold, and the seat after it if there is another."""
    hidden = unseen(t, r)
    next_seat = seat_after(r, i64(t["turn"]))
    near = allowed(t, hidden, next_seat)
    if r["players"] == 2:
        return near, 0
    return near, allowed(t, hidden, seat_after(r, next_seat))


@jit
def best_placement(t, r, weights, actions, n):  # type: ignore[no-untyped-def]
    """The action of most worth among the ``n`` of the play phase; those behind are scratch."""
    near, far = holdable(t, r)
    best = actions[0]
    most = -1e9
    for k in range(n):
        value = worth(t, r, weights, i64(actions[k]), near, far, actions[n:])
        if value > most:
            most = value
            best = actions[k]
    return i64(best)


@jit
def write_worths(t, r, actions, n, scratch, worths):  # type: ignore[no-untyped-def]
    """Write the worth of each of ``n`` actions of the play phase, on the scoreboard's scale."""
    near, far = holdable(t, r)
    weights = WEIGHTS_OF[kind_of(r), r["tiles"]]
    for k in range(n):
        worths[k] = worth(t, r, weights, i64(actions[k]), near, far, scratch) / r["peg"]


@jit
def speak_up(t, actions):  # type: ignore[no-untyped-def]
    """Action in a muggins window: announce or call what there is to claim, and nothing else."""
    return i64(actions[0]) if t["pending"] else i64(actions[1])


@jit
def tactic(t, r, actions, n):  # type: ignore[no-untyped-def]
    """Action of the tactician, out of the ``n`` legal ones."""
    if n == 1:
        return i64(actions[0])
    if t["phase"] != PLAY:
        return speak_up(t, actions)
    row = WEIGHTS_OF[kind_of(r), r["tiles"]]
    return best_placement(t, r, row, actions, n)
