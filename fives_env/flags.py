"""What several commands of ``fives`` take and show."""

import argparse
import json
import math
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from fives_env.rules import PRESETS, VALUES, Rules

_NUMBERS = {"tiles": "tiles dealt to each hand", "target": "score that wins a game"}


def _yes_or_no(text: str) -> bool:
    if text.lower() in ("yes", "true", "1"):
        return True
    if text.lower() in ("no", "false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} must be yes or no")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add every option of :class:`Rules` as a flag."""
    group = parser.add_argument_group("rules")
    group.add_argument("--rules", default="all_fives", metavar="PRESET", help=", ".join(PRESETS))
    for name, text in _NUMBERS.items():
        group.add_argument(f"--{name}", type=int, metavar="N", help=text)
    for name, values in VALUES.items():
        kind: Any = _yes_or_no if values == (False, True) else type(values[0])
        shown = "yes or no" if kind is _yes_or_no else ", ".join(str(v) for v in values)
        flag = "--" + name.replace("_", "-")
        group.add_argument(flag, dest=name, type=kind, metavar="VALUE", help=shown)


def rules_of(args: argparse.Namespace) -> Rules:
    """The rules that the flags say."""
    given = {name: getattr(args, name) for name in (*_NUMBERS, *VALUES)}
    return Rules(args.rules, **{k: v for k, v in given.items() if v is not None})


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add ``--workers`` and ``--engine``."""
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes; the result is the same"
    )
    parser.add_argument(
        "--engine",
        choices=("processes", "ray"),
        default="processes",
        help="whose: this machine's, or a Ray cluster's (RAY_ADDRESS, else a local one)",
    )


def add_match(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed``, ``--workers`` and ``--engine``."""
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="fixes the deals")
    add_workers(parser)


def progress_bar() -> Progress:
    """A progress bar on standard error that leaves nothing behind."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    screen = console(stderr=True)
    off = not screen.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=screen, transient=True, disable=off)


def console(stderr: bool = False) -> Console:
    """A console that shows text as it is: a player's name may look like markup, or an emoji's."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def json_of(value: Any) -> str:
    """JSON, which has no infinite numbers: null stands for them."""
    return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
