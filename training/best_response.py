"""How much can be won from a player: a learner trained against it, frozen, and what it wins then.

The margin is a lower bound on what the best answer to the player wins. The learner begins with the
player's own weights, where it has any of the right kind; it sits on one side of each table, the
player on the others. Its actions are judged by what they bring against the player: at first in
rounds played out, later by its own judgement a few decisions on::

    python -m training.best_response --player tactician
    python -m training.best_response --player network:duel --total-decisions 5000000
"""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyro

from fives_env.arena import evaluate
from fives_env.errors import choice
from fives_env.players.compiled import KINDS
from fives_env.players.features import SEEN
from fives_env.players.valuing import load_net
from fives_env.table import SEEDS
from training import distill, runs
from training.settings import HouseRules, limit

NAME = "training.best_response"

#: What the match's seed is above that of training.
APART = 2**40


@dataclass(frozen=True)
class Settings:
    """Whom to answer, and for how long.

    Attributes:
        player: random, greedy, tactician, or network:PATH with a network of values.
        folder: Where the learner goes; runs/best_response unless given.
        rules: House rules.
        seed: Seed of deals, weights and choices; the match has a seed of its own.
        threads: Threads that play and learn.
        total_decisions: Decisions of the learner after which training ends.
        learning_rate: Adam's step size at the start; it falls evenly to a twentieth.
        pairs: Pairs of the match at the end.
    """

    player: str = "tactician"
    folder: str = "runs/best_response"
    rules: HouseRules = HouseRules()  # noqa: RUF009
    seed: int = 0
    threads: int = 2
    total_decisions: int = 2_000_000
    learning_rate: float = 0.003
    pairs: int = 10_000

    def for_learner(self) -> distill.Settings:
        """The learner's own settings.

        Raises:
            ValueError: The player is none that can be answered.
        """
        limit(self, "pairs", 2, 10**9)
        limit(self, "seed", 0, SEEDS - 1 - APART)
        limit(self, "threads", 1, 1024)
        kind, _, path = self.player.partition(":")
        if self.player not in KINDS and not (kind == "network" and path):
            raise ValueError(choice("player", self.player, [*KINDS, "network:PATH"]))
        shape: dict[str, Any] = {}
        if path:
            net, card = load_net(path)
            shape = {"hidden": tuple(card["hidden"]), "sees": SEEN[len(net.planes)]}
        shared = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del shared["player"], shared["pairs"]
        return distill.Settings(
            **shared | shape | {"start": path},
            tables=max(512 // self.threads, 1) * self.threads,
            playouts=f"tiny:{path}" if path else self.player,
            versus=True,
            alone=0.4,
            turns=4,
            matches=0,
        )


def answer(settings: Settings, given: str = "") -> dict[str, Any]:
    """Train, then play the match; its result, or nothing if training was stopped.

    Args:
        settings: Whom to answer, and for how long.
        given: The command line's arguments, for the card.

    Raises:
        ValueError: The settings cannot be trained with.
    """
    learner = settings.for_learner()
    learner.check()
    folder = runs.folder_of(learner, "best_response")
    with runs.only_here(folder):
        said, ended = runs.run(NAME, distill.Learner, learner, given)
        print(said)
        if not ended:
            return {}
        result = evaluate(
            f"network:{folder}",
            settings.player,
            rules=learner.table_rules,
            pairs=settings.pairs,
            seed=settings.seed + APART,
        )
        print(result)
        (folder / "result.txt").write_text(f"{result}\n")
    return result.to_dict()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings, train and play; 2 if the settings are refused."""
    settings = tyro.cli(Settings, args=arguments, prog=f"python -m {NAME}")
    given = " ".join(sys.argv[1:] if arguments is None else arguments)
    return runs.guarded(lambda: answer(settings, given))


if __name__ == "__main__":
    sys.exit(main())
