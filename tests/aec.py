"""fives_v0 for the tests: a cover of its arguments, and how to play it."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from fives_env import PRESETS, Rules, fives_v0
from fives_env.tiles import HI, index

SEATS = {
    "2": {"players": 2},
    "3": {"players": 3},
    "4": {"players": 4},
    "partners": {"players": 4, "teams": True},
}
FACTORS = {
    "rules": tuple(PRESETS),
    "seats": tuple(SEATS),
    "forced": ("auto", "act"),
    "reward": ("points", "margin", "win"),
    "episode": ("game", "round"),
    "mask_in_info": (False, True),
}
#: Options that no preset takes.
EXTRA = [
    {"may_draw": True, "forced": "act"},
    {"draw": "one", "reserve": 1, "next_lead": "highest_double", "arms_open": "at_once"},
    {"highest": 2, "tiles": 1, "spinner": "set", "episode": "round"},
    {"out": "own", "block": "own", "target": 300, "players": 3, "reward": "margin"},
    {"rules": "hoyle", "muggins": "next", "false_call": "lose_five", "episode": "round"},
]


def pairwise():
    """Cases in which every two values of every two factors meet: greedily, always the same."""
    products = itertools.product(*FACTORS.values())
    cases = [dict(zip(FACTORS, values, strict=True)) for values in products]

    def pairs(case):
        return set(itertools.combinations(case.items(), 2))

    left, chosen = set().union(*map(pairs, cases)), []
    while left:
        chosen.append(max(cases, key=lambda case: len(pairs(case) & left)))
        left -= pairs(chosen[-1])
    return chosen


def arguments(case):
    """A case of :func:`pairwise` as keywords."""
    return {k: v for k, v in case.items() if k != "seats"} | SEATS[case["seats"]]


COVER = [arguments(case) for case in pairwise()] + EXTRA
every_case = pytest.mark.parametrize("kw", COVER, ids=lambda kw: "-".join(map(str, kw.values())))
every_seats = pytest.mark.parametrize("seats", SEATS.values(), ids=SEATS)
both = pytest.mark.parametrize("make", [fives_v0.raw_env, fives_v0.env], ids=["raw_env", "env"])
copies = pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["copy", "deepcopy", "pickle"],
)


def choose(rng, mask):
    """A legal action at random."""
    return rng.choice(np.flatnonzero(mask).tolist())


def plain(thing):
    """An observation or info as something that ``==`` compares to the byte."""
    return {key: (a.dtype.str, a.shape, a.tobytes()) for key, a in thing.items()}


def one_step(env, rng):
    """Let the agent on turn do something legal; all that could be seen before it."""
    agent = env.agent_selection
    obs, *rest, info = env.last()
    seen = (agent, plain(obs), rest, plain(info), dict(env.rewards), env.table.to_dict())
    env.step(None if env.terminations[agent] else choose(rng, obs["action_mask"]))
    return seen


def rest_of_game(env, rng):
    """Play on until the last agent has left; all that could be seen."""
    seen = []
    while env.agents:
        seen.append(one_step(env, rng))
    return seen


def snapshot(env):
    """All of an environment's state that a refused action must not touch."""
    agents = env.possible_agents
    return (
        env.table.state.tobytes(),
        env.table.legal,
        list(env.table.events),
        env.agent_selection,
        list(env.agents),
        *(dict(d) for d in (env.rewards, env._cumulative_rewards, env.terminations)),
        dict(env.truncations),
        {agent: plain(info) for agent, info in env.infos.items()},
        [plain(env.observe(agent)) for agent in agents],
        env.state().tobytes(),
    )


def scripted(deal_of, **kw):
    """A deal in which each hand begins with the given tiles; the rest is as it comes."""
    rules = Rules.of(kw.pop("rules", None), **kw)
    used = {index(tile) for hand in deal_of for tile in hand}
    spare = [t for t in range(28) if HI[t] <= rules.highest and t not in used]
    deal: list[int] = []
    for hand in deal_of:
        more = rules.tiles - len(hand)
        deal += [index(tile) for tile in hand] + spare[:more]
        del spare[:more]
    return deal + spare
