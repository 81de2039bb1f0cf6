"""The turn cycle: what is legal, and what an action does, forced moves included.

Every function here works on one table ``t`` and its rules ``r``. Events go to ``ev``, an array of
rows (do, seat, tile, end, points), from row ``n`` on, where it has room; the new ``n`` is returned.
"""

from fives_env.engine.deal import shuffled_deal
from fives_env.engine.events import emit
from fives_env.engine.jit import i64, inlined, jit, lowest
from fives_env.engine.layout import lay
from fives_env.engine.lead import above, lead_rule, must_set
from fives_env.engine.muggins import announce, ask_next, call
from fives_env.engine.settle import (
    award_placement,
    blocked,
    end_round,
    hand_pips,
    lowest_seat,
    out,
    seat_after,
    start_round,
    won,
)
from fives_env.engine.state import (
    A_ANNOUNCE,
    A_CALL,
    A_DRAW,
    A_PASS,
    ANNOUNCE,
    BY_BLOCK,
    BY_OUT,
    BY_TARGET,
    DRAW_NONE,
    DRAW_ONE,
    DREW,
    LEAD_HIGHEST,
    LET_GO,
    MUGGINS_OFF,
    NOBODY,
    OVER,
    PASSED,
    PLACE,
    PLAY,
    SET,
    SILENT,
)
from fives_env.tiles import HI, LO, SUIT


@jit
def reset(t, r, seed, game):  # type: ignore[no-untyped-def]
    """Start game number ``game`` of ``seed``: scores 0, first round dealt."""
    t["seed"] = seed
    t["game"] = game
    t["round"] = 0
    for side in range(4):
        t["scores"][side] = 0
    t["winners"] = 0
    t["ended"] = 0
    t["viewer"] = NOBODY
    shuffled_deal(t, r)
    start_round(t, r, -1)


@jit
def can_draw(t, r):  # type: ignore[no-untyped-def]
    """Whether the seat on turn may take a tile from the boneyard, able to place or not."""
    if t["played"] == 0 or r["draw"] == DRAW_NONE or (r["draw"] == DRAW_ONE and t["drew"]):
        return False
    return i64(t["tiles"]) - i64(t["top"]) > r["reserve"]


@jit
def playable(t):  # type: ignore[no-untyped-def]
    """Tiles of the seat on turn that fit the layout (before the set: all of them)."""
    hand = i64(t["hands"][t["turn"]])
    return hand & i64(t["fits"]) if t["played"] else hand


@jit
def legal(t, r, out_):  # type: ignore[no-untyped-def]
    """Write the legal actions in rising order into ``out_``; their number."""
    n = 0
    phase = t["phase"]
    if phase == OVER:
        return 0
    bits = i64(r["bits"])
    extra = 28 << bits
    if phase != PLAY:
        first = extra + (A_ANNOUNCE if phase == ANNOUNCE else A_CALL)
        out_[0] = first
        out_[1] = first + 1
        return 2
    tiles = playable(t)
    if t["played"] == 0:
        tile = must_set(t, r)
        if tile >= 0:
            tiles = 1 << tile
        while tiles:
            out_[n] = lowest(tiles) << bits
            tiles &= tiles - 1
            n += 1
        return n
    ends = i64(t["ends"])
    while tiles:
        tile = lowest(tiles)
        tiles &= tiles - 1
        for end in range(ends):
            out_[n] = (tile << bits) + end
            n += (SUIT[t["value"][end]] >> tile) & 1  # without a branch, which would be a guess
    if n == 0 or r["may_draw"]:
        if can_draw(t, r):
            out_[n] = extra + A_DRAW
            n += 1
        elif n == 0:
            out_[0] = extra + A_PASS
            n = 1
    return n


@jit
def prove_void(t):  # type: ignore[no-untyped-def]
    """Note that the seat on turn holds none of the suits that are open."""
    for v in range(7):
        if (i64(t["suits"]) >> v) & 1:
            t["cap"][t["turn"]][v] = 0


@jit
def draw(t, r, ev, n):  # type: ignore[no-untyped-def]
    """The seat on turn takes the next boneyard tile."""
    seat = i64(t["turn"])
    if not r["may_draw"]:
        prove_void(t)
    top = i64(t["top"])
    tile = i64(t["order"][top])
    t["order"][top] = NOBODY
    t["top"] = top + 1
    t["hands"][seat] = i64(t["hands"][seat]) | (1 << tile)
    t["held"][seat] += 1
    suit = i64(r["highest"]) + 1
    for v in range(7):
        t["cap"][seat][v] = min(suit, i64(t["cap"][seat][v]) + 1)
    if t["barred"]:
        t["cap"][seat][7] += 1
    t["drew"] = 1
    t["passes"] = 0
    return emit(ev, n, DREW, seat, tile, -1, 0)


@jit
def next_turn(t, r):  # type: ignore[no-untyped-def]
    """Give the turn to the next seat."""
    t["turn"] = seat_after(r, i64(t["turn"]))
    t["drew"] = 0


@jit
def pass_turn(t, r, ev, n):  # type: ignore[no-untyped-def]
    """The seat on turn passes."""
    prove_void(t)
    n = emit(ev, n, PASSED, t["turn"], -1, -1, 0)
    t["passes"] += 1
    next_turn(t, r)
    return n


@inlined
def note_play(t, r, seat, tile):  # type: ignore[no-untyped-def]
    """Move a tile from a hand to the layout's side of the books, and what is known with it."""
    bit = 1 << tile
    t["hands"][seat] = i64(t["hands"][seat]) & ~bit
    t["laid"][seat] = i64(t["laid"][seat]) | bit
    t["held"][seat] -= 1
    t["passes"] = 0
    t["mover"] = seat
    lower_caps(t, r, t["cap"][seat], tile)
    t["drew"] = 0
    if t["played"] == 0 and lead_rule(t, r) == LEAD_HIGHEST:
        t["barred"] = above(tile)


@jit
def lower_caps(t, r, cap, tile):  # type: ignore[no-untyped-def]
    """Note that a seat has one tile less of its suits.

    One that had to draw lays the last tile drawn, since nothing else fits: its hand is what it was
    before that, and so is all that is known of it.
    """
    if t["drew"] and not r["may_draw"]:
        for v in range(7):
            cap[v] -= 1
        cap[7] -= t["barred"] != 0
        return
    cap[LO[tile]] -= 1
    if LO[tile] != HI[tile]:
        cap[HI[tile]] -= 1
    if (i64(t["barred"]) >> tile) & 1:
        cap[7] -= 1


@inlined
def place(t, r, action, ev, n):  # type: ignore[no-untyped-def]
    """Lay a tile, count, and award or ask; ``(events, one)`` as :func:`award_placement` has it."""
    bits = i64(r["bits"])
    tile = action >> bits
    end = action & ((1 << bits) - 1)
    seat = i64(t["turn"])
    do = PLACE if t["played"] else SET
    note_play(t, r, seat, tile)
    lay(t, r, seat, tile, end)
    points = i64(r["points"][t["total"]])
    one = -1
    if r["muggins"] != MUGGINS_OFF:
        t["pending"] = points
        t["phase"] = ANNOUNCE
        points = 0
    else:
        points, one = award_placement(t, r, seat, points)
    return emit(ev, n, do, seat, tile, end, points), one


@jit
def forced_move(t, r):  # type: ignore[no-untyped-def]
    """The draw or pass that the seat on turn cannot avoid, -1 if it has a choice."""
    if r["act"] or t["phase"] != PLAY or t["played"] == 0 or playable(t):
        return -1
    return A_DRAW if can_draw(t, r) else A_PASS


@inlined
def play_forced(t, r, move, ev, n):  # type: ignore[no-untyped-def]
    """Draw or pass as ``move`` says (-1: neither), then as long as nothing else can be done."""
    if move < 0:
        move = forced_move(t, r)
    while move >= 0:
        n = draw(t, r, ev, n) if move == A_DRAW else pass_turn(t, r, ev, n)
        if t["passes"] == r["players"]:
            break
        move = forced_move(t, r)
    return n


@jit
def act(t, r, action, ev):  # type: ignore[no-untyped-def]
    """Do a legal action, and under ``forced="auto"`` all that follows of itself.

    Returns:
        The number of events; those beyond the length of ``ev`` are not written.
    """
    extra = action - (28 << i64(r["bits"]))
    move = extra if extra == A_DRAW or extra == A_PASS else -1
    n = 0
    one = -1
    if extra < 0:
        n, one = place(t, r, action, ev, 0)
    elif extra == A_ANNOUNCE:
        n, one = announce(t, r, ev, 0)
    elif extra == A_CALL:
        n = call(t, r, ev, 0)
    elif move < 0:
        do = SILENT if t["phase"] == ANNOUNCE else LET_GO
        n = emit(ev, 0, do, t["turn"], -1, -1, 0)
        ask_next(t, r)
    if t["phase"] != PLAY:
        return n

    how = 0
    candidate = i64(t["mover"])
    if move < 0:  # a placement is complete: test the target, then see whether the mover is out
        t["turn"] = candidate
        t["pending"] = 0
        if one < 0:
            n = won(t, r, ev, n)
        if t["phase"] == OVER:
            t["ended"] = BY_TARGET
            return n
        if t["hands"][candidate] == 0:
            how = BY_OUT
            n = out(t, r, candidate, one, ev, n)
        else:
            next_turn(t, r)
    if how == 0:
        n = play_forced(t, r, move, ev, n)
        if t["passes"] == r["players"]:
            how = BY_BLOCK
            candidate = lowest_seat(hand_pips(t), r)
            n = blocked(t, r, candidate, ev, n)
    if how:
        n = end(t, r, how, candidate, ev, n)
    return n


@jit
def end(t, r, how, candidate, ev, n):  # type: ignore[no-untyped-def]
    """Test the target after a settlement, and deal the next round if the game goes on."""
    n = won(t, r, ev, n)
    t["ended"] = how if t["phase"] != OVER else BY_TARGET
    if t["phase"] != OVER:
        end_round(t, r, candidate)
    return n
