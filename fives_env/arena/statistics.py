"""Means, shares and ratings with intervals, from blocks.

The rounds of a block share a deal, so they are not independent; blocks are. Every interval here is
one of 95 % unless another level is asked for.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

#: Confidence level, and samples of a bootstrap.
LEVEL, RESAMPLES = 0.95, 2000
#: Chance that an interval of this level lies wholly on the wrong side.
HALF = round((1 - LEVEL) / 2, 6)


class Interval(NamedTuple):
    """An estimate, and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """The estimate, and from where to where."""
        return f"{self.value:+.2f}, from {self.low:+.2f} to {self.high:+.2f}"


def mean_of(values: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Mean of independent values, one a block, with Student's t interval.

    Args:
        values: Float, (blocks,), at least two.
        level: Confidence level.
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * error
    return Interval(mean, mean - half, mean + half)


def bootstrap_of(values: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """The same with a percentile bootstrap, which assumes no shape; always the same resamples."""
    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, 10**7 // len(values)),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    low, high = result.confidence_interval
    return Interval(float(values.mean()), float(low), float(high))


def share_of(wins: NDArray[np.float64], level: float = LEVEL) -> Interval:
    """Share of what was won, with Wilson's interval (1927) for as many games as blocks are worth.

    Games of one deal depend on each other, so their number is taken to be the one whose share
    would have the variance that is seen between blocks, less for how badly few blocks show it
    (Korn and Graubard 1998). Where all blocks are alike, each is taken to be one game.

    Args:
        wins: What was won of each game, in [0, 1], (blocks, games).
        level: Confidence level.
    """
    by_block = wins.mean(1)
    share = float(by_block.mean())
    variance = float(by_block.var(ddof=1)) / len(by_block)
    games = share * (1 - share) / variance if variance else float(len(by_block))
    z = float(stats.norm.ppf((1 + level) / 2))
    games *= (z / float(stats.t.ppf((1 + level) / 2, len(by_block) - 1))) ** 2
    middle = (share + z**2 / (2 * games)) / (1 + z**2 / games)
    root = (share * (1 - share) / games + z**2 / (4 * games**2)) ** 0.5
    half = z * root / (1 + z**2 / games)
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))


def elo_of(share: float) -> float:
    """Difference in Elo that gives an expected share; infinite at 0 and 1."""
    if share <= 0 or share >= 1:
        return float(np.copysign(np.inf, share - 0.5))
    return float(400 * np.log10(share / (1 - share)))


def share_at(elo: float) -> float:
    """Share that a difference in Elo makes one expect."""
    return float(special.expit(elo * log(10) / 400))


def elo_interval(share: Interval) -> Interval:
    """A share with its interval as a difference in Elo."""
    return Interval(*(elo_of(end) for end in share))


class Adjusted(NamedTuple):
    """A margin without the luck that was seen.

    Attributes:
        margin: The margin and its interval.
        removed: Share of the variance between blocks that went with the luck; negative if it grew.
        luck: Mean of the luck itself; its interval should hold 0.
    """

    margin: Interval
    removed: float
    luck: Interval


def without_luck(margins: NDArray[np.float64], luck: NDArray[np.float64]) -> Adjusted:
    """Take from each block's margin the part of it that its luck explains.

    The luck's mean is known to be 0, so ``margin - weight * luck`` has the same mean for any weight
    that does not depend on the block. Each half of the blocks gets the weight that is best for the
    other half, so that the estimate stays unbiased however few they are.

    Args:
        margins: One of each block, (blocks,).
        luck: Its luck, (blocks,).
    """
    halves = np.arange(len(margins)) % 2
    adjusted = margins.copy()
    for half in range(2):
        other = halves != half
        spread = float(luck[other].var())
        moments = np.cov(margins[other], luck[other]) if other.sum() > 1 else np.zeros((2, 2))
        weight = float(moments[0, 1] / moments[1, 1]) if spread else 0.0
        adjusted[halves == half] -= weight * luck[halves == half]
    before, after = float(margins.var(ddof=1)), float(adjusted.var(ddof=1))
    return Adjusted(mean_of(adjusted), 1 - after / before if before else 0.0, mean_of(luck))


def blocks_for(margin: float, spread: float, power: float = 0.8, level: float = LEVEL) -> int:
    """Blocks after which an interval excludes 0 with a given chance.

    Args:
        margin: The true margin, other than 0.
        spread: Standard deviation of a block's margin.
        power: Chance wanted.
        level: Confidence level of the interval.
    """
    return max(2, int(np.ceil((_reach(power, level) * spread / margin) ** 2)))


def margin_for(blocks: int, spread: float, power: float = 0.8, level: float = LEVEL) -> float:
    """Least margin that so many blocks show with a given chance; the inverse of the above."""
    return _reach(power, level) * spread / sqrt(blocks)


def _reach(power: float, level: float) -> float:
    return float(stats.norm.ppf((1 + level) / 2) + stats.norm.ppf(power))
