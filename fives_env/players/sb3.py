"""``sb3:PATH``: a MaskablePPO of sb3-contrib as a player. Loading one runs what its file says."""

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import view
from fives_env.players.base import Views

_trusted = False


def trust() -> None:
    """Let ``sb3:PATH`` load files from now on, whatever they do."""
    global _trusted
    _trusted = True


class SB3Player:
    """A MaskablePPO that was trained on :class:`~fives_env.envs.sb3.SB3VecEnv`, scaled.

    Args:
        path: Its zip file.
        sure: Whether to load it; if not, only after :func:`trust`.

    Attributes:
        name: How tables and reports call it.

    Raises:
        ValueError: It is not trusted, or not there.
    """

    def __init__(self, path: str, sure: bool = False) -> None:
        self.name = f"sb3:{path}"
        if not (sure or _trusted):
            raise ValueError(
                f"player {self.name} runs whatever code its file holds once it is loaded: "
                "give --trust if you know where it comes from."
            )
        try:
            from sb3_contrib import MaskablePPO
        except ImportError:
            raise ValueError(
                f"player {self.name} needs sb3-contrib: "
                "install it with `pip install 'fives-env[train]'`."
            ) from None
        try:
            self._model = MaskablePPO.load(path, device="cpu")
        except OSError as error:
            raise ValueError(f"player {self.name} cannot be read ({error.strerror}).") from None

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view.

        Raises:
            ValueError: The views are of rules with other observations.
        """
        (size,) = self._model.observation_space.shape or (0,)
        if views.obs.shape[1] != size:
            raise ValueError(
                f"player {self.name} was trained for {size} observations, "
                f"but {views.rules!r} has {views.obs.shape[1]}: it cannot play here."
            )
        obs = views.obs * view.scale(views.rules)
        actions, _ = self._model.predict(obs, action_masks=views.mask, deterministic=True)
        return actions.astype(np.int64)
