"""Values of actions by regression on play-outs, from top to bottom in one file.

A network of values (:mod:`fives_env.players.values`) plays every seat of many tables. At each
decision *all* legal actions are tried on the true hidden state, on common luck, and played out by a
player that is fast: first the tactician, later the network itself. The network learns what each
action brought. It never sees what is hidden, so it learns the mean over what may be.

* *Apart.* The loss weighs the differences between the actions of a decision, which are all that
  play depends on, apart from what they have in common, which is mostly luck.
* *Averages.* What plays, judges and is saved is a running average of the weights.
* *Itself.* From the share ``alone`` of the run on, the network plays on by itself, for ``turns``
  decisions, and judges the position that they lead to.
* *A teacher.* With ``teacher`` the targets are another network's values: a large network distilled
  into one small enough to play out the worlds of a search.

A run that was stopped, in whatever way, goes on when the same command is given again, and ends with
the same weights to the bit::

    python -m training.distill --config configs/duel.yaml
    python -m training.distill --help
"""

import dataclasses
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fives_env.engine import batch, state
from fives_env.errors import choice
from fives_env.players import checkpoint
from fives_env.players.compiled import KINDS
from fives_env.players.features import NAMES, SCALARS, SEEN, SEES, TILE
from fives_env.players.playouts import NETWORK
from fives_env.players.values import UNIT, Net, net_of, new_desk, no_net, shapes
from fives_env.players.valuing import load_net
from fives_env.rules import Rules
from fives_env.table import SEEDS
from training import labels, runs
from training.settings import MOST, HouseRules, limit, limit_units, rules_of

NAME = "training.distill"

# ---------------------------------------------------------------------------------------- settings

#: What makes a seating, by its name.
SEATINGS: dict[str, dict[str, Any]] = {
    "2": {"players": 2},
    "3": {"players": 3},
    "4": {"players": 4},
    "partners": {"players": 4, "teams": True},
}


@dataclass(frozen=True)
class Settings:
    """A run's settings: the defaults, then those in the file of --config, then the command line's.

    Attributes:
        config: YAML file with any of the settings below.
        folder: Where the run writes; runs/NAME after NAME.yaml unless given. A run with the same
            settings that was stopped there goes on; another one is moved aside.
        rules: House rules.
        seatings: Some of 2, 3, 4 and partners, with commas between, that take turns from step to
            step instead of the rules' own.
        seed: Seed of deals, weights and choices. The same seed and threads give the same weights
            with the same versions and processor.
        threads: Threads that play and learn, each on its share of the tables.
        total_decisions: Decisions with a choice, of all seats together, after which training ends.
        tables: Tables played at once; each gives one decision to a gradient step.
        hidden: Units of the two hidden layers.
        sees: What the network sees: only the scalars (small and fast), the tiles one by one, or
            also what earlier plays tell about the others' hands (plays).
        start: Checkpoint whose weights to begin with.
        teacher: Checkpoint whose values to learn instead of play-outs; ``playouts``, ``alone`` and
            ``turns`` then have no say.
        playouts: Who plays out: random, greedy, tactician, or tiny:PATH.
        versus: Whether that player also sits on all sides but one, and the network learns to beat
            it: see training.best_response.
        alone: Share of the run after which the network looks ahead by itself; 1 for never.
        turns: Decisions that it plays then, before it judges the position reached.
        heat: Points by which actions may differ and yet both be played.
        learning_rate: Adam's step size at the start; it falls evenly to a twentieth.
        common: Weight of what the actions of a decision have in common.
        average: Share of the running average that stays at a step.
        steps: Gradient steps between two lines of the log; the state is saved then.
        matches: Matches against greedy and the tactician over the run, the last at its end.
        pairs: Pairs in each match.
    """

    config: str = ""
    folder: str = ""
    rules: HouseRules = HouseRules()  # noqa: RUF009
    seatings: str = ""
    seed: int = 0
    threads: int = 2
    total_decisions: int = 10_000_000
    tables: int = 512
    hidden: tuple[int, int] = (128, 32)
    sees: str = "plays"
    start: str = ""
    teacher: str = ""
    playouts: str = "tactician"
    versus: bool = False
    alone: float = 1.0
    turns: int = 1
    heat: float = 2.0
    learning_rate: float = 0.005
    common: float = 1.0
    average: float = 0.998
    steps: int = 100
    matches: int = 5
    pairs: int = 2000

    def check(self) -> None:
        """Refuse, with a ValueError, what cannot be trained with."""
        limit(self, "seed", 0, SEEDS - 1)
        limit(self, "matches learning_rate common turns heat", 0, MOST)
        limit(self, "total_decisions steps", 1, MOST)
        limit(self, "threads", 1, 1024)
        limit(self, "tables", 1, 10**7)
        limit(self, "alone average", 0, 1)
        limit(self, "pairs", 2, 10**9)
        limit_units(self.hidden, "two numbers of units", 2, 2)
        if self.tables % self.threads:
            raise ValueError(choice("tables", self.tables, f"a multiple of threads={self.threads}"))
        kind, _, player = self.playouts.partition(":")
        if self.playouts not in KINDS and not (kind == "tiny" and player):
            raise ValueError(choice("playouts", self.playouts, [*KINDS, "tiny:PATH"]))
        if self.sees not in SEES:
            raise ValueError(choice("sees", self.sees, list(SEES)))
        for path in filter(None, (self.teacher, player)):
            load_net(path)
        self._check_start()
        if self.teacher and self.versus:
            raise ValueError(choice("versus", self.versus, "False where there is a teacher"))
        for name in self.seatings.split(",") if self.seatings else ():
            if name not in SEATINGS:
                raise ValueError(choice("seatings", self.seatings, f"out of {', '.join(SEATINGS)}"))
        _ = self.all_rules  # refuses rules that cannot be played together

    def _check_start(self) -> None:
        """Refuse, with a ValueError, to begin with the weights of a network of other shapes."""
        if self.start:
            net = load_net(self.start)[0]
            for name, own in (("hidden", net.second.shape), ("sees", SEEN[len(net.planes)])):
                if getattr(self, name) != own:
                    said = f"{own!r} as in start={self.start}"
                    raise ValueError(choice(name, getattr(self, name), said))

    @property
    def all_rules(self) -> list[Rules]:
        """The rules of each seating."""
        if not self.seatings:
            return [rules_of(self.rules)]
        seatings = [SEATINGS[name] for name in self.seatings.split(",")]
        return [rules_of(dataclasses.replace(self.rules, **seats)) for seats in seatings]

    @property
    def table_rules(self) -> Rules:
        """The rules of the first seating, under which matches are played."""
        return self.all_rules[0]

    @property
    def all_steps(self) -> int:
        """Gradient steps of the whole run."""
        return -(-self.total_decisions // self.tables)


# ------------------------------------------------------------------------------------- the network


class Network(nn.Module):
    """The network of :mod:`fives_env.players.values` in torch, weights of the same names.

    Of itself, it likes points and dislikes the reply that they invite.
    """

    def __init__(self, columns: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        # Some forty columns of a decision are not 0.
        inputs = {"planes": 40, "scalars": 40, "second": hidden[0], "last": 100 * hidden[1]}
        for name, shape in shapes(columns, *hidden).items():
            spread = (2 / inputs[name]) ** 0.5 if name in inputs else 0.0
            self.register_parameter(name, nn.Parameter(spread * torch.randn(shape)))
        with torch.no_grad():
            self.straight[NAMES.index("points")] = 5 / UNIT
            self.straight[NAMES.index("reply")] = -4 / UNIT

    @property
    def trained(self) -> list[nn.Parameter]:
        """The weights that there are: a network that sees scalars only has none for planes."""
        return [weight for weight in self.parameters() if len(weight)]

    def forward(self, shared: Tensor, planes: Tensor, scalars: Tensor, owner: Tensor) -> Tensor:
        """Values in units of ``UNIT`` points, (actions,).

        Args:
            shared: Planes of each decision, (decisions, TILE).
            planes: Planes of each action, (actions, columns - TILE).
            scalars: Its scalars, (actions, SCALARS).
            owner: Its decision, int64, (actions,).
        """
        x = torch.addmm(self.bias, scalars, self.scalars)
        if len(self.planes):
            x = x + planes @ self.planes[TILE:] + (shared @ self.planes[:TILE])[owner]
        x = torch.relu(torch.addmm(self.second_bias, torch.relu(x), self.second))
        return x @ self.last + scalars @ self.straight + self.offset


# ----------------------------------------------------------------------------- playing and learning


class Worker:
    """One thread's tables, a decision of each with its targets, and gradients."""

    def __init__(self, settings: Settings, number: int, net: Net, player: Net) -> None:
        rules = settings.table_rules
        n = settings.tables // settings.threads
        self.rules = [seating.record(episode="round") for seating in settings.all_rules]
        self.tables = [state.new_tables(n) for _ in self.rules]
        self.copy = state.new_tables(1)
        seeds = np.random.SeedSequence([settings.seed, number]).generate_state(n, np.uint64)
        for tables, record in zip(self.tables, self.rules, strict=True):
            batch.reset(tables, record, seeds >> np.uint64(1), 0, 0, n)
        self.player, self.desks = player, (new_desk(net), new_desk(player))
        seen = SEES[settings.sees]
        columns = (TILE, seen - TILE) if seen else (0, 0)
        most = n * 28 * min(rules.n_ends, 8)
        self.rows = np.zeros((2, rules.n_actions), np.int32)
        self.shared = np.zeros((n, columns[0]), np.float32)
        self.planes = np.zeros((most, columns[1]), np.float32)
        self.scalars = np.zeros((most, SCALARS), np.float32)
        self.owner = np.zeros(most, np.int64)
        self.targets, self.slope = np.zeros((2, most), np.float32)
        self.starts = np.zeros(n + 1, np.int64)
        self.common = settings.common

    def gather(
        self, net: Net, player: Net, kind: int, versus: bool, turns: int, heat: float, key: int,
        seating: int = 0,
    ) -> int:  # fmt: skip
        """Fill in a decision of each table of a seating; how many actions there are.

        Raises:
            ValueError: There are none, in however many rounds.
        """
        desk, other = self.desks if player is self.player else (self.desks[0], self.desks[0])
        m = labels.gather(
            self.tables[seating], self.copy, self.rules[seating], net, desk, kind, player,
            other, versus, turns, heat, np.uint64(key % 2**64), batch.NO_EVENTS, *self.rows,
            self.shared, self.planes, self.scalars, self.owner, self.targets, self.starts,
        )  # fmt: skip
        if not m:
            raise ValueError(
                f"There is nothing to learn: {labels.ROUNDS:,} rounds under these rules went by "
                "without a choice."
            )
        return int(m)

    def gradient(self, network: Network, m: int) -> tuple[Sequence[Tensor], NDArray[np.float64]]:
        """Gradients of the loss over the decisions gathered, and what FIGURES names."""
        inputs = (self.shared, self.planes[:m], self.scalars[:m], self.owner[:m])
        q = network(*map(torch.from_numpy, inputs))
        values = q.detach().numpy() * np.float32(UNIT)
        figures = labels.slopes(values, self.targets, self.starts, self.common, self.slope)
        slope = torch.from_numpy(self.slope[:m]) / UNIT
        return torch.autograd.grad(q, network.trained, slope), np.array(figures)


#: What is logged: mean square error apart from the mean of a decision's actions, that of the mean,
#: and the share of decisions in which the action preferred turned out best.
FIGURES = ("apart", "together", "agree")


class Learner:
    """The network, its average, its optimiser, and the threads that play and learn."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.step = settings, 0
        # One thread for each worker: torch's own are slower on networks this small.
        torch.set_num_threads(1)
        torch.manual_seed(settings.seed)
        self.network = Network(SEES[settings.sees], settings.hidden)
        self.weights = dict(self.network.named_parameters())
        if settings.start:
            for name, weight in load_net(settings.start)[0]._asdict().items():
                self.weights[name].data.copy_(torch.from_numpy(weight))
        self.average = {name: w.detach().clone() for name, w in self.weights.items()}
        self.optimizer = torch.optim.Adam(self.network.trained, fused=True)
        self.kind, self.player = KINDS.get(settings.playouts, NETWORK), no_net()
        if settings.teacher:
            self.kind, self.player = labels.TEACHER, load_net(settings.teacher)[0]
        elif self.kind == NETWORK:
            self.player = load_net(settings.playouts.partition(":")[2])[0]
        net = self.net
        self.workers = [Worker(settings, k, net, self.player) for k in range(settings.threads)]
        self._try_out()
        self.pool = ThreadPoolExecutor(
            settings.threads, initializer=torch.set_num_threads, initargs=(1,)
        )

    @property
    def net(self) -> Net:
        """The average as the kernels take it."""
        return net_of({name: w.numpy().copy() for name, w in self.average.items()})

    @property
    def done(self) -> int:
        """Decisions learned from."""
        return self.step * self.settings.tables

    @property
    def total(self) -> int:
        """Decisions of the whole run."""
        return self.settings.all_steps * self.settings.tables

    def line(self) -> tuple[dict[str, float], str]:
        """Learn as far as the next line of the log; its figures, and a text for the bar."""
        last = min(self.settings.all_steps, self.step + self.settings.steps)
        figures = np.mean([self.learn() for _ in range(self.step, last)], 0)
        return dict(zip(FIGURES, figures.tolist(), strict=True)), f", agree {figures[2]:.3f}"

    def learn(self) -> NDArray[np.float64]:
        """One gradient step; what FIGURES names."""
        s = self.settings
        fraction = self.step / s.all_steps
        how = self._how(fraction)

        def job(k: int) -> tuple[Sequence[Tensor], NDArray[np.float64]]:
            worker = self.workers[k]
            key = (self.step * s.threads + k) * 2**20 + s.seed
            m = worker.gather(*how, s.heat, key, self.step % len(worker.rules))
            return worker.gradient(self.network, m)

        results = list(self.pool.map(job, range(s.threads)))
        self.optimizer.param_groups[0]["lr"] = s.learning_rate * (1 - 0.95 * fraction)
        self._update([gradients for gradients, _ in results])
        return np.mean([figures for _, figures in results], 0)

    def _how(self, fraction: float) -> tuple[Net, Net, int, bool, int]:
        """How decisions are gathered when a share of the run is over; see :meth:`Worker.gather`."""
        s, net = self.settings, self.net
        turns = -1 if fraction < s.alone else s.turns
        if turns < 0 or s.versus or self.kind == labels.TEACHER:
            return net, self.player, self.kind, s.versus, turns
        return net, net, NETWORK, False, turns

    def _try_out(self) -> None:
        """Compile before threads start, and see whether there are any choices to learn from."""
        how = self._how(0)
        worker = Worker(dataclasses.replace(self.settings, tables=2, threads=2), 0, how[0], how[1])
        for seating in range(len(worker.rules)):
            worker.gather(*how, self.settings.heat, 0, seating)

    @torch.no_grad()
    def _update(self, gradients: Sequence[Sequence[Tensor]]) -> None:
        """One step of Adam along the mean of the workers' gradients, and of the average."""
        for weight, *parts in zip(self.network.trained, *gradients, strict=True):
            weight.grad = sum(parts) / len(parts)
        self.optimizer.step()
        self.step += 1
        stays = min(self.settings.average, self.step / (self.step + 9))
        for name, weight in self.weights.items():
            self.average[name].lerp_(weight, 1 - stays)

    def save(self, folder: Path, **about: Any) -> None:
        """Write the average as a checkpoint."""
        weights = {name: w.numpy() for name, w in self.average.items()}
        first, *others = self.settings.all_rules
        also = {"also": [rules.to_dict() for rules in others]} if others else {}
        checkpoint.save(folder, weights, first, **also, **about)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that the run needs to go on from here: views, not copies."""
        found = {"step": np.array([self.step])}
        for name, weight in self.weights.items():
            found[f"weight.{name}"] = weight.detach().numpy()
            found[f"average.{name}"] = self.average[name].numpy()
            for kind in ("exp_avg", "exp_avg_sq") if len(weight) else ():
                found[f"{kind}.{name}"] = self.optimizer.state[weight][kind].numpy()
        for k, worker in enumerate(self.workers):
            for seating, tables in enumerate(worker.tables):
                found[f"tables.{k}.{seating}"] = tables.view(np.uint8)
        return found

    def restore(self, kept: dict[str, NDArray[Any]]) -> None:
        """Go on from a state that was kept."""
        self.step = int(kept.pop("step")[0])
        for weight in self.network.trained:
            empty = {kind: torch.zeros_like(weight) for kind in ("exp_avg", "exp_avg_sq")}
            self.optimizer.state[weight] = {"step": torch.tensor(float(self.step)), **empty}
        for name, array in self.arrays().items():
            if name != "step":
                array[...] = kept[name]


# -------------------------------------------------------------------------------------------- a run


def train(settings: Settings, given: str = "") -> str:
    """Train into the settings' folder, as :func:`training.runs.run` does; how it ended."""
    return runs.run(NAME, Learner, settings, given)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the settings, train, and say how it ended; 2 if the settings are refused."""
    return runs.main(Settings, NAME, train, arguments)


if __name__ == "__main__":
    sys.exit(main())
