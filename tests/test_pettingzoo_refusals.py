"""What fives_v0 refuses, and what it draws."""

import copy
import random

import pytest
from pettingzoo.test import render_test

from fives_env import IllegalAction, Table, fives_v0
from tests.aec import both, every_case, one_step, snapshot


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
