"""The ``fives`` command."""

import argparse
import os
import sys
from collections.abc import Sequence

from rich.table import Table as Grid

from fives_env import __version__
from fives_env.bench import add_bench
from fives_env.flags import add_rules, console, rules_of
from fives_env.match_commands import add_evaluate, add_ladder, add_power
from fives_env.replay_command import add_replay, add_verify
from fives_env.tournament_command import add_report, add_tournament


def _players(_: argparse.Namespace) -> None:
    from fives_env.players import OPTIONS, PLAYERS

    grid = Grid(show_header=False)
    for spec, text in PLAYERS.items():
        grid.add_row(spec, text)
        for option, does in OPTIONS.get(spec, {}).items():
            grid.add_row(f"  {option}=", does, style="dim")
    console().print(grid)


def _check_bot(args: argparse.Namespace) -> None:
    from fives_env.arena import evaluate
    from fives_env.players.program import ProgramPlayer

    rules = rules_of(args)
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

    add_evaluate(commands)
    add_ladder(commands)
    add_power(commands)
    add_tournament(commands)
    add_report(commands)
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
    add_rules(check)
    check.set_defaults(run=_check_bot)
    for command in ("evaluate", "ladder", "tournament"):
        commands.choices[command].add_argument(
            "--trust", action="store_true", help="load sb3:PATH files, which can run code"
        )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 1 where it finds a difference, 2 for bad input, told in one sentence."""
    args = _parser().parse_args(argv)
    try:
        if getattr(args, "trust", False):
            from fives_env.players.sb3 import trust

            trust()
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
