"""Players by name: ``random``, ``greedy``, ``network:PATH``, ``exec:COMMAND``, and others."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.errors import choice
from fives_env.players.base import Player, Views
from fives_env.players.compiled import KINDS, CompiledPlayer

__all__ = ["Player", "Views", "make_player"]

#: Every kind of player by its spec, and what it does.
PLAYERS = {
    "random": "any legal action",
    "greedy": "most points now, ties at random",
    "tactician": "one placement ahead, weighed against the best reply that can be expected",
    "endgame": "exact play where nothing is hidden (two sides), the tactician's before that",
    "search": "every action in many possible deals, as in search:worlds=640,playouts=greedy",
    "network:PATH": "a trained player: a checkpoint folder, or the name of a shipped one",
    "tiny:PATH": "a checkpoint small and fast enough to play out the worlds of a search",
    "sb3:PATH": "a MaskablePPO of sb3-contrib; its file can run code, so give --trust",
    "exec:COMMAND": "a program over standard input and output; try it with fives check-bot",
    "python:MODULE:CLASS": "a class of your own, made without arguments",
}
SPECS = tuple(PLAYERS)
#: The options of the players that have some, and what they do; see :class:`.search.SearchPlayer`.
OPTIONS = {
    "endgame": {"positions": "positions to look at in a decision before giving up (1000000)"},
    "search": {
        "worlds": "deals that each action is tried in (160)",
        "playouts": "random, greedy, tactician, tiny:PATH or network:PATH plays them (tactician)",
        "guide": "checkpoint that has a say before any deal is played (none)",
        "weight": "worlds that its opinion weighs as much as (80)",
        "depth": "decisions of a play-out after which the tactician plays on; 0 for never (0)",
        "exact": "tiles in all hands with which a deal is solved instead (0)",
        "voids": "whether deals obey what is known of the others: yes or no (yes)",
        "doubt": "how likely a tile that a seat declined is in its hand, in % of others (30)",
        "ms": "milliseconds for a decision, instead of worlds",
    },
}


class _Function:
    """A callable from views to actions, as a player."""

    def __init__(self, function: Callable[[Views], Any]) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    def act(self, views: Views) -> NDArray[np.int64]:
        answer: NDArray[np.int64] = self._function(views)
        return answer


def make_player(spec: Any) -> Player:
    """The player that a spec names.

    Args:
        spec: A name, one of :data:`SPECS` with its argument filled in; a player, or a callable that
            takes :class:`Views` and returns actions, is taken as it is.

    Raises:
        ValueError: No player has that name, or it cannot be loaded.
    """
    if not isinstance(spec, str):
        if hasattr(spec, "act") and hasattr(spec, "name"):
            player: Player = spec
            return player
        if callable(spec):
            return _Function(spec)
        raise ValueError(choice("player", spec, SPECS))
    kind, _, argument = spec.partition(":")
    if spec in KINDS:
        return CompiledPlayer(spec)
    if kind == "endgame" and spec != "endgame:":
        from fives_env.players.endgame import EndgamePlayer

        return EndgamePlayer(**_options(kind, argument))
    if kind == "search" and spec != "search:":
        from fives_env.players.search import SearchPlayer

        return SearchPlayer(**_options(kind, argument))
    if kind == "network" and argument:
        return _network(argument)
    if kind == "tiny" and argument:
        from fives_env.players.valuing import ValuePlayer

        return ValuePlayer(argument, spec)
    if kind == "sb3" and argument:
        from fives_env.players.sb3 import SB3Player

        return SB3Player(argument)
    if kind == "exec" and argument:
        from fives_env.players.program import ProgramPlayer

        return ProgramPlayer(argument)
    if kind == "python" and argument.count(":") == 1:
        return _imported(spec, *argument.split(":"))
    raise ValueError(choice("player", spec, SPECS))


def _options(kind: str, text: str) -> dict[str, Any]:
    """The options ``name=value,name=value`` of a kind of player."""
    given: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.partition("=")
        if name not in OPTIONS[kind] or name in given:
            raise ValueError(choice("option", part, OPTIONS[kind]))
        if name == "voids":
            given[name] = {"yes": True, "no": False}.get(value, value)
        elif name in ("playouts", "guide"):
            given[name] = value
        else:
            whole = value.isascii() and value.isdecimal() and len(value) < 19
            given[name] = int(value) if whole else value
    return given


def _network(path: str) -> Player:
    """The player of a checkpoint, by its architecture."""
    from fives_env.players import checkpoint
    from fives_env.players.network import NetworkPlayer
    from fives_env.players.valuing import ValuePlayer

    kind = checkpoint.load(path)[1]["architecture"]
    return NetworkPlayer(path) if kind == checkpoint.LOGITS else ValuePlayer(path)


def _imported(spec: str, module: str, name: str) -> Player:
    """The player made by calling ``module.name()``."""
    try:
        made = getattr(importlib.import_module(module), name)()
    except Exception as error:  # whatever a class of the user's own may raise
        fault = f"a class that can be made without arguments ({type(error).__name__}: {error})"
        raise ValueError(choice("player", spec, fault)) from error
    if not hasattr(made, "act") or not hasattr(made, "name"):
        raise ValueError(choice("player", spec, "a class whose objects have a name and act()"))
    player: Player = made
    return player
