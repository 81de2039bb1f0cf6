"""The one form of sentence in which bad input is refused."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def choice(name: str, value: Any, allowed: str | Iterable[Any]) -> str:
    """Sentence that names a thing, its value and what it may be."""
    if not isinstance(allowed, str):
        allowed = "one of " + ", ".join(repr(item) for item in allowed)
    return f"{name} is {value!r}, but must be {allowed}."


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
