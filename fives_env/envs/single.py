"""One learning seat at one table, for Gymnasium."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from fives_env.engine import view
from fives_env.engine.deal import players_key
from fives_env.envs.episode import pick, seat_of
from fives_env.envs.rewards import margin
from fives_env.envs.versus import close_made, is_raising, opponents_of, seat_rule
from fives_env.errors import is_whole, one_of, options_of
from fives_env.players.ask import ask_at
from fives_env.players.compiled import RANDOM, CompiledPlayer
from fives_env.rules import Rules
from fives_env.table import Table

#: What ``reset`` takes as options.
OPTIONS = ("deal", "leader", "scores")
Info = dict[str, Any]


class FivesEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """All Fives against named players: ``gymnasium.make("fives_env/Fives-v0")``.

    **Observation**: a vector of float32 in [0, 1], the learner's as :mod:`fives_env.fives_v0`
    describes it. **Action**: ``Discrete(n_actions)``, described there too; :meth:`action_masks` and
    ``info["action_mask"]`` say which are legal. Forced draws and passes are played.

    **Reward**: the change of the learner's margin (its side's score less the mean of the other
    sides') from its decision to its next one, or to the end of the episode, settlements included.
    What the others do before its first decision counts with the first reward; so the rewards of an
    episode add up, without an error, to its final margin (from that of given ``scores`` on).
    **Termination**: the end of the round, or of the game. Nothing truncates: where scores can fall,
    careless players may go on for ever in a whole game. An episode that ends before the learner has
    decided anything is skipped, and the next game dealt.

    **Info**, the same keys always: ``action_mask`` (int8, none legal at the end), ``scores``
    (int32, by seat from the learner's on), ``seat`` (the learner's), ``round``, and ``illegal``,
    the number of actions replaced in this episode.

    Args:
        rules: A preset's name, :class:`~fives_env.Rules` or a dict of options.
        opponents: Who plays the other seats: one spec for all, or a list in turn order after the
            learner; specs as :func:`~fives_env.make_player` takes them.
        seat: The learner's, a number; or for each game anew: ``"rotate"``, which is ``(s + g) %
            players`` in game ``g`` of seed ``s``, or ``"random"``.
        episode: One ``"round"``, which is what :func:`~fives_env.evaluate` judges by and networks
            are trained on; or a whole ``"game"``.
        illegal: ``"raise"`` refuses an illegal action and changes nothing, ``"random"`` plays a
            legal one instead, drawn from the seed: what checkers that know no masks need.
        render_mode: None or one of ``metadata["render_modes"]``; the table is shown as the learner
            sees it.
        **options: Any option of :class:`~fives_env.Rules`.

    Attributes:
        table: The :class:`~fives_env.Table` in play. It is for looking at: play through ``step``.
        seat: The learner's seat at it.

    Raises:
        ValueError: One of these is not what it may be.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]  # Gymnasium's is not ClassVar
        "render_modes": ["ansi"],
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: Any = None,
        *,
        opponents: Any = "greedy",
        seat: int | Literal["rotate", "random"] = 0,
        episode: Literal["game", "round"] = "round",
        illegal: Literal["raise", "random"] = "raise",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        house = Rules.of(rules, **options)
        modes = [None, *self.metadata["render_modes"]]
        self.render_mode = one_of("render_mode", render_mode, modes)
        self._others, self._given = opponents_of(house, opponents), opponents
        self._rule = seat_rule(house, seat)
        self._raising = is_raising(illegal)
        self.table = Table(house, episode=episode)
        self.seat = max(0, self._rule)
        self._next = 0  # number of the game that a reset without a seed starts
        self._begun = False
        self._scale = view.scale(house)
        self._row = np.empty(self._scale.size, np.uint8)
        self._scratch = np.zeros((1, house.n_actions), np.int32)
        self.observation_space = spaces.Box(0, 1, self._scale.shape, np.float32)
        self.action_space = spaces.Discrete(house.n_actions)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """Start an episode.

        Args:
            seed: Start game 0 of this seed, a whole number in [0, 2**63). None goes on to the next
                game of the seed before, at first of one taken from the system.
            options: Any of ``deal``, ``leader`` and ``scores``, as :class:`~fives_env.Table` takes
                them.

        Raises:
            ValueError: One of these is not what it may be; the episode before goes on.
        """
        given = options_of(options, OPTIONS)
        if seed is None:
            self._deal(self.table.seed, self._next, **given)
        else:
            self._deal(seed, 0, **given)
        super().reset(seed=seed)
        while self.table.over:
            self._deal(self.table.seed, self._next)
        return self._observe(), self._info()

    def _deal(self, seed: int, game: int, **given: Any) -> None:
        """Start a game and play to the learner's first decision."""
        old = self.table
        table = Table(old.rules, seed=seed, game=game, episode=old.episode, **given)
        keys = np.uint64(table.seed), np.uint64(table.game)
        self.table, self._next, self._begun = table, game + 1, True
        self._key = np.uint64(players_key(*keys, 0))
        self.seat = seat_of(self._rule, *keys, table.rules.players)
        self._illegal = 0
        self._paid = margin(table)[0][self.seat % table.rules.sides]
        self._play_others()

    def step(self, action: int | np.int64) -> tuple[NDArray[np.float32], float, bool, bool, Info]:
        """Do an action, and all that the others do until the next decision.

        Raises:
            IllegalAction: It is not legal, and ``illegal="raise"``; nothing has changed.
            ValueError: There is no episode in progress.
        """
        if not self._begun or self.table.turn != self.seat:
            raise ValueError("step() needs an episode in progress: call reset() first.")
        if not self._raising and is_whole(action) and action not in self.table.legal:
            action = self._pick(RANDOM)
            self._illegal += 1
        self.table.play(action)  # type: ignore[arg-type]  # it takes NumPy's numbers too
        self._play_others()
        counts, unit = margin(self.table)
        now = counts[self.seat % len(counts)]
        reward, self._paid = (now - self._paid) / unit, now
        return self._observe(), reward, self.table.over, False, self._info()

    def _play_others(self) -> None:
        """Let the other players act until the learner is on turn, or the episode has ended."""
        table = self.table
        while table.turn is not None and table.turn != self.seat:
            player = self._others[(table.turn - self.seat) % table.rules.players - 1]
            if isinstance(player, CompiledPlayer):
                table.play(self._pick(player.kind))
            else:
                table.play(ask_at(player, table, int(self._key)))

    def _pick(self, kind: int) -> int:
        table = self.table
        return int(pick(table.state, 0, table.record, kind, self._key, self._scratch[0]))

    def _observe(self) -> NDArray[np.float32]:
        self.table.write_observation(self.seat, self._row)
        return self._row * self._scale

    def _info(self) -> Info:
        scores = self.table.scores
        return {
            "action_mask": self.table.mask(),
            "scores": np.array(scores[self.seat :] + scores[: self.seat], np.int32),
            "seat": self.seat,
            "round": self.table.round,
            "illegal": self._illegal,
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal now, bool, (n_actions,); none once the episode has ended."""
        return self.table.mask().view(np.bool_)

    def render(self) -> str | None:
        """The table in letters, as the learner sees it (``"ansi"``)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode, such as 'ansi'.")
            return None
        return self.table.text(self.seat)

    def close(self) -> None:
        """End the programs that play here."""
        close_made(self._others, self._given)

    def __copy__(self) -> "FivesEnv":
        """An independent copy, episode in progress included."""
        return deepcopy(self)
