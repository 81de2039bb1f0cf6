"""Many tables with one learning seat each, the other seats played by named players.

Compiled players act inside the kernels of :mod:`.episode`, others are asked in one batch. The
environments for Gymnasium and Stable-Baselines3 are faces on :class:`Versus`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch, state, view
from fives_env.envs import episode as kernels
from fives_env.envs.episode import CAST, EPISODE, INFO, SEATS
from fives_env.errors import choice, is_whole, one_of, whole, whole_numbers
from fives_env.players import Player, make_player
from fives_env.players.ask import ask
from fives_env.players.compiled import EXTERNAL, CompiledPlayer
from fives_env.rules import Rules
from fives_env.table import IllegalAction


class Room(NamedTuple):
    """The arrays that the kernels work on."""

    tables: NDArray[Any]
    rules: NDArray[Any]
    episodes: NDArray[Any]
    cast: NDArray[Any]
    obs: NDArray[np.uint8]
    mask: NDArray[np.int8]
    final_obs: NDArray[np.uint8]
    none: NDArray[np.int32]


def opponents_of(rules: Rules, opponents: Any) -> list[Player]:
    """The players of the other seats, in turn order after the learner's.

    Args:
        rules: The rules.
        opponents: One player for all of them, or a list; as :func:`make_player` takes them. One
            that is named twice is made once.
    """
    others = rules.players - 1
    specs = list(opponents) if isinstance(opponents, list | tuple) else [opponents] * others
    if len(specs) != others:
        raise ValueError(choice("opponents", opponents, f"one player, or a list of {others}"))
    names = [spec if isinstance(spec, str) else id(spec) for spec in specs]
    made = {name: make_player(spec) for name, spec in dict(zip(names, specs, strict=True)).items()}
    return [made[name] for name in names]


def close_made(players: list[Player], opponents: Any) -> None:
    """Close the players that :func:`opponents_of` made, those that were given left as they are."""
    given = opponents if isinstance(opponents, list | tuple) else [opponents]
    for player in players:
        if hasattr(player, "close") and not any(player is one for one in given):
            player.close()


def seat_rule(rules: Rules, seat: Any) -> int:
    """The learner's seat as kernels take it.

    Args:
        rules: The rules.
        seat: A seat; ``"rotate"``: that of game ``g`` of seed ``s`` is ``(s + g) % players``; or
            ``"random"``: drawn by lot for each game, from its seed.
    """
    if isinstance(seat, str) and seat in SEATS:
        return SEATS[seat]
    if is_whole(seat) and 0 <= seat < rules.players:
        return int(seat)
    raise ValueError(choice("seat", seat, [*range(rules.players), *SEATS]))


def is_raising(illegal: Any) -> bool:
    """Whether ``illegal`` is ``"raise"``; the other value that it may have is ``"random"``."""
    return bool(one_of("illegal", illegal, ("raise", "random")) == "raise")


class Versus:
    """``n`` tables at which a learner plays against others, a decision of its at a time.

    A decision's reward is the change of the learner's margin (its side's score less the mean of the
    other sides') until its next decision, or to the end of the episode. What the others do before
    its first decision counts with the first reward, so an episode's rewards add up to its final
    margin, without an error. An episode that ends before the learner has decided anything is
    skipped: the next game is dealt.

    Nothing is allocated in a step, except by players that are no kernels. The arrays below are
    overwritten by each step, and are read-only.

    Args:
        n: Number of tables.
        rules: A preset's name, :class:`~fives_env.Rules` or a dict of options.
        opponents: Who plays the other seats, as :func:`opponents_of` takes it.
        seat: The learner's, as :func:`seat_rule` takes it.
        episode: One ``"round"`` from scores of 0, or a whole ``"game"``.
        illegal: ``"raise"``, or ``"random"``: replaced by a random legal action, and counted.
        restart: Begin the next episode in the step that ends one, not in the step after it.
        threads: Slices that are played at the same time; the result does not depend on it.
        **options: Any option of :class:`~fives_env.Rules`.

    Raises:
        ValueError: One of these is not what it may be.
    """

    def __init__(
        self,
        n: int,
        rules: Any = None,
        *,
        opponents: Any = "greedy",
        seat: int | str = 0,
        episode: Literal["game", "round"] = "round",
        illegal: Literal["raise", "random"] = "raise",
        restart: bool = False,
        threads: int = 1,
        **options: Any,
    ) -> None:
        self.n = whole("number of tables", n, 1, 10**7)
        self.rules = Rules.of(rules, **options)
        self.episode = episode
        self.raising = is_raising(illegal)
        self.opponents = opponents_of(self.rules, opponents)
        self._given = opponents
        kinds = [p.kind if isinstance(p, CompiledPlayer) else EXTERNAL for p in self.opponents]
        #: Players that are asked in Python, numbered from 1.
        self.asked = list(
            {id(p): p for p, k in zip(self.opponents, kinds, strict=True) if k == EXTERNAL}.values()
        )
        who = [1 + self.asked.index(p) if p in self.asked else 0 for p in self.opponents]
        cast = np.zeros(1, CAST)
        cast["seat"], cast["restart"] = seat_rule(self.rules, seat), restart
        cast["kind"][0, : self.rules.players] = EXTERNAL, *kinds
        cast["who"][0, : self.rules.players] = 0, *who
        size = view.size(self.rules)
        self._room = Room(
            state.new_tables(n),
            self.rules.record("auto", episode),
            np.zeros(n, EPISODE),
            cast,
            np.zeros((n, size), np.uint8),
            np.zeros((n, self.rules.n_actions), np.int8),
            np.zeros((n if restart else 0, size), np.uint8),
            batch.NO_EVENTS,
        )
        slices = whole("threads", threads, 1, 1024)
        self._scratch = np.zeros((slices, self.rules.n_actions), np.int32)
        self._actions, self._index = np.zeros((2, n), np.int64)
        seeds = np.random.SeedSequence().generate_state(n, np.uint64)
        self._room.tables["seed"] = seeds >> np.uint64(1)
        self._begun = self._ready = False

    @property
    def obs(self) -> NDArray[np.uint8]:
        """Observations of the learner, counts, (n, size)."""
        return _locked(self._room.obs)

    @property
    def mask(self) -> NDArray[np.int8]:
        """Its legal actions, (n, n_actions); all ones at the end, when any begins the next."""
        return _locked(self._room.mask)

    @property
    def episodes(self) -> NDArray[Any]:
        """Records of dtype ``EPISODE``, (n,)."""
        return _locked(self._room.episodes)

    @property
    def final_obs(self) -> NDArray[np.uint8]:
        """With ``restart``, last observations where the last step ended an episode."""
        return _locked(self._room.final_obs)

    def info(self, final: bool = False) -> dict[str, NDArray[np.int32]]:
        """Copies of what is told of each table's episode, or of the one that ended.

        ``scores`` are by seat from the learner's on, (n, players); ``seat`` is the learner's,
        ``round`` the round and ``illegal`` the number of actions replaced in this episode, (n,).
        """
        told = {name: self._room.episodes["final_" * final + name].copy() for name in INFO}
        told["scores"] = told["scores"][:, : self.rules.players]
        return told

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        """Begin an episode at all tables, or at those that are ``chosen``.

        Args:
            seed: Table ``i`` starts game 0 of seed ``seed + i``, or of the ``i``-th one of a list;
                None goes on to the next game of its seed, at first of one from the system.
            chosen: Which tables, (n,); all the first time, and after a step that failed.

        Raises:
            ValueError: The seeds are not whole numbers in [0, 2**63), or not one for each table.
        """
        tables = self._room.tables
        seeds, games = tables["seed"].copy(), tables["game"] + np.uint64(self._begun)
        if seed is not None:
            given: Any = seed
            if is_whole(given):
                given = range(given, given + self.n)
            if not isinstance(given, Sequence | np.ndarray) or len(given) != self.n:
                raise ValueError(choice("seed", seed, f"a whole number or a list of {self.n}"))
            for i, one in enumerate(given):
                if one is not None:
                    seeds[i], games[i] = whole("seed", one, 0, 2**63 - 1), 0
        if chosen is None or not self._ready:
            chosen = np.ones(self.n, np.bool_)
        self._ready = False
        self._each(self.n, lambda *part: kernels.reset(*self._room, seeds, games, chosen, *part))
        self._settle()
        self._begun = self._ready = True

    def step(self, actions: Any) -> None:
        """Do an action at each table, and renew all arrays.

        Args:
            actions: Whole numbers, (n,).

        Raises:
            IllegalAction: One of them is not legal, and ``illegal="raise"``; nothing has changed.
            ValueError: They are no ``n`` whole numbers, there was no reset, or a player answered
                with an illegal action; in the last case only a reset helps.
        """
        if not self._ready:
            raise ValueError("step() needs episodes in progress: call reset() first.")
        self._actions[:] = whole_numbers("actions", actions, self.n)
        if self.raising:
            self._refuse_illegal()
        self._ready = False
        self._each(self.n, lambda *part: kernels.step(*self._room, self._actions, *part))
        self._settle()
        self._ready = True

    def close(self) -> None:
        """End the programs that play here."""
        close_made(self.opponents, self._given)

    def _refuse_illegal(self) -> None:
        i = kernels.first_illegal(
            self._room.episodes, self._room.cast["restart"][0], self._room.mask, self._actions
        )
        if i >= 0:
            raise IllegalAction(
                f"action {self._actions[i]} at table {i} is illegal; "
                f"legal: {self.rules.names_of(self.mask[i])}."
            )

    def _each(self, n: int, kernel: Callable[..., Any]) -> None:
        batch.sliced(lambda k, lo, hi: kernel(self._scratch[k], lo, hi), n, len(self._scratch))

    def _settle(self) -> None:
        """Ask the players outside until every table waits for the learner."""
        waiting = bool(self.asked)
        while waiting:
            waiting = False
            for number, player in enumerate(self.asked, 1):
                n = kernels.asking(self._room.episodes, number, self._index)
                if n:
                    waiting = True
                    self._ask(player, self._index[:n])

    def _ask(self, player: Player, index: NDArray[np.int64]) -> None:
        room = self._room
        actions = ask(
            player,
            self.rules,
            room.rules,
            room.tables,
            index,
            room.episodes["key"][index],
            self._scratch,
        )
        self._each(len(index), lambda *part: kernels.answer(*room, index, actions, *part))

    def __setstate__(self, values: dict[str, Any]) -> None:
        """Take the rules' record from the rules: a copy of it could be written to."""
        self.__dict__.update(values)
        self._room = self._room._replace(rules=self.rules.record("auto", self.episode))


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    """The array, but not to be written to, nor to be unlocked."""
    if not array.size:
        return array
    buffer = array.reshape(-1).view(np.uint8).data.toreadonly()
    return np.frombuffer(buffer, array.dtype).reshape(array.shape)
