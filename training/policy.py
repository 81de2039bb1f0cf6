"""The network of :mod:`training.ppo`, policy and value, and its way there and back by hand.

The first layer adds up what unusual counts weigh, as :mod:`.counts` does. Some three of a hundred
actions are legal, and the last layer answers for those and the value only. Torch multiplies what
lies between, perhaps in bfloat16.
"""

import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from fives_env.engine import view
from fives_env.engine.jit import jit, jit_reordering
from fives_env.players.values import list_positive
from fives_env.rules import Rules
from training.counts import first_gradient, first_layer, room, usual_counts, whole


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
        self.rules = rules
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


def bfloat16_is_fast() -> bool:
    """Whether this processor multiplies matrices of bfloat16 in less than half the time."""
    seconds = []
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(256, 256, dtype=dtype)
        began = []
        for _ in range(12):
            began.append(time.perf_counter())
            x @ x
        seconds.append(min(b - a for a, b in pairwise(began)))
    return seconds[1] < seconds[0] / 2


@jit_reordering
def dot(x, y):  # type: ignore[no-untyped-def]
    """Sum of products."""
    total = np.float32(0)
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@jit
def last_layer(x, batch, mask, weights, bias, scratch, asked, counts, out):  # type: ignore[no-untyped-def]
    """Write ``x @ weights.T + bias`` for the value, then for each legal action in its order.

    Args:
        x: What goes in, float32, (n, units).
        batch: Whose it is, rows of ``mask``, int64, (n,).
        mask: Legal actions, bool, (any, actions).
        weights: float32, (actions + 1, units).
        bias: float32, (actions + 1,).
        scratch: float32, as long as there are actions.
        asked: Out: which outputs these are, int32, (n, actions + 1).
        counts: Out: how many, int64, (n,).
        out: Out: float32, (n, actions + 1); the rest stays as it is.
    """
    for i in range(len(batch)):
        asked[i, 0] = len(bias) - 1
        counts[i] = 1 + list_positive(mask[batch[i]], asked[i, 1:], scratch)
        for k in range(counts[i]):
            a = asked[i, k]
            out[i, k] = bias[a] + dot(x[i], weights[a])


@jit
def last_gradient(x, slope, asked, counts, weights, along, along_bias, below):  # type: ignore[no-untyped-def]
    """Write the gradient that slopes along the outputs asked for give.

    Args:
        x: What went into the layer, 0 or above, float32, (n, units).
        slope: Along what :func:`last_layer` wrote, float32, (n, actions + 1).
        asked: Which outputs these are, int32, (n, actions + 1).
        counts: How many, int64, (n,).
        weights: float32, (actions + 1, units).
        along: Out: gradient along the weights.
        along_bias: Out: gradient along the bias.
        below: Out: slopes along what became ``x``, float32, (n, units).
    """
    along[:] = 0
    along_bias[:] = 0
    for i in range(len(x)):
        below[i] = 0
        for k in range(counts[i]):
            a = asked[i, k]
            s = slope[i, k]
            if s != 0:
                along_bias[a] += s
                for j in range(x.shape[1]):
                    along[a, j] += s * x[i, j]
                for j in range(x.shape[1]):
                    below[i, j] += s * weights[a, j]
        for j in range(x.shape[1]):
            below[i, j] = below[i, j] if x[i, j] > 0 else np.float32(0)


class Fast:
    """The network's weights as the passes take them.

    All lie in one vector, so that a step of Adam is one operation.
    """

    def __init__(self, network: Network, dtype: torch.dtype) -> None:
        self.network, self.dtype = network, dtype
        self.weights = [*network.layers.parameters(), network.greed]
        self.flat = torch.empty(sum(weight.numel() for weight in self.weights))
        for weight, part in zip(self.weights, self.parts(self.flat), strict=True):
            part.copy_(weight.detach())
            weight.data = part
        self.usual = usual_counts(network.rules)
        units, size = self.weights[0].shape
        self.first = torch.zeros(size, room(units))
        self.base = torch.zeros(whole(units))
        self.last, self.last_bias = (weight.detach().numpy() for weight in self.weights[-3:-1])
        self.renew()

    def parts(self, flat: Tensor) -> list[Tensor]:
        """A vector as views in the shapes of the weights: of each layer, then greed."""
        pieces = flat.split([weight.numel() for weight in self.weights])
        first = pieces[0].view(self.weights[0].shape[::-1]).t()  # as the passes walk through it
        rest = zip(pieces[1:], self.weights[1:], strict=True)
        return [first, *(p.view(w.shape) for p, w in rest)]

    @torch.no_grad()
    def renew(self) -> None:
        """Copy, after the weights changed, what is not used as it lies.

        The first layer's take the observation's scale on them.
        """
        units = len(self.weights[1])
        first = torch.mul(self.weights[0], self.network.scale, out=self.first[:, :units].t())
        self.base[:units] = first @ torch.from_numpy(self.usual).float() + self.weights[1]
        between = [weight.detach().to(self.dtype) for weight in self.weights[2:-3]]
        self.between = list(zip(between[::2], between[1::2], strict=True))
        self.greed = np.float32(self.network.greed.item())


class Pass:
    """One thread's way through the network and back, with room for so many rows.

    The way back ends in ``gradient``, a vector like ``net.flat``.

    Attributes:
        outs: What :meth:`forward` found, float32, (rows, n_actions + 1).
        asked: Which outputs these are: ``n_actions``, the value's, then the legal actions, int32.
        counts: How many there are in each row, int64, (rows,).
        parts: What :meth:`backward` found along the weights, in their shapes.
    """

    def __init__(self, net: Fast, rows: int, gradient: Tensor) -> None:
        self.net = net
        size, whole = len(net.first), len(net.base)
        outputs, last = net.last.shape
        self.columns = np.zeros(rows * size, np.int32)
        self.amounts = np.zeros(rows * size, np.float32)
        self.starts = np.zeros(rows + 1, np.int64)
        self.scratch = np.zeros(outputs, np.float32)
        # Torch's memory, for what goes to torch: its products are the same to the bit only for
        # arrays that lie alike.
        self.ins, self.slope = torch.zeros(2, rows, whole)
        self.first, self.base = torch.zeros_like(net.first), torch.zeros_like(net.base)
        self.below = torch.zeros(rows, last).numpy()
        self.outs = np.zeros((rows, outputs), np.float32)
        self.asked = np.zeros((rows, outputs), np.int32)
        self.counts = np.zeros(rows, np.int64)
        self.parts = net.parts(gradient)

    def forward(
        self, obs: NDArray[np.uint8], mask: NDArray[np.bool_], batch: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """The value and the logits of legal actions, without greed, for some rows.

        Returns:
            The first rows of ``outs``; overwritten by the next call.
        """
        net, n = self.net, len(batch)
        first_layer(
            obs, batch, net.usual, net.first.numpy().ravel(), net.base.numpy(),
            self.columns, self.amounts, self.starts, self.ins.numpy(),
        )  # fmt: skip
        x = self.ins[:n, : len(net.weights[1])].to(net.dtype).relu_()
        self.inputs = [x]
        for weight, bias in net.between:
            x = torch.addmm(bias, x, weight.t()).relu_()
            self.inputs.append(x)
        last_layer(
            x.float().numpy(), batch, mask, net.last, net.last_bias,
            self.scratch, self.asked, self.counts, self.outs,
        )  # fmt: skip
        return self.outs[:n]

    def backward(self, slope: NDArray[np.float32]) -> None:
        """Write the gradient that slopes along the outputs of the last forward pass give."""
        net, n = self.net, len(slope)
        below = self.below[:n]
        last_gradient(
            self.inputs[-1].float().numpy(), slope, self.asked, self.counts, net.last,
            self.parts[-3].numpy(), self.parts[-2].numpy(), below,
        )  # fmt: skip
        x = torch.from_numpy(below).to(net.dtype)
        for k in range(len(net.between) - 1, -1, -1):
            self.parts[2 * k + 2].copy_(x.t() @ self.inputs[k])
            self.parts[2 * k + 3].copy_(x.sum(0))
            x = x @ net.between[k][0]
            x = torch.ops.aten.threshold_backward(x, self.inputs[k], 0)
        units = len(self.parts[1])
        self.slope[:n, :units] = x
        first_gradient(
            self.columns, self.amounts, self.starts, net.usual, self.slope[:n].numpy(),
            self.first.numpy().ravel(), self.base.numpy(),
        )  # fmt: skip
        torch.mul(self.first[:, :units].t(), net.network.scale, out=self.parts[0])
        self.parts[1].copy_(self.base[:units])
