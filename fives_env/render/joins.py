"""Which side of which tile each play and each open end of a layout belongs to.

A side is a number: of the set 0 is left and 1 is right; of any other tile 0 is the side opposite
the one that it was laid on with; 2 and 3 are the cross sides of a spinner, the upper (or left) one
and the lower (or right) one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

#: What ``to_dict()`` says of one tile of the layout: ``tile``, ``seat``, ``end`` and ``on``.
Play = Mapping[str, Any]

AHEAD, RIGHT, UPPER, LOWER = range(4)


def is_double(tile: str) -> bool:
    """Whether a tile given by name has equal halves."""
    return tile[0] == tile[2]


def side(plays: Sequence[Play], on: int, end: int) -> int:
    """Side of the tile ``plays[on]`` that ``end`` is.

    Ends are opened in pairs, 0 and 1 by the set and an even and an odd one by each spinner, and a
    tile goes on showing the end that it was laid on.
    """
    if on == 0 and end < 2:
        return end
    if on > 0 and plays[on]["end"] == end:
        return AHEAD
    return UPPER + end % 2


def spinners(plays: Sequence[Play], option: str) -> list[bool]:
    """Which of the plays are spinners under the ``spinner`` option of the rules."""
    doubles = [is_double(play["tile"]) for play in plays]
    if option == "all":
        return doubles
    first = doubles.index(True) if True in doubles else -1
    if option == "none" or (option == "set" and first != 0):
        first = -1
    return [i == first for i in range(len(plays))]


def joints(plays: Sequence[Play]) -> list[str]:
    """The half that each tile shares with the one that it is laid on, as a digit (set: empty)."""
    shared = [""]
    for play in plays[1:]:
        below = plays[play["on"]]["tile"]
        if play["on"] == 0:
            low_first = below[::-2]
            shared.append(low_first[side(plays, 0, play["end"]) % 2])
        else:
            shared.append(other_half(below, shared[play["on"]]))
    return shared


def other_half(tile: str, half: str) -> str:
    """The half of a tile beside the one given."""
    return tile[2] if tile[0] == half else tile[0]
