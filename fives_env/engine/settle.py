"""Points: awards and losses, the end of a round, and the winners of a game."""

from fives_env.engine.deal import hand_out, shuffled_deal
from fives_env.engine.events import emit
from fives_env.engine.jit import i64, inlined, jit, lowest
from fives_env.engine.lead import find_leader
from fives_env.engine.state import (
    BLOCK_DIFFERENCE,
    BLOCK_NONE,
    BLOCK_OWN,
    BLOCKED,
    DOWN,
    EACH,
    EXACT,
    NOBODY,
    OUT,
    OUT_ONE,
    OUT_OWN,
    OVER,
    PLAY,
    WIN,
)
from fives_env.tiles import PIPS


@jit
def side_of(r, seat):  # type: ignore[no-untyped-def]
    """Side of a seat: seats s and s + sides play together."""
    sides = i64(r["sides"])
    return seat - sides if seat >= sides else seat


@jit
def seat_after(r, seat):  # type: ignore[no-untyped-def]
    """The next seat in turn order."""
    return seat + 1 if seat + 1 < r["players"] else 0


@jit
def on_board(r, points):  # type: ignore[no-untyped-def]
    """Points as the scoreboard counts them: as they are, or in pegs of five."""
    return points if r["peg"] == 1 else points // 5


@jit
def nearest(pips):  # type: ignore[no-untyped-def]
    """Pips rounded to the nearest multiple of five."""
    return 5 * ((pips + 2) // 5)


@jit
def rounded(pips, rule):  # type: ignore[no-untyped-def]
    """A number of pips as points, rounded as one number."""
    if rule == EXACT:
        return pips
    if rule == DOWN:
        return 5 * (pips // 5)
    return nearest(pips)


@jit
def pips_of(hand):  # type: ignore[no-untyped-def]
    """Pips of a set of tiles."""
    pips = 0
    while hand:
        pips += PIPS[lowest(hand)]
        hand &= hand - 1
    return pips


@jit
def hand_pips(t):  # type: ignore[no-untyped-def]
    """Pips in each of the four hands."""
    hands = t["hands"]
    return (
        pips_of(i64(hands[0])),
        pips_of(i64(hands[1])),
        pips_of(i64(hands[2])),
        pips_of(i64(hands[3])),
    )


@jit
def side_pips(pips, r, side):  # type: ignore[no-untyped-def]
    """Pips in the hands of a side together."""
    total = 0
    for seat in range(side, i64(r["players"]), i64(r["sides"])):
        total += pips[seat]
    return total


@jit
def losers_pips(pips, r, side, rule):  # type: ignore[no-untyped-def]
    """Points for the pips in the hands of all seats not on ``side``."""
    total = 0
    points = 0
    for seat in range(i64(r["players"])):
        if side_of(r, seat) != side:
            total += pips[seat]
            points += nearest(pips[seat])
    return points if rule == EACH else rounded(total, rule)


@jit
def award(t, r, seat, amount):  # type: ignore[no-untyped-def]
    """Add ``amount`` (on the scoreboard) to a seat's side unless that is void; what was added."""
    side = side_of(r, seat)
    if r["exact"] and i64(t["scores"][side]) + amount > r["target"]:
        return 0
    t["scores"][side] += amount
    return amount


@jit
def charge(t, r, seat, amount):  # type: ignore[no-untyped-def]
    """Take ``amount`` (on the scoreboard) from a seat's side."""
    t["scores"][side_of(r, seat)] -= amount


@jit
def award_placement(t, r, seat, points):  # type: ignore[no-untyped-def]
    """Award a placement, and in the same award the one for going out with it.

    Returns what the placement added, and what going out added (-1: nothing was decided on it).
    """
    pegs = on_board(r, points)
    if r["out"] != OUT_ONE or t["hands"][seat] != 0:
        return award(t, r, seat, pegs), -1
    if award(t, r, seat, pegs + 1) == 0:
        return 0, 0
    return pegs, 1


@jit
def finish(t):  # type: ignore[no-untyped-def]
    """End the episode."""
    t["phase"] = OVER
    t["turn"] = NOBODY


@inlined
def won(t, r, ev, n):  # type: ignore[no-untyped-def]
    """End the game if a side has reached the target: the highest score wins, equal ones share."""
    best = -1
    for side in range(i64(r["sides"])):
        if t["scores"][side] >= max(best, i64(r["target"])):
            best = i64(t["scores"][side])
    if best < 0:
        return n
    for seat in range(i64(r["players"])):
        if t["scores"][side_of(r, seat)] == best:
            t["winners"] = i64(t["winners"]) | (1 << seat)
            n = emit(ev, n, WIN, seat, -1, -1, 0)
    finish(t)
    return n


@jit
def start_round(t, r, candidate):  # type: ignore[no-untyped-def]
    """Hand out ``order`` and give the turn to the leader."""
    hand_out(t, r)
    t["leader"] = find_leader(t, r, candidate)
    t["turn"] = t["leader"]
    t["phase"] = PLAY


@jit
def end_round(t, r, candidate):  # type: ignore[no-untyped-def]
    """Deal the next round, led by ``candidate`` (-1: by lot) where the winner leads."""
    if r["one_round"]:
        finish(t)
        return
    t["round"] += 1
    shuffled_deal(t, r)
    start_round(t, r, candidate)


@jit
def out(t, r, seat, one, ev, n):  # type: ignore[no-untyped-def]
    """Pay for a round that ``seat`` ended by going out.

    ``one`` is what was already added for going out (``out="one"``), -1 if that is still to be done.
    """
    pips = hand_pips(t)
    if r["out"] == OUT_OWN:
        for loser in range(i64(r["players"])):
            if side_of(r, loser) != side_of(r, seat):
                n = lose(t, r, OUT, loser, on_board(r, nearest(pips[loser])), ev, n)
        return n
    if r["out"] == OUT_ONE:
        points = one if one >= 0 else award(t, r, seat, 1)
    else:
        points = losers_pips(pips, r, side_of(r, seat), r["rounding"])
        points = award(t, r, seat, on_board(r, points))
    return emit(ev, n, OUT, seat, -1, -1, points)


@jit
def lose(t, r, do, seat, amount, ev, n):  # type: ignore[no-untyped-def]
    """Charge a seat at a round's end, and say so."""
    charge(t, r, seat, amount)
    return emit(ev, n, do, seat, -1, -1, -amount)


@jit
def lowest_seat(pips, r):  # type: ignore[no-untyped-def]
    """Seat of the side with the fewest pips, -1 if sides tie for it.

    Of partners it is the one with fewer pips, then the lower seat.
    """
    sides = i64(r["sides"])
    low = 0
    tied = False
    for side in range(1, sides):
        more = side_pips(pips, r, side) - side_pips(pips, r, low)
        if more <= 0:
            low = side
            tied = more == 0
    best = low
    for seat in range(low, i64(r["players"]), sides):
        if pips[seat] < pips[best]:
            best = seat
    return -1 if tied else best


@jit
def blocked(t, r, seat, ev, n):  # type: ignore[no-untyped-def]
    """Pay for a round in which nobody can play; ``seat`` has the fewest pips, -1 after a tie."""
    pips = hand_pips(t)
    rule = r["block"]
    if rule == BLOCK_OWN:
        for loser in range(i64(r["players"])):
            n = lose(t, r, BLOCKED, loser, on_board(r, nearest(pips[loser])), ev, n)
        return n
    if rule != BLOCK_NONE and seat < 0 and r["sides"] == 3:
        split = split_of(pips)
        if split >= 0:
            high = max(pips[0], max(pips[1], pips[2]))
            for side in range(3):
                if pips[side] != high:
                    points = award(t, r, side, on_board(r, split))
                    n = emit(ev, n, BLOCKED, side, -1, -1, points)
            return n
    points = 0
    if rule != BLOCK_NONE and seat >= 0:
        if rule == BLOCK_DIFFERENCE:
            own = side_pips(pips, r, side_of(r, seat))
            points = rounded(pips[0] + pips[1] + pips[2] + pips[3] - 2 * own, r["block_rounding"])
        else:
            points = losers_pips(pips, r, side_of(r, seat), r["block_rounding"])
        points = award(t, r, seat, on_board(r, points))
    return emit(ev, n, BLOCKED, seat, -1, -1, points)


@jit
def split_of(pips):  # type: ignore[no-untyped-def]
    """Award to each of two seats that tie below a third one, -1 if all three tie."""
    high = max(pips[0], max(pips[1], pips[2]))
    low = min(pips[0], min(pips[1], pips[2]))
    return 5 * ((high + 5) // 10) if high > low else -1
