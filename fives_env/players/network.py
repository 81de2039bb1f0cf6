"""A trained network as a player, on NumPy and one kernel; no torch.

Each row is computed by itself, its sums in the same order always, so that an answer depends neither
on the other rows nor on how many there are.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import view
from fives_env.engine.deal import below
from fives_env.engine.jit import jit
from fives_env.errors import choice, real
from fives_env.players import checkpoint
from fives_env.players.base import Views
from fives_env.rules import Rules

#: Rows computed at a time, which bounds the memory of a large batch.
CHUNK = 4096


@jit
def layer(x, weight, bias, out):  # type: ignore[no-untyped-def]
    """Write ``x @ weight + bias`` into ``out``, row by row; inputs that are 0 cost nothing."""
    for row in range(len(x)):
        sums = out[row]
        for j in range(len(bias)):
            sums[j] = bias[j]
        for i in range(len(weight)):
            value = x[row, i]
            if value != 0:
                for j in range(len(bias)):
                    sums[j] += value * weight[i, j]


@jit
def draw(probabilities, keys, chosen):  # type: ignore[no-untyped-def]
    """Choose an entry of each row with its probability, by the row's key."""
    for row in range(len(keys)):
        left = below(keys[row], 0, 1 << 32) / (1 << 32) * probabilities[row].sum()
        for action in range(probabilities.shape[1]):
            if probabilities[row, action] > 0:
                chosen[row] = action
                left -= probabilities[row, action]
                if left < 0:
                    break


class NetworkPlayer:
    """A checkpoint as a player.

    Args:
        path: Its folder, or the name of one that is shipped.
        temperature: 0 plays the likeliest action; above, actions are drawn with probabilities
            softmax(logits / temperature), by the decision's key.

    Attributes:
        name: How tables and reports call it.
        card: What the checkpoint says about itself.

    Raises:
        ValueError: The checkpoint cannot be loaded, as :func:`fives_env.players.checkpoint.load`
            says; or the temperature is below 0.
    """

    def __init__(self, path: str | Path, temperature: float = 0.0) -> None:
        self.temperature = real("temperature", temperature, 0)
        weights, self.card = checkpoint.load(path)
        if self.card["architecture"] != checkpoint.LOGITS:
            raise ValueError(
                choice("architecture", self.card["architecture"], repr(checkpoint.LOGITS))
            )
        self.name = f"network:{path}"
        self._trained_for = Rules(**self.card["rules"])
        self._checked = {self._trained_for}
        self._scale = view.scale(self._trained_for)
        self._points = view.fields(self._trained_for)["points"]
        self._greed = weights["greed"]
        self._layers = [
            (np.ascontiguousarray(weights[f"layers.{k}.weight"].T), weights[f"layers.{k}.bias"])
            for k in range(len(self.card["hidden"]) + 1)
        ]

    def forward(self, obs: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits of all actions, (k, n_actions), and values, (k,), for k observations."""
        x = obs * self._scale
        for k, (weight, bias) in enumerate(self._layers):
            x = np.maximum(x, 0) if k else x
            out = np.empty((len(x), len(bias)), np.float32)
            layer(x, weight, bias, out)
            x = out
        points = obs[:, self._points]
        x[:, : points.shape[1]] += self._greed * points.astype(np.float32)
        return x[:, :-1], x[:, -1]

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view.

        Raises:
            ValueError: The views are of rules with other observations or actions.
        """
        if views.rules not in self._checked:
            checkpoint.check_rules(self.name, self._trained_for, views.rules)
            self._checked.add(views.rules)
        chosen = np.empty(len(views.obs), np.int64)
        for lo in range(0, len(chosen), CHUNK):
            rows = slice(lo, lo + CHUNK)
            logits = np.where(views.mask[rows], self.forward(views.obs[rows])[0], -np.inf)
            if self.temperature == 0:
                chosen[rows] = logits.argmax(1)
            else:
                best = logits.max(1, keepdims=True)
                odds = np.exp((logits - best).astype(np.float64) / self.temperature)
                draw(odds, views.keys[rows], chosen[rows])
        return chosen
