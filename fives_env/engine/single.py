"""The kernels that Python calls for one table: an array of tables, an index, the rules."""

from fives_env.engine import turn, view
from fives_env.engine.jit import i64, jit
from fives_env.engine.layout import lay
from fives_env.engine.redeal import redeal as fill_in
from fives_env.engine.settle import start_round
from fives_env.engine.state import NOBODY


@jit
def reset(tables, i, rules, seed, game):  # type: ignore[no-untyped-def]
    """Start a game from its seed and number."""
    turn.reset(tables[i], rules[0], seed, game)


@jit
def begin(tables, i, rules):  # type: ignore[no-untyped-def]
    """Start the round anew on the deal in ``order``."""
    start_round(tables[i], rules[0], -1)


@jit
def act(tables, i, rules, action, ev, actions):  # type: ignore[no-untyped-def]
    """Do a legal action.

    Returns:
        The numbers of events in ``ev`` and of legal ``actions`` after it, and whether it led to the
        deal of the next round.
    """
    t = tables[i]
    round_ = t["round"]
    n = turn.act(t, rules[0], action, ev)
    return n, turn.legal(t, rules[0], actions), t["round"] != round_


@jit
def legal(tables, i, rules, actions):  # type: ignore[no-untyped-def]
    """Write the legal actions in rising order; their number."""
    return turn.legal(tables[i], rules[0], actions)


@jit
def observe(tables, i, rules, seat, actions, n, row):  # type: ignore[no-untyped-def]
    """Write the observation of a seat, given the legal ``actions[:n]``; its length."""
    return view.encode(tables[i], rules[0], seat, actions, n, row)


@jit
def redact(tables, i, seat):  # type: ignore[no-untyped-def]
    """Blank in place what a seat may not know."""
    view.redact(tables[i], seat)


@jit
def redeal(tables, i, rules, key):  # type: ignore[no-untyped-def]
    """Fill in a redacted record in place; whether a deal was found."""
    return fill_in(tables[i], rules[0], key)


@jit
def joins(tables, i, rules, on):  # type: ignore[no-untyped-def]
    """Lay the layout of a scratch table afresh; ``on[k]`` is the play that play ``k`` joins."""
    t = tables[i]
    r = rules[0]
    played = i64(t["played"])
    t["played"] = 0
    t["spinner"] = NOBODY
    t["cross"] = 0
    for v in range(7):
        t["joined"][v] = 0
    for k in range(played):
        end = i64(t["how"][k]) & 15
        on[k] = -1
        for before in range(k):
            if t["order"][before] == t["shows"][end]:
                on[k] = before
        lay(t, r, i64(t["how"][k]) >> 4, i64(t["order"][k]), end)
