"""``ladder``: players all against each other, on the same deals."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from fives_env.arena.evaluate import evaluate
from fives_env.arena.pace import micros_of
from fives_env.arena.statistics import Interval
from fives_env.errors import choice
from fives_env.rules import Rules


class Rung(NamedTuple):
    """One player on the ladder.

    Attributes:
        name: The player.
        micros: Microseconds that a decision takes it.
        repeatable: Whether it always plays the same; an outside program or one bounded by time
            may not.
        margins: Its margin a round against each player, by the order of rungs; None against itself.
    """

    name: str
    micros: float
    repeatable: bool
    margins: list[Interval | None]


def ladder(
    players: Sequence[str],
    rules: Any = None,
    *,
    pairs: int = 1000,
    seed: int = 0,
    workers: int = 1,
    engine: Literal["processes", "ray"] = "processes",
    progress: Callable[[int], Any] | None = None,
    **options: Any,
) -> list[Rung]:
    """Play every two of some players against each other on the same deals.

    Args:
        players: Specs, at least two, all different.
        rules: A preset's name, :class:`Rules` or a dict of options. With more than two sides, one
            of the two sits on each side in turn, the other on all others.
        pairs: Deals for each two.
        seed: Seed of the deals.
        workers: Processes that play; the margins are the same.
        engine: Whose processes; see :func:`.jobs.run`.
        progress: Called with the number of pairs just played.
        **options: Any option of :class:`Rules`.

    Returns:
        The players in the order given.

    Raises:
        ValueError: There are less than two, one is named twice or unknown.
    """
    rules = Rules.of(rules, **options)
    if len(players) < 2 or len(set(players)) < len(players):
        raise ValueError(choice("players", list(players), "at least two, all different"))
    count = len(players)
    margins: list[list[Interval | None]] = [[None] * count for _ in players]
    repeatable = dict.fromkeys(players, True)
    names = dict(zip(players, players, strict=True))
    paces: dict[str, list[float]] = {player: [] for player in players}
    for i, j in combinations(range(count), 2):
        a, b = players[i], players[j]
        result = evaluate(
            a,
            b,
            rules=rules,
            pairs=pairs,
            seed=seed,
            workers=workers,
            engine=engine,
            progress=progress,
        )
        margins[i][j] = Interval(result.margin, result.low, result.high)
        margins[j][i] = Interval(-result.margin, -result.high, -result.low)
        names[a], names[b] = result.a, result.b
        repeatable[a] &= not result.marked_a
        repeatable[b] &= not result.marked_b
        for player, micros in ((a, result.micros_a), (b, result.micros_b)):
            if micros is not None:
                paces[player].append(micros)
    return [
        Rung(
            names[player],
            min(paces[player]) if paces[player] else micros_of(player, rules),
            repeatable[player],
            row,
        )
        for player, row in zip(players, margins, strict=True)
    ]
