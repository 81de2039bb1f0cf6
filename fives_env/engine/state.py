"""The two records: ``STATE`` is one table, ``RULES`` the house rules as numbers.

Many tables are an array of ``STATE``; cloning is a copy, saving is ``tobytes``, equality is ``==``.
Kernels take the array and an index; ``rules`` is an array of one ``RULES`` record.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Marks "no tile", "no seat" and "not redacted" in one-byte fields.
NOBODY = 255
#: Seed and counters of a redacted record; real seeds are below 2**63.
BLANK = np.uint64(2**64 - 1)

STATE = np.dtype(
    [
        ("seed", "u8"),
        ("game", "u8"),
        ("round", "u4"),
        ("hands", "i4", (4,)),  # tiles held, by seat
        ("laid", "i4", (4,)),  # tiles played, by seat
        ("fits", "i4"),  # tiles that fit some open end
        ("barred", "i4"),  # tiles that a forced lead proved to be in no dealt hand
        ("scores", "i4", (4,)),  # by side
        ("cross", "u2"),  # open ends that are a bare cross side of a double
        ("order", "u1", (28,)),  # tiles played from the front, boneyard in drawing order from `top`
        ("how", "u1", (28,)),  # of each play: seat * 16 + end
        ("value", "u1", (16,)),  # pips shown at each open end
        ("counts", "u1", (16,)),  # pips that each open end counts
        ("shows", "u1", (16,)),  # tile that shows each open end
        ("joined", "u1", (7,)),  # tiles joined to each double on the layout
        ("cap", "u1", (4, 8)),  # most tiles of a suit (7: of `barred`) that a seat can hold
        ("held", "u1", (4,)),  # tiles in each hand
        ("top", "u1"),  # first boneyard tile in `order`
        ("tiles", "u1"),  # tiles in play
        ("played", "u1"),  # tiles on the layout
        ("ends", "u1"),  # ends open
        ("suits", "u1"),  # bit set of the values shown at open ends
        ("spinner", "u1"),  # value of the one spinner, NOBODY before it lies
        ("total", "u1"),  # pips that the layout counts
        ("pending", "u1"),  # points a muggins window is about
        ("turn", "u1"),  # seat to act, NOBODY when over
        ("phase", "u1"),
        ("leader", "u1"),
        ("passes", "u1"),  # passes running
        ("drew", "u1"),  # whether the seat on turn drew this turn
        ("mover", "u1"),  # seat of the last placement
        ("winners", "u1"),  # bit set of the seats that won the game
        ("seats", "u1"),
        ("ended", "u1"),  # how the last round ended
        ("muggins", "u1"),  # whether counting is the players' business
        ("viewer", "u1"),  # seat that a redacted record is for, NOBODY for a full one
        ("spare", "u1", (4,)),  # zero; fills what would be padding, whose bytes no copy keeps
    ],
    align=True,
)

# Phases.
PLAY, ANNOUNCE, CALL, OVER = range(4)
PHASES = ("play", "announce", "call", "over")

# How a round ended.
BY_OUT, BY_BLOCK, BY_TARGET = 1, 2, 3
ENDED = (None, "out", "blocked", "target")

RULES = np.dtype(
    [
        (name, "i4")
        for name in (
            "players",
            "sides",  # seats s and s + sides play together
            "tiles",
            "highest",
            "everything",  # the tiles in play
            "bits",  # 2**bits ends a tile may be laid on: 2, 4 or 16
            "spinner",
            "at_once",
            "lead",
            "next_lead",
            "draw",
            "reserve",
            "may_draw",
            "peg",
            "rounding",
            "out",
            "block",
            "block_rounding",
            "target",
            "exact",
            "muggins",
            "take",
            "lose",
            "act",  # forced draws and passes are actions
            "one_round",  # the episode ends with the first round
        )
    ]
    # Award of each total in points, and the rules as the observation shows them.
    + [("points", "i4", (256,)), ("shown", "u1", (24,))],
    align=True,
)

# Values of the options, in the order in which `rules` names them.
SPIN_NONE, SPIN_SET, SPIN_FIRST, SPIN_ALL = range(4)
LEAD_ANY, LEAD_WINNER, LEAD_LEFT, LEAD_HIGHEST = range(4)
DRAW_UNTIL, DRAW_ONE, DRAW_NONE = range(3)
EACH, TOTAL, DOWN, EXACT = range(4)
OUT_OTHERS, OUT_OWN, OUT_ONE = range(3)
BLOCK_OTHERS, BLOCK_DIFFERENCE, BLOCK_OWN, BLOCK_NONE = range(4)
MUGGINS_OFF, MUGGINS_NEXT, MUGGINS_ANY = range(3)

# Actions that follow the placements, in this order.
A_DRAW, A_PASS, A_ANNOUNCE, A_SILENT, A_CALL, A_LET_GO = range(6)
EXTRA = ("draw", "pass", "announce", "silent", "call", "let_go")

# What events say was done; a row of the event buffer is (do, seat, tile, end, points), -1 for none.
DEEDS = (
    "set",
    "place",
    "draw",
    "pass",
    "announce",
    "silent",
    "call",
    "let_go",
    "out",
    "blocked",
    "win",
)
SET, PLACE, DREW, PASSED, ANNOUNCED, SILENT, CALLED, LET_GO, OUT, BLOCKED, WIN = range(11)
#: Rows that hold the events of any one action.
MAX_EVENTS = 64


def new_tables(n: int) -> NDArray[Any]:
    """An array of ``n`` empty tables."""
    return np.zeros(n, STATE)


def copy_of(tables: NDArray[Any]) -> NDArray[Any]:
    """A copy of some tables, as bytes: several times faster than field by field."""
    return tables.view(np.uint8).copy().view(STATE)
