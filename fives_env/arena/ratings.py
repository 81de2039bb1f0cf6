"""One number for each player: maximum-likelihood ratings from the order in which sides end.

The model is Plackett and Luce's (Luce 1959, Plackett 1975): the best of some sides is each with
probability proportional to its strength, then the best of the others, and so on. For two sides it
is Bradley and Terry's (1952), that of Elo. All meetings are fitted at once.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from fives_env.arena.statistics import LEVEL, Interval

#: Elo of one unit of log-strength, and samples of the bootstrap.
SCALE, RESAMPLES = 400 / np.log(10), 200
#: Log-strength from the estimate beyond which no end of an interval is sought.
FARTHEST = 40.0


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


def ratings(meetings: Sequence[Orders], players: int, anchor: int) -> list[Interval | None]:
    """Ratings in Elo, the anchor's being 0, with bootstrap intervals over deals.

    To each meeting one table is added that ended in every order in equal parts; it keeps a rating
    finite where somebody never wins. All meetings are taken to have been on the same deals.

    Where nobody who is linked to the anchor by wins was ever ahead of a player, no rating is too
    high for it, and its interval is open above; below, in the same way. Where that is so, or is so
    in a resample, the resamples say little of the ends: then the interval also holds every rating
    whose likelihood, each deal of a meeting counting once, is not far from the largest.

    Returns:
        None for a player that nothing links to the anchor.

    Args:
        meetings: What was played; at least one.
        players: Number of players.
        anchor: Number of the player whose rating is 0.
    """
    blocks = len(meetings[0].weights)
    totals = [meeting.weights.sum(0) for meeting in meetings]
    found = _fit(meetings, totals, {anchor: 0.0}, np.zeros(players))
    open_, unsure = _open(meetings, totals, players, anchor), np.zeros((2, players), bool)
    rng = np.random.default_rng(0)
    samples = np.empty((RESAMPLES, players))
    for k in range(RESAMPLES):
        times = np.bincount(rng.integers(0, blocks, blocks), minlength=blocks).astype(np.float64)
        drawn = [times[: len(meeting.weights)] @ meeting.weights for meeting in meetings]
        samples[k] = _fit(meetings, drawn, {anchor: 0.0}, found)
        unsure |= _open(meetings, drawn, players, anchor)
    ends = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    for player in np.flatnonzero(unsure.any(0) & ~open_.all(0)):
        for k, side in enumerate((-1, 1)):
            far = side * np.inf
            if not open_[k, player]:
                far = _far(meetings, totals, found, anchor, int(player), side)
            ends[k, player] = side * max(side * ends[k, player], side * far)
    values = (np.stack([found, *ends], 1) * SCALE).tolist()
    return [None if open_[:, k].all() else Interval(*row) for k, row in enumerate(values)]


def _open(
    meetings: Sequence[Orders], totals: Sequence[NDArray[np.float64]], players: int, anchor: int
) -> NDArray[np.bool_]:
    """Whether the likelihood leaves each player's rating open below, and above, (2, players)."""
    ahead = np.eye(players, dtype=bool)
    for meeting, total in zip(meetings, totals, strict=True):
        for order, weight in zip(permutations(meeting.players), total.tolist(), strict=True):
            for place, better in enumerate(order if weight > 0 else ()):
                ahead[better, list(order[place + 1 :])] = True
    for k in range(players):  # who is ahead of somebody ahead is ahead
        ahead |= ahead[:, k, None] & ahead[k]
    return np.stack([~ahead[:, anchor], ~ahead[anchor]])


def _far(
    meetings: Sequence[Orders],
    totals: Sequence[NDArray[np.float64]],
    found: NDArray[np.float64],
    anchor: int,
    player: int,
    side: int,
) -> float:
    """The log-strength on one side at which a player's likelihood has fallen far enough."""
    shares = [
        total / float(meeting.weights[0].sum())
        for meeting, total in zip(meetings, totals, strict=True)
    ]

    def least(fixed: dict[int, float]) -> float:
        strengths = _fit(meetings, shares, fixed, found, prior=0.0)
        return _loss(_ranked(meetings, shares, 0.0), strengths)[0]

    best, fall = least({anchor: 0.0}), float(stats.chi2.ppf(LEVEL, 1)) / 2

    def beyond(distance: float) -> float:
        return least({anchor: 0.0, player: float(found[player]) + side * distance}) - best - fall

    reach = 0.5
    while beyond(reach) < 0:
        reach *= 2
        if reach > FARTHEST:
            return side * np.inf
    start = 0.0 if beyond(0.0) < 0 else -reach
    while beyond(start) > 0:  # the largest likelihood is on the other side of what the prior made
        start *= 2
        if -start > FARTHEST:
            return float(found[player])
    distance = float(optimize.brentq(beyond, start, reach, xtol=1e-3))
    return float(found[player]) + side * distance


#: The orders in which each meeting can end, and how many tables ended so.
_Ranked = list[tuple[NDArray[np.int64], NDArray[np.float64]]]


def _ranked(
    meetings: Sequence[Orders], totals: Sequence[NDArray[np.float64]], prior: float
) -> _Ranked:
    return [
        (np.array(list(permutations(meeting.players))), total + prior / len(total))
        for meeting, total in zip(meetings, totals, strict=True)
    ]


def _loss(ranked: _Ranked, strengths: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Logarithm of the likelihood, negative, and its slope."""
    value, slope = 0.0, np.zeros_like(strengths)
    for order, total in ranked:
        for place in range(order.shape[1] - 1):
            rest = order[:, place:]
            own = strengths[rest]
            value += float(total @ (special.logsumexp(own, axis=1) - own[:, 0]))
            np.add.at(slope, rest, special.softmax(own, axis=1) * total[:, None])
            np.subtract.at(slope, rest[:, 0], total)
    return value, slope


def _fit(
    meetings: Sequence[Orders],
    totals: Sequence[NDArray[np.float64]],
    fixed: Mapping[int, float],
    start: NDArray[np.float64],
    prior: float = 1.0,
) -> NDArray[np.float64]:
    """Log-strengths of largest likelihood, where some are ``fixed``."""
    ranked = _ranked(meetings, totals, prior)
    tables = sum(float(total.sum()) for _, total in ranked)
    result = start.copy()
    result[list(fixed)] = list(fixed.values())
    free = np.setdiff1d(np.arange(len(start)), list(fixed))
    if not len(free):
        return result

    def loss(strengths: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        result[free] = strengths
        value, slope = _loss(ranked, result)
        return value / tables, slope[free] / tables

    best = optimize.minimize(loss, start[free], jac=True, method="BFGS", options={"gtol": 1e-7})
    result[free] = best.x
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
    with np.errstate(over="ignore"):  # what overflows stands for a chance of 0
        shares: NDArray[np.float64] = alpharank.compute([payoffs], alpha=0.1)[2]
    return [float(share) for share in shares]
