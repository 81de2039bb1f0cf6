"""A network of values as a player, on the kernels of :mod:`.values`; no torch."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch
from fives_env.engine.jit import i64, jit
from fives_env.engine.redeal import relay
from fives_env.engine.state import NOBODY, copy_of
from fives_env.errors import choice, threads_of
from fives_env.players import checkpoint
from fives_env.players.base import Views
from fives_env.players.values import Net, net_of, new_desk, think, write_values
from fives_env.rules import Rules

#: Decisions that are worth a thread of their own.
SLICE = 256


@jit
def answer(net, desk, records, rules, chosen, row, lo, hi):  # type: ignore[no-untyped-def]
    """Actions for the redacted records ``lo`` to ``hi``, which are changed."""
    r = rules[0]
    for k in range(lo, hi):
        t = records[k]
        if t["muggins"] and t["viewer"] != NOBODY:
            relay(t, r)
        chosen[k] = think(net, desk, t, r, row)


@jit
def judge(net, desk, records, rules, actions):  # type: ignore[no-untyped-def]
    """Write the values of some actions of the first record's seat on turn into ``desk.values``."""
    write_values(net, desk, records[0], rules[0], actions, i64(len(actions)))


def load_net(path: str | Path) -> tuple[Net, dict[str, Any]]:
    """The network of values in a checkpoint, and its card.

    Raises:
        ValueError: There is none, as :func:`.checkpoint.load` says, or it is of another kind.
    """
    weights, card = checkpoint.load(path)
    if card["architecture"] != checkpoint.VALUES:
        said = choice("architecture", card["architecture"], repr(checkpoint.VALUES))
        raise ValueError(f"checkpoint {path}: {said}")
    return net_of(weights), card


class ValuePlayer:
    """A checkpoint whose network values each action by itself, as a player.

    Args:
        path: Its folder, or the name of one that is shipped.
        name: How tables and reports call it; ``network:PATH`` unless given.
        threads: Slices of a large batch that are worked on at the same time.

    Attributes:
        name: How tables and reports call it.
        card: What the checkpoint says about itself.

    Raises:
        ValueError: The checkpoint cannot be loaded, or its network is of another kind.
    """

    def __init__(self, path: str | Path, name: str = "", threads: int | None = None) -> None:
        self.net, self.card = load_net(path)
        self.name = name or f"network:{path}"
        self._threads = threads_of(threads)
        self._desks = [new_desk(self.net) for _ in range(self._threads)]
        also = self.card.get("also", [])
        self._trained_for = [Rules(**rules) for rules in (self.card["rules"], *also)]
        self._known: dict[Rules, tuple[Any, Any]] = {}

    def _for(self, rules: Rules) -> tuple[Any, Any]:
        """The rules as kernels read them and scratch for each thread, after a look at the rules."""
        if rules not in self._known:
            checkpoint.warn_of_others(self.name, self._trained_for, rules)
            scratch = np.zeros((self._threads, rules.n_actions), np.int32)
            self._known[rules] = rules.record(episode="round"), scratch
        return self._known[rules]

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view."""
        record, scratch = self._for(views.rules)
        records = views.records
        chosen = np.zeros(len(records), np.int64)

        def kernel(k: int, lo: int, hi: int) -> None:
            answer(self.net, self._desks[k], records, record, chosen, scratch[k], lo, hi)

        kernel(0, 0, 0)  # compiles, before threads start
        batch.sliced(kernel, len(records), min(self._threads, 1 + len(records) // SLICE))
        return chosen

    def values(self, rules: Rules, record: NDArray[Any], actions: Any) -> NDArray[np.float32]:
        """What some actions are worth to a seat, in points ahead at the end of the round.

        Args:
            rules: The table's rules.
            record: Redacted record of the seat on turn, ``STATE``, (1,).
            actions: Legal actions, whole numbers, (k,).
        """
        records = copy_of(record)
        judge(self.net, self._desks[0], records, self._for(rules)[0], np.asarray(actions, np.int32))
        return self._desks[0].values[: len(actions)].copy()
