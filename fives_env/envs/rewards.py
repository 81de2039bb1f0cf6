"""What the kinds of reward count. A step pays each side the change of its count."""

from collections.abc import Callable

from fives_env.table import Table

#: Margins are paid in multiples of 1 / GRAIN, which floats add up without an error.
GRAIN = 2**36


def points(table: Table) -> tuple[list[int], int]:
    """Scores by side, in units of 1."""
    scores: list[int] = table.state["scores"].tolist()[0][: table.rules.sides]
    return scores, 1


def margin(table: Table) -> tuple[list[int], int]:
    """Each side's score less the mean of the others', in units of 1 / GRAIN; they add up to 0."""
    scores, _ = points(table)
    sides, total = len(scores), sum(scores)
    margins, rest = [], 0
    for score in scores:
        whole, rest = divmod(GRAIN * (sides * score - total) + rest, sides - 1)
        margins.append(whole)  # of four sides, thirds: the next one takes the rest
    return margins, GRAIN


def win(table: Table) -> tuple[list[int], int]:
    """Each side's share of one win less the mean of the others' shares; 0 before the end.

    A round that ends without anybody at the target is won by the highest score.
    """
    sides = table.rules.sides
    if not table.over:
        return [0] * sides, 1
    winners = {seat % sides for seat in table.winners}
    if not winners:
        scores, _ = points(table)
        winners = {side for side in range(sides) if scores[side] == max(scores)}
    shares = [sides * (side in winners) - len(winners) for side in range(sides)]
    return shares, len(winners) * (sides - 1)


#: Count of each kind of reward: a table to numerators by side, and their denominator.
REWARDS: dict[str, Callable[[Table], tuple[list[int], int]]] = {
    "points": points,
    "margin": margin,
    "win": win,
}
