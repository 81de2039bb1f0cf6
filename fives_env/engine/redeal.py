"""A deal that a redacted record allows, drawn uniformly.

What is publicly known of a seat is ``cap``: the most tiles of each suit that it can hold. Suits
with cap 0 rule tiles out beforehand. Hands are then drawn seat by seat from the tiles allowed,
which favours deals that leave little to the later seats; rejection with the ratio of the numbers
of choices left takes that out exactly. The remaining caps are met by rejection as well.
"""

import numpy as np

from fives_env.engine.deal import below, mix
from fives_env.engine.jit import i64, jit, lowest, popcount
from fives_env.engine.layout import lay
from fives_env.engine.state import ANNOUNCE, CALL, NOBODY
from fives_env.tiles import SUIT

#: Tries after which a record is taken to allow no deal at all.
TRIES = 1_000_000


@jit
def allowed(t, unseen, seat):  # type: ignore[no-untyped-def]
    """Unseen tiles that a seat can hold at all."""
    tiles = unseen
    for v in range(7):
        if t["cap"][seat][v] == 0:
            tiles &= ~SUIT[v]
    if t["cap"][seat][7] == 0:
        tiles &= ~i64(t["barred"])
    return tiles


@jit
def obeys_caps(t, seat, hand):  # type: ignore[no-untyped-def]
    """Whether a hand keeps to what is known of the seat."""
    for v in range(7):
        if popcount(hand & SUIT[v]) > t["cap"][seat][v]:
            return False
    return popcount(hand & i64(t["barred"])) <= t["cap"][seat][7] or t["barred"] == 0


@jit
def pick(tiles, k):  # type: ignore[no-untyped-def]
    """The ``k``-th tile (from 0) of a set."""
    for _ in range(k):
        tiles &= tiles - 1
    return lowest(tiles)


@jit
def draw_hands(t, r, unseen, key, counter):  # type: ignore[no-untyped-def]
    """One try at the other seats' hands; the counter behind it, negative if it was rejected."""
    before = 0  # tiles that earlier seats could hold
    before_held = 0
    taken = 0
    chance = 1.0
    for seat in range(i64(r["players"])):
        if seat == t["viewer"]:
            continue
        held = i64(t["held"][seat])
        can = allowed(t, unseen, seat)
        most = popcount(can) - max(0, before_held - popcount(before & ~can))
        free = can & ~taken
        n = popcount(free)
        hand = 0
        for i in range(held):
            if n - i <= 0:
                return -counter
            chance *= (n - i) / (most - i)
            bit = 1 << pick(free & ~hand, below(key, counter, n - i))
            counter += 1
            hand |= bit
        if not obeys_caps(t, seat, hand):
            return -counter
        t["hands"][seat] = hand
        taken |= hand
        before |= can
        before_held += held
    counter += 1
    if below(key, counter, 1 << 31) >= chance * (1 << 31):
        return -counter
    return counter


@jit
def relay(t, r):  # type: ignore[no-untyped-def]
    """Lay the layout afresh, so that the total and the ends' counts are there."""
    played = i64(t["played"])
    t["played"] = 0
    t["spinner"] = NOBODY
    t["cross"] = 0
    t["ends"] = 0
    for v in range(7):
        t["joined"][v] = 0
    for i in range(played):
        lay(t, r, i64(t["how"][i]) >> 4, i64(t["order"][i]), i64(t["how"][i]) & 15)
    if t["phase"] == ANNOUNCE or t["phase"] == CALL:
        t["pending"] = r["points"][t["total"]]


@jit
def redeal(t, r, key):  # type: ignore[no-untyped-def]
    """Fill in a redacted record, in place, with a deal drawn uniformly from those it allows.

    Returns:
        False if no deal was found that obeys the caps.
    """
    seen = i64(t["hands"][t["viewer"]])
    for seat in range(4):
        seen |= i64(t["laid"][seat])
    unseen = i64(r["everything"]) & ~seen
    counter = 1
    for attempt in range(TRIES + 1):
        if attempt == TRIES:
            return False
        counter = draw_hands(t, r, unseen, key, abs(counter) + 1)
        if counter > 0:
            break
    for seat in range(i64(r["players"])):
        unseen &= ~i64(t["hands"][seat])
    top = i64(t["top"])
    n = 0
    while unseen:
        t["order"][top + n] = lowest(unseen)
        unseen &= unseen - 1
        n += 1
    for i in range(n - 1, 0, -1):
        counter += 1
        j = below(key, counter, i + 1)
        t["order"][top + i], t["order"][top + j] = t["order"][top + j], t["order"][top + i]
    t["seed"] = mix(np.uint64(key)) >> np.uint64(1)
    t["game"] = 0
    t["viewer"] = NOBODY
    if t["muggins"]:
        relay(t, r)
    return True
