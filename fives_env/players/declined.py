"""What a seat's plays tell about its hand: tiles that would have scored more, and were not played.

Hardly anybody passes points by. With two seats that play greedily, a tile that the other seat has
declined is in its hand one time in fifty, with two tacticians one in eight; any other unseen tile
is there four times in ten. It may have been drawn since, or kept on purpose.
"""

from fives_env.engine.jit import i64, jit
from fives_env.engine.layout import lay, total_after
from fives_env.engine.lead import lead_rule
from fives_env.engine.redeal import take_up
from fives_env.engine.state import LEAD_HIGHEST
from fives_env.players.tactician import BOTH, FIVES, landing, write_bases
from fives_env.tiles import PIPS


@jit
def dearer(t, r, points, bases):  # type: ignore[no-untyped-def]
    """Tiles that score more than ``points`` if they are laid next; ``bases`` is scratch."""
    tiles = 0
    if t["played"] == 0:
        for tile in range(28):
            tiles |= (r["points"][PIPS[tile]] > points) << tile
        return tiles
    most = write_bases(t, bases)
    for total in BOTH if r["points"][3] else FIVES:
        if r["points"][total] <= points:
            break
        if total <= most:
            tiles |= landing(t, total, bases)
    return tiles


@jit
def write_declined(t, r, layout, bases, declined):  # type: ignore[no-untyped-def]
    """Write the tiles that each seat but the one on turn has declined in this round.

    Args:
        t: The table.
        r: Its rules.
        layout: A table on which the layout is laid once more.
        bases: Scratch, one for each end.
        declined: Out: sets of tiles by seat, int64, (4,).
    """
    take_up(layout)
    for seat in range(4):
        declined[seat] = 0
    turn = i64(t["turn"])
    for i in range(i64(t["played"])):
        seat = i64(t["how"][i]) >> 4
        end = i64(t["how"][i]) & 15
        tile = i64(t["order"][i])
        if seat != turn and (i > 0 or lead_rule(t, r) != LEAD_HIGHEST):
            points = i64(r["points"][total_after(layout, tile, end)])
            declined[seat] |= dearer(layout, r, points, bases)
        lay(layout, r, seat, tile, end)
