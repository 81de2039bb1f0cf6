"""The kernels of one learning seat a table: play on to its next decision, pay it, begin again.

``t`` is a table, ``r`` its rules, ``e`` its ``EPISODE``, ``cast`` who plays. Compiled players act
here; where another must be asked, that is written into ``e`` and the table left as it stands.
"""

import numpy as np

from fives_env.engine import batch
from fives_env.engine.deal import SEAT, below, key_of, players_key
from fives_env.engine.jit import i64, jit
from fives_env.engine.settle import side_of
from fives_env.engine.state import OVER
from fives_env.engine.turn import act
from fives_env.engine.turn import reset as start
from fives_env.engine.view import encode, show, turned
from fives_env.envs.rewards import GRAIN
from fives_env.players.compiled import EXTERNAL, RANDOM, choose

#: What an environment keeps about a table's episode, and what it tells (``INFO``).
EPISODE = np.dtype(
    [
        ("key", "u8"),  # of the players' randomness
        ("paid", "i8"),  # margin that rewards have added up to, in units of 1 / GRAIN
        ("reward", "f8"),  # of the last step
        ("sum", "f8"),  # rewards of the episode that ended with the last step
        ("steps", "i4"),  # and its decisions
        ("length", "i4"),  # decisions of the episode in progress
        ("asks", "i4"),  # number of the player that is asked next, 0 for the learner
        ("done", "i4"),  # whether the last step ended an episode
        ("scores", "i4", (4,)),  # by seat, the learner's first
        ("seat", "i4"),  # of the learner
        ("round", "i4"),
        ("illegal", "i4"),  # actions replaced in this episode
        ("final_scores", "i4", (4,)),  # the same of the episode that ended, where another began
        ("final_seat", "i4"),
        ("final_round", "i4"),
        ("final_illegal", "i4"),
    ],
    align=True,
)
INFO = ("scores", "seat", "round", "illegal")

#: Who plays: one record for all tables. ``kind`` and ``who`` are by seat, the learner's first.
CAST = np.dtype(
    [
        ("seat", "i4"),  # of the learner, or one of SEATS
        ("restart", "i4"),  # whether a step that ends an episode also begins the next
        ("kind", "i4", (4,)),  # the compiled player, or EXTERNAL
        ("who", "i4", (4,)),  # number of the player that is asked, 0 for the learner
    ]
)
#: Rules for the learner's seat that are no number.
SEATS = {"rotate": -1, "random": -2}
_ROTATE, _BY_LOT = SEATS.values()


@jit
def margin(t, r, seat):  # type: ignore[no-untyped-def]
    """Margin of a seat's side in units of 1 / GRAIN, exactly as :mod:`.rewards` counts it."""
    sides = i64(r["sides"])
    total = 0
    for side in range(sides):
        total += i64(t["scores"][side])
    own = side_of(r, seat)
    if own < sides - 1:
        return GRAIN * (sides * i64(t["scores"][own]) - total) // (sides - 1)
    others = 0
    for side in range(sides - 1):
        others += GRAIN * (sides * i64(t["scores"][side]) - total) // (sides - 1)
    return -others


@jit
def seat_of(rule, seed, game, players):  # type: ignore[no-untyped-def]
    """Seat of the learner in a game of a seed."""
    if rule == _ROTATE:
        n = np.uint64(players)
        return i64((seed % n + game % n) % n)
    if rule == _BY_LOT:
        return below(key_of(seed, game, 0, SEAT), 0, players)
    return i64(rule)


@jit
def begin(t, r, e, cast, seed, game):  # type: ignore[no-untyped-def]
    """Deal a game and seat the learner."""
    start(t, r, seed, game)
    e["key"] = players_key(seed, game, 0)
    e["seat"] = seat_of(cast["seat"], seed, game, i64(r["players"]))
    e["illegal"] = 0
    e["length"] = 0
    e["paid"] = 0


@jit
def pay(t, r, e):  # type: ignore[no-untyped-def]
    """Reward the learner with what its margin has changed since the last time."""
    now = margin(t, r, i64(e["seat"]))
    e["reward"] = (now - i64(e["paid"])) / GRAIN
    e["paid"] = now


@jit
def write_info(t, r, e):  # type: ignore[no-untyped-def]
    """Write the scores and the round."""
    players = i64(r["players"])
    for k in range(players):
        e["scores"][k] = t["scores"][side_of(r, turned(i64(e["seat"]) + k, players))]
    e["round"] = t["round"]


@jit
def finish(t, r, e):  # type: ignore[no-untyped-def]
    """Close the books on an episode that has ended."""
    pay(t, r, e)
    write_info(t, r, e)
    e["done"] = 1
    e["sum"] = i64(e["paid"]) / GRAIN
    e["steps"] = e["length"]


@jit
def keep_info(e):  # type: ignore[no-untyped-def]
    """Keep what is told of the episode that has ended."""
    for k in range(4):
        e["final_scores"][k] = e["scores"][k]
    e["final_seat"] = e["seat"]
    e["final_round"] = e["round"]
    e["final_illegal"] = e["illegal"]


@jit
def go(t, r, e, cast, i, obs, mask, final_obs, none, scratch):  # type: ignore[no-untyped-def]
    """Play on at table ``i`` until somebody outside must be asked or the episode has ended."""
    e["asks"] = 0
    while True:
        seat = i64(e["seat"])
        if t["phase"] == OVER:
            if e["length"]:
                finish(t, r, e)
                if not cast["restart"]:
                    encode(t, r, seat, scratch, 0, obs[i])
                    mask[i] = 1  # whatever is done next is ignored
                    return
                encode(t, r, seat, scratch, 0, final_obs[i])
                keep_info(e)
            begin(t, r, e, cast, t["seed"], t["game"] + np.uint64(1))
            continue
        k = i64(t["turn"]) - seat
        if k < 0:
            k += i64(r["players"])
        kind = cast["kind"][k]
        if kind == EXTERNAL:
            break
        act(t, r, choose(kind, t, r, batch.decision_key(t, e["key"]), scratch), none)
    e["asks"] = cast["who"][k]
    if e["asks"] == 0:
        if e["length"]:
            pay(t, r, e)
        write_info(t, r, e)
        show(t, r, scratch, obs[i], mask[i])


@jit
def reset(  # type: ignore[no-untyped-def]
    tables, rules, episodes, cast, obs, mask, final_obs, none, seeds, games, chosen, scratch, lo, hi
):
    """Begin an episode at the tables ``lo`` to ``hi`` that are ``chosen``."""
    for i in range(lo, hi):
        if chosen[i]:
            t, r, e = tables[i], rules[0], episodes[i]
            e["reward"] = 0.0
            e["done"] = 0
            begin(t, r, e, cast[0], seeds[i], games[i])
            go(t, r, e, cast[0], i, obs, mask, final_obs, none, scratch)


@jit
def step(tables, rules, episodes, cast, obs, mask, final_obs, none, actions, scratch, lo, hi):  # type: ignore[no-untyped-def]
    """Do the learner's actions; where the last step ended an episode, begin the next instead.

    An action that is not legal is replaced by a random one that is.
    """
    for i in range(lo, hi):
        t, r, e = tables[i], rules[0], episodes[i]
        e["reward"] = 0.0
        e["done"] = 0
        if t["phase"] == OVER:
            begin(t, r, e, cast[0], t["seed"], t["game"] + np.uint64(1))
        else:
            action = i64(actions[i])
            if not batch.allowed(mask, i, action):
                action = choose(RANDOM, t, r, batch.decision_key(t, e["key"]), scratch)
                e["illegal"] += 1
            act(t, r, action, none)
            e["length"] += 1
        go(t, r, e, cast[0], i, obs, mask, final_obs, none, scratch)


@jit
def answer(  # type: ignore[no-untyped-def]
    tables, rules, episodes, cast, obs, mask, final_obs, none, index, actions, scratch, lo, hi
):
    """Do the actions of a player that was asked, at the tables ``index[lo:hi]``."""
    for k in range(lo, hi):
        i = index[k]
        t, r, e = tables[i], rules[0], episodes[i]
        act(t, r, i64(actions[k]), none)
        go(t, r, e, cast[0], i, obs, mask, final_obs, none, scratch)


@jit
def asking(episodes, number, index):  # type: ignore[no-untyped-def]
    """Write the tables that wait for a player into ``index``; their number."""
    n = 0
    for i in range(len(episodes)):
        if episodes[i]["asks"] == number:
            index[n] = i
            n += 1
    return n


@jit
def first_illegal(episodes, restart, mask, actions):  # type: ignore[no-untyped-def]
    """The first table whose action is not legal, -1 if all are."""
    for i in range(len(mask)):
        waits = episodes[i]["done"] and not restart
        if not waits and not batch.allowed(mask, i, i64(actions[i])):
            return i
    return -1


@jit
def pick(tables, i, rules, kind, key, scratch):  # type: ignore[no-untyped-def]
    """Action of a compiled player at one table, keyed as in :func:`go`."""
    t = tables[i]
    return choose(kind, t, rules[0], batch.decision_key(t, key), scratch)
