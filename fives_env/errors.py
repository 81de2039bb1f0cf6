"""The one form of sentence in which bad input is refused."""

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    given = value.item() if is_scalar(value) else value
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


def array_of(values: Any) -> NDArray[Any]:
    """``values`` as an array; one of None, which fits nowhere, for rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.asarray(None)


def whole_numbers(name: str, values: Any, n: int) -> NDArray[np.int64]:
    """``values`` as an array of ``n`` whole numbers, (n,).

    Raises:
        ValueError: They are something else.
    """
    given = array_of(values)
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(choice(name, values, f"{n} whole numbers"))
    if given.dtype == np.uint64:
        given = np.minimum(given, np.uint64(2**63 - 1))
    numbers: NDArray[np.int64] = given.astype(np.int64, copy=False)
    return numbers


def is_scalar(value: Any) -> bool:
    """Whether ``value`` is one of NumPy's scalars, or an array without dimensions."""
    return isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0)


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number, NumPy's included, and no truth value."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    return is_scalar(value) and bool(np.issubdtype(value.dtype, np.integer))


def whole(name: str, value: Any, least: int, most: int) -> int:
    """``value`` as an int from ``least`` to ``most``.

    Raises:
        ValueError: It is not one.
    """
    if is_whole(value) and least <= value <= most:
        return int(value)
    raise ValueError(choice(name, value, f"a whole number from {least} to {most}"))


def threads_of(threads: Any) -> int:
    """A number of threads, that of all cores unless it is given.

    Raises:
        ValueError: It is none.
    """
    return os.cpu_count() or 1 if threads is None else whole("threads", threads, 1, 1024)


def real(name: str, value: Any, least: float) -> float:
    """``value`` as a finite float of at least ``least``.

    Raises:
        ValueError: It is not one.
    """
    given = value.item() if is_scalar(value) else value
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if number and least <= given < math.inf:
        return float(given)
    raise ValueError(choice(name, value, f"a finite number from {least}"))
