"""The ``fives`` command."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table as Grid

from fives_env import __version__
from fives_env.bench import add_bench
from fives_env.errors import choice
from fives_env.replay_command import add_replay, add_verify
from fives_env.rules import PRESETS, VALUES, Rules

_NUMBERS = {"tiles": "tiles dealt to each hand", "target": "score that wins a game"}


def _yes_or_no(text: str) -> bool:
    if text.lower() in ("yes", "true", "1"):
        return True
    if text.lower() in ("no", "false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} must be yes or no")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    """Every option of :class:`Rules` as a flag."""
    group = parser.add_argument_group("rules")
    group.add_argument("--rules", default="all_fives", metavar="PRESET", help=", ".join(PRESETS))
    for name, text in _NUMBERS.items():
        group.add_argument(f"--{name}", type=int, metavar="N", help=text)
    for name, values in VALUES.items():
        kind: Any = _yes_or_no if values == (False, True) else type(values[0])
        shown = "yes or no" if kind is _yes_or_no else ", ".join(str(v) for v in values)
        flag = "--" + name.replace("_", "-")
        group.add_argument(flag, dest=name, type=kind, metavar="VALUE", help=shown)


def _rules(args: argparse.Namespace) -> Rules:
    given = {name: getattr(args, name) for name in (*_NUMBERS, *VALUES)}
    return Rules(args.rules, **{k: v for k, v in given.items() if v is not None})


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    console = Console(stderr=True)
    off = not console.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=off)


def _evaluate(args: argparse.Namespace) -> None:
    from fives_env.arena import evaluate

    rules = _rules(args)
    pairs = args.rounds // rules.sides
    if pairs < 2:
        raise ValueError(choice("rounds", args.rounds, f"at least {2 * rules.sides}"))
    with _progress() as progress:
        task = progress.add_task("rounds", total=pairs * rules.sides)
        result = evaluate(
            args.a,
            args.b,
            rules=rules,
            pairs=pairs,
            seed=args.seed,
            progress=lambda n: progress.advance(task, n * rules.sides),
        )
    if args.json:
        print(json.dumps(result.to_dict()))
        return
    grid = Grid(title=f"{result.a} against {result.b}", title_justify="left")
    grid.add_column("")
    grid.add_column("", justify="right")
    grid.add_row("margin a round", f"{result.margin:+.2f}")
    grid.add_row("95 % interval", f"{result.low:+.2f} to {result.high:+.2f}")
    grid.add_row("pairs (deals)", f"{result.pairs:,}")
    grid.add_row("rounds won", f"{result.win_share:.1%}")
    grid.add_row(f"points of {result.a}", f"{result.points_a:.1f}")
    grid.add_row(f"points of {result.b}", f"{result.points_b:.1f}")
    grid.add_row("blocked rounds", f"{result.blocked:.1%}")
    for name, count in ((result.a, result.forfeits_a), (result.b, result.forfeits_b)):
        if count:
            grid.add_row(f"forfeits of {name}", f"{count:,}")
    grid.add_row("rounds a second", f"{result.rounds_per_s:,.0f}")
    console = Console()
    console.print(grid)
    console.print(f"{result.rules}, seed {result.seed}", style="dim", highlight=False)


def _players(_: argparse.Namespace) -> None:
    from fives_env.players import OPTIONS, PLAYERS

    grid = Grid(show_header=False)
    for spec, text in PLAYERS.items():
        grid.add_row(spec, text)
        for option, does in OPTIONS.get(spec, {}).items():
            grid.add_row(f"  {option}=", does, style="dim")
    Console().print(grid)


def _check_bot(args: argparse.Namespace) -> None:
    from fives_env.arena import evaluate
    from fives_env.players.program import ProgramPlayer

    rules = _rules(args)
    player = ProgramPlayer(args.player, args.start_limit, args.move_limit)
    try:
        result = evaluate(
            player, "greedy", rules=rules, pairs=-(-20 // rules.sides), seed=args.seed
        )
    finally:
        player.close()
    for fault in player.faults:
        print(fault)
    if result.forfeits_a:
        raise ValueError(
            f"{args.player} forfeited {result.forfeits_a} decisions in {result.rounds} rounds "
            f"({', '.join(f'{n} {kind}' for kind, n in player.forfeits.items())})."
        )
    print(f"{args.player} played {result.rounds} rounds without a fault.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fives", description="All Fives for learning agents.")
    parser.add_argument("--version", action="version", version=f"fives_env {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    judge = commands.add_parser(
        "evaluate",
        help="play two players against each other on the same deals",
        description="Play duplicate deals, seats swapped; print A's margin with its interval.",
    )
    judge.add_argument("a", metavar="A", help="a player; see fives players")
    judge.add_argument("b", metavar="B", help="the other player")
    judge.add_argument("--rounds", type=int, default=20_000, metavar="N")
    judge.add_argument("--seed", type=int, default=0, metavar="N", help="fixes the deals")
    judge.add_argument("--json", action="store_true", help="print one JSON object instead")
    _add_rules(judge)
    judge.set_defaults(run=_evaluate)

    add_replay(commands)
    add_verify(commands)
    add_bench(commands)

    shown = commands.add_parser("players", help="list the players")
    shown.set_defaults(run=_players)

    check = commands.add_parser(
        "check-bot",
        help="play 20 rounds against an outside program and say what it got wrong",
        description="The protocol is described in fives_env.players.program.",
    )
    check.add_argument("player", metavar="COMMAND")
    check.add_argument("--start-limit", type=float, default=10.0, metavar="SECONDS")
    check.add_argument("--move-limit", type=float, default=5.0, metavar="SECONDS")
    check.add_argument("--seed", type=int, default=0, metavar="N", help="fixes the deals")
    _add_rules(check)
    check.set_defaults(run=_check_bot)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 where it finds a difference, 2 for bad input, told in one sentence."""
    args = _parser().parse_args(argv)
    try:
        return args.run(args) or 0
    except ValueError as error:
        print(f"fives: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fives: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
