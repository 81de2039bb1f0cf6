"""When two positions of a round of two sides are the same, and which moves are worth trying."""

import numpy as np

from fives_env.engine.deal import fold, mix
from fives_env.engine.jit import add64, i64, jit
from fives_env.engine.layout import total_after
from fives_env.engine.settle import on_board, side_of
from fives_env.engine.state import DRAW_NONE, PLAY, SPIN_ALL, SPIN_NONE
from fives_env.engine.turn import legal
from fives_env.tiles import HI, LO, PIPS


@jit
def end_code(t, end):  # type: ignore[no-untyped-def]
    """All that decides what can happen at an open end; equal for ends that are alike."""
    tile = i64(t["shows"][end])
    code = i64(t["value"][end]) + 8 * i64(t["counts"][end])
    if LO[tile] == HI[tile]:
        code += 128 * (1 + i64(t["joined"][LO[tile]])) + 2048 * ((i64(t["cross"]) >> end) & 1)
    return code


@jit
def most_points(t, r):  # type: ignore[no-untyped-def]
    """Bound on the points of any one placement."""
    if r["points"][3]:
        return 16
    if r["spinner"] == SPIN_ALL:
        return 100
    return 20 if r["spinner"] == SPIN_NONE else 35


@jit
def reach(t, r, side):  # type: ignore[no-untyped-def]
    """Score of a side if it comes near enough to the target to matter in this round, else -1."""
    own = 0
    others = 0
    for seat in range(i64(r["players"])):
        if side_of(r, seat) == side:
            own += i64(t["held"][seat])
        else:
            others += i64(t["held"][seat])
    yard = 0 if r["draw"] == DRAW_NONE else i64(t["tiles"]) - i64(t["top"])
    gain = (own + yard) * most_points(t, r) + 12 * (others + yard) + 5 * i64(r["players"])
    score = i64(t["scores"][side])
    return score if score + on_board(r, gain) + 1 >= r["target"] else -1


@jit
def is_near(t, r):  # type: ignore[no-untyped-def]
    """Whether a side might reach the target in this round."""
    return reach(t, r, 0) >= 0 or reach(t, r, 1) >= 0


@jit
def hash_of(t, r, salt):  # type: ignore[no-untyped-def]
    """Hash of all that decides the rest of the round; scores count where the target is near."""
    hands = t["hands"]
    key = fold(salt, i64(hands[0]) | (i64(hands[1]) << 28))
    if r["players"] > 2:
        key = fold(key, i64(hands[2]) | (i64(hands[3]) << 28))
    ends = key
    for end in range(i64(t["ends"])):
        ends = add64(ends, mix(np.uint64(end_code(t, end))))
    more = i64(t["turn"]) + 4 * i64(t["top"])
    if r["spinner"] != SPIN_ALL:
        more += 128 * i64(t["spinner"])
    if t["phase"] != PLAY:
        more += (1 + i64(t["pending"])) << 16
        more += (i64(t["phase"]) + 4 * i64(t["mover"])) << 24
    if r["may_draw"]:
        more += i64(t["drew"]) << 32
    key = fold(ends, more)
    if is_near(t, r):
        key = fold(key, (1 + reach(t, r, 0)) + ((1 + reach(t, r, 1)) << 24))
    return key


@jit
def alike(t):  # type: ignore[no-untyped-def]
    """Ends for which a lower one will do as well, as a set."""
    same = 0
    for end in range(i64(t["ends"])):
        code = end_code(t, end)
        for other in range(end):
            if end_code(t, other) == code:
                same |= 1 << end
                break
    return same


@jit
def speak(t):  # type: ignore[no-untyped-def]
    """What to do in a muggins window, 0 or 1: speak up where there is something to claim."""
    return 0 if t["pending"] else 1


@jit
def order_moves(t, r, first, row):  # type: ignore[no-untyped-def]
    """Write the actions worth trying, the most promising first; their number.

    ``first`` goes before all others. Where the target is out of reach, one answer in a muggins
    window is never worse than the other.
    """
    n = legal(t, r, row)
    if t["phase"] != PLAY:
        if not is_near(t, r):
            row[0] = row[speak(t)]
            n = 1
        return n
    bits = i64(r["bits"])
    same = alike(t) if t["played"] else 0
    kept = 0
    for k in range(n):
        action = i64(row[k])
        rank = 0
        if action < 28 << bits:
            tile = action >> bits
            end = action & ((1 << bits) - 1)
            if (same >> end) & 1:
                continue
            rank = 64 * i64(r["points"][total_after(t, tile, end)]) + PIPS[tile]
            if LO[tile] == HI[tile]:
                rank += 8
        if action == first:
            rank = 1 << 14
        at = kept
        while at > 0 and rank > row[at - 1] >> 10:
            row[at] = row[at - 1]
            at -= 1
        row[at] = (rank << 10) + action
        kept += 1
    for k in range(kept):
        row[k] &= 1023
    return kept
