"""Asking a player, in one batch, about the tables that wait for it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch, state, view
from fives_env.engine.jit import jit
from fives_env.engine.view import redact
from fives_env.errors import whole_numbers
from fives_env.players.base import Player, Views
from fives_env.rules import Rules
from fives_env.table import Table


@jit
def show(tables, rules, index, keys, obs, mask, records, decision_keys, scratch, lo, hi):  # type: ignore[no-untyped-def]
    """Write the views of the seats on turn at the tables ``index[lo:hi]``."""
    r = rules[0]
    for k in range(lo, hi):
        t = tables[index[k]]
        view.show(t, r, scratch, obs[k], mask[k])
        decision_keys[k] = batch.decision_key(t, keys[k])
        records[k] = t
        redact(records[k], t["turn"])


def ask(
    player: Player,
    rules: Rules,
    record: NDArray[Any],
    tables: NDArray[Any],
    index: NDArray[np.int64],
    keys: NDArray[np.uint64],
    scratch: NDArray[np.int32],
) -> NDArray[np.int64]:
    """A player's actions at some tables where it is on turn.

    Args:
        player: Who is asked.
        rules: Rules of the tables.
        record: The same, as the engine reads them.
        tables: Array of ``STATE``.
        index: The tables that are meant, (k,).
        keys: Key of each of their randomness, (k,).
        scratch: A row of ``n_actions`` for each slice that is worked on at the same time.

    Returns:
        A legal action for each of them, (k,).

    Raises:
        ValueError: The player answered with something else. What it does to its views changes
            nothing.
    """
    n = len(index)
    views = Views(
        rules,
        np.zeros((n, view.size(rules)), np.uint8),
        np.zeros((n, rules.n_actions), np.bool_),
        state.new_tables(n),
        np.zeros(n, np.uint64),
    )
    obs, mask, records, decision_keys = views.obs, views.mask, views.records, views.keys

    def look(k: int, lo: int, hi: int) -> None:
        rows = mask.view(np.int8)
        show(tables, record, index, keys, obs, rows, records, decision_keys, scratch[k], lo, hi)

    batch.sliced(look, n, len(scratch))
    legal = mask.copy()  # the player's own may be written to
    try:
        answer = player.act(views)
    except ValueError:  # says itself what is wrong
        raise
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
        raise ValueError(f"player {player.name} failed while it was asked ({fault}).") from error
    return _checked(player, rules, answer, legal)


def ask_at(player: Player, table: Table, key: int) -> int:
    """A player's action at one table where it is on turn; ``key`` is its randomness there.

    Raises:
        ValueError: As :func:`ask` does.
    """
    index, keys = np.zeros(1, np.int64), np.array([key], np.uint64)
    scratch = np.zeros((1, table.rules.n_actions), np.int32)
    (action,) = ask(player, table.rules, table.record, table.state, index, keys, scratch)
    return int(action)


def _checked(
    player: Player, rules: Rules, answer: Any, mask: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The player's answer as actions, refused if one of them is not legal."""
    actions = whole_numbers(f"answer of player {player.name}", answer, len(mask))
    k = batch.first_illegal(mask.view(np.int8), actions)
    if k >= 0:
        raise ValueError(
            f"player {player.name} chose action {actions[k]}, "
            f"but must choose one of {rules.names_of(mask[k])}."
        )
    return actions
