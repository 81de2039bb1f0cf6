"""What fives_v0 pays, and how its games end."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from fives_env import fives_v0
from tests.aec import choose, every_seats, one_step, rest_of_game, scripted, snapshot


def margins(scores):
    """By side: own score less the mean of the others'."""
    return [own - Fraction(sum(scores) - own, len(scores) - 1) for own in scores]


def by_side(env, values):
    """Values by seat, partners' being the same, as values by side."""
    sides = env.table.rules.sides
    assert all(value == values[seat % sides] for seat, value in enumerate(values))
    return values[:sides]


def play_and_add_up(env, rng, each_step):
    """Play a game; the rewards of each agent as ``rewards`` and as ``last()`` give them."""
    agents = env.possible_agents
    since, sums, lasts = (dict.fromkeys(agents, 0.0) for _ in range(3))
    while env.agents:
        agent = env.agent_selection
        obs, reward, done, _, _ = env.last()
        assert reward == since[agent] and type(reward) is float
        lasts[agent] += reward
        since[agent] = 0.0
        before = by_side(env, env.table.scores)
        env.step(None if done else choose(rng, obs["action_mask"]))
        for name, paid in env.rewards.items():
            since[name] += paid
            sums[name] += paid
        if not done:
            after = by_side(env, env.table.scores)
            each_step(by_side(env, list(env.rewards.values())), before, after)
    assert since == dict.fromkeys(agents, 0.0)
    return by_side(env, list(sums.values())), by_side(env, list(lasts.values()))


CHANGING = [
    {},
    {"out": "own", "block": "own"},
    {"rules": "muggins", "false_call": "lose_five"},
    {"rules": "five_up", "forced": "act"},
    {"rules": "fives_and_threes"},
]


@every_seats
@pytest.mark.parametrize("kw", CHANGING, ids=str)
def test_points_are_the_changes_of_the_score(kw, seats):
    env, rng, paid, lost = fives_v0.env(**kw, **seats, episode="round"), random.Random(2), 0, 0

    def each_step(rewards, before, after):
        nonlocal paid, lost
        assert rewards == [new - old for new, old in zip(after, before, strict=True)]
        paid += sum(reward > 0 for reward in rewards)
        lost += sum(reward < 0 for reward in rewards)

    for game in range(25):
        start = [3 * (seat % env.unwrapped.table.rules.sides) for seat in range(seats["players"])]
        env.reset(seed=None if game else 6, options={"scores": start})
        sums, lasts = play_and_add_up(env, rng, each_step)
        end = by_side(env, env.table.scores)
        assert sums == lasts == [e - s for e, s in zip(end, by_side(env, start), strict=True)]
    assert paid > 20
    assert (lost > 0) == (kw.get("out") == "own" or "false_call" in kw)


@every_seats
@pytest.mark.parametrize("kw", CHANGING, ids=str)
def test_margins_add_up_to_zero(kw, seats):
    env = fives_v0.env(reward="margin", **kw, **seats, episode="round")
    rng, paid = random.Random(3), 0

    def each_step(rewards, before, after):
        nonlocal paid
        change = [new - old for new, old in zip(after, before, strict=True)]
        wanted = margins(change)
        for order in itertools.permutations(rewards):
            assert sum(order) == 0.0
        assert all(abs(r - w) < 1e-9 for r, w in zip(rewards, wanted, strict=True))
        if len(rewards) < 4:
            assert rewards == wanted
        paid += any(rewards)

    sides = env.unwrapped.table.rules.sides
    for game in range(25):
        start = [(0, -999_999, 6, 9)[seat % sides] for seat in range(seats["players"])]
        env.reset(seed=None if game else 6, options={"scores": start})
        sums, lasts = play_and_add_up(env, rng, each_step)
        assert sums == lasts and sum(sums) == 0.0
        end = by_side(env, env.table.scores)
        wanted = margins([e - s for e, s in zip(end, by_side(env, start), strict=True)])
        for got, exact in zip(sums, wanted, strict=True):
            assert abs(got - exact) < 1e-10
            assert got == exact or exact.denominator == 3
    assert paid > 20


def test_margins_of_four_do_not_drift():
    env = fives_v0.env(players=4, reward="margin", target=10_000)
    env.reset(seed=1)
    sums, lasts = play_and_add_up(env, random.Random(1), lambda *_: None)
    wanted = margins(env.table.scores)
    assert sums == lasts and max(env.table.scores) >= 10_000
    for got, exact in zip(sums, wanted, strict=True):
        assert abs(got - exact) < 1e-10
        assert got == exact or exact.denominator == 3


def wins(winners, sides):
    """What a win pays by side, winners being sides."""
    share = [Fraction(side in winners, len(winners)) for side in range(sides)]
    return [float(own - (1 - own) / (sides - 1)) for own in share]


@every_seats
def test_a_won_game_pays_one(seats):
    env, rng, winners = fives_v0.env(reward="win", target=40, **seats), random.Random(3), set()
    sides = env.unwrapped.table.rules.sides
    paid = []

    def each_step(rewards, before, after):
        paid.append(rewards)

    for game in range(20):
        env.reset(seed=None if game else 1)
        paid.clear()
        sums, lasts = play_and_add_up(env, rng, each_step)
        (winner,) = {seat % sides for seat in env.table.winners}
        winners.add(winner)
        assert paid[-1] == [1.0 if side == winner else -1 / (sides - 1) for side in range(sides)]
        assert not np.any(paid[:-1])
        assert sums == lasts == paid[-1]
    assert winners == set(range(sides))


@every_seats
def test_a_round_is_won_by_the_highest_score(seats):
    env = fives_v0.env(reward="win", episode="round", highest=3, tiles=2, block="none", **seats)
    rng, met = random.Random(4), set()
    sides = env.unwrapped.table.rules.sides
    for game in range(300):
        env.reset(seed=None if game else 1)
        sums, lasts = play_and_add_up(env, rng, lambda *_: None)
        scores = by_side(env, env.table.scores)
        best = {side for side in range(sides) if scores[side] == max(scores)}
        assert not env.table.winners and sums == lasts == wins(best, sides)
        assert abs(sum(sums)) < 1e-15
        met.add(len(best))
    assert met >= {1, sides}


def test_a_shared_game_pays_shares():
    hands = [["6-6", "4-2"], ["2-0", "3-1"], ["5-5", "5-4"]]
    kw = {"players": 3, "tiles": 2, "draw": "none", "target": 200}
    deal = scripted(hands, **kw)
    scores = {(195, 195, 0): [0.25, 0.25, -0.5], (195, 180, 0): [1.0, -0.5, -0.5]}
    for start, wanted in scores.items():
        env = fives_v0.env(reward="win", **kw)
        env.reset(seed=0, options={"deal": deal, "leader": 0, "scores": list(start)})
        env.step(env.table.rules.action("6-6@0"))
        assert env.table.over and env.table.scores == [start[0] + 10, start[1] + 10, 0]
        assert list(env.rewards.values()) == wanted
    assert wins({0}, 2) == [1, -1] and wins({0, 1}, 2) == [0, 0]
    assert wins({0, 1}, 3) == [0.25, 0.25, -0.5]


def test_all_agents_end_together_and_leave_with_none(caplog):
    env = fives_v0.env(episode="round", players=3)
    env.reset(seed=1)
    rng = random.Random(0)
    while not env.table.over:
        assert not any(env.terminations.values())
        mover = env.table.turn
        one_step(env, rng)
    assert env.agent_selection == f"player_{(mover + 1) % 3}"
    assert env.agents == env.possible_agents and all(env.terminations.values())
    for left in (2, 1, 0):
        with pytest.raises(ValueError, match="the only valid action is None"):
            env.step(3)
        env.step(None)
        assert env.num_agents == left and list(env.rewards.values()) == [0.0] * left
    env.step(None)
    assert "step() called after all agents are terminated" in caplog.text
    with pytest.raises(ValueError, match=r"^step\(\) needs a game in progress: call reset\(\) fir"):
        env.unwrapped.step(None)
    env.reset()
    assert env.agents == env.possible_agents and not any(env.terminations.values())


def test_reset_while_agents_leave():
    env = fives_v0.env(episode="round", players=3)
    env.reset(seed=1)
    fresh = snapshot(env)
    while env.num_agents == 3:
        one_step(env, random.Random(0))
    env.reset(seed=1)
    assert snapshot(env) == fresh
    assert len({step[0] for step in rest_of_game(env, random.Random(0))[-3:]}) == 3
