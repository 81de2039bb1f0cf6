"""fives_v0: PettingZoo's own tests over a cover of the arguments, and what those do not look at."""

import copy
import importlib
import itertools
import pickle
import random
import re
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.wrappers import BaseWrapper

from fives_env import PRESETS, IllegalAction, Rules, Table, fives_v0
from fives_env.engine import view
from fives_env.envs import AEC_ID, register_aec
from fives_env.tiles import HI, LO, NAMES, PIPS, index

#: Not under its own names, which pytest would collect.
zoo_state = importlib.import_module("pettingzoo.test.state_test")

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


# --- PettingZoo's tests -------------------------------------------------------------------------

#: What PettingZoo says of every environment with a mask that is not on its list of them.
KNOWN_WARNINGS = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box",
    "Action mask numpy array is all zeros (no legal actions).",  # of agents that are done
)


def check_api(env, cycles):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=cycles)
    strange = [str(w.message) for w in caught if not str(w.message).startswith(KNOWN_WARNINGS)]
    assert strange == []


class Lawful(BaseWrapper):
    """Replaces an illegal action by a legal one: the test of states samples without a mask."""

    def step(self, action):
        legal = self.table.legal
        super().step(action if action is None or action in legal else legal[0])


def test_cover_holds_every_pair():
    cases = pairwise()
    for (one, ones), (two, twos) in itertools.combinations(FACTORS.items(), 2):
        met = {(case[one], case[two]) for case in cases}
        assert met == set(itertools.product(ones, twos))
    assert len(cases) <= 35


@every_case
def test_api(kw):
    check_api(fives_v0.env(**kw), 30)


@both
def test_api_for_a_thousand_cycles(make):
    env = make(target=10_000)
    check_api(env, 1000)
    check_api(make(), 1000)
    assert env.table.game >= 0


@every_case
def test_seeds_repeat(kw):
    seed_test(lambda: fives_v0.env(**kw), num_cycles=25)


@every_case
def test_state(kw):
    env = Lawful(fives_v0.env(**kw))
    zoo_state.test_state_space(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zoo_state.test_state(env, num_cycles=15)
    space = env.state_space
    assert space.dtype == env.state().dtype == np.float32 and space is env.state_space
    everything = [env.observe(agent)["observation"] for agent in env.possible_agents]
    assert np.array_equal(env.state(), np.concatenate(everything))


def test_make_by_name():
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    env = pettingzoo.make("aec", AEC_ID, players=3, reward="margin")
    assert type(env) is type(fives_v0.env()) and str(env) == "fives_v0"
    assert env.unwrapped.reward == "margin" and env.max_num_agents == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # registering twice would warn
        register_aec()


def test_a_pettingzoo_without_a_registry_will_do():
    code = (
        "import sys, pettingzoo; sys.modules['pettingzoo.env_registry.registration'] = None\n"
        "from fives_env import fives_v0; env = fives_v0.env(); env.reset(seed=1)\n"
        "print(env.agent_selection)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"player_[01]\n", done.stdout)


# --- what the API promises beyond them ----------------------------------------------------------


@every_case
def test_every_step_keeps_the_conventions(kw):
    env, rng = fives_v0.raw_env(**kw), random.Random(5)
    n = env.table.rules.n_actions
    kept = [(env.observation_space(a), env.action_space(a)) for a in env.possible_agents]
    assert len({id(space) for pair in kept for space in pair}) == 2 * env.table.rules.players
    assert all(isinstance(space, spaces.Discrete) and space.n == n for _, space in kept)
    for _ in range(2):
        env.reset(seed=11)
        assert env.agents == env.possible_agents == [f"player_{s}" for s in range(len(kept))]
        for step in itertools.count():
            over = env.table.over
            for d in (env.rewards, env.terminations, env.truncations, env.infos):
                assert list(d) == env.agents
            assert all(type(r) is float for r in env.rewards.values())
            assert all(t is over for t in env.terminations.values())
            assert all(t is False for t in env.truncations.values())
            for agent, (space, _) in zip(env.possible_agents, kept, strict=True):
                obs = env.observe(agent)
                assert space.contains(obs) and env.observation_space(agent) is space
                mask = np.zeros(n, np.int8)
                if not over and agent == env.agent_selection:
                    mask[env.table.legal] = 1
                    assert agent == f"player_{env.table.turn}"
                assert obs["action_mask"].dtype == np.int8
                assert obs["action_mask"].tolist() == mask.tolist()
                if agent in env.agents:
                    wanted = {"action_mask": obs["action_mask"]} if kw.get("mask_in_info") else {}
                    assert plain(env.infos[agent]) == plain(wanted)
                for array in obs.values():
                    array[:] = 77  # a fresh array each time, so nobody notices
                assert space.contains(env.observe(agent))
            if not env.agents:
                break
            action = None if over else choose(rng, env.last()[0]["action_mask"])
            env.step(action if step % 3 else action and np.int32(action))
        assert step > len(kept)


@both
@pytest.mark.parametrize("seats", ["2", "partners"])
def test_fifty_games_repeat_to_the_byte(make, seats):
    def fifty():
        env = make(reward="margin", target=50, mask_in_info=True, **SEATS[seats])
        rng = random.Random(1)
        for game in range(50):
            env.reset(seed=2024 if game == 0 else None)
            yield rest_of_game(env, rng)

    one, two = list(fifty()), list(fifty())
    assert one == two
    assert len({pickle.dumps(game) for game in one}) == 50


def test_reset_without_a_seed_goes_on_to_the_next_game():
    env = fives_v0.env()
    for seed in (5, 0, np.int64(7), np.uint64(2**63 - 1), 5):
        env.reset(seed=seed)
        assert env.table == Table(seed=int(seed), game=0)
        for game in (1, 2):
            env.step(env.table.legal[0])
            env.reset()
            assert env.table == Table(seed=int(seed), game=game)
    env.reset(options={"scores": [10, 20]})
    assert (env.table.game, env.table.scores) == (3, [10, 20])


def test_first_reset_without_a_seed_takes_one_from_the_system():
    seeds = set()
    for _ in range(3):
        env = fives_v0.env()
        for game in range(3):
            env.reset()
            assert env.table.game == game
            seeds.add(env.table.seed)
    assert len(seeds) == 3


def test_reset_options():
    deal = list(reversed(NAMES))
    env = fives_v0.env()
    env.reset(seed=4, options={"deal": deal, "leader": 1, "scores": [30, -5]})
    assert env.table == Table(seed=4, deal=deal, leader=1, scores=[30, -5])
    assert env.agent_selection == "player_1" and env.table.boneyard == deal[18:]
    env.reset(seed=4)
    assert env.table == Table(seed=4)
    env.reset(seed=4, options={})
    assert env.table == Table(seed=4)


def test_resets_keep_the_arguments():
    env, rng = fives_v0.env(forced="act", episode="round", tiles=3), random.Random(0)
    extra = range(env.unwrapped.table.rules.action("draw"), env.action_space("player_0").n)
    done = []
    for game in range(5):
        env.reset(seed=None if game else 2)
        assert (env.table.forced, env.table.episode) == ("act", "round")
        while not env.table.over:
            done.append(choose(rng, env.last()[0]["action_mask"]))
            env.step(done[-1])
        assert env.table.round == 0
    assert set(done) & set(extra), "no draw or pass was asked for"


@both
@copies
@pytest.mark.parametrize("kw", [{}, *COVER[:3]], ids=["default", "a", "b", "c"])
def test_copies_go_on_alike(make, again, kw):
    env = make(**kw)
    env.reset(seed=8)
    rng = random.Random(3)
    length = len(rest_of_game(again(env), random.Random(3)))
    assert env.agents and env.table == Table(env.table.rules, seed=8, forced=env.table.forced)
    stops = {0, 1, length // 2, length - len(env.agents), length - 1}
    for step in range(length):
        if step in stops:
            other, theirs = again(env), random.Random()
            theirs.setstate(rng.getstate())
            twin, ours = again(env), copy.copy(theirs)
            mine = snapshot(env)
            for _ in range(2):
                assert rest_of_game(other, theirs) == rest_of_game(twin, ours)
                assert (other.table.game, other.table.seed) == (twin.table.game, 8)
                other.reset()
                twin.reset()
            assert other.table.game == env.table.game + 2
            assert snapshot(env) == mine
        if step == length // 2:
            future = rest_of_game(again(env), copy.deepcopy(rng))
        seen = one_step(env, rng)
        if step >= length // 2:
            assert seen == future[step - length // 2]


@both
def test_copies_of_a_fresh_environment(make):
    env = make(players=3)
    other = pickle.loads(pickle.dumps(env))
    env.reset(seed=1)
    other.reset(seed=1)
    assert rest_of_game(env, random.Random(0)) == rest_of_game(other, random.Random(0))


@copies
def test_copies_open_a_window_of_their_own(again, monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = fives_v0.env(render_mode="human", episode="round")
    env.reset(seed=1)
    other = again(env)
    env.close()
    one_step(other, random.Random(0))
    other.close()
    assert other.table != env.table


# --- rewards ------------------------------------------------------------------------------------


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


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kw", "says"),
    [
        ({"reward": "score"}, "reward is 'score', but must be one of 'points', 'margin', 'win'."),
        ({"reward": ["points"]}, "reward is ['points'], but must be one of 'points', 'margin'"),
        ({"episode": "match"}, "episode is 'match', but must be one of 'game', 'round'."),
        ({"forced": "yes"}, "forced is 'yes', but must be one of 'auto', 'act'."),
        ({"mask_in_info": 1}, "mask_in_info is 1, but must be one of False, True."),
        ({"render_mode": "video"}, "render_mode is 'video', but must be one of None, 'human'"),
        ({"rules": "chess"}, "preset is 'chess', but must be one of 'all_fives', 'pagat'"),
        ({"players": 5}, "players is 5, but must be one of 2, 3, 4."),
        ({"teams": True}, "teams is True, but must be False with 2 players."),
        ({"seed": 3}, "option is 'seed', but must be one of 'players', 'teams'"),
        ({"deal": None}, "option is 'deal', but must be one of 'players', 'teams'"),
    ],
    ids=str,
)
@both
def test_refused_arguments(make, kw, says):
    with pytest.raises(ValueError) as error:
        make(**kw)
    assert str(error.value).startswith(says) and str(error.value).endswith(".")


@pytest.mark.parametrize(
    ("kw", "says"),
    [
        ({"seed": -1}, "seed is -1, but must be a whole number from 0 to 9223372036854775807."),
        ({"seed": 2**63}, "seed is 9223372036854775808, but must be a whole number"),
        ({"seed": 1.0}, "seed is 1.0, but must be a whole number"),
        ({"seed": True}, "seed is True, but must be a whole number"),
        ({"seed": "7"}, "seed is '7', but must be a whole number"),
        ({"options": ["deal"]}, "options is ['deal'], but must be"),
        (
            {"options": {"leeder": 1}},
            "reset option is 'leeder', but must be one of 'deal', 'leader', 'scores'.",
        ),
        ({"options": {"seed": 1}}, "reset option is 'seed', but must be one of 'deal'"),
        ({"options": {"rules": "pagat"}}, "reset option is 'rules', but must be one of"),
        ({"options": {"leader": 2}}, "leader is 2, but must be a whole number from 0 to 1."),
        ({"options": {"scores": [1]}}, "scores is [1], but must be 2 whole numbers below the"),
        ({"options": {"deal": list(range(27))}}, "deal is not a permutation"),
    ],
    ids=str,
)
@both
def test_refused_resets_leave_the_game(make, kw, says):
    env = make(players=2)
    env.reset(seed=3)
    one_step(env, random.Random(0))
    before = snapshot(env)
    with pytest.raises(ValueError) as error:
        env.reset(**kw)
    assert str(error.value).startswith(says) and str(error.value).endswith(".")
    assert snapshot(env) == before
    env.reset()
    assert env.table == Table(seed=3, game=1)


@every_case
def test_illegal_actions_change_nothing(kw):
    env, rng = fives_v0.raw_env(**kw), random.Random(9)
    env.reset(seed=2)
    for _ in range(8):
        if env.table.over:
            break
        before = snapshot(env)
        illegal = set(range(env.table.rules.n_actions)) - set(env.table.legal)
        bad = [*rng.sample(sorted(illegal), 5), None, -1, 1.0, "6-4@0", 10_000]
        for action in bad:
            with pytest.raises(IllegalAction, match=r"^action .*\.$"):
                env.step(action)
        assert snapshot(env) == before
        one_step(env, rng)


def test_illegal_actions_through_env():
    env, twin = fives_v0.env(), fives_v0.env()
    env.reset(seed=2)
    twin.reset(seed=2)
    rng, same = random.Random(1), random.Random(1)
    while env.agents:
        before = snapshot(env)
        if not env.table.over:
            illegal = next(a for a in range(118) if a not in env.table.legal)
            with pytest.raises(IllegalAction, match=rf"^action {illegal} .* is illegal, since "):
                env.step(illegal)
            for outside in (118, -1, None, 2.0):
                with pytest.raises(AssertionError, match="action is not in action space"):
                    env.step(outside)
        assert snapshot(env) == before
        assert one_step(env, rng) == one_step(twin, same)


@pytest.mark.filterwarnings("ignore:.*reset:UserWarning")
def test_nothing_before_reset():
    env = fives_v0.env()
    for call in (lambda: env.step(0), lambda: env.observe("player_0"), env.state, env.render):
        with pytest.raises(AssertionError, match="reset"):
            call()
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        env.agents  # noqa: B018
    with pytest.raises(ValueError, match=r"call reset\(\) first\.$"):
        fives_v0.raw_env().step(0)


def test_rendering():
    env = fives_v0.env(render_mode="ansi")
    env.reset(seed=1)
    one_step(env, random.Random(0))
    assert env.render() == str(env.table) and env.table.hands[0][0] in env.render()
    env.close()
    silent = fives_v0.env()
    silent.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.render() is None
    assert env.metadata["render_modes"] == ["human", "rgb_array", "ansi"]
    assert env.metadata["name"] == "fives_v0" and env.metadata["is_parallelizable"] is False


def test_windows_and_pixels(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(fives_v0.env)
    env = fives_v0.raw_env(render_mode="human", tiles=2, target=100)
    env.reset(seed=1)
    shown = []
    monkeypatch.setattr(env._open_window(), "show", shown.append)
    rng = random.Random(0)
    while env.table.round < 2:
        one_step(env, rng)
    ended = [data for data in shown if data["phase"] == "over"]
    assert len(ended) == 2 and all(data["layout"] for data in ended)
    twin = copy.deepcopy(env)
    assert twin._window is None and env._window is not None
    env.close()
    assert env._window is None
    pixels = fives_v0.env(render_mode="rgb_array")
    pixels.reset(seed=2)
    assert pixels.render().shape == (740, 640, 3)


# --- the game through the environment -----------------------------------------------------------

NUMBERS = [
    ("first", "4-1, 1-1@4-1, 4-4@4-1, 4-3@4-4, 2-1@1-1, 5-1@1-1, 5-5@5-1, 5-0@5-5, 3-1@1-1",
     [5, 6, 10, 5, 5, 10, 15, 5, 8]),
    ("none", "5-5, 5-0@5-5, 0-0@5-0, 6-5@5-5, 4-0@0-0", [10, 10, 10, 6, 10]),
    ("none", "4-2, 4-3@4-2", [6, 5]),
    ("first", "6-6, 6-3@6-6, 6-2@6-6, 6-5@6-6", [12, 15, 5, 10]),
    ("first", "5-5, 5-2@5-5, 5-3@5-5, 6-5@5-5, 5-4@5-5", [10, 12, 5, 11, 15]),
    ("first", "5-5, 5-3@5-5, 5-4@5-5, 5-2@5-5, 5-1@5-5", [10, 13, 7, 9, 10]),
    ("first", "6-6, 6-4@6-6, 6-2@6-6, 2-2@6-2", [12, 16, 6, 8]),
]  # fmt: skip


@pytest.mark.parametrize(("spinner", "plays", "totals"), NUMBERS, ids=lambda v: str(v)[:20])
@every_seats
def test_totals_of_the_rules(spinner, plays, totals, seats):
    plays = [play.split("@") for play in plays.split(", ")]
    players = seats["players"]
    hands = [[play[0] for play in plays[seat::players]] for seat in range(players)]
    kw = {"spinner": spinner, "tiles": 28 // players, "target": 10_000, **seats}
    env = fives_v0.env(**kw)
    env.reset(seed=0, options={"deal": scripted(hands, **kw), "leader": 0})
    rules = env.table.rules
    for number, (play, total) in enumerate(zip(plays, totals, strict=True)):
        tile, *on = play
        where = 0
        if on:
            ends = [e for e in env.table.to_dict()["ends"] if e["tile"] == on[0]]
            where = next(e["end"] for e in ends if e["value"] in map(int, tile.split("-")))
        assert env.agent_selection == f"player_{number % players}"
        env.step(rules.action(f"{tile}@{where}"))
        assert env.table.total == total
        won = total if total % 5 == 0 else 0
        side = number % players % rules.sides
        assert list(env.rewards.values()) == [
            won if seat % rules.sides == side else 0 for seat in range(players)
        ]


def test_the_sets_that_score():
    scoring = {"6-4": 10, "5-5": 10, "5-0": 5, "4-1": 5, "3-2": 5}
    for spinner in ("none", "set", "first", "all"):
        env = fives_v0.env(spinner=spinner)
        for tile in NAMES:
            deal = [tile, *(other for other in NAMES if other != tile)]
            env.reset(options={"deal": deal, "leader": 0})
            env.step(env.table.rules.action(f"{tile}@0"))
            assert env.table.total == PIPS[index(tile)]
            assert env.rewards == {"player_0": scoring.get(tile, 0), "player_1": 0}


@pytest.mark.parametrize(
    ("losers", "rounding", "paid"),
    [
        (["0-0"], "each", 0), (["1-1"], "each", 0), (["2-1"], "each", 5), (["4-3"], "each", 5),
        (["4-4"], "each", 10), (["6-6"], "each", 10), (["5-4 2-2"], "each", 15),
        (["6-6 5-5"], "each", 20), (["6-6 6-5"], "each", 25), (["6-6 6-5"], "down", 20),
        (["6-6 6-5"], "exact", 23),
        (["5-4 2-2", "4-4 3-2", "5-2 3-3"], "each", 45),
        (["5-4 2-2", "4-4 3-2", "5-2 3-3"], "total", 40),
        (["5-4 2-2", "5-3 0-0"], "each", 25), (["5-4 2-2", "5-3 0-0"], "total", 20),
    ],
)  # fmt: skip
def test_going_out_pays_what_the_rules_say(losers, rounding, paid):
    hands = [hand.split() for hand in losers]
    tiles = len(hands[0])
    mine = ["1-0"] if tiles == 1 else ["6-1", "1-0"]
    if any("0-0" in hand or "6-6" in hand for hand in hands) and tiles == 2:
        mine = ["2-1", "4-1"] if len(hands) == 1 else ["6-1", "6-6"]
    kw = {"tiles": tiles, "draw": "none", "rounding": rounding, "players": 1 + len(hands)}
    env = fives_v0.env(spinner="none", **kw)
    for seat in range(kw["players"]):  # whoever it is that goes out
        turned = [hands[(k - seat - 1) % kw["players"]] if k != seat else mine
                  for k in range(kw["players"])]  # fmt: skip
        env.reset(seed=0, options={"deal": scripted(turned, **kw), "leader": seat})
        earlier = 0.0
        for tile in mine:
            assert env.agent_selection == f"player_{seat}"
            named = {env.table.rules.action_name(a): a for a in env.table.legal}
            action = next(a for name, a in named.items() if name.startswith(tile))
            layout = env.table.clone().play(action)[0].points
            env.step(action)
            assert env.rewards[f"player_{seat}"] == layout + paid * (tile == mine[-1])
            earlier += layout
        assert env.table.round == 1 and env.table.scores[seat] == earlier + paid
        others = [r for agent, r in env.rewards.items() if agent != f"player_{seat}"]
        assert others == [0.0] * len(hands)


# --- the manual ---------------------------------------------------------------------------------


def manual_rows(first):
    """The rows of the manual's table whose first column is headed so, as lists of cells."""
    lines = iter(fives_v0.__doc__.splitlines())
    for line in lines:
        if line.startswith(f"| {first} "):
            next(lines)
            rows = itertools.takewhile(lambda row: row.startswith("|"), lines)
            return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    raise AssertionError(first)


def test_the_manual_lists_every_field():
    rules = Rules()
    fields = view.fields(rules)
    largest = np.rint(1 / view.scale(rules))
    rows = manual_rows("field")
    assert [row[0] for row in rows] == [f"`{name}`" for name in fields]
    for (name, part), (_, where, size, counts, meaning) in zip(fields.items(), rows, strict=True):
        assert where == f"{part.start}:{part.stop}"
        assert int(size.split("=")[0]) == part.stop - part.start
        assert counts == f"0-{largest[part].max():.0f}" and len(meaning) > 10
        formula = size.split("=")[-1].strip()
        for players, spinner in itertools.product((2, 3, 4), ("none", "first", "all")):
            other = Rules(players=players, spinner=spinner)
            values = {"P": players, "E": other.n_ends}
            wanted = np.prod([values.get(word) or int(word) for word in formula.split()])
            there = view.fields(other)[name]
            assert there.stop - there.start == wanted, (name, players, spinner)
            total = 123 + 43 * players + 36 * other.n_ends
            assert view.size(other) == total
            space = fives_v0.raw_env(other).observation_space("player_0")["observation"]
            assert space.shape == (total,)
    assert "123 + 43 P + 36 E" in fives_v0.__doc__


def test_the_manual_lists_every_action_and_argument():
    rules = Rules()
    for name, number, _ in manual_rows("action")[1:]:
        assert rules.action(name.strip("`")) == int(number)
    assert manual_rows("action")[0][:2] == ["placements", "0-111"]
    assert len(manual_rows("action")) == 7 and rules.n_actions == 118
    assert [Rules(spinner=s).n_actions for s in ("none", "set", "all")] == [62, 118, 454]
    assert rules.action_name(33) == "2-1@1" and rules.action("2-1@1") == 33
    for argument, values, _ in manual_rows("argument"):
        if argument in ("`episode`", "`reward`", "`forced`", "`mask_in_info`", "`render_mode`"):
            for value in values.split(", "):
                kw = {argument.strip("`"): eval(value.strip("`"))}
                env = fives_v0.raw_env(**kw)
                assert kw.items() <= (vars(env) | vars(env.table)).items()
    for preset in PRESETS:
        assert f"`{preset}`" in fives_v0.__doc__
        fives_v0.raw_env(preset)
    fives_v0.raw_env(Rules("muggins"))
    fives_v0.raw_env(rules={"preset": "muggins", "players": 3})


def test_the_examples_of_the_manual_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", fives_v0.__doc__, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "manual", "exec"), {})
    printed = capsys.readouterr().out
    assert "250" in printed and len(printed.splitlines()) > 3


def counts(env, agent):
    """The counts of each field of an agent's observation, by name."""
    rules = env.table.rules
    row = np.rint(env.observe(agent)["observation"] / view.scale(rules)).astype(int)
    return {name: row[part] for name, part in view.fields(rules).items()}


@every_seats
@pytest.mark.parametrize("rules", ["all_fives", "five_up", "hoyle"])
def test_observations_hold_what_the_manual_says(rules, seats):
    env, rng = fives_v0.env(rules, **seats), random.Random(4)
    rules, players = env.unwrapped.table.rules, seats["players"]
    blind = rules.muggins != "off"
    seen_points = 0
    for game in range(2):
        env.reset(seed=None if game else 5)
        for _ in range(60):
            t = env.table.to_dict()
            on_layout = {play["tile"]: play["seat"] for play in t["layout"]}
            ends = {end["end"]: end for end in t["ends"]}
            for me, agent in enumerate(env.possible_agents):
                saw = counts(env, agent)
                seats_from_me = [(me + k) % players for k in range(players)]

                def relative(seat, order=seats_from_me):
                    return [int(other == seat) for other in order]

                assert saw["hand"].tolist() == [int(n in t["hands"][me]) for n in NAMES]
                hidden = set(NAMES) - set(t["hands"][me]) - set(on_layout)
                assert saw["unseen"].tolist() == [int(n in hidden) for n in NAMES]
                for k, seat in enumerate(seats_from_me):
                    laid = [int(on_layout.get(n, -1) == seat) for n in NAMES]
                    assert saw["laid"][28 * k : 28 * k + 28].tolist() == laid
                    for suit in range(7):
                        held = [n for n in t["hands"][seat] if suit in (LO[index(n)], HI[index(n)])]
                        assert saw["cap"][8 * k + suit] >= len(held)
                shown = saw["end_value"].reshape(rules.n_ends, 7)
                for end in range(rules.n_ends):
                    value = ends[end]["value"] if end in ends else -1
                    assert shown[end].tolist() == [int(v == value) for v in range(7)]
                    pips = ends[end]["counts"] if end in ends and not blind else 0
                    assert saw["end_counts"][end] == pips
                assert saw["total"] == [0 if blind else t["total"]]
                assert saw["boneyard"] == [len(t["boneyard"])]
                assert saw["held"].tolist() == [len(t["hands"][seat]) for seat in seats_from_me]
                lacking = [rules.target - t["scores"][seat] for seat in seats_from_me]
                assert saw["to_go"].tolist() == [max(0, lack) for lack in lacking]
                assert not saw["far"].any()
                partner = (me + 2) % 4 if rules.teams else None
                assert saw["partner"].tolist() == relative(partner)
                assert saw["leader"].tolist() == relative(t["leader"])
                assert saw["turn"].tolist() == relative(t["turn"])
                mover = t["layout"][-1]["seat"] if t["layout"] else None
                assert saw["mover"].tolist() == relative(mover)
                phases = ("play", "announce", "call", "over")
                assert saw["phase"].tolist() == [int(t["phase"] == phase) for phase in phases]
                assert saw["rules"][0] == rules.tiles and saw["rules"][15] == rules.target
                points = np.zeros(28 * rules.n_ends, int)
                if me == t["turn"] and t["phase"] == "play" and not blind:
                    for action in env.table.legal:
                        points[action] = env.table.clone().play(action)[0].points * rules.peg
                    seen_points += points.any()
                assert saw["points"].tolist() == points.tolist()
                doubles = [f"{v}-{v}" for v in range(7)]
                joined = dict.fromkeys(doubles, 0)
                for number, play in enumerate(t["layout"]):
                    on = t["layout"][play["on"]]["tile"] if play["on"] is not None else None
                    if play["tile"] in joined and number:
                        joined[play["tile"]] += 1
                    if on in joined:
                        joined[on] += 1
                spins = [p["tile"] for p in t["layout"] if p["tile"] in joined]
                spins = {"none": [], "first": spins[:1], "all": spins}[rules.spinner]
                assert saw["spinner"].tolist() == [
                    1 + joined[double] if double in spins else 0 for double in doubles
                ]
            if env.table.over:
                break
            one_step(env, rng)
    assert (seen_points > 20) == (not blind)
