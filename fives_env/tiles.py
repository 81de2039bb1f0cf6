"""The double-six set: numbering, names, pips and suits.

Tiles are numbered 0 to 27 in the order 0-0 0-1 ... 0-6 1-1 ... 6-6 and named high-low (``6-4``).
A set of tiles is an integer with bit ``i`` for tile ``i``.
"""

import numpy as np

from fives_env.errors import choice

N_TILES = 28

_PAIRS = [(lo, hi) for lo in range(7) for hi in range(lo, 7)]

#: Pips of each tile's halves and of the whole tile, shape (28,).
LO = np.array([lo for lo, _ in _PAIRS], np.int64)
HI = np.array([hi for _, hi in _PAIRS], np.int64)
PIPS = LO + HI

#: Name of each tile, and the tile of each name; ``4-6`` is understood as ``6-4``.
NAMES = tuple(f"{hi}-{lo}" for lo, hi in _PAIRS)
INDEX = {f"{hi}-{lo}": i for i, (lo, hi) in enumerate(_PAIRS)} | {
    f"{lo}-{hi}": i for i, (lo, hi) in enumerate(_PAIRS)
}


def as_mask(tiles: list[int]) -> int:
    """The set of ``tiles`` as an integer."""
    return sum(1 << tile for tile in tiles)


#: The tiles of each suit (value 0 to 6).
SUIT = np.array(
    [as_mask([i for i, pair in enumerate(_PAIRS) if v in pair]) for v in range(7)], np.int64
)
#: The tiles of each set of suits, bit ``v`` for value ``v``.
SUITS = np.array(
    [np.bitwise_or.reduce(SUIT[[v for v in range(7) if suits >> v & 1]]) for suits in range(128)]
)
DOUBLES = as_mask([i for i, (lo, hi) in enumerate(_PAIRS) if lo == hi])


def in_play(highest: int) -> list[int]:
    """The tiles of the set up to double-``highest``, in order."""
    return [i for i, (_, hi) in enumerate(_PAIRS) if hi <= highest]


def names(mask: int) -> list[str]:
    """Names of the tiles in a set, in tile order."""
    return [NAMES[i] for i in range(N_TILES) if mask >> i & 1]


def index(tile: int | str) -> int:
    """Number of a tile given by number or name.

    Raises:
        ValueError: ``tile`` is no tile of the double-six set.
    """
    if isinstance(tile, str):
        if tile in INDEX:
            return INDEX[tile]
    elif not isinstance(tile, bool) and isinstance(tile, int | np.integer) and 0 <= tile < N_TILES:
        return int(tile)
    raise ValueError(choice("tile", tile, "a name like '6-4' or a number from 0 to 27"))
