"""The one form of sentence in which bad input is refused."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

#: Letters of a value that a sentence shows.
LONGEST = 200


def choice(name: str, value: Any, allowed: str | Iterable[Any]) -> str:
    """Sentence that names a thing, its value and what it may be."""
    if not isinstance(allowed, str):
        allowed = "one of " + ", ".join(repr(item) for item in allowed)
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
    return f"{name} is {shown}, but must be {allowed}."


def one_of(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """The member of ``allowed`` that ``value`` is; 1 is no True and no 1.0, but NumPy's 1 is 1.

    Raises:
        ValueError: It is none of them.
    """
    given = value.item() if isinstance(value, np.generic) else value
    for item in allowed:
        same = isinstance(given, type(item)) and isinstance(given, bool) == isinstance(item, bool)
        if same and given == item:
            return item
    raise ValueError(choice(name, value, allowed))


def options_of(options: Any, allowed: Iterable[str]) -> dict[str, Any]:
    """The options of a reset as a dict: None or a mapping, with keys that are ``allowed``.

    Raises:
        ValueError: They are something else.
    """
    if not isinstance(options, Mapping | None):
        raise ValueError(choice("options", options, f"None or a dict with keys in {allowed}"))
    return {one_of("reset option", key, allowed): item for key, item in (options or {}).items()}


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number, NumPy's included, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(name: str, value: Any, least: int, most: int) -> int:
    """``value`` as an int from ``least`` to ``most``.

    Raises:
        ValueError: It is not one.
    """
    if is_whole(value) and least <= value <= most:
        return int(value)
    raise ValueError(choice(name, value, f"a whole number from {least} to {most}"))


def real(name: str, value: Any, least: float) -> float:
    """``value`` as a finite float of at least ``least``.

    Raises:
        ValueError: It is not one.
    """
    if isinstance(value, np.floating) or is_whole(value):
        value = float(value)
    if isinstance(value, float) and least <= value < math.inf:
        return value
    raise ValueError(choice(name, value, f"a finite number from {least}"))
