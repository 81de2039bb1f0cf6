"""One learning seat at each of many tables, for Gymnasium's vector interface."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from fives_env.engine import view
from fives_env.envs.versus import Versus
from fives_env.errors import array_of, choice, is_whole, one_of, options_of

Array = NDArray[Any]


class FivesVectorEnv(VectorEnv[Array, Array, Array]):
    """:class:`~fives_env.envs.single.FivesEnv` at ``num_envs`` tables, in one array.

    Table ``i`` plays as ``FivesEnv`` does that was reset with the same seed. Observations are
    uint8 counts unless ``scaled``. ``infos`` hold, for every table, what ``FivesEnv``'s info does,
    with an array of truth values ``"_name"`` beside each ``"name"``, as Gymnasium has it. Where the
    step ended an episode there is ``infos["episode"]`` with its return ``r`` and length ``l``.

    With ``AutoresetMode.NEXT_STEP`` the step after an episode's end ignores the action, pays
    nothing and shows the next episode; until then every action is in the mask. With ``SAME_STEP``
    the step itself does, and what ended is in ``infos["final_obs"]`` and ``infos["final_info"]``.
    With ``DISABLED`` such tables wait for ``reset(options={"reset_mask": ...})``.

    Args:
        num_envs: Number of tables.
        rules: A preset's name, :class:`~fives_env.Rules` or a dict of options.
        opponents: As for ``FivesEnv``.
        seat: The same.
        episode: The same.
        illegal: The same; with ``"raise"`` nothing has changed at any table.
        scaled: Observations are float32 in [0, 1].
        copy: False hands out the buffers of observations and masks, read-only; the next step
            overwrites them.
        autoreset_mode: One of ``AutoresetMode``, or its value.
        statistics: False leaves ``infos["episode"]`` to Gymnasium's ``RecordEpisodeStatistics``.
        threads: Slices that are played at the same time; the result does not depend on it.
        render_mode: None.
        **options: Any option of :class:`~fives_env.Rules`.

    Raises:
        ValueError: One of these is not what it may be.
    """

    def __init__(
        self,
        num_envs: int = 1,
        rules: Any = None,
        *,
        opponents: Any = "greedy",
        seat: int | Literal["rotate", "random"] = 0,
        episode: Literal["game", "round"] = "round",
        illegal: Literal["raise", "random"] = "raise",
        scaled: bool = False,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        statistics: bool = True,
        threads: int = 1,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if render_mode is not None:
            raise ValueError(choice("render_mode", render_mode, (None,)))
        scaled = one_of("scaled", scaled, (False, True))
        modes = {mode.value: mode for mode in AutoresetMode}
        if not isinstance(autoreset_mode, AutoresetMode):
            autoreset_mode = one_of("autoreset_mode", autoreset_mode, modes)
        mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": mode}
        self.versus = Versus(
            num_envs,
            rules,
            opponents=opponents,
            seat=seat,
            episode=episode,
            illegal=illegal,
            restart=mode is AutoresetMode.SAME_STEP,
            threads=threads,
            **options,
        )
        self.rules, self.num_envs = self.versus.rules, self.versus.n
        self.copy = one_of("copy", copy, (False, True))
        self.statistics = one_of("statistics", statistics, (False, True))
        self._mode = mode
        self._scale = view.scale(self.rules) if scaled else None
        self._shown = np.empty(
            (0 if copy or not scaled else num_envs, view.size(self.rules)), np.float32
        )
        kind, most = (np.float32, 1) if scaled else (np.uint8, 255)
        self.single_observation_space = spaces.Box(0, most, (view.size(self.rules),), kind)
        self.single_action_space = spaces.Discrete(self.rules.n_actions)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> spaces.Space[Any]:  # type: ignore[override]
        """Space of a batch, made when it is asked for: it is larger than the batch itself."""
        return batch_space(self.single_observation_space, self.num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Start an episode at every table.

        Args:
            seed: Table ``i`` starts game 0 of seed ``seed + i``, or of the ``i``-th of a list; None
                goes on to the next game of the seed before, at first of one from the system.
            options: ``reset_mask`` may name the tables, bool, (num_envs,); the others go on.

        Raises:
            ValueError: One of these is not what it may be; nothing has changed.
        """
        chosen = options_of(options, ("reset_mask",)).get("reset_mask")
        if chosen is not None:
            mask = array_of(chosen)
            if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                allowed = f"{self.num_envs} truth values, not all False"
                raise ValueError(choice("reset_mask", chosen, allowed))
        self.versus.reset(seed, chosen)
        super().reset(seed=seed if is_whole(seed) else None)  # type: ignore[arg-type]
        return self._seen(self.versus.obs), self._infos(np.ones(self.num_envs, np.bool_))

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Do an action at each table, and all that the others do until the next decision.

        Args:
            actions: Whole numbers, (num_envs,).

        Returns:
            Observations, rewards (float64), terminations, truncations (none ever) and infos.

        Raises:
            IllegalAction: One of them is not legal, and ``illegal="raise"``; nothing has changed.
            ValueError: They are no ``num_envs`` whole numbers, or a table waits for a reset.
        """
        episodes = self.versus.episodes
        if self._mode is AutoresetMode.DISABLED and episodes["done"].any():
            raise ValueError("an episode has ended: call reset() with its table in reset_mask.")
        self.versus.step(actions)
        done = episodes["done"] != 0
        infos = self._infos(np.ones(self.num_envs, np.bool_))
        if done.any():
            statistics = {}
            if self.statistics:
                ended = {"r": np.where(done, episodes["sum"], 0)}
                ended["l"] = np.where(done, episodes["steps"], 0)
                statistics = {"episode": ended, "_episode": done.copy()}
                infos |= statistics
            if self._mode is AutoresetMode.SAME_STEP:
                final = np.full(self.num_envs, None, np.object_)
                rows = self._copied(self.versus.final_obs[done])
                for i, row in zip(np.flatnonzero(done), rows, strict=True):
                    final[i] = row
                infos |= {"final_obs": final, "_final_obs": done.copy()}
                infos |= {"final_info": self._infos(done, final=True) | statistics}
                infos["_final_info"] = done.copy()
        return (
            self._seen(self.versus.obs),
            episodes["reward"].copy(),
            done,
            np.zeros_like(done),
            infos,
        )

    def close_extras(self, **kwargs: Any) -> None:
        """End the programs that play here."""
        self.versus.close()

    def _infos(self, which: NDArray[np.bool_], final: bool = False) -> dict[str, Any]:
        """What is told of the tables ``which``; zeros for the others."""
        told: dict[str, Any] = dict(self.versus.info(final))
        if final:
            for array in told.values():
                array[~which] = 0
            told["action_mask"] = np.zeros(self.versus.mask.shape, np.int8)
        else:
            told["action_mask"] = self.versus.mask.copy() if self.copy else self.versus.mask
        return told | {f"_{name}": which.copy() for name in told}

    def _copied(self, obs: NDArray[np.uint8]) -> Array:
        return obs.copy() if self._scale is None else obs * self._scale

    def _seen(self, obs: NDArray[np.uint8]) -> Array:
        """Observations as they are handed out."""
        if self.copy:
            return self._copied(obs)
        if self._scale is None:
            return obs
        shown = np.multiply(obs, self._scale, out=self._shown).view()
        shown.flags.writeable = False
        return shown
