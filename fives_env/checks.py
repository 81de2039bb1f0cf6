"""What a table refuses, and the sentence that says why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fives_env.errors import choice, is_whole
from fives_env.rules import Rules
from fives_env.tiles import HI, LO, NAMES, in_play, index

if TYPE_CHECKING:
    from fives_env.table import Table


def deal_order(rules: Rules, deal: Sequence[int | str]) -> list[int]:
    """The tiles of a deal by number."""
    tiles = deal.tolist() if isinstance(deal, np.ndarray) else deal
    if not isinstance(tiles, Sequence):
        raise ValueError(choice("deal", deal, "a sequence of tiles"))
    order = [index(tile) for tile in tiles]
    everything = in_play(rules.highest)
    for tile in everything:
        if order.count(tile) != 1:
            how = "missing from" if tile not in order else "more than once in"
            raise ValueError(f"deal is not a permutation of the tiles: {NAMES[tile]} is {how} it.")
    if len(order) != len(everything):
        high = rules.highest
        raise ValueError(f"deal holds a tile above {high}-{high}, the highest in play.")
    return order


def side_scores(rules: Rules, scores: Sequence[int]) -> list[int]:
    """Scores by side from scores by seat."""
    given = scores.tolist() if isinstance(scores, np.ndarray) else scores
    given = list(given) if isinstance(given, Sequence) else [None]
    fitting = len(given) == rules.players and all(is_whole(score) for score in given)
    if not fitting or max(given) >= rules.target:
        allowed = f"{rules.players} whole numbers below the target of {rules.target}"
        raise ValueError(choice("scores", scores, allowed))
    if min(given) < -1_000_000:
        raise ValueError(choice("scores", scores, "no lower than -1000000"))
    if any(given[seat] != given[seat % rules.sides] for seat in range(rules.players)):
        raise ValueError(choice("scores", scores, "the same for partners"))
    return [int(score) for score in given[: rules.sides]]


def why_not(table: "Table", action: Any) -> str:
    """Why an action is not legal now, in one sentence."""
    rules, t = table.rules, table.state[0]
    allowed = f"a whole number from 0 to {rules.n_actions - 1}"
    if not is_whole(action):
        return choice("action", action, allowed)
    if table.over:
        return f"action is {action}, but the game is over."
    if not 0 <= action < rules.n_actions:
        return choice("action", action, allowed)
    name = rules.action_name(int(action))
    legal = ", ".join(rules.action_name(a) for a in table.legal)
    tile, end = divmod(int(action), rules.n_ends)
    if table.phase != "play":
        why = f"seat {table.turn} is asked to {table.phase} or not"
    elif tile >= 28:
        why = "that is not open now"
    elif not int(t["hands"][table.turn]) >> tile & 1:
        why = f"seat {table.turn} does not hold {NAMES[tile]}"
    elif not t["played"]:
        why = "the set goes to end 0" if end else "the highest double must be set"
    elif end >= t["ends"]:
        why = f"end {end} is not open"
    elif t["value"][end] not in (LO[tile], HI[tile]):
        why = f"end {end} shows {t['value'][end]}"
    else:
        why = "the rules forbid it"
    return f"action {action} ({name}) is illegal, since {why}; legal: {legal}."
