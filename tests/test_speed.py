"""The comparison of speeds: what is counted, and what is said."""

import pytest

pytest.importorskip("torch")
from stable_baselines3.common.vec_env import DummyVecEnv

from fives_env.envs.sb3 import SB3VecEnv
from fives_env.envs.single import FivesEnv
from tests.short_runs import failing
from training import ppo, speed


def test_plays_what_it_counts(monkeypatch):
    seen = []
    monkeypatch.setattr(ppo, "Learner", seen.append)
    for threads in (1, 3, 1000):
        speed.ours(threads)
    assert [(s.tables, s.tables % s.threads) for s in seen] == [(1024, 0), (1023, 0), (1000, 0)]


def test_stops_at_ctrl_c(monkeypatch, capsys):
    monkeypatch.setattr(speed, "ours", failing(KeyboardInterrupt))
    assert speed.main([]) == 0
    assert capsys.readouterr().out == "Stopped.\n"


def test_says_how_many_times(monkeypatch, capsys):
    learners = {"ours": lambda: 9_000, "usual": lambda: 100, "batch": lambda: 600}
    monkeypatch.setattr(speed, "contenders", lambda threads: learners)
    monkeypatch.setattr(speed, "speed", lambda learn, seconds: learn())
    assert speed.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["ours", "9,000"],
        ["usual", "100"],
        ["batch", "600"],
    ]
    assert "90.0 times" in lines[1] and "15.0 times" in lines[2]
    assert speed.main(["--turns", "0"]) == 2
    assert "turns is 0, but must be at least 1." in capsys.readouterr().err


def test_learns_from_all_three_ways_of_playing():
    """A little, on the environments that are compared."""
    for env in (DummyVecEnv([lambda: FivesEnv(opponents="greedy")] * 2), SB3VecEnv(2)):
        assert speed.theirs(1, env)() == 2 * 2048
