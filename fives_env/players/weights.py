"""The tactician's weights, by seats and tiles dealt; ``training/tune_tactician.py`` finds them."""

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.jit import jit

#: What each weight is for; points are worth 1.
NAMES = ("reply", "pip", "double", "suits", "moves", "stuck", "next", "later", "draw")
REPLY, PIP, DOUBLE, SUITS, MOVES, STUCK, NEXT, LATER, DRAW = range(9)

#: Seatings that have weights of their own.
KINDS = (
    "two",
    "three",
    "four",
    "partners",
    "threes two",
    "threes more",
    "drawing two",
    "drawing three",
)

#: Tuned weights of a seating and a number of tiles; other numbers lie between or take the nearest.
TUNED: dict[tuple[str, int], tuple[float, ...]] = {
    ("two", 5): (1.12, 0.2, 3.63, 0.13, 0.35, 18.0, 0.15, 0.0, -20.0),
    ("two", 7): (1.09, 0.22, 3.29, 0.08, 0.46, 18.96, 0.15, 0.0, -20.0),
    ("two", 9): (0.94, 0.17, 3.8, 0.3, 1.0, 20.3, 0.16, 0.0, -20.0),
    ("three", 5): (0.75, 0.19, 4.51, 0.34, 0.65, 18.14, 0.13, 0.21, -20.0),
    ("three", 7): (0.61, 0.19, 5.24, 0.31, 0.89, 21.29, 0.11, 0.12, -20.0),
    ("four", 5): (0.58, 0.18, 4.87, 0.51, 0.78, 19.75, 0.07, 0.0, -20.0),
    ("partners", 5): (1.09, 0.2, 3.77, 0.44, 0.64, 20.27, 0.1, -0.15, -20.0),
    ("partners", 7): (1.07, 0.21, 3.74, 0.39, 0.61, 19.87, 0.11, -0.29, -20.0),
    ("threes two", 7): (0.89, -0.02, 0.38, 0.02, 0.21, 3.48, 0.23, 0.0, -20.0),
    ("threes more", 5): (0.88, 0.0, 0.27, -0.01, 0.13, 2.56, 0.18, -0.02, -20.0),
    ("drawing two", 9): (1.04, -0.14, 9.35, -0.59, 1.91, 21.71, 0.26, 0.0, 40.0),
    ("drawing three", 7): (1.11, -0.08, 9.03, -1.71, 1.08, 20.04, 0.42, 0.0, 41.08),
}


def _between() -> NDArray[np.float64]:
    """Weights of every seating and number of tiles, (seatings, 29, weights)."""
    table = np.zeros((len(KINDS), 29, len(NAMES)))
    for row, kind in enumerate(KINDS):
        known = sorted(tiles for name, tiles in TUNED if name == kind)
        for k in range(len(NAMES)):
            values = [TUNED[kind, tiles][k] for tiles in known]
            table[row, :, k] = np.interp(np.arange(29), known, values)
    return table


WEIGHTS_OF = _between()


@jit
def kind_of(r):  # type: ignore[no-untyped-def]
    """Row of :data:`KINDS` that some rules belong to."""
    players = r["players"]
    if r["may_draw"] and players < 4:
        return players + 4
    if r["points"][3]:
        return 4 if players == 2 else 5
    if r["sides"] < players:
        return 3
    return players - 2
