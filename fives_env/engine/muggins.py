"""Muggins: points must be announced, and may be called by others where they were not."""

from fives_env.engine.events import emit
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import award, award_placement, charge, on_board, seat_after, side_of
from fives_env.engine.state import ANNOUNCED, CALL, CALLED, MUGGINS_NEXT, PLAY


@jit
def false_call(t, r, seat):  # type: ignore[no-untyped-def]
    """What a seat's side gains by speaking up for nothing: zero or less."""
    loss = on_board(r, 5) if r["lose"] else 0
    charge(t, r, seat, loss)
    return -loss


@jit
def announce(t, r, ev, n):  # type: ignore[no-untyped-def]
    """The mover claims what its placement scores; ``(events, one)`` as in ``award_placement``."""
    seat = i64(t["turn"])
    one = -1
    if t["pending"]:
        points, one = award_placement(t, r, seat, i64(t["pending"]))
    else:
        points = false_call(t, r, seat)
    t["phase"] = PLAY
    return emit(ev, n, ANNOUNCED, seat, -1, -1, points), one


@jit
def call(t, r, ev, n):  # type: ignore[no-untyped-def]
    """Another seat claims the points that the mover left."""
    seat = i64(t["turn"])
    points = 0
    if t["pending"] == 0:
        points = false_call(t, r, seat)
    elif r["take"]:
        points = award(t, r, seat, on_board(r, i64(t["pending"])))
    t["phase"] = PLAY
    return emit(ev, n, CALLED, seat, -1, -1, points)


@jit
def ask_next(t, r):  # type: ignore[no-untyped-def]
    """Ask the next seat of another side whether it calls, or close the window."""
    mover = i64(t["mover"])
    seat = i64(t["turn"])
    if t["phase"] == CALL and r["muggins"] == MUGGINS_NEXT:
        seat = mover - 1
    t["phase"] = PLAY
    for _ in range(i64(r["players"])):
        seat = seat_after(r, seat)
        if seat == mover:
            return
        if side_of(r, seat) != side_of(r, mover):
            t["phase"] = CALL
            t["turn"] = seat
            return
