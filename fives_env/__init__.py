"""All Fives (Muggins) as a reinforcement-learning environment.

Start with :class:`Table` (one game as a Python object), :mod:`fives_env.fives_v0` (PettingZoo)
and :func:`evaluate` (duplicate matches between players).
"""

from typing import TYPE_CHECKING, Any

from fives_env.envs import register_aec, register_gymnasium
from fives_env.plain import Event
from fives_env.rules import PRESETS, Rules
from fives_env.table import IllegalAction, Table

if TYPE_CHECKING:
    from fives_env.arena.evaluate import Result, evaluate
    from fives_env.players import make_player

__version__ = "0.1.0"
__all__ = [
    "PRESETS",
    "Event",
    "IllegalAction",
    "Result",
    "Rules",
    "Table",
    "evaluate",
    "make_player",
]

register_aec()
register_gymnasium()

_LATER = {"Result": "arena", "evaluate": "arena", "make_player": "players"}


def __getattr__(name: str) -> Any:
    """Import what needs the players and the arena only when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
