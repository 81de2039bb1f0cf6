"""SB3VecEnv against the slow reference, and under Stable-Baselines3 itself."""

import warnings

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor

from fives_env import IllegalAction
from fives_env.engine import view
from fives_env.envs.sb3 import SB3VecEnv
from fives_env.envs.single import FivesEnv
from tests.one_seat import CASES, Reference, choose, close


@pytest.mark.parametrize("case", CASES)
def test_every_row_belongs_to_its_table_across_resets(case):
    n, rng = 4, np.random.default_rng(0)
    env = SB3VecEnv(n, **CASES[case])
    scale = view.scale(env.rules)
    refs = [Reference(9 + i, **CASES[case]) for i in range(n)]
    env.seed(9)
    obs = env.reset()
    for ref in refs:
        ref.begin()
    ends = 0
    for _ in range(150):
        masks = np.stack(env.env_method("action_masks"))
        for i, ref in enumerate(refs):
            assert (obs[i] == ref.obs * scale).all() and obs.dtype == np.float32
            assert (masks[i] == ref.table.mask()).all() and masks.dtype == np.bool_
        actions = choose(rng, masks)
        obs, rewards, done, infos = env.step(actions)
        assert rewards.dtype == np.float32 and done.dtype == np.bool_ and len(infos) == n
        for i, ref in enumerate(refs):
            reward, over = ref.step(actions[i])
            assert close(rewards[i], np.float32(reward)) and done[i] == over
            if over:
                info = infos[i]
                assert (info["terminal_observation"] == ref.obs * scale).all()
                assert close(info["episode"]["r"], float(ref.margin()))
                assert (info["episode"]["l"], info["TimeLimit.truncated"]) == (ref.length, False)
                ref.begin()
            else:
                assert infos[i] == {}
        infos[0]["mine"] = True  # wrappers write into infos: no two may be one dict
        ends += done.sum()
    assert ends > 10


def test_what_stable_baselines_asks_a_vec_env():
    env = SB3VecEnv(5, scaled=False)
    assert is_masking_supported(env) and not env.has_attr("no_such_thing")
    first = env.reset()
    assert first.dtype == np.uint8 and env.observation_space.contains(first[0])
    masks = get_action_masks(env)
    assert (np.stack(env.env_method("action_masks", indices=[3, 1])) == masks[[3, 1]]).all()
    assert (env.get_attr("action_masks", indices=2)[0]() == masks[2]).all()
    assert env.env_is_wrapped(VecMonitor) == [False] * 5 and env.env_is_wrapped(Monitor, 0) == [
        True
    ]
    assert env.get_attr("render_mode") == [None] * 5 and env.get_images() == [None] * 5
    env.set_attr("note", "x")
    assert env.get_attr("note", [0]) == ["x"]
    with pytest.raises(ValueError, match="indices is"):
        env.set_attr("note", "y", indices=[0])
    with pytest.raises(AttributeError, match="no method 'fly'"):
        env.env_method("fly")
    assert env.seed(4) == [4, 5, 6, 7, 8]
    again = env.reset()
    env.seed(4)
    assert (env.reset() == again).all() and (env.reset() != again).any()
    with pytest.raises(IllegalAction, match="at table 0"):
        env.step(np.full(5, 113))
    env.set_options({"deal": []})
    with pytest.raises(ValueError, match="options is"):
        env.reset()
    env.close()


def test_checkers_find_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(FivesEnv(illegal="random"))
        check_env(FivesEnv("muggins", players=4, illegal="random", episode="game"))


def test_maskable_ppo_learns_and_is_judged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = SB3VecEnv(16, opponents="random")
        sizes = {"n_steps": 16, "batch_size": 64, "n_epochs": 1}
        model = MaskablePPO("MlpPolicy", env, seed=1, device="cpu", **sizes)
        model.learn(512)
        assert model.num_timesteps == 512 and len(model.ep_info_buffer) > 10
        mean, _ = evaluate_policy(model, SB3VecEnv(4, opponents="random"), n_eval_episodes=8)
        assert np.isfinite(mean)
        lone = MaskablePPO("MlpPolicy", FivesEnv(), n_steps=32, batch_size=32, n_epochs=1)
        lone.learn(64)
