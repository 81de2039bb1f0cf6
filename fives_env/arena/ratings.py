"""One number for each player: maximum-likelihood ratings from the order in which sides end.

The model is Plackett and Luce's (Luce 1959, Plackett 1975): the best of some sides is each with
probability proportional to its strength, then the best of the others, and so on. For two sides it
is Bradley and Terry's (1952), that of Elo. All meetings are fitted at once.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from fives_env.arena.statistics import LEVEL, Interval

#: Elo of one unit of log-strength, and samples of the bootstrap.
SCALE, RESAMPLES = 400 / np.log(10), 200


class Orders(NamedTuple):
    """In which order the entrants of a meeting ended.

    Attributes:
        players: Number of each entrant's player.
        weights: Tables of each block that ended in each order, float64, (blocks, n!); orders are
            those of :func:`itertools.permutations`, and a tie counts in parts for each that fits.
    """

    players: tuple[int, ...]
    weights: NDArray[np.float64]


def orders_of(players: Sequence[int], scores: NDArray[np.int64]) -> Orders:
    """Count orders.

    Args:
        players: Number of each entrant's player.
        scores: By entrant, (blocks, seatings, entrants).
    """
    fits = []
    for order in permutations(range(scores.shape[2])):
        falling = np.diff(scores[:, :, list(order)], axis=2) <= 0
        fits.append(falling.all(2))
    fit = np.stack(fits, 2).astype(np.float64)
    return Orders(tuple(players), (fit / fit.sum(2, keepdims=True)).sum(1))


def ratings(meetings: Sequence[Orders], players: int, anchor: int) -> list[Interval]:
    """Ratings in Elo, the anchor's being 0, with bootstrap intervals over deals.

    To each meeting one table is added that ended in every order in equal parts; it keeps a rating
    finite where somebody never wins. All meetings are taken to have been on the same deals.

    Args:
        meetings: What was played; at least one.
        players: Number of players.
        anchor: Number of the player whose rating is 0.
    """
    blocks = len(meetings[0].weights)
    totals = [meeting.weights.sum(0) for meeting in meetings]
    found = _fit(meetings, totals, np.zeros(players), anchor)
    rng = np.random.default_rng(0)
    samples = np.empty((RESAMPLES, players))
    for k in range(RESAMPLES):
        times = np.bincount(rng.integers(0, blocks, blocks), minlength=blocks).astype(np.float64)
        drawn = [times[: len(meeting.weights)] @ meeting.weights for meeting in meetings]
        samples[k] = _fit(meetings, drawn, found, anchor)
    ends = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    values = np.stack([found, *ends], 1) * SCALE
    return [Interval(*row) for row in values.tolist()]


def _fit(
    meetings: Sequence[Orders],
    totals: Sequence[NDArray[np.float64]],
    start: NDArray[np.float64],
    anchor: int,
) -> NDArray[np.float64]:
    """Log-strengths of largest likelihood, the anchor's 0."""
    ranked = []
    for meeting, total in zip(meetings, totals, strict=True):
        order = np.array(list(permutations(meeting.players)))
        ranked.append((order, total + 1 / len(total)))

    def loss(strengths: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = 0.0, np.zeros_like(strengths)
        for order, total in ranked:
            for place in range(order.shape[1] - 1):
                rest = order[:, place:]
                own = strengths[rest]
                value += float(total @ (special.logsumexp(own, axis=1) - own[:, 0]))
                np.add.at(slope, rest, special.softmax(own, axis=1) * total[:, None])
                np.subtract.at(slope, rest[:, 0], total)
        tables = sum(float(total.sum()) for _, total in ranked)
        return value / tables, slope / tables

    best = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    result: NDArray[np.float64] = best - best[anchor]
    return result


def cycles(beats: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Rings of three or four players of whom each beats the next, its lowest number first.

    Args:
        beats: Whether the row beats the column beyond doubt, (players, players).
    """
    return [
        ring
        for size in (3, 4)
        for ring in permutations(range(len(beats)), size)
        if ring[0] == min(ring) and all(beats[ring[k - 1], ring[k]] for k in range(size))
    ]


def alpha_rank(payoffs: NDArray[np.float64]) -> list[float] | None:
    """Share of the time that evolution spends with each player (Omidshafiei et al. 2019).

    Args:
        payoffs: Margin of the row against the column, (players, players).

    Returns:
        None where OpenSpiel is not installed.
    """
    try:
        from open_spiel.python.egt import alpharank
    except ImportError:
        return None
    shares: NDArray[np.float64] = alpharank.compute([payoffs], alpha=0.1)[2]
    return [float(share) for share in shares]
