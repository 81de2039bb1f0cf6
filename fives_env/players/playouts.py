"""Worlds played out: what each candidate action brings in deals that the seat on turn may believe.

One decision at a time: :func:`begin` plans the deals and lists the candidates, :func:`play_worlds`
plays every candidate that is still in the race in each of some worlds, on common luck.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.deal import fold
from fives_env.engine.jit import i64, jit, popcount
from fives_env.engine.redeal import Deals, deal, new_deals, prepare, unit
from fives_env.engine.settle import side_of
from fives_env.engine.state import OVER, PLAY, new_tables
from fives_env.engine.turn import act, legal
from fives_env.players.compiled import TACTICIAN, choose
from fives_env.players.declined import write_declined
from fives_env.players.solver import Board, new_board, solve
from fives_env.players.tactician import write_worths
from fives_env.players.values import (
    Desk,
    Net,
    copy,
    distinct,
    lone,
    new_desk,
    think,
    write_values,
)

#: Candidates that a decision can have.
MOST = 128
#: Worlds between two looks at the race.
LAP = 16
#: Worlds that the tactician's opinion weighs as much as; it settles what few worlds leave open.
PRIOR = 20
#: Variance of the difference between two candidates in one world, before worlds have shown it, in
#: square points; and how many worlds that weighs as much as.
SPREAD, SUPPOSED = 400, 16
#: Deals after which one is played that its holder's plays speak against.
DEALS = 64
#: Stands among compiled players for the room's own network.
NETWORK = -2


class Room(NamedTuple):
    """Room for a search, of one thread and of one set of rules.

    Attributes:
        board: Room for exact play.
        deals: Room for planning deals.
        tables: The redacted record, a world, and the world played on, ``STATE``, (3,).
        legal: The legal actions, int32, (n_actions,); behind them scratch.
        row: Scratch, int32, (n_actions,).
        candidates: Those of them that differ, int32, (MOST,).
        racing: Whether each is still in the race, bool, (MOST,).
        visits: Worlds that each was played in, int64, (MOST,).
        outcome: What each brought in the present world, float64, (MOST,).
        sums: The sum of that over its worlds, float64, (MOST,).
        products: Sums of products of two candidates' outcomes, float64, (MOST, MOST).
        prior: What each is worth before any world, for all the worlds that this weighs as much as,
            float64, (MOST,).
        weight: How many these are, float64, (1,).
        declined: Tiles that each seat has declined, int64, (4,).
        exact: Scratch of exact values, int64, (MOST,).
        net: The network that plays worlds out, if one does.
        desk: Room for it.
        guide: The network that settles what worlds leave open, if there is one.
        guide_desk: Room for it.
    """

    board: Board
    deals: Deals
    tables: NDArray[Any]
    legal: NDArray[np.int32]
    row: NDArray[np.int32]
    candidates: NDArray[np.int32]
    racing: NDArray[np.bool_]
    visits: NDArray[np.int64]
    outcome: NDArray[np.float64]
    sums: NDArray[np.float64]
    products: NDArray[np.float64]
    prior: NDArray[np.float64]
    weight: NDArray[np.float64]
    declined: NDArray[np.int64]
    exact: NDArray[np.int64]
    net: Net
    desk: Desk
    guide: Net
    guide_desk: Desk


def new_room(n_actions: int, slots: int, most: int, net: Net, guide: Net) -> Room:
    """Room for a search; ``slots`` and ``most`` as for :func:`.solver.new_board`."""
    return Room(
        new_board(n_actions, slots, most),
        new_deals(),
        new_tables(3),
        np.zeros(n_actions, np.int32),
        np.zeros(n_actions, np.int32),
        np.zeros(MOST, np.int32),
        np.zeros(MOST, np.bool_),
        np.zeros(MOST, np.int64),
        np.zeros(MOST),
        np.zeros(MOST),
        np.zeros((MOST, MOST)),
        np.zeros(MOST),
        np.zeros(1),
        np.zeros(4, np.int64),
        np.zeros(MOST, np.int64),
        net,
        new_desk(net),
        guide,
        new_desk(guide),
    )


@jit
def lead_of(t, r, side):  # type: ignore[no-untyped-def]
    """What a side is ahead of the mean of the others; a game won or lost counts a tenth of it."""
    sides = i64(r["sides"])
    total = 0
    for other in range(sides):
        total += i64(t["scores"][other])
    own = i64(t["scores"][side])
    lead = own - (total - own) / (sides - 1)
    if t["winners"]:
        bonus = i64(r["target"]) / 10
        lead += bonus if (i64(t["winners"]) >> side) & 1 else -bonus / (sides - 1)
    return lead


@jit
def answer(t, r, kind, player, desk, key, row):  # type: ignore[no-untyped-def]
    """Action of a compiled player, or of a network if ``kind`` is ``NETWORK``."""
    if kind == NETWORK:
        return think(player, desk, t, r, row)
    return choose(kind, t, r, key, row)


@jit
def play_out(t, r, side, kind, turns, player, desk, key, none, row):  # type: ignore[no-untyped-def]
    """Play a table on to the round's end, in place, and say how far a side is ahead then.

    Args:
        t: The table.
        r: Its rules.
        side: The side.
        kind: Compiled player that plays on, or ``NETWORK``.
        turns: Decisions with a choice that it makes, -1: all. The tactician makes the others.
        player: The network.
        desk: Room for it.
        key: All randomness.
        none: An empty event buffer.
        row: Scratch for actions.
    """
    k = 0
    while t["phase"] != OVER:
        action = lone(t, row, legal(t, r, row))
        if action < 0:
            who = kind if k < turns or turns < 0 else TACTICIAN
            action = answer(t, r, who, player, desk, fold(key, k), row)
            k += 1
        act(t, r, action, none)
    return lead_of(t, r, side)


@jit
def write_prior(t, r, room, n, weight):  # type: ignore[no-untyped-def]
    """Write what the candidates are worth to the guide, or to the tactician."""
    if len(room.guide.bias) == 0:
        write_worths(t, r, room.candidates, n, room.row, room.prior)
        weight = PRIOR
    else:
        write_values(room.guide, room.guide_desk, t, r, room.candidates, n)
        copy(room.prior, room.guide_desk.values[:n])
    room.weight[0] = weight
    for k in range(n):
        room.prior[k] *= weight


@jit
def begin(record, r, voids, weight, room):  # type: ignore[no-untyped-def]
    """Plan the worlds of a redacted record and list its candidates; how many there are.

    The guide's opinion, if there is one, weighs as much as ``weight`` worlds.
    """
    room.tables[0] = record
    t = room.tables[0]
    plan, left, ways = room.deals
    if not prepare(t, r, voids, plan, left, ways):
        prepare(t, r, False, plan, left, ways)
    n = legal(t, r, room.legal)
    copy(room.row, room.legal[:n])
    kept = min(MOST, distinct(t, r, room.row, n))
    copy(room.candidates, room.row[:kept])
    room.prior[:kept] = 0
    room.weight[0] = 0
    write_declined(t, r, room.tables[1], room.row, room.declined)
    if kept > 1 and t["phase"] == PLAY:
        write_prior(t, r, room, kept, weight)
    room.racing[:kept] = True
    room.visits[:kept] = 0
    room.sums[:kept] = 0
    room.products[:kept, :kept] = 0
    return kept


@jit
def deal_likely(t, r, room, doubt, key):  # type: ignore[no-untyped-def]
    """Fill in a redacted record, tiles that their holder has declined being rarer than others.

    A deal is taken with a chance of ``doubt`` for each such tile.
    """
    plan, left, ways = room.deals
    viewer = i64(t["viewer"])
    for k in range(DEALS):
        t["viewer"] = viewer
        if not deal(t, r, plan, left, ways, fold(key, k)):
            return False
        chance = 1.0
        for seat in range(i64(r["players"])):
            if seat != viewer:
                chance *= doubt ** popcount(i64(t["hands"][seat]) & room.declined[seat])
        if unit(fold(key, k) ^ key, 0) < chance:
            break
    return True


@jit
def solve_world(room, r, n, doubt, key):  # type: ignore[no-untyped-def]
    """Write the exact values of the candidates in the world of ``key``; False if it is too much."""
    room.board.tables[0] = room.tables[0]
    if not deal_likely(room.board.tables[0], r, room, doubt, key):
        return False
    return solve(room.board, r, room.candidates, n, room.exact)


@jit
def play_world(room, r, n, side, kind, depth, doubt, key):  # type: ignore[no-untyped-def]
    """Write what the candidates in the race bring in the world of ``key``, played out."""
    none = room.board.none
    room.tables[1] = room.tables[0]
    if not deal_likely(room.tables[1], r, room, doubt, key):
        return False
    before = lead_of(room.tables[0], r, side)
    for k in range(n):
        if room.racing[k]:
            room.tables[2] = room.tables[1]
            t = room.tables[2]
            act(t, r, i64(room.candidates[k]), none)
            lead = play_out(t, r, side, kind, depth, room.net, room.desk, key, none, room.row)
            room.outcome[k] = lead - before
    return True


@jit
def play_worlds(room, r, n, kind, depth, exact, doubt, key, first, last):  # type: ignore[no-untyped-def]
    """Play the ``n`` candidates in the worlds number ``first`` to ``last``.

    Worlds whose hands together hold no more than ``exact`` tiles are solved, not played out.
    """
    base = room.tables[0]
    side = side_of(r, i64(base["turn"]))
    held = 0
    for seat in range(4):
        held += i64(base["held"][seat])
    solving = held <= exact and r["sides"] == 2
    for number in range(first, last):
        world = fold(key, number)
        if solving and solve_world(room, r, n, doubt, world):
            for k in range(n):
                room.outcome[k] = room.exact[k]
        elif not play_world(room, r, n, side, kind, depth, doubt, world):
            return
        for k in range(n):
            if room.racing[k]:
                room.visits[k] += 1
                room.sums[k] += room.outcome[k]
                for other in range(k + 1):
                    if room.racing[other]:
                        room.products[k, other] += room.outcome[k] * room.outcome[other]
        if (number + 1) % LAP == 0 and drop_behind(room, n) == 1:
            return


@jit
def leader(room, n):  # type: ignore[no-untyped-def]
    """The candidate in the race with the largest mean, opinions included."""
    best = -1
    most = 0.0
    for k in range(n):
        if room.racing[k]:
            total = room.sums[k] + room.prior[k]
            if best < 0 or total > most:
                best = k
                most = total
    return best


@jit
def drop_behind(room, n):  # type: ignore[no-untyped-def]
    """Take candidates out of the race that are behind the leader by three standard errors.

    Opinions count as the worlds that they weigh as much as, before the first world as all.

    Returns:
        How many are left.
    """
    best = leader(room, n)
    left = 1
    worlds = room.visits[best]
    for k in range(n):
        if room.racing[k] and k != best:
            ahead = room.sums[best] - room.sums[k]
            square = room.products[best, best] + room.products[k, k]
            square -= 2 * room.products[max(k, best), min(k, best)]
            square = max(0.0, square - ahead * ahead / max(1, worlds))
            variance = (square + SUPPOSED * SPREAD) / (worlds + SUPPOSED)
            ahead += room.prior[best] - room.prior[k]
            if ahead > 0 and ahead * ahead > 9 * variance * (worlds + room.weight[0]):
                room.racing[k] = False
            else:
                left += 1
    return left
