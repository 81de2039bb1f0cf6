"""FivesEnv and FivesVectorEnv as Gymnasium has them: checkers, registry, resets, copies."""

import copy
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from fives_env import Table
from fives_env.engine import view
from fives_env.envs.single import FivesEnv
from fives_env.envs.vector import FivesVectorEnv
from tests.one_seat import same

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


@pytest.mark.parametrize(
    "bad",
    [
        {"opponents": "nobody"},
        {"opponents": ["greedy", "greedy"]},
        {"seat": 2},
        {"seat": -1},
        {"seat": "left"},
        {"seat": True},
        {"episode": "week"},
        {"illegal": "lose"},
        {"render_mode": "smell"},
        {"tiles": 99},
        {"rules": "chess"},
    ],
)
def test_refused_arguments(bad):
    name = {"opponents": "player", "rules": "preset"}.get(next(iter(bad)), next(iter(bad)))
    for make in (FivesEnv, lambda **kw: FivesVectorEnv(2, **kw)):
        with pytest.raises(ValueError, match=f"({name}|opponents) is .*, but must be"):
            make(**bad)


def test_refused_arguments_of_the_vector():
    for bad in ({"num_envs": 0}, {"threads": 0}, {"autoreset_mode": "Never"}):
        with pytest.raises(ValueError, match="but must be"):
            FivesVectorEnv(**{"num_envs": 2} | bad)
    for bad in ({"deal": []}, {"reset_mask": [True]}, {"reset_mask": np.zeros(2, bool)}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))}'?(,| is)"):
            FivesVectorEnv(2).reset(options=bad)
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        FivesVectorEnv(2).step([0, 0])


def test_tables_that_wait_for_a_reset():
    env = FivesVectorEnv(5, autoreset_mode="Disabled", players=3)
    _, infos = env.reset(seed=1)
    games = np.zeros(5, int)
    for _ in range(60):
        obs, _, done, _, infos = env.step(infos["action_mask"].argmax(1))
        if done.any():
            with pytest.raises(ValueError, match="reset_mask"):
                env.step(infos["action_mask"].argmax(1))
            again, infos = env.reset(options={"reset_mask": done})
            assert (again[~done] == obs[~done]).all() and (again[done] != obs[done]).any()
            games[done] += 1
    assert (env.versus._room.tables["game"] >= games).all() and games.min() > 2


def test_copies_or_buffers():
    kept, shared = FivesVectorEnv(4), FivesVectorEnv(4, copy=False)
    scaled = FivesVectorEnv(4, copy=False, scaled=True)
    (first, _), (same_buffer, infos), (floats, _) = (
        e.reset(seed=2) for e in (kept, shared, scaled)
    )
    old = first.copy()
    for array in (same_buffer, infos["action_mask"], floats):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    actions = infos["action_mask"].argmax(1)
    now = kept.step(actions)[0]
    shared.step(actions)
    scaled.step(actions)
    assert (first == old).all() and (same_buffer == now).all() and (now != old).any()
    assert (floats == now * view.scale(kept.rules)).all()


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_on_alike(how):
    env = FivesEnv(players=3, seat="rotate")
    env.reset(seed=4)
    env.step(env.action_masks().argmax())
    other = how(env)
    vector = FivesVectorEnv(3, seat="rotate")
    vector.reset(seed=4)
    twin = copy.deepcopy(vector) if how is copy.copy else how(vector)
    for _ in range(30):
        results = [e.step(e.action_masks().argmax()) for e in (env, other)]
        assert all(map(same, *results))
        if results[0][2]:
            assert all(map(same, env.reset(), other.reset()))
        assert all(map(same, *(v.step(v.versus.mask.argmax(1)) for v in (vector, twin))))


def test_reset_options_and_what_the_learner_sees():
    env = FivesEnv(render_mode="ansi", episode="game")
    deal = list(range(28))
    env.reset(seed=1, options={"deal": deal, "leader": 0, "scores": [30, 10]})
    assert env.table.hands[0] == Table(deal=deal).hands[0] and env.table.leader == 0
    _, reward, _, _, info = env.step(env.action_masks().argmax())
    scores = env.table.scores
    assert reward == scores[0] - scores[1] - 20 and info["scores"].tolist() == scores
    assert env.render() == env.table.text(0) != env.table.text()
    with pytest.raises(ValueError, match="reset option is 'rules'"):
        env.reset(options={"rules": "muggins"})
    assert env.reset()[1]["scores"].max() < 100 and env.table.game == 1


def test_gymnasiums_checker_and_registry():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("fives_env/Fives-v0", illegal="random", disable_env_checker=True)
        check_env(env.unwrapped)
        env = gymnasium.make("fives_env/Fives-v0", players=3)
        _, info = env.reset(seed=1)
        for _ in range(3):
            _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
            assert not over
        make = {"num_envs": 3, "opponents": "random"}
        vector = gymnasium.make_vec("fives_env/Fives-v0", **make)
        assert isinstance(vector, FivesVectorEnv)
        sync = gymnasium.make_vec("fives_env/Fives-v0", vectorization_mode="sync", **make)
        assert isinstance(sync, SyncVectorEnv)
        assert (
            vector.reset(seed=1)[1]["action_mask"] == sync.reset(seed=1)[1]["action_mask"]
        ).all()
        assert gymnasium.make_vec(vector.spec).num_envs == 3


@pytest.mark.parametrize("mode", [NEXT, SAME])
def test_gymnasiums_statistics_agree(mode):
    env = FivesVectorEnv(4, autoreset_mode=mode)
    wrapped = RecordEpisodeStatistics(FivesVectorEnv(4, autoreset_mode=mode, statistics=False))
    for each in (env, wrapped):
        each.reset(seed=1)
    ends = 0
    for _ in range(60):
        actions = env.versus.mask.argmax(1)
        infos, others = env.step(actions)[-1], wrapped.step(actions)[-1]
        assert ("episode" in infos) == ("episode" in others)
        if "episode" in infos:
            ends += 1
            assert all((infos["episode"][k] == others["episode"][k]).all() for k in "rl")
    assert ends > 5


@pytest.mark.parametrize("order", ["fives_env, gymnasium", "gymnasium, fives_env"])
def test_importing_registers_in_either_order(order):
    code = (
        f"import {order}, sys\n"
        "assert 'fives_env.envs.single' not in sys.modules\n"
        "assert gymnasium.spec('fives_env/Fives-v0').entry_point\n"
        "print(gymnasium.make('fives_env/Fives-v0').unwrapped)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "FivesEnv" in done.stdout, done.stderr
