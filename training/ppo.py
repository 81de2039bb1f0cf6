"""Masked PPO by self-play, from top to bottom; its network's arithmetic is in :mod:`.policy`.

One network plays every seat of many tables at once. What is particular to this game:

* *Turns.* A seat may move twice running, or wait for several others. Advantages run from a seat's
  decision to the next decision of the same seat; whatever anyone scores in between belongs to it.
* *Settlements.* A round's end pays or charges every seat. It reaches each seat's last decision, and
  no value is carried over it: the horizon is the round, and nothing is discounted.
* *Reward.* The change of margin (own side's points less the mean of the other sides'), over 20.
* *Masks.* Illegal actions have probability 0; a decision without a choice trains only the value.
* *Averages.* What is judged and saved is a running average of the weights.

Each thread has its own tables, and in learning its own share of every minibatch. A run that was
stopped, in whatever way, goes on when the same command is given again, and ends with the same
weights to the bit::

    python -m training.ppo --config configs/demo.yaml --seed 1
    python -m training.ppo --help
"""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fives_env.engine import view
from fives_env.engine.jit import jit, jit_allocating
from fives_env.envs.self_play import SelfPlay
from fives_env.errors import choice
from fives_env.players import checkpoint
from fives_env.rules import Rules
from fives_env.table import SEEDS
from training import runs
from training.adam import adam
from training.policy import Fast, Network, Pass, bfloat16_is_fast
from training.settings import MOST, HouseRules, limit, limit_units, rules_of

NAME = "training.ppo"

#: Points of margin that make a reward of 1.
POINTS = 20

#: Windows between two lines of the log; the state is saved then.
LINE = 5

# ---------------------------------------------------------------------------------------- settings


@dataclass(frozen=True)
class Settings:
    """A run's settings: the defaults, then those in the file of --config, then the command line's.

    Attributes:
        config: YAML file with any of the settings below.
        folder: Where the run writes; runs/NAME after NAME.yaml unless given. A run with the same
            settings that was stopped there goes on; another one is moved aside.
        rules: House rules.
        seed: Seed of deals, weights and choices. The same seed and threads give the same weights
            with the same versions and processor, if bfloat16 is chosen alike: a stopwatch decides,
            and the card says how.
        threads: Threads that play and learn, each on its share of the tables.
        total_decisions: Decisions of all seats together after which training ends.
        tables: Tables played at once.
        steps: Decisions at each table between two updates.
        hidden: Units of the hidden layers.
        learning_rate: Adam's step size at the start; it falls evenly to a twentieth.
        epochs: Times that each decision is learned from.
        minibatch: Decisions in a gradient step.
        clip: Change of an action's probability ratio beyond which nothing more is gained.
        entropy: Weight of the entropy bonus.
        gae_lambda: Weight of later decisions in an advantage: 0 trusts the value, 1 the outcome.
        value_weight: Weight of the value's squared error.
        max_gradient: Norm to which gradients are clipped.
        average: Share of the running average that stays at a gradient step.
        matches: Matches against greedy and the tactician over the run, the last at its end.
        pairs: Pairs in each match.
    """

    config: str = ""
    folder: str = ""
    rules: HouseRules = HouseRules()  # noqa: RUF009
    seed: int = 0
    threads: int = 2
    total_decisions: int = 50_000_000
    tables: int = 1024
    steps: int = 32
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 0.002
    epochs: int = 2
    minibatch: int = 2048
    clip: float = 0.1
    entropy: float = 0.1
    gae_lambda: float = 0.4
    value_weight: float = 0.5
    max_gradient: float = 0.5
    average: float = 0.998
    matches: int = 5
    pairs: int = 1000

    def check(self) -> None:
        """Refuse, with a ValueError, what cannot be trained with."""
        limit(self, "seed", 0, SEEDS - 1)
        limit(self, "matches learning_rate clip entropy value_weight max_gradient", 0, MOST)
        limit(self, "total_decisions steps epochs minibatch", 1, MOST)
        limit(self, "threads", 1, 1024)
        limit(self, "tables", 1, 10**7)
        limit(self, "gae_lambda average", 0, 1)
        limit(self, "pairs", 2, 10**9)
        limit_units(self.hidden, "one number of units for each of 1 to 16 layers", 1, 16)
        if self.tables % self.threads:
            raise ValueError(choice("tables", self.tables, f"a multiple of threads={self.threads}"))
        _ = self.table_rules  # refuses rules that cannot be played together

    @property
    def table_rules(self) -> Rules:
        """The rules of every table."""
        return rules_of(self.rules)

    @property
    def per_window(self) -> int:
        """Decisions between two updates."""
        return self.tables * self.steps

    @property
    def batches(self) -> int:
        """Gradient steps in an epoch of a window."""
        return max(1, self.per_window // self.minibatch)


# --------------------------------------------------------------------------------------- advantages


@jit_allocating
def advantages(delta, ended, seats, values, next_seats, next_values, gae_lambda, out, known):
    """Generalised advantages (Schulman 2016) over each seat's own decisions; T steps at N tables.

    Walks backwards and holds for each seat what came after: the reward since, the value of its next
    decision and that one's advantage. The end of a round clears the values of all seats and leaves
    its settlement in everyone's reward. Behind the window stands the value of the seat on turn; the
    last decisions of the other seats, if the round goes on, have no next value yet: they are not
    ``known`` and left out of the loss, about one in T.

    Args:
        delta: Rewards that each step brought each seat, float32 (T, N, players).
        ended: Whether the step ended a round, bool (T, N).
        seats: Seat that decided, int64 (T, N).
        values: Its value before, float32 (T, N).
        next_seats: Seat on turn after the window, int64 (N,).
        next_values: Its value, float32 (N,).
        gae_lambda: Weight of later decisions.
        out: Out: advantages, float32 (T, N), 0 where not known.
        known: Out: whether there is an advantage, bool (T, N).
    """
    steps, tables, players = delta.shape
    reward = np.zeros(players, np.float32)
    value = np.zeros(players, np.float32)
    advantage = np.zeros(players, np.float32)
    has_next = np.zeros(players, np.bool_)
    for n in range(tables):
        has_next[:] = False
        reward[:] = 0
        advantage[:] = 0
        has_next[next_seats[n]] = True
        value[next_seats[n]] = next_values[n]
        for t in range(steps - 1, -1, -1):
            if ended[t, n]:
                has_next[:] = True
                reward[:] = 0
                value[:] = 0
                advantage[:] = 0
            for s in range(players):
                reward[s] += delta[t, n, s]
            s = seats[t, n]
            known[t, n] = has_next[s]
            if has_next[s]:
                error = reward[s] + value[s] - values[t, n]
                advantage[s] = error + gae_lambda * advantage[s]
            out[t, n] = advantage[s]
            has_next[s] = True
            reward[s] = 0
            value[s] = values[t, n]


# ------------------------------------------------------------------------- choices and their slopes


@jit
def log_softmax(row, asked, n, points, greed, obs):
    """Turn a row's logits, behind its value, with greed for points, into log p."""
    most = np.float32(-np.inf)
    for k in range(1, n):
        if asked[k] < points[1]:
            row[k] += greed * np.float32(obs[points[0] + asked[k]])
        most = max(most, row[k])
    total = np.float32(0)
    for k in range(1, n):
        total += np.exp(row[k] - most)
    most += np.log(total)
    for k in range(1, n):
        row[k] -= most


@jit
def draw(out, asked, counts, points, greed, obs, luck, actions, log_p, values, chosen):
    """Draw an action from each row of outputs, by a number from 0 to 1, and write what it was."""
    for i in range(len(obs)):
        row = out[i]
        log_softmax(row, asked[i], counts[i], points, greed, obs[i])
        left = luck[i]
        for k in range(1, counts[i]):
            actions[i] = asked[i, k]
            log_p[i] = row[k]
            left -= np.exp(row[k])
            if left < 0:
                break
        values[i] = row[0]
        chosen[i] = counts[i] > 2


@jit
def slopes(
    out, asked, counts, points, greed, obs, batch, actions, old_log_p, chosen, advantages, targets,
    clip, entropy_weight, value_weight,
):  # fmt: skip
    """Turn outputs for some rows of a window into the slopes of the loss along them.

    The loss is PPO's, clipped and less a bonus of entropy, as a mean over decisions with a choice;
    and the values' squared error, as a mean over all.

    Returns:
        The slope along greed, then what FIGURES names.
    """
    n = len(batch)
    choices = 0
    mean = 0.0
    for i in batch:
        choices += chosen[i]
        mean += targets[i] / n
    share = np.float32(1 / max(1, choices))
    along_greed, error, variance = 0.0, 0.0, 0.0
    entropies, moved, clipped = 0.0, 0.0, 0
    for j in range(n):
        i = batch[j]
        row = out[j]
        miss = row[0] - targets[i]
        error += miss * miss / n
        variance += (targets[i] - mean) ** 2 / n
        row[0] = 2 * value_weight * miss / n
        if not chosen[i]:
            row[1] = 0
            continue
        log_softmax(row, asked[j], counts[j], points, greed, obs[i])
        entropy = np.float32(0)
        made = 0
        for k in range(1, counts[j]):
            entropy -= np.exp(row[k]) * row[k]
            made += k * (asked[j, k] == actions[i])
        log_ratio = row[made] - old_log_p[i]
        ratio = np.exp(log_ratio)
        far = abs(ratio - 1) > clip
        gain = advantages[i] * ratio
        if far and (ratio > 1) == (advantages[i] > 0):
            gain = np.float32(0)
        for k in range(1, counts[j]):
            p = np.exp(row[k])
            slope = entropy_weight * p * (row[k] + entropy) - gain * ((k == made) - p)
            row[k] = slope * share
            if asked[j, k] < points[1]:
                along_greed += row[k] * np.float32(obs[i, points[0] + asked[j, k]])
        entropies += entropy * share
        moved += (ratio - 1 - log_ratio) * share
        clipped += far
    explained = 1 - error / max(variance, 1e-12)
    return along_greed, error, explained, entropies, moved, clipped * share


#: What is logged of each gradient: the values' squared error and the share of variance that they
#: explain; the policy's entropy, how far it moved since it played, and how often it was clipped.
FIGURES = ("value_error", "value_explained", "entropy", "kl", "clipped")


# ----------------------------------------------------------------------------- playing and learning


class Worker:
    """One thread's tables, its record of a window (T steps at N tables), and its gradients."""

    def __init__(self, settings: Settings, net: Fast, number: int, gradient: Tensor) -> None:
        rules = settings.table_rules
        t, n = settings.steps, settings.tables // settings.threads
        self.settings, self.net, self.number = settings, net, number
        seed = int(np.random.SeedSequence([settings.seed, number]).generate_state(1)[0])
        self.game = SelfPlay(n, rules, seed=seed)
        first = view.fields(rules)["points"]
        self.points = first.start, first.stop - first.start
        self.obs = np.empty((t, n, view.size(rules)), np.uint8)
        self.mask = np.empty((t, n, rules.n_actions), np.bool_)
        self.seats, self.actions = np.empty((2, t, n), np.int64)
        self.delta = np.empty((t, n, rules.players), np.float32)
        self.ended, self.known, self.chosen = np.empty((3, t, n), np.bool_)
        self.log_p, self.values, self.advantages = np.empty((3, t, n), np.float32)
        self.all = np.arange(n)
        self.pass_ = Pass(net, max(n, -(-n * t // settings.batches)), gradient)

    @torch.inference_mode()
    def play(self, done: int) -> None:
        """Play and record a window after so many decisions, then work out its advantages."""
        game = self.game
        # Nothing is left of a generator after its window: a run that goes on needs none.
        self.rng = np.random.default_rng([self.settings.seed, self.number, done])
        luck = self.rng.random(self.seats.shape, np.float32)
        for t in range(self.settings.steps):
            self.obs[t], self.mask[t], self.seats[t] = game.obs, game.mask, game.seats
            way = self.pass_
            way.forward(game.obs, game.mask, self.all)
            draw(
                way.outs, way.asked, way.counts, self.points, self.net.greed, game.obs, luck[t],
                self.actions[t], self.log_p[t], self.values[t], self.chosen[t],
            )  # fmt: skip
            game.step(self.actions[t])
            self.delta[t], self.ended[t] = game.delta, game.ended
        self.delta /= POINTS
        next_values = self.pass_.forward(game.obs, game.mask, self.all)[:, 0]
        advantages(
            self.delta, self.ended, self.seats, self.values, game.seats, next_values,
            np.float32(self.settings.gae_lambda), self.advantages, self.known,
        )  # fmt: skip
        # Rows for :meth:`learn`, with advantages of mean 0 and deviation 1.
        counted = self.advantages[self.chosen & self.known]
        mean, spread = (counted.mean(), counted.std()) if len(counted) else (0, 1)
        scaled, targets = (self.advantages - mean) / (spread + 1e-8), self.advantages + self.values
        arrays = (self.obs, self.mask, self.actions, self.log_p, self.chosen, scaled, targets)
        self.rows = [array.reshape(-1, *array.shape[2:]) for array in arrays]

    def batches(self) -> list[NDArray[np.int64]]:
        """The window's known decisions, shuffled and cut into minibatches."""
        known = self.rng.permutation(np.flatnonzero(self.known))
        return np.array_split(known, self.settings.batches)

    @torch.inference_mode()
    def learn(self, batch: NDArray[np.int64]) -> Sequence[float]:
        """Work out the gradient of the loss over some decisions; the figures of FIGURES."""
        s = self.settings
        obs, mask, *about = self.rows
        way = self.pass_
        out = way.forward(obs, mask, batch)
        along_greed, *figures = slopes(
            out, way.asked, way.counts, self.points, self.net.greed, obs, batch, *about,
            *map(np.float32, (s.clip, s.entropy, s.value_weight)),
        )  # fmt: skip
        way.backward(out)
        way.parts[-1].fill_(along_greed)
        return figures


class Learner:
    """The network, its average, Adam's moments, and the threads that play and learn."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.done, self.step = settings, 0, 0
        windows = -(-settings.total_decisions // settings.per_window)
        self.total = windows * settings.per_window
        # One thread for each worker: torch's own are slower on networks this small, and stall where
        # other programs want the cores too.
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.network = Network(settings.table_rules, settings.hidden)
        self.compute_in(bfloat16_is_fast())
        self.average = self.net.flat.clone()
        self.pool = ThreadPoolExecutor(
            settings.threads, initializer=torch.set_num_threads, initargs=(1,)
        )

    def compute_in(self, bfloat16: bool) -> None:
        """Make all that depends on whether to compute in bfloat16; weights are float32 anyway."""
        self.bfloat16 = bfloat16
        self.net = Fast(self.network, torch.bfloat16 if bfloat16 else torch.float32)
        self.moments = torch.zeros(2, len(self.net.flat))
        gradients = self.gradients = torch.zeros(self.settings.threads, len(self.net.flat))
        self.workers = [Worker(self.settings, self.net, *each) for each in enumerate(gradients)]

    def line(self) -> tuple[dict[str, float], str]:
        """Learn as far as the next line of the log; its figures, and a text for the bar."""
        per_window = self.settings.per_window
        last = min(self.total, self.done + LINE * per_window)
        rows = [self.learn() for _ in range(self.done, last, per_window)]
        row = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        speed = per_window / (row["seconds_playing"] + row["seconds_learning"])
        return {"decisions_per_s": speed, **row}, f", entropy {row['entropy']:.2f}"

    def learn(self) -> dict[str, float]:
        """Play a window and learn from it; what to log."""
        s = self.settings
        fraction = self.done / self.total
        rate = s.learning_rate * (1 - 0.95 * fraction)
        began = time.perf_counter()
        list(self.pool.map(Worker.play, self.workers, [self.done] * s.threads))
        played = time.perf_counter()
        figures = []
        for _ in range(s.epochs):
            for batches in zip(*(w.batches() for w in self.workers), strict=True):
                figures += self.pool.map(Worker.learn, self.workers, batches)
                self._update(rate)
        self.done += s.per_window
        return {
            **dict(zip(FIGURES, np.mean(figures, 0).tolist(), strict=True)),
            "greed": float(self.net.greed),
            "rounds": sum(worker.game.take_stats()["rounds"] for worker in self.workers),
            "seconds_playing": played - began,
            "seconds_learning": time.perf_counter() - played,
        }

    def _update(self, rate: float) -> None:
        """One step of Adam along the mean of the workers' gradients, and of the average."""
        s = self.settings
        self.step += 1
        adam(
            self.net.flat.numpy(), self.moments.numpy(), self.average.numpy(),
            self.gradients.numpy(), rate, s.max_gradient, self.step,
            min(s.average, self.step / (self.step + 9)),
        )  # fmt: skip
        self.net.renew()

    def save(self, folder: Path, **about: Any) -> None:
        """Write the average as a checkpoint."""
        names = [f"layers.{name}" for name, _ in self.network.layers.named_parameters()]
        parts = [part.numpy() for part in self.net.parts(self.average)]
        arrays = dict(zip([*names, "greed"], parts, strict=True))
        about["bfloat16"] = self.bfloat16
        checkpoint.save(folder, arrays, self.settings.table_rules, **about)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that the run needs to go on from here, between two windows: views, not copies."""
        found = {name: np.array([getattr(self, name)]) for name in ("done", "step", "bfloat16")}
        found |= {"weights": self.net.flat.numpy(), "average": self.average.numpy()}
        found |= zip(("exp_avg", "exp_avg_sq"), self.moments.numpy(), strict=True)
        for k, worker in enumerate(self.workers):
            found[f"tables.{k}"] = worker.game.tables.view(np.uint8)
            found[f"before.{k}"] = worker.game._before
        return found

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Go on from arrays that were kept."""
        self.done, self.step, bfloat16 = (int(kept[k][0]) for k in ("done", "step", "bfloat16"))
        self.compute_in(bool(bfloat16))
        for name, array in self.arrays().items():
            array[...] = kept[name]
        self.net.renew()
        for worker in self.workers:
            worker.game._look()


# -------------------------------------------------------------------------------------------- a run


def train(settings: Settings, given: str = "") -> str:
    """Train into the settings' folder, as :func:`training.runs.run` does; how it ended."""
    return runs.run(NAME, Learner, settings, given)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings, train, and say how it ended; 2 if the settings are refused."""
    return runs.main(Settings, NAME, train, arguments)


if __name__ == "__main__":
    sys.exit(main())
