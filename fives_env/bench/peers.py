"""Games of other libraries, as far as these are installed."""

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from fives_env.bench.measure import Contender
from fives_env.bench.own import aec


def connect_four(kind: str) -> Any:
    """PettingZoo's connect four."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic import connect_four_v3

        return getattr(connect_four_v3, kind)()


def open_spiel(name: str, view: str = "") -> Callable[[], int]:
    """A game of OpenSpiel, played through Python.

    Args:
        name: Its name there.
        view: ``"tensor"`` asks the state for its observation at each decision, as OpenSpiel's
            ``rl_environment`` does; ``"observer"`` lets one observer write into its buffer, which
            is faster.
    """
    import pyspiel

    if name.startswith("python_"):
        from open_spiel.python import games  # noqa: F401  # registers them
    from open_spiel.python.observation import make_observation

    game = pyspiel.load_game(name)
    observer = make_observation(game)
    chance = random.Random(0)

    def run() -> int:
        state = game.new_initial_state()
        count = 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, odds = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(chance.choices(outcomes, odds)[0])
                continue
            if view == "tensor":
                state.observation_tensor()
            elif view:
                observer.set_from(state, player=state.current_player())
            state.apply_action(chance.choice(state.legal_actions()))
            count += 1
        return count

    return run


def contenders() -> list[Contender]:
    """All of them; one that is not installed raises ImportError when it is made."""
    return [
        Contender("PettingZoo connect_four raw_env", lambda: aec(lambda: connect_four("raw_env"))),
        Contender("PettingZoo connect_four env", lambda: aec(lambda: connect_four("env"))),
        *(
            Contender(
                f"OpenSpiel {short}{', ' * bool(view)}{view}", partial(open_spiel, name, view)
            )
            for name, short in (
                ("python_block_dominoes", "block_dominoes"),
                ("leduc_poker", "leduc_poker"),
            )
            for view in ("", "tensor", "observer")
        ),
    ]
