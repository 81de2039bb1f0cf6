"""``fives tournament`` and ``fives report``."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live

from fives_env.errors import choice
from fives_env.flags import add_workers, console
from fives_env.shown import blunders, crosstable, tall, within

if TYPE_CHECKING:
    from fives_env.arena.standing import Standing
    from fives_env.arena.tournament import Played


def add_tournament(commands: Any) -> None:
    """Add ``fives tournament`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "tournament",
        help="play what a plan says, and go on where it was interrupted",
        description="Play the meetings of a YAML file (see fives_env.arena.plan); print ratings.",
    )
    parser.add_argument("config", metavar="PLAN", help="YAML file, such as configs/ladder.yaml")
    parser.add_argument("--file", metavar="FILE", help="keep results there instead")
    add_workers(parser)
    parser.set_defaults(run=_tournament)


def add_report(commands: Any) -> None:
    """Add ``fives report`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "report",
        help="write a page about a tournament",
        description="Write one HTML file, which opens offline, about the results of a tournament.",
    )
    parser.add_argument("file", metavar="RESULTS", help="what fives tournament has written")
    parser.add_argument("--html", metavar="FILE", help="the page; RESULTS with .html by default")
    parser.add_argument(
        "--runs",
        nargs="*",
        default=[],
        metavar="FOLDER",
        help="training runs, for their curves; those that differ in their seed only are one",
    )
    parser.set_defaults(run=_report)


def _report(args: argparse.Namespace) -> None:
    from fives_env.arena.report import METRICS, report
    from fives_env.arena.results import times_file

    page = report(args.file, args.runs)
    results = Path(args.file)
    path = Path(args.html or results.with_suffix(".html"))
    read = [results, times_file(results), *(Path(run) / METRICS for run in args.runs)]
    if any(_same(path, one) for one in read):
        raise ValueError(choice("page", str(path), "another file than the ones it is made of"))
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise ValueError(f"page {str(path)!r} cannot be written: {error.strerror}.") from None
    print(f"Wrote {path}.")


def _same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links too."""
    try:
        return path.samefile(other)
    except OSError:
        return False  # one of them does not exist


def _tournament(args: argparse.Namespace) -> None:
    import dataclasses

    from fives_env.arena.plan import read_plan
    from fives_env.arena.tournament import tournament
    from fives_env.errors import whole

    workers = whole("workers", args.workers, 1, 1024)
    plan = read_plan(args.config)
    if args.file:
        plan = dataclasses.replace(plan, file=args.file)
    screen = console()
    shown = 0.0
    with Live(console=console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(played: "Played") -> None:
            nonlocal shown
            if time.monotonic() > shown + 0.5:
                live.update(_crosstables(played), refresh=True)
                shown = time.monotonic()

        played = tournament(plan, workers, args.engine, show)
    for number, rules in enumerate(plan.rules):
        found = played.standing(number)
        screen.print(_table(played, found))
        screen.print(f"{rules!r}, {plan.blocks:,} deals each, seed {plan.seed}", style="dim")
        for line in _remarks(plan.players, found):
            screen.print(line)
    screen.print(f"Results are in {plan.file}.")


def _crosstables(played: "Played") -> Group:
    from fives_env.arena.standing import payoffs

    tables = []
    for number, rules in enumerate(played.plan.rules):
        parts = played.joined(number)
        players = played.plan.players
        rows = [[tall(margin) for margin in row] for row in payoffs(len(players), parts)]
        tables.append(crosstable("Elo", players, [""] * len(players), rows, repr(rules)))
    return Group(*tables)


def _table(played: "Played", found: "Standing") -> Group:
    """Players by rating: Elo and margins, each with half its interval."""
    order = found.order()
    names = [f"{played.plan.players[k]}{' *' * found.places[k].marked}" for k in order]
    ratings = [tall(found.ratings[k], 0) for k in order]
    rows = [[tall(found.payoffs[k][other]) for other in order] for k in order]
    return crosstable("Elo", names, ratings, rows)


def _remarks(players: tuple[str, ...], found: "Standing") -> list[str]:
    """What a table does not show, a sentence each."""
    from fives_env.arena.standing import remarks

    said = remarks(players, found)
    for player, place in zip(players, found.places, strict=True):
        if place.adjusted:
            said.append(
                f"{player}: margin {within(place.adjusted.margin, 1)} without luck, which was "
                f"{place.adjusted.removed:.0%} of the variance; blunders {blunders(place.judged)}."
            )
        if place.forfeits:
            said.append(f"{player} forfeited {place.forfeits:,} decisions.")
    return said
