"""One table as a PettingZoo AEC environment; :mod:`fives_env.fives_v0` is its manual."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from fives_env.engine import view
from fives_env.envs.rewards import REWARDS
from fives_env.errors import one_of, options_of
from fives_env.rules import Rules
from fives_env.table import Table

#: What ``reset`` takes as options.
OPTIONS = ("deal", "leader", "scores")
Observation = dict[str, NDArray[Any]]


class RawEnv(AECEnv[str, Observation, int | None]):
    """All Fives without PettingZoo's wrappers.

    Args:
        rules: A preset's name, :class:`~fives_env.Rules` or a dict of options.
        episode: A whole ``"game"``, or one ``"round"``.
        reward: ``"points"``, ``"margin"`` or ``"win"``.
        forced: ``"auto"`` plays forced draws and passes, ``"act"`` makes them actions.
        mask_in_info: Put the action mask into ``infos`` as well.
        render_mode: None or one of ``metadata["render_modes"]``.
        **options: Any option of :class:`~fives_env.Rules`.

    Attributes:
        table: The :class:`~fives_env.Table` in play. It is for looking at: play through ``step``.

    Raises:
        ValueError: One of these is not what it may be.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "fives_v0",
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 2,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        rules: Any = None,
        *,
        episode: Literal["game", "round"] = "game",
        reward: Literal["points", "margin", "win"] = "points",
        forced: Literal["auto", "act"] = "auto",
        mask_in_info: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        reward = one_of("reward", reward, REWARDS)
        mask_in_info = one_of("mask_in_info", mask_in_info, (False, True))
        modes = [None, *self.metadata["render_modes"]]
        render_mode = one_of("render_mode", render_mode, modes)
        house = Rules.of(rules, **options)
        self.reward, self.mask_in_info, self.render_mode = reward, mask_in_info, render_mode
        self.table = Table(house, forced=forced, episode=episode)
        self._next = 0  # number of the game that a reset without a seed starts
        self._count = REWARDS[reward]
        self._scale = view.scale(house)
        self._row = np.empty(self._scale.size, np.uint8)
        self._n_actions = house.n_actions
        self._window: Any = None

        self.possible_agents = [f"player_{seat}" for seat in range(house.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, self._scale.shape, np.float32),
                    "action_mask": spaces.Box(0, 1, (house.n_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {a: spaces.Discrete(house.n_actions) for a in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (house.players * self._scale.size,), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Space of an agent's observations, the same object every time."""
        return self.observation_spaces[one_of("agent", agent, self.possible_agents)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of an agent's actions, the same object every time."""
        return self.action_spaces[one_of("agent", agent, self.possible_agents)]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start a game.

        Args:
            seed: Start game 0 of this seed, a whole number in [0, 2**63). None goes on to the next
                game of the seed before, at first of one taken from the system.
            options: Any of ``deal``, ``leader`` and ``scores``, as :class:`~fives_env.Table` takes
                them. (The key ``options``, which PettingZoo's ``api_test`` sends, is ignored.)

        Raises:
            ValueError: One of these is not what it may be; the game before goes on.
        """
        if isinstance(options, Mapping):
            options = {name: value for name, value in options.items() if name != "options"}
        given = options_of(options, OPTIONS)
        old, game = self.table, 0 if seed is not None else self._next
        self.table = Table(
            old.rules,
            seed=old.seed if seed is None else seed,
            game=game,
            forced=old.forced,
            episode=old.episode,
            **given,
        )
        self._next = game + 1
        self._paid = self._count(self.table)[0]
        self.agents = self.possible_agents[:]
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._show(self.possible_agents[-1])
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Play an action of the agent on turn; None steps an agent out once the game is over.

        Raises:
            IllegalAction: The action is not legal now; nothing has changed.
            ValueError: There is no game in progress, or an action was given after its end.
        """
        if not self.agents:
            raise ValueError("step() needs a game in progress: call reset() first.")
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        before = self.table.this_round() if self.render_mode == "human" else None
        self.table.play(action)  # type: ignore[arg-type]  # None is refused there
        self._cumulative_rewards[agent] = 0.0
        self._show(agent)
        if before:
            before.play(action)  # type: ignore[arg-type]  # the last tile of a round is seen too
            self._open_window().show(before.to_dict())
            if before.over and not self.table.over:
                self.render()

    def last(
        self, observe: bool = True
    ) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward, termination, truncation and info of the agent on turn.

        Raises:
            ValueError: There was no reset yet.
        """
        self._need_reset("last")
        return super().last(observe)  # type: ignore[no-any-return]

    def _need_reset(self, what: str) -> None:
        if not hasattr(self, "agent_selection"):
            raise ValueError(f"{what}() needs a game: call reset() first.")

    def _show(self, mover: str) -> None:
        """Set whose turn it is, who is done, what the last step paid, and infos."""
        turn = self.table.turn
        if turn is None:
            self.terminations = dict.fromkeys(self.agents, True)
            turn = (self._seats[mover] + 1) % len(self.agents)
        self.agent_selection = self.possible_agents[turn]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        count, unit = self._count(self.table)
        if count != self._paid:
            sides = len(count)
            paid = [(new - old) / unit for new, old in zip(count, self._paid, strict=True)]
            self._paid = count
            self.rewards = {agent: paid[seat % sides] for agent, seat in self._seats.items()}
            self._accumulate_rewards()
        if self.mask_in_info:
            self.infos = {agent: {"action_mask": self._mask(agent)} for agent in self.agents}

    def _clear_rewards(self) -> None:
        self.rewards = dict.fromkeys(self.rewards, 0.0)

    def _mask(self, agent: str) -> NDArray[np.int8]:
        """Legal actions of the agent on turn; nothing for others, or when the game is over."""
        if agent == self.agent_selection:
            return self.table.mask()
        return np.zeros(self._n_actions, np.int8)

    def observe(self, agent: str) -> Observation:
        """What an agent may see, at any time: fresh arrays ``observation`` and ``action_mask``.

        Raises:
            ValueError: There is no such agent, or there was no reset yet.
        """
        one_of("agent", agent, self.possible_agents)
        self._need_reset("observe")
        table = self.table
        table.write_observation(self._seats[agent], self._row)
        return {"observation": self._row * self._scale, "action_mask": self._mask(agent)}

    def state(self) -> NDArray[np.float32]:
        """Observations of all seats, seat 0's first: all but the order of the boneyard.

        Raises:
            ValueError: There was no reset yet.
        """
        self._need_reset("state")
        rows = np.empty((len(self.possible_agents), self._row.size), np.uint8)
        for seat, row in enumerate(rows):
            self.table.write_observation(seat, row)
        state: NDArray[np.float32] = (rows * self._scale).ravel()
        return state

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table, all hands open: in a window, as pixels or as text, by ``render_mode``.

        Returns:
            None for ``"human"``, uint8 of shape (740, 640, 3) for ``"rgb_array"``, or a string.

        Raises:
            ImportError: pygame is not installed, which all but ``"ansi"`` need.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing without a render_mode, such as 'ansi'.")
            return None
        if self.render_mode == "ansi":
            return str(self.table)
        if self.render_mode == "rgb_array":
            from fives_env.render.window import rgb_array

            return rgb_array(self.table.to_dict())
        self._open_window().show(self.table.to_dict())
        return None

    def _open_window(self) -> Any:
        from fives_env.render.window import Window

        if self._window is None:
            self._window = Window()
        return self._window

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the window, which a copy opens for itself."""
        return self.__dict__ | {"_window": None}

    def __copy__(self) -> "RawEnv":
        """An independent copy, game in progress included."""
        return deepcopy(self)


class Ordered(OrderEnforcingWrapper):
    """PettingZoo's order wrapper, but ``copy.copy`` copies the game beneath it as well."""

    def __copy__(self) -> "Ordered":
        """An independent copy, game in progress included."""
        return deepcopy(self)

    def __str__(self) -> str:
        """Name of the environment beneath."""
        return str(self.env)
