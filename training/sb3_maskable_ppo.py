"""The stock road: MaskablePPO of sb3-contrib against compiled players, on ``SB3VecEnv``.

Each reward is the change of the learner's margin from one of its decisions to its next, whoever
scored in between; the seat goes round. The player that comes out is ``sb3:PATH``, which is only
loaded with ``--trust``, since a zip of Stable-Baselines3 can run code::

    python -m training.sb3_maskable_ppo --opponents greedy --total-decisions 1000000
    fives evaluate sb3:runs/sb3.zip greedy --trust
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv

from fives_env.arena import evaluate
from fives_env.envs.sb3 import SB3VecEnv
from fives_env.errors import choice
from fives_env.players.sb3 import SB3Player
from training.runs import guarded
from training.settings import MOST, HouseRules, limit, limit_units, rules_of


@dataclass(frozen=True)
class Settings:
    """What to train, and how long.

    Attributes:
        folder: Where TensorBoard's curves go; the player goes beside it, into FOLDER.zip.
        rules: House rules.
        opponents: Who sits on the other seats: random, greedy or tactician.
        seed: Seed of deals, weights and choices.
        total_decisions: Decisions of the learner after which training ends.
        tables: Tables played at once.
        steps: Decisions at each table between two updates.
        hidden: Units of the hidden layers.
        learning_rate: Adam's step size.
        epochs: Times that each decision is learned from.
        minibatch: Decisions in a gradient step.
        entropy: Weight of the entropy bonus.
        pairs: Pairs of the match at the end.
    """

    folder: str = "runs/sb3"
    rules: HouseRules = HouseRules()  # noqa: RUF009
    opponents: str = "greedy"
    seed: int = 0
    total_decisions: int = 1_000_000
    tables: int = 512
    steps: int = 32
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 0.001
    epochs: int = 2
    minibatch: int = 2048
    entropy: float = 0.02
    pairs: int = 1000


def train(settings: Settings) -> str:
    """Train and save; the player's zip.

    Raises:
        ValueError: A setting is not what it may be.
    """
    s = settings
    limit(s, "total_decisions tables steps epochs minibatch", 1, MOST)
    limit(s, "seed learning_rate entropy", 0, 2**31)
    limit(s, "pairs", 2, 10**9)
    limit_units(s.hidden, "one number of units for each of 1 to 16 layers", 1, 16)
    if not Path(s.folder).name or "\0" in s.folder:
        raise ValueError(choice("folder", s.folder, "a path with a name"))
    path = Path(f"{Path(s.folder)}.zip")
    if path.exists():
        raise ValueError(f"{path} is there already: move it away, or give another folder.")
    env = SB3VecEnv(s.tables, rules_of(s.rules), opponents=s.opponents, seat="rotate")
    model = model_of(s, env, tensorboard_log=s.folder, verbose=1)
    model.learn(s.total_decisions)
    model.save(path)
    return str(path)


def model_of(settings: Settings, env: VecEnv, **options: Any) -> MaskablePPO:
    """The model that some settings ask for, untrained, with more options of MaskablePPO."""
    s = settings
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=s.steps,
        batch_size=min(s.minibatch, s.tables * s.steps),
        n_epochs=s.epochs,
        learning_rate=s.learning_rate,
        ent_coef=s.entropy,
        gamma=1.0,  # a round is short, and points now are worth what they are worth later
        gae_lambda=0.9,
        policy_kwargs={"net_arch": list(s.hidden)},
        seed=s.seed,
        device="cpu",
        **options,
    )


def judge(settings: Settings) -> None:
    """Train, and play a match against the opponents.

    Raises:
        ValueError: A setting is not what it may be.
    """
    player, rules = SB3Player(train(settings), sure=True), rules_of(settings.rules)
    print(evaluate(player, settings.opponents, rules=rules, pairs=settings.pairs, seed=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings, train, and play a match; 2 if the settings are refused."""
    settings = tyro.cli(Settings, args=arguments, prog="python -m training.sb3_maskable_ppo")
    return guarded(lambda: judge(settings))


if __name__ == "__main__":
    sys.exit(main())
