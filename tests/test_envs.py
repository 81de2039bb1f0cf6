"""One learning seat: FivesEnv and FivesVectorEnv against a slow reference on Table."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from fives_env import PRESETS, IllegalAction, Rules
from fives_env.engine import view
from fives_env.envs.rewards import GRAIN
from fives_env.envs.rewards import margin as margin_of
from fives_env.envs.single import FivesEnv
from fives_env.envs.vector import FivesVectorEnv
from fives_env.envs.versus import Versus
from fives_env.players import make_player
from tests.one_seat import CASES, Reference, choose, close, first_legal, same

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


@pytest.mark.parametrize("mode", [NEXT, SAME])
@pytest.mark.parametrize("case", CASES)
def test_vector_env_is_many_tables(case, mode):
    n, rng = 4, np.random.default_rng(0)
    env = FivesVectorEnv(n, autoreset_mode=mode, **CASES[case])
    assert env.metadata["autoreset_mode"] is mode
    refs = [Reference(7 + i, **CASES[case]) for i in range(n)]
    for ref in refs:
        ref.begin()
    obs, infos = env.reset(seed=7)
    dead = np.zeros(n, bool)
    ends = 0
    for _ in range(250):
        for i, ref in enumerate(refs):
            assert (obs[i] == ref.obs).all() and env.single_observation_space.contains(obs[i])
            told = [infos[name][i].tolist() for name in ("scores", "seat", "round", "illegal")]
            assert told == [ref.scores, ref.seat, ref.table.round, 0]
            assert (infos["action_mask"][i] == (1 if dead[i] else ref.table.mask())).all()
        actions = choose(rng, infos["action_mask"])
        obs, rewards, done, truncated, infos = env.step(actions)
        assert not truncated.any() and rewards.dtype == np.float64
        assert all(infos[f"_{name}"].all() for name in ("action_mask", "scores", "seat", "round"))
        assert ("episode" in infos) == done.any() == ("_episode" in infos)
        assert ("final_obs" in infos) == ("final_info" in infos) == (mode is SAME and done.any())
        for i, ref in enumerate(refs):
            if dead[i]:
                ref.begin()
                assert (rewards[i], done[i]) == (0, False)
                continue
            reward, over = ref.step(actions[i])
            assert close(rewards[i], reward) and done[i] == over
            if over:
                ended = infos["episode"]
                assert close(ended["r"][i], float(ref.margin())) and ended["l"][i] == ref.length
            if over and mode is SAME:
                final = infos["final_info"]
                assert (infos["final_obs"][i] == ref.obs).all() and not final["action_mask"][
                    i
                ].any()
                told = [final[name][i].tolist() for name in ("scores", "seat", "round")]
                assert told == [ref.scores, ref.seat, ref.table.round]
                ref.begin()
            elif mode is SAME and done.any():
                assert infos["final_obs"][i] is None and not infos["_final_obs"][i]
                assert not infos["final_info"]["scores"][i].any()
        if done.any():
            assert (infos["_episode"] == done).all() and not infos["episode"]["l"][~done].any()
        dead = done if mode is NEXT else dead
        ends += done.sum()
    assert ends > 10


@pytest.mark.parametrize("mode", [NEXT, SAME])
@pytest.mark.parametrize("case", CASES)
def test_vector_env_is_gymnasiums_over_single_ones(case, mode):
    """Every array and key of Gymnasium's own vector environment, illegal actions included."""
    n, rng, options = 4, np.random.default_rng(1), CASES[case] | {"illegal": "random"}
    slow = SyncVectorEnv([lambda: FivesEnv(**options)] * n, autoreset_mode=mode)
    fast = FivesVectorEnv(n, scaled=True, statistics=False, autoreset_mode=mode, **options)
    assert slow.observation_space == fast.observation_space
    assert slow.action_space == fast.action_space
    expected, got = slow.reset(seed=3), fast.reset(seed=3)
    assert all(map(same, expected, got))
    for _ in range(150):
        mask = got[-1]["action_mask"]
        actions = np.where(
            rng.random(n) < 0.9, choose(rng, mask), rng.integers(0, mask.shape[1], n)
        )
        expected, got = slow.step(actions), fast.step(actions)
        if mode is NEXT:
            assert got[-1]["action_mask"][got[2]].all()  # whatever is done next is ignored
            got[-1]["action_mask"][got[2]] = 0
        assert all(map(same, expected, got))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"players": 3},
        {"players": 4},
        {"players": 4, "seat": 3, "episode": "game", "target": 60},
    ],
)
def test_rewards_add_up_to_the_final_margin_without_an_error(options):
    env, rng = (
        FivesEnv("cribbage" if "target" in options else None, **options),
        np.random.default_rng(2),
    )
    tables = Versus(
        3,
        env.table.rules,
        **{"seat": 0, "episode": "round"}
        | {name: options[name] for name in ("seat", "episode") if name in options},
    )
    tables.reset(0)
    sums = np.zeros(3)
    for _ in range(200):
        tables.step(choose(rng, tables.mask))
        sums += tables.episodes["reward"]
        done = tables.episodes["done"] != 0
        assert (tables.episodes["sum"][done] == sums[done]).all()
        sums[done] = 0
    for _ in range(20):
        total, over = 0.0, False
        env.reset()
        while not over:
            _, reward, over, _, _ = env.step(choose(rng, env.action_masks()[None])[0])
            assert type(reward) is float
            total += reward
        counts, unit = margin_of(env.table)
        assert total == counts[env.seat % len(counts)] / unit and unit == GRAIN


def test_the_result_does_not_depend_on_threads():
    options = {"opponents": ["greedy", "random", first_legal], "players": 4, "restart": True}
    many = [Versus(50, threads=threads, **options) for threads in (1, 2, 3)]
    for tables in many:
        tables.reset(5)
    for k in range(60):
        for tables in many:
            for name in ("obs", "mask", "episodes"):
                assert getattr(tables, name).tobytes() == getattr(many[0], name).tobytes()
        actions = choose(np.random.default_rng(k), many[0].mask)
        for tables in many:
            tables.step(actions)


@pytest.mark.parametrize("preset", PRESETS)
def test_who_is_asked_plays_as_who_is_compiled(preset):
    asked = make_player("greedy")
    batches = []

    def ask(views):
        batches.append(len(views.keys))
        assert (views.records["seed"] == np.uint64(2**64 - 1)).all()
        return asked.act(views)

    options = {"rules": preset, "players": 3, "restart": True}
    compiled = Versus(60, opponents="greedy", **options)
    tables = Versus(60, opponents=ask, **options)
    for each in (compiled, tables):
        each.reset(1)
    for k in range(25):
        actions = choose(np.random.default_rng(k), compiled.mask)
        for each in (compiled, tables):
            each.step(actions)
        assert (tables.obs == compiled.obs).all() and (tables.mask == compiled.mask).all()
        assert (tables.episodes["reward"] == compiled.episodes["reward"]).all()
    assert max(batches) > 20


@pytest.fixture
def network(tmp_path):
    from fives_env.players import checkpoint

    rules, rng = Rules(), np.random.default_rng(0)
    sizes = [view.size(rules), 16, rules.n_actions + 1]
    weights = {"greed": np.float32(0.1)}
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        weights[f"layers.{k}.weight"] = rng.normal(size=(outputs, inputs)).astype(np.float32)
        weights[f"layers.{k}.bias"] = rng.normal(size=outputs).astype(np.float32)
    checkpoint.save(tmp_path / "net", weights, rules)
    return f"network:{tmp_path / 'net'}"


def test_a_network_answers_in_batches_as_it_does_alone(network):
    env = FivesVectorEnv(3, opponents=network, scaled=True)
    alone = [FivesEnv(opponents=network) for _ in range(3)]
    obs, infos = env.reset(seed=[4, 5, 6])
    for i, single in enumerate(alone):
        assert (single.reset(seed=4 + i)[0] == obs[i]).all()
    for _ in range(4):
        actions = infos["action_mask"].argmax(1)
        obs, rewards, _, _, infos = env.step(actions)
        for i, single in enumerate(alone):
            seen, reward, *_ = single.step(actions[i])
            assert (seen == obs[i]).all() and reward == rewards[i]


def test_seeds():
    a, b = FivesVectorEnv(3), FivesVectorEnv(3)
    assert (a.reset(seed=5)[0] == b.reset(seed=[5, 6, 7])[0]).all()
    # Without a seed the next games follow; None in a list means the same for one table.
    nexts = a.reset()[0]
    assert (nexts == b.reset(seed=[None] * 3)[0]).all()
    assert (a.reset(seed=[5, None, 9])[0][0] == b.reset(seed=5)[0][0]).all()
    assert not (FivesVectorEnv(3).reset()[0] == FivesVectorEnv(3).reset()[0]).all()
    single = FivesEnv()
    single.reset(seed=5)
    assert (single.table.seed, single.table.game) == (5, 0)
    single.reset()
    assert (single.table.seed, single.table.game) == (5, 1)
    scaled = view.scale(single.table.rules)
    assert (single.reset(seed=6)[0] == b.reset(seed=6)[0][0] * scaled).all()
    for bad in (-1, 2**63, [1, 2], 1.0, "x", [1, 2, -3]):
        before = a.versus.obs.copy()
        with pytest.raises(ValueError, match="seed is"):
            a.reset(seed=bad)
        assert (a.versus.obs == before).all()


def test_seats_rotate_or_are_drawn():
    seats = FivesVectorEnv(2000, seat="random", players=3, opponents="random").reset(seed=1)[1][
        "seat"
    ]
    assert (abs(np.bincount(seats) - 2000 / 3) < 100).all()
    env = FivesVectorEnv(6, seat="rotate", players=3)
    assert env.reset(seed=1)[1]["seat"].tolist() == [1, 2, 0, 1, 2, 0]
    assert env.reset()[1]["seat"].tolist() == [2, 0, 1, 2, 0, 1]


def test_an_illegal_action_is_refused_and_changes_nothing():
    env = FivesVectorEnv(3)
    _, infos = env.reset(seed=0)
    actions = infos["action_mask"].argmax(1)
    before = env.versus._room.tables.tobytes()
    for bad in (111, 113, -1, 118, 2**40):
        with pytest.raises(IllegalAction, match=f"action {bad} at table 1 is illegal; legal: "):
            env.step(np.array([actions[0], bad, actions[2]]))
    for bad in (actions * 1.0, actions[:2], None, "abc", actions > 0):
        with pytest.raises(ValueError, match="actions is"):
            env.step(bad)
    assert env.versus._room.tables.tobytes() == before
    env.step(actions.astype(np.uint8))

    single = FivesEnv()
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        single.step(0)
    _, info = single.reset(seed=0)
    for bad in (113, -1, 118, 1.0, None):
        with pytest.raises(IllegalAction):
            single.step(bad)
    _, _, over, _, _ = single.step(np.int32(info["action_mask"].argmax()))
    while not over:
        _, _, over, _, info = single.step(single.action_masks().argmax())
    assert not info["action_mask"].any() and not single.action_masks().any()
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        single.step(0)


def test_an_illegal_action_is_replaced_and_counted():
    env, again = (FivesEnv(illegal="random") for _ in range(2))
    for each in (env, again):
        each.reset(seed=3)
    for k in range(1, 6):
        results = env.step(113), again.step(-5)  # what is played depends on the seed alone
        assert all(map(same, *results)) and results[0][-1]["illegal"] == k
    for bad in (1.0, None, "draw"):
        with pytest.raises(IllegalAction):
            env.step(bad)
    assert env.reset()[1]["illegal"] == 0


def test_who_answers_wrongly_stops_the_step():
    env = FivesVectorEnv(30, opponents=lambda views: np.full(len(views.keys), 113))
    with pytest.raises(ValueError, match="chose action 113, but must choose one of"):
        env.reset()
    with pytest.raises(ValueError, match=r"call reset\(\)"):
        env.step(np.zeros(30, int))


def test_closing_closes_the_players_that_were_made_here(monkeypatch):
    class Program:
        name, closed = "program", False

        def act(self, views):
            return views.mask.argmax(1)

        def close(self):
            self.closed = True

    monkeypatch.setattr("tests.one_seat.Program", Program, raising=False)
    given = Program()
    for make in (FivesEnv, lambda **kw: FivesVectorEnv(2, **kw)):
        env = make(players=3, opponents=["python:tests.one_seat:Program", given])
        made = getattr(env, "_others", None) or env.versus.opponents
        env.reset()
        env.close()
        assert made[0].closed and not given.closed


#: Plays a little of everything and prints a hash of all arrays.
DIGEST = """
import hashlib, numpy as np
from fives_env.envs.versus import Versus
ask = lambda views: views.mask.argmax(1)
several = {"players": 4, "opponents": ["greedy", "random", ask], "seat": "random"}
illegal = {"rules": "muggins", "seat": "rotate", "tiles": 2, "restart": True, "illegal": "random"}
digest = hashlib.sha256()
for options in (several, illegal):
    tables = Versus(3, **options)
    tables.reset(2**63 - 3)
    for k in range(12):
        tables.step(tables.mask.argmax(1) - (not tables.raising and k % 3 == 0))
        for name in ("obs", "mask", "episodes", "final_obs"):
            digest.update(getattr(tables, name).tobytes())
print(digest.hexdigest())
"""


def test_the_same_bytes_without_the_compiler():
    digests = []
    for compiled in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": compiled, "PYTHONWARNINGS": "error"}
        line = [sys.executable, "-c", DIGEST]
        done = subprocess.run(line, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout)
    assert digests[0] == digests[1] != ""
