"""The layout: its ends, where a tile fits, and the total that the ends count.

A double counts both halves while at most one tile is joined to it, and nothing after that. Its pips
lie on its long sides still bare: a lone 5-5 shows 5 at each of its two ends. Ends are numbered in
the order in which they open; the set opens 0 and 1.
"""

from fives_env.engine.jit import i64, inlined, jit, lowest
from fives_env.engine.state import NOBODY, SPIN_ALL, SPIN_FIRST, SPIN_SET
from fives_env.tiles import DOUBLES, HI, LO, PIPS, SUITS


@inlined
def is_double(tile):  # type: ignore[no-untyped-def]
    """Whether the two halves of a tile are equal."""
    return (DOUBLES >> tile) & 1


@jit
def bare_sides(t, double, end):  # type: ignore[no-untyped-def]
    """Long sides of ``double`` still open when ``end`` is taken, as a set of ends."""
    if double == t["order"][0]:
        sides = 3
    elif (i64(t["cross"]) >> end) & 1:
        sides = (1 << i64(t["ends"])) - 1
    else:
        return 0  # it was joined by one long side, and `end` is the other
    sides &= ~(i64(t["cross"]) | (1 << end))
    bare = 0
    while sides:
        e = lowest(sides)
        sides &= sides - 1
        bare |= (t["shows"][e] == double) << e
    return bare


@jit
def share_after(t, double, end):  # type: ignore[no-untyped-def]
    """Pips that each bare long side of ``double`` counts once a tile is laid on ``end``."""
    value = LO[double]
    if t["joined"][value] >= 1:
        return 0
    return value if (i64(t["cross"]) >> end) & 1 else 2 * value


@inlined
def total_after(t, tile, end):  # type: ignore[no-untyped-def]
    """Total of the layout once ``tile`` is laid on ``end``."""
    if t["played"] == 0:
        return PIPS[tile]
    value = i64(t["value"][end])
    total = i64(t["total"]) - i64(t["counts"][end])
    total += PIPS[tile] - value + value * is_double(tile)
    below = i64(t["shows"][end])
    if is_double(below):
        bare = bare_sides(t, below, end)
        if bare:
            share = share_after(t, below, end)
            while bare:
                total += share - i64(t["counts"][lowest(bare)])
                bare &= bare - 1
    return total


@jit
def spins(t, r, double):  # type: ignore[no-untyped-def]
    """Whether a double about to be played is a spinner."""
    rule = r["spinner"]
    if rule == SPIN_ALL:
        return True
    if rule == SPIN_FIRST:
        return t["spinner"] == NOBODY
    return rule == SPIN_SET and t["played"] == 0


@jit
def open_end(t, end, tile, value, counts):  # type: ignore[no-untyped-def]
    """Let ``tile`` show ``value`` at ``end``."""
    t["value"][end] = value
    t["counts"][end] = counts
    t["shows"][end] = tile


@jit
def open_cross(t, double):  # type: ignore[no-untyped-def]
    """Open the two cross sides of a spinner as the next free ends."""
    first = i64(t["ends"])
    for end in (first, first + 1):
        open_end(t, end, double, LO[double], 0)
        t["cross"] = i64(t["cross"]) | (1 << end)
    t["ends"] = first + 2


@jit
def join(t, r, double, end):  # type: ignore[no-untyped-def]
    """Tell a double on the layout that a tile is laid on its side ``end``."""
    bare = bare_sides(t, double, end)
    share = share_after(t, double, end)
    both_joined = bare == 0
    while bare:
        t["counts"][lowest(bare)] = share
        bare &= bare - 1
    value = LO[double]
    t["joined"][value] += 1
    on_long_side = not (i64(t["cross"]) >> end) & 1
    is_spinner = r["spinner"] == SPIN_ALL or t["spinner"] == value
    if on_long_side and both_joined and is_spinner and not r["at_once"]:
        open_cross(t, double)


@inlined
def lay(t, r, seat, tile, end):  # type: ignore[no-untyped-def]
    """Put ``tile`` on ``end`` (the set goes to end 0): ends, total, and what fits now."""
    t["total"] = total_after(t, tile, end)
    lo, hi = LO[tile], HI[tile]
    played = i64(t["played"])
    spinning = lo == hi and spins(t, r, tile)
    if played == 0:
        open_end(t, 0, tile, lo, lo)
        open_end(t, 1, tile, hi, hi)
        t["ends"] = 2
    else:
        value = i64(t["value"][end])
        below = i64(t["shows"][end])
        if is_double(below):
            join(t, r, below, end)
        t["cross"] = i64(t["cross"]) & ~(1 << end)
        if lo == hi:
            t["joined"][lo] = 1
            open_end(t, end, tile, value, 2 * value)
        else:
            other = PIPS[tile] - value
            open_end(t, end, tile, other, other)
    if spinning:
        t["spinner"] = lo
        if r["at_once"]:
            open_cross(t, tile)
    t["order"][played] = tile
    t["how"][played] = seat * 16 + end
    t["played"] = played + 1
    suits = 0
    for e in range(i64(t["ends"])):
        suits |= 1 << i64(t["value"][e])
    t["suits"] = suits
    t["fits"] = SUITS[suits]
