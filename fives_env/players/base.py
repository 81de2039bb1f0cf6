"""What a player is: it gets views in batches and answers with actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fives_env.rules import Rules


@dataclass(frozen=True)
class Views:
    """The decisions of ``k`` seats, each as its seat may see it; the player's own, to write to.

    Attributes:
        rules: Rules of all these tables.
        obs: Observations, uint8 counts, (k, size).
        mask: Legal actions, bool, (k, n_actions).
        records: Redacted records, ``STATE``, (k,).
        keys: A number for each decision from which all randomness comes, uint64, (k,).
    """

    rules: Rules
    obs: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    records: NDArray[Any]
    keys: NDArray[np.uint64]


class Player(Protocol):
    """Anything that answers views with legal actions.

    One object may sit on several seats of a table, and meets a deal again from the other side: what
    it kept from one call to the next could tell it what its seat does not know. Players keep
    nothing.

    Attributes:
        name: How tables and reports call it.
    """

    name: str

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view, (k,); a row depends on that view alone."""
        ...


def forfeits_of(player: Player) -> Mapping[str, int]:
    """Decisions that a player has forfeited, by kind; only outside programs count any."""
    found = getattr(player, "forfeits", None)
    return found if isinstance(found, Mapping) else {}
