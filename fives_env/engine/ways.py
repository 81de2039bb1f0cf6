"""The number of ways to complete a deal that obeys what is known of every seat.

What is publicly known of a seat is ``cap``: the most tiles of each suit that it can hold. A plan
takes the tiles that some cap concerns one by one and counts, for every *state* (tiles that each
seat still takes, and what is left of its caps), the ways to complete the deal. Caps for which the
states have no room, the loosest ones, are left out.
"""

import numpy as np

from fives_env.engine.jit import i64, jit, lowest, popcount
from fives_env.tiles import SUIT

#: States that a plan has room for; hands alone need at most 1000.
STATES = 1024

PLAN = np.dtype(
    [
        ("states", "i8"),
        ("hands", "i8"),  # states of the hands alone, which are the lowest
        ("caps", "i8"),  # the caps that a state holds, as a set of seat * 8 + suit
        ("worth", "i8", (36,)),  # what one of a hand, or (from 4 on) of a cap, is worth in a state
        ("layers", "i8"),  # tiles that some cap concerns
        ("tile", "i8", (28,)),  # these tiles
        ("needs", "i8", (28, 4)),  # by tile and seat: what a state must have left, -1: never
        ("takes", "i8", (28, 4)),  # what it is lowered by
        ("free", "i8"),  # tiles that no cap concerns
        ("bone", "i8"),  # tiles that nobody can hold
        ("loose", "i8"),  # whether some cap was left out
    ]
)
#: Ways to choose k of n, as floats that are whole.
CHOOSE = np.zeros((29, 29))
CHOOSE[:, 0] = 1
for _n in range(1, 29):
    for _k in range(1, _n + 1):
        CHOOSE[_n, _k] = CHOOSE[_n - 1, _k - 1] + CHOOSE[_n - 1, _k]


@jit
def hidden(t, r):  # type: ignore[no-untyped-def]
    """Tiles that a redacted record shows nowhere."""
    seen = i64(t["hands"][t["viewer"]])
    for seat in range(4):
        seen |= i64(t["laid"][seat])
    return i64(r["everything"]) & ~seen


@jit
def concerned(t, v):  # type: ignore[no-untyped-def]
    """Tiles that the ``v``-th cap is about: a suit, or (7) those that a lead barred."""
    return SUIT[v] if v < 7 else i64(t["barred"])


@jit
def allowed(t, unseen, seat):  # type: ignore[no-untyped-def]
    """Unseen tiles that a seat can hold at all."""
    tiles = unseen
    for v in range(8):
        if t["cap"][seat][v] == 0:
            tiles &= ~concerned(t, v)
    return tiles


@jit
def obeys_caps(t, seat, hand):  # type: ignore[no-untyped-def]
    """Whether a hand keeps to what is known of the seat."""
    for v in range(8):
        if popcount(hand & concerned(t, v)) > t["cap"][seat][v] and (v < 7 or t["barred"]):
            return False
    return True


@jit
def add_digit(plan, left, digit, most):  # type: ignore[no-untyped-def]
    """Give the states one more digit, 0 to ``most``; the worth of one in it."""
    states = plan["states"]
    for k in range(1, most + 1):
        for state in range(states):
            left[k * states + state] = left[state] | (1 << digit)
    plan["states"] = states * (most + 1)
    return states


@jit
def tightest(t, unseen, open_):  # type: ignore[no-untyped-def]
    """The cap, as seat * 8 + suit, that binds most among the set ``open_``; -1 if none binds."""
    best = -1
    most = 0.0
    for k in range(32):
        if (open_ >> k) & 1:
            seat = k >> 3
            cap = i64(t["cap"][seat][k & 7])
            held = i64(t["held"][seat])
            can = allowed(t, unseen, seat)
            some = popcount(can & concerned(t, k & 7))
            if 0 < cap < min(held, some):
                tight = held * some / (popcount(can) * cap)
                if tight > most:
                    most = tight
                    best = k
    return best


@jit
def write_states(t, r, voids, unseen, plan, left):  # type: ignore[no-untyped-def]
    """Choose what a state holds: every hand, then the tightest caps for which there is room."""
    plan["states"] = 1
    plan["caps"] = 0
    plan["loose"] = 0
    left[0] = 0
    open_ = 0
    plan["worth"][:] = 0
    for seat in range(i64(r["players"])):
        if seat != t["viewer"]:
            plan["worth"][seat] = add_digit(plan, left, seat, i64(t["held"][seat]))
            open_ |= 255 << (8 * seat)
    plan["hands"] = plan["states"]
    while voids:
        k = tightest(t, unseen, open_)
        if k < 0:
            break
        open_ &= ~(1 << k)
        cap = i64(t["cap"][k >> 3][k & 7])
        if plan["states"] * (cap + 1) > STATES:
            plan["loose"] = 1
        else:
            plan["worth"][4 + k] = add_digit(plan, left, 4 + k, cap)
            plan["caps"] |= 1 << k


@jit
def write_tiles(t, r, voids, unseen, plan):  # type: ignore[no-untyped-def]
    """Choose the tiles that are planned, and write what giving each of them to a seat takes."""
    everyone = unseen
    anyone = 0
    planned = 0
    for seat in range(i64(r["players"])):
        if seat != t["viewer"] and t["held"][seat]:
            can = allowed(t, unseen, seat) if voids else unseen
            everyone &= can
            anyone |= can
            for v in range(8):
                if (plan["caps"] >> (8 * seat + v)) & 1:
                    planned |= can & concerned(t, v)
    plan["bone"] = unseen & ~anyone
    planned |= anyone & ~everyone
    plan["free"] = anyone & ~planned
    n = 0
    while planned:
        tile = lowest(planned)
        planned &= planned - 1
        plan["tile"][n] = tile
        for seat in range(4):
            plan["needs"][n][seat] = -1
            if seat < r["players"] and seat != t["viewer"]:
                can = allowed(t, unseen, seat) if voids else unseen
                if (can >> tile) & 1:
                    needs = 1 << seat
                    takes = plan["worth"][seat]
                    for v in range(8):
                        k = 8 * seat + v
                        if (plan["caps"] >> k) & 1 and (concerned(t, v) >> tile) & 1:
                            needs |= 1 << (4 + k)
                            takes += plan["worth"][4 + k]
                    plan["needs"][n][seat] = needs
                    plan["takes"][n][seat] = takes
        n += 1
    plan["layers"] = n


@jit
def count_ways(t, plan, left, ways):  # type: ignore[no-untyped-def]
    """Count, from the last planned tile back to the first, the ways to complete a deal."""
    layers = plan["layers"]
    states = plan["states"]
    free = popcount(plan["free"])
    last = ways[layers]
    for state in range(plan["hands"]):
        rest = free
        number = 1.0
        code = state
        for seat in range(4):
            if plan["worth"][seat]:  # not the viewer
                base = i64(t["held"][seat]) + 1
                take = code % base
                code //= base
                number *= CHOOSE[rest, take]
                rest = max(0, rest - take)
        last[state] = number
    for state in range(plan["hands"], states):
        last[state] = last[state - plan["hands"]]
    for k in range(layers - 1, -1, -1):
        for state in range(states):
            number = ways[k + 1, state]
            for seat in range(4):
                needs = plan["needs"][k][seat]
                if needs & left[state] == needs:
                    number += ways[k + 1, state - plan["takes"][k][seat]]
            ways[k, state] = number
