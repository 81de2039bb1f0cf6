"""Who leads a round, and with which tile."""

from fives_env.engine.deal import lot
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import LEAD_ANY, LEAD_HIGHEST, LEAD_LEFT
from fives_env.tiles import HI, LO, PIPS


@jit
def heaviest(tiles):  # type: ignore[no-untyped-def]
    """Highest double of a set of tiles, else its heaviest tile (most pips, then higher half)."""
    best = -1
    best_weight = -1
    for tile in range(28):
        if (tiles >> tile) & 1:
            weight = PIPS[tile] * 8 + HI[tile]
            if LO[tile] == HI[tile]:
                weight += 1000
            if weight > best_weight:
                best = tile
                best_weight = weight
    return best


@jit
def above(tile):  # type: ignore[no-untyped-def]
    """Tiles that would have led instead of ``tile``, had a hand held one."""
    mask = 0
    for other in range(28):
        if other != tile and heaviest((1 << tile) | (1 << other)) == other:
            mask |= 1 << other
    return mask


@jit
def lead_rule(t, r):  # type: ignore[no-untyped-def]
    """How the leader of this table's round is found."""
    return r["lead"] if t["round"] == 0 else r["next_lead"]


@jit
def must_set(t, r):  # type: ignore[no-untyped-def]
    """Tile that the seat on turn must set, -1 where it may set any."""
    if lead_rule(t, r) != LEAD_HIGHEST:
        return -1
    return heaviest(i64(t["hands"][t["turn"]]))


@jit
def find_leader(t, r, candidate):  # type: ignore[no-untyped-def]
    """Leader of the round just dealt; ``candidate`` is who would by the winner's right, or -1.

    ``t["leader"]`` still names the last round's leader.
    """
    rule = lead_rule(t, r)
    if rule == LEAD_HIGHEST:
        dealt = 0
        for seat in range(i64(r["players"])):
            dealt |= i64(t["hands"][seat])
        tile = heaviest(dealt)
        for seat in range(i64(r["players"])):
            if (i64(t["hands"][seat]) >> tile) & 1:
                return seat
    if rule == LEAD_LEFT:
        return (i64(t["leader"]) + 1) % i64(r["players"])
    if rule == LEAD_ANY or candidate < 0:
        return lot(t, r)
    return candidate
