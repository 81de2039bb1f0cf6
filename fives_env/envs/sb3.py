"""One learning seat at each of many tables, for Stable-Baselines3."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as missing:
    raise ImportError(
        "SB3VecEnv needs Stable-Baselines3: install it with `pip install 'fives-env[train]'`."
    ) from missing

from fives_env.engine import view
from fives_env.envs.versus import Versus
from fives_env.errors import choice, one_of

Indices = int | Iterable[int] | None


class SB3VecEnv(VecEnv):
    """:class:`~fives_env.envs.single.FivesEnv` at ``num_envs`` tables, in one array and process.

    .. code-block:: python

        from sb3_contrib import MaskablePPO

        MaskablePPO("MlpPolicy", SB3VecEnv(1024, opponents="greedy"), n_steps=32).learn(1_000_000)

    A table whose episode ends begins the next in the same step; its info then holds
    ``terminal_observation`` and ``episode`` (return ``r``, length ``l``, time ``t``), as
    ``Monitor`` writes it, so that no monitor is needed. All other infos are empty.
    ``env_method("action_masks")`` is answered for all tables at once.

    Args:
        num_envs: Number of tables.
        rules: A preset's name, :class:`~fives_env.Rules` or a dict of options.
        opponents: As for ``FivesEnv``.
        seat: The same.
        episode: The same.
        illegal: The same; with ``"raise"`` nothing has changed at any table.
        scaled: Observations are float32 in [0, 1]; else uint8 counts.
        threads: Slices that are played at the same time; the result does not depend on it.
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
        scaled: bool = True,
        threads: int = 1,
        **options: Any,
    ) -> None:
        self.versus = Versus(
            num_envs,
            rules,
            opponents=opponents,
            seat=seat,
            episode=episode,
            illegal=illegal,
            restart=True,
            threads=threads,
            **options,
        )
        self.rules = self.versus.rules
        scaled = one_of("scaled", scaled, (False, True))
        self.render_mode = None
        self._scale = view.scale(self.rules) if scaled else None
        self._began = time.time()
        self._actions: Any = None
        kind, most = (np.float32, 1) if scaled else (np.uint8, 255)
        super().__init__(
            self.versus.n,
            spaces.Box(0, most, (view.size(self.rules),), kind),
            spaces.Discrete(self.rules.n_actions),
        )

    def reset(self) -> NDArray[Any]:
        """Start an episode at every table: those of the seeds given to :meth:`seed`, or the next.

        Raises:
            ValueError: Options were set; there are none.
        """
        seeds, options = self._seeds, self._options
        self._reset_seeds()  # what is refused now is not asked for again
        self._reset_options()
        for given in options:
            if given:
                raise ValueError(choice("options", given, "empty"))
        self.versus.reset(seeds)
        return self._shown(self.versus.obs)

    def step_async(self, actions: NDArray[np.integer[Any]]) -> None:
        """Take the actions for the next :meth:`step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Do the actions; observations, rewards, whether an episode ended, and infos.

        Raises:
            IllegalAction: One is not legal, and ``illegal="raise"``; nothing has changed.
        """
        self.versus.step(self._actions)
        episodes = self.versus.episodes
        done = episodes["done"] != 0
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = np.flatnonzero(done)
        if len(ended):
            now = round(time.time() - self._began, 6)
            last = self._shown(self.versus.final_obs[ended])
            sums, steps = episodes["sum"][ended].tolist(), episodes["steps"][ended].tolist()
            for k, i in enumerate(ended.tolist()):
                infos[i]["terminal_observation"] = last[k]
                infos[i]["TimeLimit.truncated"] = False
                infos[i]["episode"] = {"r": sums[k], "l": steps[k], "t": now}
        rewards = episodes["reward"].astype(np.float32)
        return self._shown(self.versus.obs), rewards, done, infos

    def _shown(self, obs: NDArray[np.uint8]) -> NDArray[Any]:
        return obs.copy() if self._scale is None else obs * self._scale

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are legal, bool, (num_envs, n_actions)."""
        masks: NDArray[np.bool_] = self.versus.mask.view(np.bool_).copy()
        return masks

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """What a method of each table returns; there is ``action_masks``.

        Raises:
            AttributeError: There is no such method.
        """
        if method_name != "action_masks" or method_args or method_kwargs:
            raise AttributeError(f"a table of SB3VecEnv has no method {method_name!r}.")
        masks = self.action_masks()
        return list(masks if indices is None else masks[self._where(indices)])

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of each table: ``action_masks`` is its own, all others are common to all.

        Raises:
            AttributeError: There is no such attribute.
        """
        where = self._where(indices)
        if attr_name == "action_masks":
            return [partial(self._mask, i) for i in where]
        return [getattr(self, attr_name)] * len(where)

    def _mask(self, i: int) -> Any:
        return self.action_masks()[i]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute, which is common to all tables.

        Raises:
            ValueError: Only some tables are meant.
        """
        if sorted(self._where(indices)) != list(range(self.num_envs)):
            raise ValueError(choice("indices", indices, "None: attributes are common to all"))
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Indices = None) -> list[bool]:
        """Whether each table is wrapped: only ``Monitor``'s work is done, by itself."""
        return [wrapper_class is Monitor] * len(self._where(indices))

    def get_images(self) -> Sequence[None]:
        """No images."""
        return [None] * self.num_envs

    def close(self) -> None:
        """End the programs that play here."""
        self.versus.close()

    def _where(self, indices: Indices) -> list[int]:
        return [int(i) for i in self._get_indices(indices)]
