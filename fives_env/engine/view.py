"""What one seat may see: the observation, the action mask and the redacted record.

An observation is a row of ``uint8`` counts. Seats are relative: 0 is the viewer, 1 the next to
play. :data:`LAYOUT` names the fields in order; :func:`fields` gives their slices under some rules
and :func:`scale` the factors that turn counts into float32 in [0, 1].
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.jit import get8, i64, inlined, jit, lowest, put8
from fives_env.engine.layout import is_double, total_after
from fives_env.engine.settle import side_of
from fives_env.engine.state import BLANK, NOBODY, PLAY, RULES
from fives_env.engine.turn import legal
from fives_env.tiles import LO

#: Raised whenever the fields, their order or their meaning change.
ENCODING = 1

SHOWN = RULES["shown"].shape[0]

#: Field, its size for P players and E ends, and the count that scales to 1.
LAYOUT: tuple[tuple[str, Any, Any], ...] = (
    ("hand", lambda p, e: 28, 1),
    ("unseen", lambda p, e: 28, 1),
    ("laid", lambda p, e: 28 * p, 1),
    ("points", lambda p, e: 28 * e, "total"),
    ("end_value", lambda p, e: 7 * e, 1),
    ("end_counts", lambda p, e: e, 12),
    ("total", lambda p, e: 1, "total"),
    ("spinner", lambda p, e: 7, 5),
    ("boneyard", lambda p, e: 1, 28),
    ("held", lambda p, e: p, 28),
    ("cap", lambda p, e: 8 * p, 7),
    ("barred", lambda p, e: 28, 1),
    ("to_go", lambda p, e: p, 255),
    ("far", lambda p, e: p, 255),
    ("partner", lambda p, e: p, 1),
    ("leader", lambda p, e: p, 1),
    ("turn", lambda p, e: p, 1),
    ("mover", lambda p, e: p, 1),
    ("phase", lambda p, e: 4, 1),
    ("drew", lambda p, e: 1, 1),
    ("passes", lambda p, e: 1, 4),
    ("rules", lambda p, e: SHOWN, "rules"),
)

#: Largest count of the rules field's bytes, in the order in which ``Rules`` writes them.
SHOWN_MAX = np.array(
    [14, 6, 3, 1, 3, 3, 2, 2, 1, 1, 1, 3, 2, 3, 3, 255, 255, 1, 2, 1, 1, 1, 1, 3], np.float32
)

#: The bits of each byte as eight bytes, lowest first.
SPREAD = np.array(
    [sum((byte >> bit & 1) << (8 * bit) for bit in range(8)) for byte in range(256)], np.int64
)


def largest_total(n_ends: int) -> int:
    """Bound at which totals and points are clipped in the observation (never below 40)."""
    return 100 if n_ends == 16 else 40


def fields(rules: Any) -> dict[str, slice]:
    """Slice of each field of an observation, by name."""
    slices, start = {}, 0
    for name, size, _ in LAYOUT:
        stop = start + size(rules.players, rules.n_ends)
        slices[name] = slice(start, stop)
        start = stop
    return slices


def size(rules: Any) -> int:
    """Length of an observation."""
    return int(fields(rules)["rules"].stop)


def scale(rules: Any) -> NDArray[np.float32]:
    """Factors, shape (size,), that turn an observation into float32 in [0, 1]."""
    factors = np.empty(size(rules), np.float32)
    for (name, part), (_, _, most) in zip(fields(rules).items(), LAYOUT, strict=True):
        if most == "total":
            most = largest_total(rules.n_ends)
        factors[part] = 1 / SHOWN_MAX if name == "rules" else 1 / most
    return factors


# Fields are written from the first to the last, mostly eight bytes at a time: what is too much is
# overwritten by the fields behind, and the last one, the rules, fits exactly. Masks that change
# nothing (`& 7`) tell the compiler that an index is not negative, which would count from the end.


@inlined
def n_players(r):  # type: ignore[no-untyped-def]
    """Number of seats."""
    return i64(r["players"]) & 7


@inlined
def end_bits(r):  # type: ignore[no-untyped-def]
    """Bits of an action that name its end."""
    return i64(r["bits"]) & 7


@inlined
def write_bits(bits, row, at):  # type: ignore[no-untyped-def]
    """Write a set of up to 28 bits, mostly tiles, as 28 bytes; the position behind them."""
    for k in range(4):
        put8(row, at + 8 * k, SPREAD[(bits >> (8 * k)) & 255])
    return at + 28


@inlined
def write_seat(seat, viewer, players, row, at):  # type: ignore[no-untyped-def]
    """Write a seat, or none, one-hot and relative to the viewer; the position behind it."""
    k = turned(seat - viewer + players, players)
    put8(row, at, 1 << (8 * k) if seat != NOBODY else 0)
    return at + players


@inlined
def turned(seat, players):  # type: ignore[no-untyped-def]
    """``seat`` modulo ``players`` for seats below twice that, without a division."""
    return (seat - players if seat >= players else seat) & 3


@inlined
def write_points(t, r, viewer, most, actions, n, row, at):  # type: ignore[no-untyped-def]
    """Write the points of each placement open to the viewer; the position behind them."""
    bits = end_bits(r)
    extra = 28 << bits
    row[at : at + extra] = 0
    if t["muggins"] or t["turn"] != viewer or t["phase"] != PLAY:
        return at + extra
    if t["played"] == 0:
        write_set_points(t, r, viewer, most, row, at)
    else:
        for k in range(n):
            action = i64(actions[k])
            if action < extra:
                total = total_after(t, action >> bits, action & ((1 << bits) - 1))
                row[at + action] = min(most, i64(r["points"][total]))
    return at + extra


@jit
def write_set_points(t, r, viewer, most, row, at):  # type: ignore[no-untyped-def]
    """Write the points of setting each tile of the viewer's hand, whether it must be one or not."""
    tiles = i64(t["hands"][viewer])
    while tiles:
        tile = lowest(tiles)
        tiles &= tiles - 1
        row[at + (tile << end_bits(r))] = min(most, i64(r["points"][total_after(t, tile, 0)]))


@inlined
def write_ends(t, r, most, row, at):  # type: ignore[no-untyped-def]
    """Write the open ends, the total and the doubles that spin; the position behind them."""
    n_ends = 1 << end_bits(r)
    counted = not t["muggins"]
    for first in range(0, n_ends, 4):
        shown = 0
        for k in range(4):
            value = min(7, i64(t["value"][first + k]))  # NOBODY's bit falls off
            shown |= ((1 << value) & 127) << (7 * k)
        write_bits(shown, row, at + 7 * first)
    at += 7 * n_ends
    for first in range(0, n_ends, 8):
        put8(row, at + first, get8(t["counts"], first) if counted else 0)
    at += n_ends
    put8(row, at, min(most, i64(t["total"])) if counted else 0)
    at += 1
    if n_ends == 16:
        for i in range(i64(t["played"])):
            tile = i64(t["order"][i])
            if is_double(tile):
                row[at + LO[tile]] = 1 + t["joined"][LO[tile]]
    elif t["spinner"] != NOBODY:
        row[at + i64(t["spinner"])] = 1 + t["joined"][t["spinner"]]
    return at + 7


@inlined
def write_scores(t, r, viewer, row, at):  # type: ignore[no-untyped-def]
    """Write each seat's distance to the target: exact to 255, then in steps of 64 above that."""
    players = n_players(r)
    for k in range(players):
        side = side_of(r, turned(viewer + k, players))
        to_go = max(0, i64(r["target"]) - i64(t["scores"][side]))
        row[at + k] = min(255, to_go)
        row[at + players + k] = min(255, (max(0, to_go - 255) + 63) // 64)
    return at + 2 * players


@jit
def encode(t, r, viewer, actions, n, row):  # type: ignore[no-untyped-def]
    """Write the observation of seat ``viewer`` into ``row``, field after field; its length.

    ``actions[:n]`` are the legal actions of the seat on turn.
    """
    players = n_players(r)
    most = 100 if r["bits"] == 4 else 40
    hand = i64(t["hands"][viewer])
    laid = t["laid"]
    seen = hand | i64(laid[0]) | i64(laid[1]) | i64(laid[2]) | i64(laid[3])
    at = write_bits(hand, row, 0)
    at = write_bits(i64(r["everything"]) & ~seen, row, at)
    for k in range(players):
        at = write_bits(i64(laid[turned(viewer + k, players)]), row, at)
    at = write_points(t, r, viewer, most, actions, n, row, at)
    at = write_ends(t, r, most, row, at)
    row[at] = i64(t["tiles"]) - i64(t["top"])
    at += 1
    for k in range(players):
        row[at + k] = t["held"][turned(viewer + k, players)]
    at += players
    for k in range(players):
        at = write_cap(t["cap"][turned(viewer + k, players)], row, at)
    at = write_bits(i64(t["barred"]), row, at)
    at = write_scores(t, r, viewer, row, at)
    partner = turned(viewer + i64(r["sides"]), players)
    at = write_seat(partner if partner != viewer else NOBODY, viewer, players, row, at)
    at = write_seat(i64(t["leader"]), viewer, players, row, at)
    at = write_seat(i64(t["turn"]), viewer, players, row, at)
    at = write_seat(i64(t["mover"]), viewer, players, row, at)
    put8(row, at, 1 << (8 * i64(t["phase"])))
    row[at + 4] = t["drew"]
    row[at + 5] = t["passes"]
    at += 6
    for first in range(0, SHOWN, 8):
        put8(row, at + first, get8(r["shown"], first))
    return at + SHOWN


@inlined
def write_cap(cap, row, at):  # type: ignore[no-untyped-def]
    """Write what a seat can hold of each suit, and of the tiles barred by a lead."""
    put8(row, at, get8(cap, 0))
    row[at + 7] = min(7, i64(cap[7]))
    return at + 8


@inlined
def write_mask(actions, n, row):  # type: ignore[no-untyped-def]
    """Write 1 for each of ``actions[:n]`` and 0 elsewhere."""
    row[:] = 0
    for k in range(n):
        row[actions[k]] = 1


@inlined
def show(t, r, scratch, obs, mask):  # type: ignore[no-untyped-def]
    """Write observation and mask of the seat on turn; how many actions are legal.

    These are left in ``scratch``, in rising order.
    """
    n = legal(t, r, scratch)
    encode(t, r, i64(t["turn"]), scratch, n, obs)
    write_mask(scratch, n, mask)
    return n


@jit
def redact(t, seat):  # type: ignore[no-untyped-def]
    """Blank, in place, all that ``seat`` may not know."""
    t["viewer"] = seat
    t["seed"] = BLANK
    t["game"] = BLANK
    for other in range(4):
        if other != seat:
            t["hands"][other] = 0
    for i in range(i64(t["played"]), 28):
        t["order"][i] = NOBODY
    if t["muggins"]:
        t["total"] = 0
        t["pending"] = 0
        for end in range(16):
            t["counts"][end] = 0
