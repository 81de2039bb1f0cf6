"""Masked PPO by self-play, from top to bottom in one file.

One network plays every seat of many tables at once. What is particular to this game:

* *Turns.* A seat may move twice running, or wait for several others. Advantages run from a seat's
  decision to the next decision of the same seat; whatever anyone scores in between belongs to it.
* *Settlements.* A round's end pays or charges every seat. It reaches each seat's last decision, and
  no value is carried over it: the horizon is the round, and nothing is discounted.
* *Reward.* The change of margin (own side's points less the mean of the other sides'), over 20.
* *Masks.* Illegal actions have probability 0; a decision without a choice trains only the value.

Each thread has its own tables, and in learning its own share of every minibatch::

    python -m training.ppo --config configs/demo.yaml --seed 1
    python -m training.ppo --help
"""

import dataclasses
import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fives_env.engine import view
from fives_env.engine.jit import jit_allocating
from fives_env.envs.self_play import SelfPlay
from fives_env.errors import choice
from fives_env.players import checkpoint
from fives_env.rules import Rules
from training.runs import (
    HouseRules,
    Log,
    as_yaml,
    limit,
    make_folder,
    match,
    origin,
    parse,
    rules_of,
    told,
)

#: Points of margin that make a reward of 1.
POINTS = 20

# ---------------------------------------------------------------------------------------- settings


@dataclass(frozen=True)
class Settings:
    """A run's settings: the defaults, then those in the file of --config, then the command line's.

    Attributes:
        config: YAML file with any of the settings below.
        folder: Where the run writes; runs/NAME after NAME.yaml unless given. An earlier run there
            is moved aside.
        rules: House rules.
        seed: Seed of deals, weights and choices; the same seed and threads give the same weights.
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
        matches: Matches against greedy over the run, the last at its end.
        pairs: Pairs in each match.
    """

    config: str = ""
    folder: str = ""
    rules: HouseRules = HouseRules()  # noqa: RUF009
    seed: int = 0
    threads: int = 2
    total_decisions: int = 50_000_000
    tables: int = 512
    steps: int = 32
    hidden: tuple[int, ...] = (256, 256)
    learning_rate: float = 0.002
    epochs: int = 2
    minibatch: int = 1024
    clip: float = 0.1
    entropy: float = 0.1
    gae_lambda: float = 0.6
    value_weight: float = 0.5
    max_gradient: float = 0.5
    matches: int = 5
    pairs: int = 1000

    def check(self) -> None:
        """Refuse, with a ValueError, what cannot be trained with."""
        limit(
            self, "seed matches learning_rate clip entropy value_weight max_gradient", 0, math.inf
        )
        limit(self, "threads total_decisions tables steps epochs minibatch", 1, math.inf)
        limit(self, "gae_lambda", 0, 1)
        limit(self, "pairs", 2, math.inf)
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(choice("hidden", self.hidden, "one number of units a layer, from 1"))
        if self.tables % self.threads:
            raise ValueError(choice("tables", self.tables, f"a multiple of threads={self.threads}"))
        _ = self.table_rules  # refuses rules that cannot be played together

    @property
    def table_rules(self) -> Rules:
        """The rules of every table."""
        return rules_of(self.rules)


# ------------------------------------------------------------------------------------- the network


class Network(nn.Module):
    """Counts in, a logit for each action and a value out.

    One number of its own, ``greed``, is added to a logit for each point that the action scores at
    once, so that training starts from a player that likes points instead of from nothing.
    """

    def __init__(self, rules: Rules, hidden: Sequence[int]) -> None:
        super().__init__()
        sizes = [view.size(rules), *hidden, rules.n_actions + 1]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
        for layer in self.layers:
            last = layer is self.layers[-1]
            nn.init.orthogonal_(layer.weight, 0.01 if last else 2**0.5)
            nn.init.zeros_(layer.bias)
        self.greed = nn.Parameter(torch.tensor(0.3))
        self.points = view.fields(rules)["points"]
        self.register_buffer("scale", torch.from_numpy(view.scale(rules)), persistent=False)

    def forward(self, counts: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (k, n_actions) and values (k,) of observations (k, size), uint8."""
        x = counts.float() * self.scale
        points = counts[:, self.points].float()
        for layer in self.layers[:-1]:
            x = functional.relu(layer(x))
        out = self.layers[-1](x)
        logits, values = out[:, :-1], out[:, -1]
        beyond = logits.shape[1] - points.shape[1]
        return logits + functional.pad(self.greed * points, (0, beyond)), values


def masked_log_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """Log probabilities with next to nothing for illegal actions (finite: 0 * log 0 stays 0)."""
    return functional.log_softmax(logits.masked_fill(~mask, -1e9), 1)


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


# ----------------------------------------------------------------------------- playing and learning


class Worker:
    """One thread's tables, its record of a window (T steps at N tables), and its gradients."""

    def __init__(self, settings: Settings, network: Network, number: int) -> None:
        rules = settings.table_rules
        t, n = settings.steps, settings.tables // settings.threads
        seed = settings.seed * settings.threads + number
        self.settings, self.network = settings, network
        self.game = SelfPlay(n, rules, seed=seed)
        self.rng = np.random.default_rng(seed)
        self.noise = np.empty((n, rules.n_actions), np.float32)
        self.obs = np.empty((t, n, view.size(rules)), np.uint8)
        self.mask = np.empty((t, n, rules.n_actions), np.bool_)
        self.seats, self.actions = np.empty((2, t, n), np.int64)
        self.delta = np.empty((t, n, rules.players), np.float32)
        self.ended, self.known = np.empty((2, t, n), np.bool_)
        self.log_p, self.values, self.advantages = np.empty((3, t, n), np.float32)

    @torch.inference_mode()
    def play(self) -> None:
        """Play and record a window, then work out its advantages."""
        game, noise = self.game, torch.from_numpy(self.noise)
        for t in range(self.settings.steps):
            self.obs[t], self.mask[t], self.seats[t] = game.obs, game.mask, game.seats
            logits, values = self.network(torch.from_numpy(game.obs))
            log_p = masked_log_softmax(logits, torch.from_numpy(game.mask))
            # The largest of log p - log E is a draw from p (Gumbel); 1e-30 keeps it finite.
            self.rng.standard_exponential(out=self.noise, dtype=np.float32)
            action = (log_p - noise.add_(1e-30).log_()).argmax(1, keepdim=True)
            self.log_p[t] = log_p.gather(1, action)[:, 0]
            self.actions[t] = action[:, 0]
            self.values[t] = values
            game.step(self.actions[t])
            self.delta[t], self.ended[t] = game.delta, game.ended
        self.delta /= POINTS
        next_values = self.network(torch.from_numpy(game.obs))[1].numpy()
        advantages(
            self.delta, self.ended, self.seats, self.values, game.seats, next_values,
            np.float32(self.settings.gae_lambda), self.advantages, self.known,
        )  # fmt: skip
        self._flatten()

    def _flatten(self) -> None:
        """The window as rows for :meth:`gradient`, with advantages of mean 0 and deviation 1."""

        def rows(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array.reshape(-1, *array.shape[2:]))

        mask, advantage, values = rows(self.mask), rows(self.advantages), rows(self.values)
        chosen = mask.sum(1) > 1
        counted = advantage[chosen & rows(self.known)]
        mean, spread = (counted.mean(), counted.std()) if len(counted) > 1 else (0, 1)
        scaled, targets = (advantage - mean) / (spread + 1e-8), advantage + values
        actions, log_p = rows(self.actions), rows(self.log_p)
        self.rows = rows(self.obs), mask, chosen.float(), actions, log_p, scaled, targets

    def batches(self, count: int) -> list[NDArray[np.int64]]:
        """The window's known decisions, shuffled and cut into ``count`` parts."""
        return np.array_split(self.rng.permutation(np.flatnonzero(self.known)), count)

    def gradient(self, batch: NDArray[np.int64]) -> tuple[Sequence[Tensor], Tensor]:
        """Gradients of the loss over some decisions, and the figures that :data:`FIGURES` names."""
        s, index = self.settings, torch.from_numpy(batch)
        obs, mask, chosen, action, old_log_p, advantage, target = (r[index] for r in self.rows)
        logits, values = self.network(obs)
        log_p = masked_log_softmax(logits, mask)
        log_ratio = log_p.gather(1, action[:, None])[:, 0] - old_log_p
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - s.clip, 1 + s.clip)
        gain = torch.min(ratio * advantage, clipped * advantage)
        entropy = -(log_p.exp() * log_p).sum(1)
        # A decision without a choice counts for the value only.
        share = chosen / chosen.sum().clamp(min=1)
        error = (values - target).square().mean()
        loss = s.value_weight * error - ((gain + s.entropy * entropy) * share).sum()
        gradients = torch.autograd.grad(loss, list(self.network.parameters()))
        with torch.no_grad():
            policy = torch.stack((entropy, ratio - 1 - log_ratio, (ratio != clipped).float()))
            explained = 1 - error / target.var()
            return gradients, torch.stack((error, explained, *(policy * share).sum(1)))


#: What is logged of each gradient: the values' squared error and the share of variance that they
#: explain; the policy's entropy, how far it moved since it played, and how often it was clipped.
FIGURES = ("value_error", "value_explained", "entropy", "kl", "clipped")


class Learner:
    """The network, its optimiser, and the threads that play and learn."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # One thread for each worker: torch's own are slower on networks this small, and stall where
        # other programs want the cores too.
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.network = Network(settings.table_rules, settings.hidden)
        self.weights = list(self.network.parameters())
        self.optimizer = torch.optim.Adam(self.weights, eps=1e-5, fused=True)
        self.workers = [Worker(settings, self.network, k) for k in range(settings.threads)]
        self.pool = ThreadPoolExecutor(
            settings.threads, initializer=torch.set_num_threads, initargs=(1,)
        )

    def window(self, fraction: float) -> dict[str, float]:
        """Play a window and learn from it; the figures to log.

        Args:
            fraction: How much of the training is done, from 0 to 1.
        """
        s = self.settings
        self.optimizer.param_groups[0]["lr"] = s.learning_rate * (1 - 0.95 * fraction)
        list(self.pool.map(Worker.play, self.workers))
        count = max(1, s.tables * s.steps // s.minibatch)
        figures = []
        for _ in range(s.epochs):
            for batches in zip(*(w.batches(count) for w in self.workers), strict=True):
                results = list(self.pool.map(Worker.gradient, self.workers, batches))
                self._update([gradients for gradients, _ in results])
                figures.append(torch.stack([row for _, row in results]).mean(0))
        return {
            **dict(zip(FIGURES, torch.stack(figures).mean(0).tolist(), strict=True)),
            "greed": self.network.greed.item(),
            "rounds": sum(worker.game.take_stats()["rounds"] for worker in self.workers),
        }

    @torch.no_grad()
    def _update(self, gradients: Sequence[Sequence[Tensor]]) -> None:
        """One step of Adam along the mean of the workers' gradients."""
        for weight, *parts in zip(self.weights, *gradients, strict=True):
            weight.grad = sum(parts) / len(parts)
        nn.utils.clip_grad_norm_(self.weights, self.settings.max_gradient)
        self.optimizer.step()

    def save(self, folder: Path, **about: Any) -> None:
        """Write the weights as a checkpoint."""
        weights = {name: w.numpy() for name, w in self.network.state_dict().items()}
        checkpoint.save(folder, weights, self.settings.table_rules, **about)


# -------------------------------------------------------------------------------------------- a run


def train(settings: Settings, folder: Path) -> str:
    """Train, log and save, into a folder that is there; a sentence about how it ended.

    Ctrl-C ends it early; what has been learned is saved then too.
    """
    about = {"settings": dataclasses.asdict(settings), "seed": settings.seed, **origin()}
    (folder / "settings.yaml").write_text(as_yaml(settings, about["versions"]))
    learner = Learner(settings)
    per_window = settings.tables * settings.steps
    windows = -(-settings.total_decisions // per_window)
    due = {windows * k // settings.matches for k in range(1, settings.matches + 1)}
    judged: list[dict[str, Any]] = []
    began, done, how = time.perf_counter(), 0, "Trained for"
    rounds, margin = 0, ""
    with Log(folder, windows * per_window) as log:
        try:
            for window in range(windows):
                figures = learner.window(window / windows)
                done, judged = done + per_window, []
                if window + 1 in due:
                    learner.save(folder, **about)
                    judged.append(match(settings, f"network:{folder}", "greedy"))
                    figures["against_greedy"] = judged[0]["margin"]
                    margin = f", {figures['against_greedy']:+.1f} against greedy"
                rounds += int(figures["rounds"])
                log.write(done, figures, f", {rounds:,} rounds{margin}")
        except KeyboardInterrupt:
            how = "Stopped after"
    learner.save(folder, **about, decisions=done, results=judged)
    minutes, seconds = divmod(round(time.perf_counter() - began), 60)
    return f"{how} {done:,} decisions in {minutes}:{seconds:02}: network:{folder}.{told(judged)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings, train, and say how it ended; 2 if the settings are refused."""
    try:
        settings = parse(Settings, "python -m training.ppo", arguments)
        folder = make_folder(settings, "ppo")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        print(train(settings, folder))
    except KeyboardInterrupt:
        print("Stopped before anything was learned.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
