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

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.wrappers import BaseWrapper

from fives_env import Table, fives_v0
from fives_env.envs import AEC_ID, register_aec
from fives_env.tiles import NAMES
from tests.aec import (
    COVER,
    FACTORS,
    SEATS,
    both,
    choose,
    copies,
    every_case,
    one_step,
    pairwise,
    plain,
    rest_of_game,
    snapshot,
)

#: Not under its own names, which pytest would collect.
zoo_state = importlib.import_module("pettingzoo.test.state_test")

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
