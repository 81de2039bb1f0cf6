"""``fives evaluate``, ``fives power`` and ``fives ladder``."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table as Grid

from fives_env.errors import choice, whole
from fives_env.flags import add_match, add_rules, console, json_of, progress_bar, rules_of
from fives_env.shown import blunders, crosstable, span, tall

if TYPE_CHECKING:  # SciPy takes a second to import, which the other commands need not wait for
    from fives_env.arena.evaluate import Result
    from fives_env.arena.ladder import Rung
    from fives_env.arena.sequential import Outcome
    from fives_env.arena.statistics import Adjusted

#: Who climbs the ladder unless others are named.
PLAYERS = (
    "random",
    "greedy",
    "tactician",
    "search:worlds=32,playouts=greedy",
    "search:worlds=160,playouts=greedy",
    "search:worlds=160,playouts=tactician",
)


def add_evaluate(commands: Any) -> None:
    """Add ``fives evaluate`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "evaluate",
        help="play two players against each other on the same deals",
        description="Play duplicate deals, seats swapped; print A's margin with its interval.",
    )
    parser.add_argument("a", metavar="A", help="a player; see fives players")
    parser.add_argument("b", metavar="B", help="the other player")
    parser.add_argument("--rounds", type=int, default=20_000, metavar="N", help="with --sprt: most")
    parser.add_argument("--games", type=int, metavar="N", help="whole games, instead of rounds")
    parser.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="stop once a margin (of games: Elo) of HIGH is told from one of LOW",
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="rate of wrong HIGHs (0.05)")
    parser.add_argument("--beta", type=float, default=0.05, help="rate of wrong LOWs (0.05)")
    parser.add_argument(
        "--study", action="store_true", help="also measure luck and blunders; takes longer"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_match(parser)
    add_rules(parser)
    parser.set_defaults(run=_evaluate)


def add_power(commands: Any) -> None:
    """Add ``fives power`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "power",
        help="how many rounds show a margin, and what margin so many rounds show",
        description="Play 500 deals for the spread, and say how many show which margin.",
    )
    parser.add_argument("a", metavar="A", help="a player; see fives players")
    parser.add_argument("b", metavar="B", help="the other player")
    parser.add_argument("--margin", type=float, metavar="POINTS", help="margin to be shown")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds that can be played")
    parser.add_argument("--power", type=float, default=0.8, help="chance to show it (0.8)")
    add_match(parser)
    add_rules(parser)
    parser.set_defaults(run=_power)


def add_ladder(commands: Any) -> None:
    """Add ``fives ladder`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "ladder",
        help="play players all against each other on the same deals",
        description="Print every margin with its interval, and microseconds a decision.",
    )
    shown = ", ".join(PLAYERS)
    parser.add_argument("names", nargs="*", metavar="PLAYER", help=f"default: {shown}")
    parser.add_argument("--rounds", type=int, default=2000, metavar="N", help="for each pair")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_match(parser)
    add_rules(parser)
    parser.set_defaults(run=_ladder)


# --- evaluate -------------------------------------------------------------------------------------


def _evaluate(args: argparse.Namespace) -> None:
    from fives_env.arena.evaluate import evaluate
    from fives_env.arena.sequential import Sprt

    rules = rules_of(args)
    unit, count = ("round", args.rounds) if args.games is None else ("game", args.games)
    pairs = count // rules.sides
    if pairs < 2:
        raise ValueError(choice(unit + "s", count, f"at least {2 * rules.sides}"))
    sprt = Sprt(args.sprt[0], args.sprt[1], args.alpha, args.beta) if args.sprt else None
    with progress_bar() as progress:
        task = progress.add_task(unit + "s", total=pairs * rules.sides)
        result = evaluate(
            args.a,
            args.b,
            rules=rules,
            pairs=pairs,
            seed=args.seed,
            unit=unit,  # type: ignore[arg-type]
            study=args.study,
            sprt=sprt,
            workers=args.workers,
            engine=args.engine,
            progress=lambda n: progress.advance(task, n * rules.sides),
        )
    if args.json:
        print(json_of(result.to_dict()))
        return
    screen = console()
    screen.print(_table(result))
    screen.print(f"{result.rules}, seed {result.seed}", style="dim")
    for name, marked in ((result.a, result.marked_a), (result.b, result.marked_b)):
        if marked:
            screen.print(f"{name} depends on time: it may play otherwise another time.")


def _table(result: "Result") -> Grid:
    grid = Grid(title=f"{result.a} against {result.b}", title_justify="left")
    grid.add_column("")
    grid.add_column("", justify="right")
    grid.add_row(f"margin a {result.unit}", f"{result.margin:+.2f}")
    grid.add_row("95 % interval", span(result.low, result.high))
    grid.add_row("by bootstrap", span(*result.bootstrap[1:]))
    grid.add_row("pairs (deals)", f"{result.pairs:,}")
    won = f"{result.wins.value:.1%}, {result.wins.low:.1%} to {result.wins.high:.1%}"
    grid.add_row(f"{result.unit}s won", won)
    grid.add_row("as Elo", f"{result.elo.value:+.0f}, {span(*result.elo[1:], digits=0)}")
    grid.add_row(f"points of {result.a}", f"{result.points_a:.1f}")
    grid.add_row(f"points of {result.b}", f"{result.points_b:.1f}")
    grid.add_row("margin by side", " ".join(f"{margin:+.1f}" for margin in result.by_side))
    grid.add_row("leading, following", f"{result.leading:+.1f} {result.following:+.1f}")
    grid.add_row("blocked rounds", f"{result.blocked:.1%}")
    for name, count in ((result.a, result.forfeits_a), (result.b, result.forfeits_b)):
        if count:
            grid.add_row(f"forfeits of {name}", f"{count:,}")
    for name, micros in ((result.a, result.micros_a), (result.b, result.micros_b)):
        if micros is not None:
            grid.add_row(f"µs a decision of {name}", f"{micros:,.1f}")
    if result.luck:
        _add_luck(grid, result.luck)
    for name, judged in ((result.a, result.blunders_a), (result.b, result.blunders_b)):
        if judged:
            grid.add_row(f"blunders of {name}", blunders(judged))
    if result.sprt:
        _add_sprt(grid, result.sprt)
    grid.add_row("rounds a second", f"{result.rounds_per_s:,.0f}")
    return grid


def _add_luck(grid: Grid, luck: "Adjusted") -> None:
    margin = luck.margin
    grid.add_row("margin without luck", f"{margin.value:+.2f}, {span(margin.low, margin.high)}")
    grid.add_row("variance that was luck", f"{luck.removed:.0%}")


def _add_sprt(grid: Grid, test: "Outcome") -> None:
    said = {"high": "HIGH", "low": "LOW", None: "undecided"}[test.decision]
    grid.add_row("sequential test", f"{said} after {test.blocks:,} pairs")
    barriers = f"{test.below:.2f} to {test.above:.2f}"
    grid.add_row("log-likelihood ratio", f"{test.ratio:+.2f} of {barriers}")
    mean = test.mean
    grid.add_row("freed of stopping", f"{mean.value:+.2f}, {span(mean.low, mean.high)}")


# --- power ----------------------------------------------------------------------------------------


def _power(args: argparse.Namespace) -> None:
    from fives_env.arena.evaluate import evaluate
    from fives_env.arena.statistics import HALF, blocks_for, margin_for

    if not HALF < args.power < 1:
        raise ValueError(choice("power", args.power, f"a number between {HALF:g} and 1"))
    if args.margin is not None and not 1e-3 <= abs(args.margin) <= 1e6:
        allowed = "a number from 0.001 to 1000000, or the same below 0"
        raise ValueError(choice("margin", args.margin, allowed))
    rules = rules_of(args)
    if args.rounds is not None:
        whole("rounds", args.rounds, 2 * rules.sides, 10**15)
    result = evaluate(
        args.a,
        args.b,
        rules=rules,
        pairs=500,
        seed=args.seed,
        workers=args.workers,
        engine=args.engine,
    )
    spread = result.spread
    screen = console()
    screen.print(
        f"{result.a} against {result.b}: margin {result.margin:+.1f}, "
        f"a pair spreads by {spread:.1f} points."
    )
    if args.rounds is not None:
        least = margin_for(args.rounds // rules.sides, spread, args.power)
        screen.print(f"{args.rounds:,} rounds show {least:.2f} points at {args.power:.0%} power.")
        return
    grid = Grid("margin", "pairs", "rounds", title=f"for {args.power:.0%} power")
    for column in grid.columns:
        column.justify = "right"
    for margin in [args.margin] if args.margin else [0.25, 0.5, 1, 2, 4, 8]:
        pairs = blocks_for(margin, spread, args.power)
        grid.add_row(f"{margin:g}", f"{pairs:,}", f"{pairs * rules.sides:,}")
    screen.print(grid)


# --- ladder ---------------------------------------------------------------------------------------


def _ladder(args: argparse.Namespace) -> None:
    from fives_env.arena.ladder import ladder

    rules = rules_of(args)
    players = args.names or PLAYERS
    pairs = args.rounds // rules.sides
    if pairs < 2:
        raise ValueError(choice("rounds", args.rounds, f"at least {2 * rules.sides}"))
    with progress_bar() as progress:
        task = progress.add_task("pairs", total=pairs * len(players) * (len(players) - 1) // 2)
        rungs = ladder(
            players,
            rules,
            pairs=pairs,
            seed=args.seed,
            workers=args.workers,
            engine=args.engine,
            progress=lambda n: progress.advance(task, n),
        )
    if args.json:
        print(json_of([rung._asdict() for rung in rungs]))
        return
    screen = console()
    screen.print(_steps(rungs))
    screen.print(
        f"Margin a round of the row against the column, 95 % interval; {pairs:,} deals for each "
        f"two.\n{rules!r}, seed {args.seed}",
        style="dim",
    )


def _steps(rungs: "Sequence[Rung]") -> Group:
    names = [rung.name + " *" * (not rung.repeatable) for rung in rungs]
    rows = [[tall(margin) for margin in rung.margins] for rung in rungs]
    return crosstable("µs", names, [f"{rung.micros:,.2f}" for rung in rungs], rows)
