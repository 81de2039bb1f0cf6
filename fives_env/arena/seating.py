"""Who meets whom in a match, and every way to seat them."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, TypeAlias

from fives_env.errors import choice
from fives_env.rules import Rules

#: By seat: (entrant, player). An entrant is a side's player or its two partners.
Seating: TypeAlias = tuple[tuple[int, int], ...]


def line_up(entrants: Sequence[Any], rules: Rules) -> list[tuple[Any, ...]]:
    """The players of each side in the order of its seats.

    Args:
        entrants: For each side a player, or with partners a list of two.
        rules: The rules.

    Raises:
        ValueError: There is not one entrant for each side, or not one player for each seat.
    """
    if isinstance(entrants, str) or len(entrants) != rules.sides:
        raise ValueError(choice("entrants", entrants, f"one for each of {rules.sides} sides"))
    seats = rules.players // rules.sides
    sides = []
    for entrant in entrants:
        members = tuple(entrant) if isinstance(entrant, list | tuple) else (entrant,) * seats
        if len(members) != seats:
            raise ValueError(choice("entrant", entrant, f"one player, or {seats} for its seats"))
        sides.append(members)
    return sides


def seatings(sides: Sequence[tuple[int, Sequence[int]]], rotations: bool = False) -> list[Seating]:
    """Every different seating of some sides; the first is the one given.

    Args:
        sides: By side: the number of its entrant, and its players' numbers by seat.
        rotations: Only those that turn the table, not all that keep partners together.
    """
    n, seats = len(sides), len(sides) * len(sides[0][1])
    first = tuple((sides[s % n][0], sides[s % n][1][s // n]) for s in range(seats))
    if rotations:
        return list(dict.fromkeys(first[k:] + first[:k] for k in range(seats)))
    together = (
        order
        for order in permutations(range(seats))
        if all(order[s] % n == order[s % n] % n for s in range(seats))
    )
    return list(dict.fromkeys(tuple(first[s] for s in order) for order in together))
