"""How many decisions a second are learned: training.ppo beside MaskablePPO of sb3-contrib.

All learn the same game with hidden layers of the same size, the same epochs and minibatch, on two
cores, and take turns; MaskablePPO has, as is usual there, one such network for the policy and
another for the value, training.ppo one for both::

    python -m training.speed

MaskablePPO plays against greedy, whose decisions are not counted: in its usual eight Gymnasium
environments, and in the eight tables of one ``SB3VecEnv``, which are faster; 2048 steps in each
between two updates. Compiling and a first update come before the clock starts.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import tyro
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from fives_env.envs.sb3 import SB3VecEnv
from fives_env.envs.single import FivesEnv
from training import ppo, sb3_maskable_ppo
from training.runs import guarded
from training.settings import MOST, limit


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seconds: Least time that each learns in a turn.
        turns: Turns of each; the figure is their median.
        threads: Threads of each.
    """

    seconds: float = 10.0
    turns: int = 3
    threads: int = 2


def speed(learn: Callable[[], int], seconds: float) -> float:
    """Decisions a second of calls that each learn from some and return how many."""
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        done += learn()
    return done / (time.perf_counter() - began)


def ours(threads: int) -> Callable[[], int]:
    """Play and learn a window with training.ppo."""
    tables = max(1024 // threads, 1) * threads
    settings = ppo.Settings(threads=threads, tables=tables, total_decisions=MOST)
    settings.check()
    learner = ppo.Learner(settings)

    def learn() -> int:
        torch.set_num_threads(1)
        learner.learn()
        return learner.settings.per_window

    return learn


def theirs(threads: int, env: VecEnv) -> Callable[[], int]:
    """Play and learn from eight times 2048 decisions with MaskablePPO."""
    settings = sb3_maskable_ppo.Settings(tables=env.num_envs, steps=2048, minibatch=2048, epochs=2)
    model = sb3_maskable_ppo.model_of(settings, env)

    def learn() -> int:
        torch.set_num_threads(threads)
        model.learn(settings.tables * settings.steps, reset_num_timesteps=False)
        return settings.tables * settings.steps

    return learn


def contenders(threads: int) -> dict[str, Callable[[], int]]:
    """What is compared, by name; ours first."""
    usual = DummyVecEnv([lambda: FivesEnv(opponents="greedy", seat="rotate")] * 8)
    batch = SB3VecEnv(8, opponents="greedy", seat="rotate")
    return {
        "training.ppo": ours(threads),
        "MaskablePPO on its usual eight environments": theirs(threads, usual),
        "MaskablePPO on SB3VecEnv, eight tables": theirs(threads, batch),
    }


def compare(s: Settings) -> None:
    """Measure in turns and print.

    Raises:
        ValueError: The settings are refused.
    """
    limit(s, "seconds turns threads", 1, 1000)
    all_ = contenders(s.threads)
    speeds: dict[str, list[float]] = {name: [] for name in all_}
    for learn in all_.values():
        learn()
    for _ in range(s.turns):
        for name, learn in all_.items():
            speeds[name].append(speed(learn, s.seconds))
    medians = {name: sorted(found)[len(found) // 2] for name, found in speeds.items()}
    for name, median in medians.items():
        first = next(iter(medians.values()))
        times = f", of which the first learns {first / median:.1f} times as many"
        print(f"{name:<44}{median:10,.0f} decisions a second{times * (median != first)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in turns and print; 2 if the settings are refused."""
    settings = tyro.cli(Settings, args=arguments, prog="python -m training.speed")
    return guarded(lambda: compare(settings))


if __name__ == "__main__":
    sys.exit(main())
