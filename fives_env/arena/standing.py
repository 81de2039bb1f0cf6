"""Where the players of a tournament stand: payoffs, ratings, cycles, and what they are made of."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.arena.jobs import Part
from fives_env.arena.match import Blocks
from fives_env.arena.plan import Plan
from fives_env.arena.ratings import alpha_rank, cycles, orders_of, ratings
from fives_env.arena.statistics import Adjusted, Interval, mean_of, share_of, without_luck


class Place(NamedTuple):
    """What one player has shown.

    Attributes:
        margin: Mean score less that of all others at the same tables; None before two deals.
        adjusted: The same without luck, where that was studied.
        wins: Share of rounds or games won.
        by_side: Margin on each side.
        leading: Margin where it led the (first) round.
        following: Margin where it did not.
        judged: Decisions with a choice, solved ones, wrong ones, points lost; (4,).
        forfeits: Decisions forfeited.
        marked: Whether its choices depend on the machine.
    """

    margin: Interval | None
    adjusted: Adjusted | None
    wins: Interval | None
    by_side: list[float]
    leading: float
    following: float
    judged: list[int]
    forfeits: int
    marked: bool


class Standing(NamedTuple):
    """What a tournament has shown under one set of rules; lists are by player.

    Attributes:
        places: What each player has shown.
        payoffs: Mean score of the row less that of the column, where they met.
        ratings: Elo, the anchor's being 0; None for who is not linked to the anchor by results.
        cycles: Rings of players of whom each beats the next.
    """

    places: list[Place]
    payoffs: list[list[Interval | None]]
    ratings: list[Interval | None]
    cycles: list[tuple[int, ...]]

    def order(self) -> list[int]:
        """Players' numbers, the highest rating first, those without one last."""
        values = [-rating.value if rating else np.inf for rating in self.ratings]
        return sorted(range(len(values)), key=lambda k: (values[k], k))


def anchor_of(players: Sequence[str]) -> int:
    """The player whose rating is 0: ``random``, or else the first."""
    return players.index("random") if "random" in players else 0


def standing(plan: Plan, rules: int, parts: Mapping[tuple[int, ...], Part]) -> Standing:
    """Where the players stand.

    Args:
        plan: What was planned.
        rules: Number of the rules.
        parts: What was played, by the numbers of the players.
    """
    count = len(plan.players)
    shortest = min((len(part.blocks.scores) for part in parts.values()), default=0)
    meetings = [
        orders_of(who, _by_entrant(part.blocks)[:shortest])
        for who, part in parts.items()
        if shortest
    ]
    table = payoffs(count, parts)
    beats = np.array([[bool(cell and cell.low > 0) for cell in row] for row in table])
    rated = ratings(meetings, count, anchor_of(plan.players)) if meetings else []
    return Standing([_place(number, parts) for number in range(count)], table, rated, cycles(beats))


def remarks(players: Sequence[str], found: Standing) -> list[str]:
    """What no table shows, a sentence each: cycles, alpha-rank, players that time has a say in."""
    said = [
        " beats ".join(players[k] for k in (*ring, ring[0])) + ", beyond doubt."
        for ring in found.cycles
    ]
    shares = _evolution(found)
    best = sorted(range(len(shares)), key=lambda k: -shares[k])[:3]
    if best:
        listed = ", ".join(f"{players[k]} {shares[k]:.0%}" for k in best if shares[k] >= 0.005)
        said.append(f"Alpha-rank: {listed}.")
    if any(place.marked for place in found.places):
        said.append("* depends on time, so it may play otherwise another time.")
    return said


def _evolution(found: Standing) -> list[float]:
    """Alpha-rank of the players, where OpenSpiel is installed and all have met."""
    met = all(cell for k, row in enumerate(found.payoffs) for cell in row[:k])
    rows = [[cell.value if cell else 0.0 for cell in row] for row in found.payoffs]
    return (alpha_rank(np.array(rows)) if met else None) or []


def _by_entrant(blocks: Blocks) -> NDArray[np.int64]:
    """Scores by entrant instead of side, (blocks, seatings, entrants)."""
    order = np.argsort(blocks.owner, axis=1)
    scores: NDArray[np.int64] = np.take_along_axis(blocks.scores, order[None], 2)
    return scores


def payoffs(count: int, parts: Mapping[tuple[int, ...], Part]) -> list[list[Interval | None]]:
    """Mean score of the row less that of the column, where they met."""
    leads: dict[tuple[int, int], list[NDArray[np.float64]]] = {}
    for who, part in parts.items():
        scores = _by_entrant(part.blocks).mean(1)
        for i, a in enumerate(who):
            for j, b in enumerate(who):
                if i != j:
                    leads.setdefault((a, b), []).append(scores[:, i] - scores[:, j])
    cells: list[list[Interval | None]] = [[None] * count for _ in range(count)]
    for (a, b), several in leads.items():
        cells[a][b] = _mean_by_deal(several)
    return cells


def _by_deal(several: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Mean over meetings, deal by deal: the deals are the same, so only they are independent."""
    shortest = min(len(values) for values in several)
    mean: NDArray[np.float64] = np.mean([values[:shortest] for values in several], axis=0)
    return mean


def _mean_by_deal(several: Sequence[NDArray[np.float64]]) -> Interval | None:
    values = _by_deal(several)
    return mean_of(values) if len(values) > 1 else None


def _place(number: int, parts: Mapping[tuple[int, ...], Part]) -> Place:
    met = [(who.index(number), part) for who, part in parts.items() if number in who]
    if not met:
        return Place(None, None, None, [], 0.0, 0.0, [0] * 4, 0, False)
    values = _by_deal([part.blocks.margins(k).mean(1) for k, part in met])
    luck = _by_deal([part.blocks.margins(k, luck=True).mean(1) for k, part in met])
    wins = _by_deal([part.blocks.wins(k).mean(1) for k, part in met])
    enough = len(values) > 1
    by_side, leading, following = zip(*(_by_side(part, k) for k, part in met), strict=True)
    return Place(
        mean_of(values) if enough else None,
        without_luck(values, luck) if enough and luck.any() else None,
        share_of(wins[:, None]) if enough else None,
        np.mean(by_side, axis=0).tolist(),
        float(np.mean(leading)),
        float(np.mean(following)),
        np.sum([part.judged[k] for k, part in met], axis=0).tolist(),
        int(sum(part.forfeits[k] for k, part in met)),
        any(part.marks[k] for k, part in met),
    )


def _by_side(part: Part, entrant: int) -> tuple[list[float], float, float]:
    """An entrant's margin on each side, leading, and following."""
    blocks, margins = part.blocks, part.blocks.margins(entrant)
    side = np.argmax(blocks.owner == entrant, axis=1)
    led = blocks.leader == side
    leading, following = (
        float(margins[which].mean()) if which.any() else 0.0 for which in (led, ~led)
    )
    by_side = [float(margins[:, side == k].mean()) for k in range(blocks.owner.shape[1])]
    return by_side, leading, following
