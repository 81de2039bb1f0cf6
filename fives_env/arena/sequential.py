"""A match that stops by itself: Wald's sequential test, generalised to any score of a block.

With ``N`` blocks of mean ``m`` and variance ``v``, the log-likelihood ratio of a true mean of
``s1`` against ``s0`` is about ``N (s1 - s0) (2 m - s0 - s1) / (2 v)``, as chess engines are tested
(fishtest's mathematics page). The match ends where it leaves
``log(beta / (1 - alpha)), log((1 - beta) / alpha)``.

A match that stops when it looks good overstates its margin. The estimate given is therefore the
median-unbiased one: the ratio moves like a Brownian motion between two barriers, and the mean is
sought under which an outcome at most as good as the one seen has a chance of one half (for the
ends of the interval, of 97.5 and 2.5 %), a later stop at the lower barrier being better than an
earlier one, and at the upper barrier worse (Siegmund, Sequential Analysis, 1985, section III.4).
"""

from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from fives_env.arena.statistics import LEVEL, Interval, share_at
from fives_env.errors import choice

#: Blocks before which no test stops: a variance of fewer cannot be trusted.
LEAST = 256
#: Terms of the series, and from which variance on it is used, in squares of the barriers' distance.
_TERMS, EARLY = np.arange(1, 201), 0.01
#: Bounds can be no further from 0; of games, in Elo, whose shares must differ.
MOST, MOST_ELO = 1_000_000, 2000
#: Least variance, of a block as of a ratio, that is told from none.
_NONE = 1e-12


@dataclass
class Sprt:
    """A sequential test of whether the mean of blocks is ``high`` rather than ``low``.

    Attributes:
        low: Mean under the hypothesis that is accepted at the lower barrier.
        high: Mean under the other.
        alpha: Chance to accept ``high`` though ``low`` is true.
        beta: Chance to accept ``low`` though ``high`` is true.

    Raises:
        ValueError: ``low`` is not below ``high``, or an error rate is not in (0, 0.5).
    """

    low: float
    high: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:  # noqa: D105
        if not -MOST <= self.low < self.high <= MOST:
            allowed = f"a lower and a higher bound from -{MOST} to {MOST}"
            raise ValueError(choice("sprt", (self.low, self.high), allowed))
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise ValueError(choice(name, getattr(self, name), "a number between 0 and 0.5"))
        self._n, self._sum, self._squares = 0, 0.0, 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The two barriers."""
        return log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)

    @property
    def variance(self) -> float:
        """Variance of a block."""
        return max(_NONE, self._squares / self._n - (self._sum / self._n) ** 2)

    @property
    def ratio(self) -> float:
        """The log-likelihood ratio so far."""
        if self._n == 0:
            return 0.0
        lead = 2 * self._sum / self._n - self.low - self.high
        return self._n * (self.high - self.low) * lead / (2 * self.variance)

    def add(self, values: NDArray[np.float64]) -> int | None:
        """Take in blocks in their order; after how many of them the test is decided, if it is."""
        for k, value in enumerate(values.tolist(), 1):
            self._n += 1
            self._sum += value
            self._squares += value * value
            if self.decision:
                return k
        return None

    @property
    def decision(self) -> str | None:
        """``"high"`` or ``"low"`` once the test is decided."""
        if self._n < LEAST:
            return None
        below, above = self.bounds
        if self.ratio >= above:
            return "high"
        return "low" if self.ratio <= below else None

    def of_games(self) -> "Sprt":
        """The test of shares of games whose bounds are these, which are in Elo.

        Raises:
            ValueError: They are too far from 0, or too close to each other.
        """
        low, high = share_at(self.low), share_at(self.high)
        if not (self.low >= -MOST_ELO and self.high <= MOST_ELO and low < high):
            allowed = f"a lower and a higher difference in Elo from -{MOST_ELO} to {MOST_ELO}"
            raise ValueError(choice("sprt", (self.low, self.high), allowed))
        return replace(self, low=low, high=high)

    def outcome(self) -> "Outcome":
        """What the test has shown so far."""
        ends = self._freed() or self._plain()
        return Outcome(self.decision, self.ratio, *self.bounds, self._n, ends)

    def _plain(self) -> Interval:
        """The mean as it is, with Student's t interval."""
        mean = self._sum / self._n
        if self._n < 2:
            return Interval(mean, -inf, inf)
        spread = max(0.0, self._squares / self._n - mean**2) ** 0.5
        half = float(stats.t.ppf((1 + LEVEL) / 2, self._n - 1)) * spread / (self._n - 1) ** 0.5
        return Interval(mean, mean - half, mean + half)

    def _freed(self) -> Interval | None:
        """The mean freed of the bias of stopping; None where the ratio does not depend on it.

        That is so where all blocks are alike, or the hypotheses.
        """
        step = self.high - self.low
        way = self._n * step**2 / self.variance  # variance of the ratio
        if self.variance == _NONE or way < _NONE:
            return None
        # A ratio that moves in steps crosses a barrier by 0.583 of their deviation on average.
        beyond = 0.583 * step / self.variance**0.5
        below, above = self.bounds[0] - beyond, self.bounds[1] + beyond
        end = min(max(self.ratio, below), above) if self.decision is None else self.ratio
        if self.decision is not None and self._n > LEAST:
            end = above if self.decision == "high" else below

        def mean_at(chance: float) -> float:
            def excess(mean: float) -> float:
                drift = self._n * step * (2 * mean - self.low - self.high) / (2 * self.variance)
                if self._n <= LEAST:  # nothing could stop before
                    return float(stats.norm.cdf(end, drift, way**0.5)) - chance
                return at_most(end, drift, way, below, above) - chance

            width = 40 * (self.variance / self._n) ** 0.5
            middle = self._sum / self._n
            low, high = middle - width, middle + width
            # What is not found so far away has an open end there.
            if excess(low) <= 0:
                return -inf
            return float(optimize.brentq(excess, low, high)) if excess(high) < 0 else inf

        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = Interval(mean_at(0.5), mean_at(0.975), mean_at(0.025))
        return found if isfinite(found.value) else None


class Outcome(NamedTuple):
    """What a sequential test has shown.

    Attributes:
        decision: ``"high"``, ``"low"``, or None if it was not decided.
        ratio: The log-likelihood ratio.
        below: Lower barrier.
        above: Upper barrier.
        blocks: Blocks looked at.
        mean: Estimate of the mean, freed of the bias of stopping, with its interval.
    """

    decision: str | None
    ratio: float
    below: float
    above: float
    blocks: int
    mean: Interval


def at_most(end: float, drift: float, way: float, below: float, above: float) -> float:
    """Chance of an outcome at most as good as one seen, for a Brownian motion between barriers.

    Args:
        end: Where it was seen at time 1: at a barrier, or between them.
        drift: Its mean at time 1, were there no barriers.
        way: Its variance then.
        below: Lower barrier, below 0.
        above: Upper barrier, above 0.
    """
    if end <= below:
        return _hits(-below, above, -drift, way)
    if end >= above:
        return 1 - _hits(above, -below, drift, way)
    places = np.linspace(below, end, 401)
    return _hits(-below, above, -drift, way) + float(
        np.trapezoid(_density(places, drift, way, below, above), places)
    )


def _hits(near: float, far: float, drift: float, way: float) -> float:
    """Chance to reach a barrier at ``near`` by time 1, before one at ``-far``.

    All of those that ever reach it (gambler's ruin), less those that do so later: their density is
    a series of decaying exponentials (Darling and Siegert 1953), integrated term by term.
    """
    width = near + far
    pull = drift / way
    if way < EARLY * width**2:  # too early for the other barrier to matter, and for the series
        root = way**0.5
        again = exp(min(700.0, 2 * pull * near + stats.norm.logcdf((-near - drift) / root)))
        return min(1.0, float(stats.norm.cdf((drift - near) / root)) + again)
    if abs(pull) * width < 1e-9:
        ever = far / width
    elif pull > 0:
        ever = (1 - exp(-2 * pull * far)) / (1 - exp(-2 * pull * width))
    else:
        rate = -2 * pull
        ever = exp(-rate * near) * (1 - exp(-rate * far)) / (1 - exp(-rate * width))
    waves = _TERMS * pi / width
    decay = way * (waves**2 + pull**2) / 2
    terms = waves * np.sin(waves * near) * np.exp(pull * near - decay) / decay
    later = way / width * float(terms.sum())
    return min(1.0, max(0.0, ever - later))


def _density(
    places: NDArray[np.float64], drift: float, way: float, below: float, above: float
) -> NDArray[np.float64]:
    """Density at time 1 of the motions that have reached neither barrier."""
    width = above - below
    pull = drift / way
    if way < EARLY * width**2:
        return np.asarray(stats.norm.pdf(places, drift, way**0.5))
    waves = _TERMS * pi / width
    fall = np.exp(-way * (waves**2 + pull**2) / 2) * np.sin(waves * -below)
    shape = np.sin(waves[:, None] * (places - below)) * fall[:, None]
    density: NDArray[np.float64] = 2 / width * np.exp(pull * places) * shape.sum(0)
    return density
