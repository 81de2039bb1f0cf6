"""How many decisions a second are learned: training.ppo beside MaskablePPO of sb3-contrib.

Both learn the same game with hidden layers of the same size, the same epochs and minibatch, on two
cores, and take turns; MaskablePPO has, as is usual there, one such network for the policy and
another for the value, training.ppo one for both::

    python -m training.speed

MaskablePPO plays its usual eight environments and 2048 steps at each between two updates, on
``SB3VecEnv`` against greedy, whose decisions are not counted. Compiling and a first update come
before the clock starts.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import tyro

from training import ppo, sb3_maskable_ppo
from training.runs import guarded
from training.settings import limit


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
    settings = ppo.Settings(threads=threads, tables=max(1024 // threads, 1) * threads)
    settings.check()
    learner = ppo.Learner(settings)

    def learn() -> int:
        torch.set_num_threads(1)
        learner.learn()
        return learner.settings.per_window

    return learn


def theirs(threads: int) -> Callable[[], int]:
    """Play and learn from eight times 2048 decisions with MaskablePPO."""
    settings = sb3_maskable_ppo.Settings(tables=8, steps=2048, minibatch=2048, epochs=2)
    model = sb3_maskable_ppo.model_of(settings)

    def learn() -> int:
        torch.set_num_threads(threads)
        model.learn(settings.tables * settings.steps, reset_num_timesteps=False)
        return settings.tables * settings.steps

    return learn


def compare(s: Settings) -> None:
    """Measure in turns and print.

    Raises:
        ValueError: The settings are refused.
    """
    limit(s, "seconds turns threads", 1, 1000)
    both = {"training.ppo": ours(s.threads), "MaskablePPO": theirs(s.threads)}
    speeds: dict[str, list[float]] = {name: [] for name in both}
    for learn in both.values():
        learn()
    for _ in range(s.turns):
        for name, learn in both.items():
            speeds[name].append(speed(learn, s.seconds))
    medians = [sorted(found)[len(found) // 2] for found in speeds.values()]
    for name, median in zip(speeds, medians, strict=True):
        print(f"{name:<12} {median:10,.0f} decisions learned a second")
    print(f"{medians[0] / medians[1]:.1f} times as many.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in turns and print; 2 if the settings are refused."""
    settings = tyro.cli(Settings, args=arguments, prog="python -m training.speed")
    return guarded(lambda: compare(settings))


if __name__ == "__main__":
    sys.exit(main())
