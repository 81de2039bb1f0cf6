"""One game as a Python object."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fives_env import checks, plain
from fives_env.engine import single, state, view
from fives_env.errors import choice, is_whole, whole
from fives_env.plain import Event, event_of
from fives_env.render.text import text
from fives_env.rules import Rules
from fives_env.tiles import NAMES, names

#: Seeds are whole numbers from 0 to this, exclusive.
SEEDS = 2**63


class IllegalAction(ValueError):
    """An action that the rules do not allow now; the table is unchanged."""


class Table:
    """A game of All Fives from its first deal to its end.

    Args:
        rules: A preset's name, :class:`Rules` or a dict of options.
        seed: Whole number in [0, 2**63) from which all deals follow; None takes one from the
            system, kept in :attr:`seed`.
        game: Number of the game of that seed.
        deal: Deal of the first round instead: tiles (names or numbers) of seat 0's hand, seat
            1's, ..., then the boneyard in drawing order.
        leader: Leader of the first round instead of the lot.
        scores: Scores by seat to begin with, below the target; partners have equal ones.
        forced: ``"auto"`` plays forced draws and passes, ``"act"`` makes them actions.
        episode: ``"round"`` ends with the first round.
        **options: Any option of :class:`Rules`.

    Raises:
        ValueError: One of these is not what it may be.
    """

    def __init__(
        self,
        rules: Any = None,
        *,
        seed: int | None = None,
        game: int = 0,
        deal: Sequence[int | str] | None = None,
        leader: int | None = None,
        scores: Sequence[int] | None = None,
        forced: Literal["auto", "act"] = "auto",
        episode: Literal["game", "round"] = "game",
        **options: Any,
    ) -> None:
        self.rules = Rules.of(rules, **options)
        self.forced = forced
        self.episode = episode
        self.record = self.rules.record(forced, episode)
        seed = secrets.randbelow(SEEDS) if seed is None else whole("seed", seed, 0, SEEDS - 1)
        game = whole("game", game, 0, SEEDS - 1)
        order = None if deal is None else checks.deal_order(self.rules, deal)
        if leader is not None:
            leader = whole("leader", leader, 0, self.rules.players - 1)
            if self.rules.lead == "highest_double":
                raise ValueError(choice("leader", leader, "None where the highest double leads"))
        points = None if scores is None else checks.side_scores(self.rules, scores)

        self.state = state.new_tables(1)
        self.start(seed, game, 0, order, leader, points)

    def start(
        self,
        seed: int,
        game: int,
        round_: int,
        order: list[int] | None,
        leader: int | None,
        scores: list[int] | None,
    ) -> None:
        """Start over on a round of checked contents (tile numbers, scores by side)."""
        single.reset(self.state, 0, self.record, np.uint64(seed), np.uint64(game))
        self.state["round"] = round_
        if scores is not None:
            self.state["scores"][0, : len(scores)] = scores
        if order is not None:
            self.state["order"][0, : len(order)] = order
            single.begin(self.state, 0, self.record)
        if leader is not None:
            self.state["leader"] = self.state["turn"] = leader
        self._begin()

    def _begin(self) -> None:
        self.events: list[Event] = []
        self._ev = np.zeros((state.MAX_EVENTS, 5), np.int32)
        self._begin_legal()

    def _begin_legal(self) -> None:
        self._actions = np.zeros(self.rules.n_actions, np.int32)
        self._n = single.legal(self.state, 0, self.record, self._actions)
        self._legal: list[int] | None = None

    # --- what the table shows -------------------------------------------------------------------

    def number(self, field: str) -> int:
        """A one-number field of the record."""
        return int(self.state[field][0])

    @property
    def seed(self) -> int:
        """Seed from which the deals follow."""
        return self.number("seed")

    @property
    def game(self) -> int:
        """Number of the game of this seed."""
        return self.number("game")

    @property
    def round(self) -> int:
        """Number of the round, from 0."""
        return self.number("round")

    @property
    def turn(self) -> int | None:
        """Seat to act, None when over."""
        seat = self.number("turn")
        return None if seat == state.NOBODY else seat

    @property
    def phase(self) -> str:
        """What the seat on turn is asked: ``play``, ``announce``, ``call``; or ``over``."""
        return state.PHASES[self.number("phase")]

    @property
    def over(self) -> bool:
        """Whether the game (or the one round) has ended."""
        return self.number("phase") == state.OVER

    @property
    def leader(self) -> int:
        """Seat that leads this round."""
        return self.number("leader")

    @property
    def total(self) -> int:
        """Pips that the layout counts."""
        return self.number("total")

    @property
    def scores(self) -> list[int]:
        """Scores by seat; partners show their side's."""
        by_side: list[int] = self.state["scores"][0].tolist()
        return [by_side[seat % self.rules.sides] for seat in range(self.rules.players)]

    @property
    def winners(self) -> list[int]:
        """Seats that won the game; empty before its end."""
        mask = self.number("winners")
        return [seat for seat in range(self.rules.players) if mask >> seat & 1]

    @property
    def ended(self) -> str | None:
        """How the last round ended: ``out``, ``blocked``, ``target`` (none has: None)."""
        return state.ENDED[self.number("ended")]

    @property
    def hands(self) -> list[list[str]]:
        """Names of the tiles in each hand, in tile order."""
        return [names(int(hand)) for hand in self.state["hands"][0, : self.rules.players]]

    @property
    def boneyard(self) -> list[str]:
        """Names of the tiles not dealt, in drawing order."""
        top, tiles = self.number("top"), self.number("tiles")
        return [NAMES[tile] for tile in self.state["order"][0, top:tiles]]

    @property
    def legal(self) -> list[int]:
        """Legal actions in rising order; empty when over."""
        if self._legal is None:
            self._legal = self._actions[: self._n].tolist()
        return list(self._legal)

    def mask(self) -> NDArray[np.int8]:
        """Action mask of the seat on turn: int8, shape (n_actions,), 1 where legal."""
        mask = np.zeros(self.rules.n_actions, np.int8)
        for action in self.legal:  # few: faster than by an array of them
            mask[action] = 1
        return mask

    def observe(self, seat: int) -> NDArray[np.uint8]:
        """Observation of a seat as counts: uint8, shape (size,); see :mod:`.engine.view`.

        Raises:
            ValueError: There is no such seat.
        """
        row = np.empty(view.size(self.rules), np.uint8)
        self.write_observation(self._seat(seat), row)
        return row

    def write_observation(self, seat: int, row: NDArray[np.uint8]) -> None:
        """Write what :meth:`observe` returns into ``row``; nothing is checked."""
        single.observe(self.state, 0, self.record, seat, self._actions, self._n, row)

    def redact(self, seat: int) -> NDArray[Any]:
        """The record that a seat may see: an array of one ``STATE`` with the rest blanked.

        Raises:
            ValueError: There is no such seat.
        """
        record = state.copy_of(self.state)
        single.redact(record, 0, self._seat(seat))
        return record

    # --- playing --------------------------------------------------------------------------------

    def play(self, action: int) -> list[Event]:
        """Do an action, and what follows of itself; what happened, in order.

        Settlements are included, and the next round is dealt.

        Raises:
            IllegalAction: The action is not legal now; nothing has changed.
        """
        if self._legal is None:
            self._legal = self._actions[: self._n].tolist()
        if not is_whole(action) or action not in self._legal:
            raise IllegalAction(checks.why_not(self, action))
        n, self._n, dealt = single.act(
            self.state, 0, self.record, int(action), self._ev, self._actions
        )
        self._legal = None
        happened = [event_of(*row) for row in self._ev[:n].tolist()]
        if dealt:
            self.events = []
        else:
            self.events += happened
        return happened

    def clone(self) -> "Table":
        """An independent copy."""
        other: Table = Table.__new__(Table)
        other.__dict__.update(self.__dict__)
        other.state = state.copy_of(self.state)
        other._ev = self._ev.copy()
        other._actions = self._actions.copy()
        other.events = list(self.events)
        return other

    def this_round(self) -> "Table":
        """A copy that ends with this round, and so still shows its layout then."""
        other = self.clone()
        other.episode = "round"
        other.record = other.rules.record(other.forced, "round")
        return other

    __copy__ = clone

    def __getstate__(self) -> dict[str, Any]:
        """All but the rules' record, which would come back as one that may be written to."""
        return {name: value for name, value in self.__dict__.items() if name != "record"}

    def __setstate__(self, values: dict[str, Any]) -> None:
        """Take the rules' record from the rules."""
        self.__dict__.update(values)
        self.record = self.rules.record(self.forced, self.episode)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Table":
        """An independent copy."""
        return self.clone()

    # --- plain data -----------------------------------------------------------------------------

    def to_dict(self, seat: int | None = None) -> dict[str, Any]:
        """The table as plain data, see :mod:`fives_env.plain`; for a ``seat``, as it sees it.

        Raises:
            ValueError: There is no such seat.
        """
        return plain.to_dict(self, None if seat is None else self._seat(seat))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Table":
        """The table that :meth:`to_dict` gave, by replaying its round.

        Raises:
            ValueError: The data is not that of a table, or does not follow the rules.
        """
        return plain.from_dict(cls, data)

    # --- looking at it --------------------------------------------------------------------------

    def text(self, seat: int | None = None, colour: bool = False) -> str:
        """The table in letters, as ``seat`` sees it, or everything."""
        return text(self.to_dict(seat), colour)

    def svg(self, seat: int | None = None) -> str:
        """The table as an SVG picture, as ``seat`` sees it, or everything."""
        from fives_env.render.svg import svg

        return svg(self.to_dict(seat))

    _repr_svg_ = svg

    def __str__(self) -> str:
        """The whole table in letters."""
        return self.text()

    def __repr__(self) -> str:
        """Rules, seed and where the game stands."""
        return f"Table({self.rules!r}, seed={self.seed}, game={self.game}, round={self.round})"

    def __eq__(self, other: object) -> bool:
        """Equal rules and equal records."""
        if not isinstance(other, Table):
            return NotImplemented
        return self.rules == other.rules and self.state.tobytes() == other.state.tobytes()

    __hash__ = None  # type: ignore[assignment]

    def _seat(self, seat: Any) -> int:
        return whole("seat", seat, 0, self.rules.players - 1)
