"""Who meets whom in a match, and every way to seat them."""

from collections.abc import Sequence
from itertools import permutations
from typing import TypeAlias

#: By seat: (entrant, player). An entrant is a side's player or its two partners.
Seating: TypeAlias = tuple[tuple[int, int], ...]


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
