"""``fives replay`` and ``fives verify``."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TimeRemainingColumn

from fives_env.errors import choice, whole
from fives_env.records import Record, from_line
from fives_env.render import sheet, words
from fives_env.render.page import Moment, page
from fives_env.render.svg import svg
from fives_env.render.text import text
from fives_env.replay import moments, verify
from fives_env.rules import Rules

#: Milliseconds for which a GIF shows a move, and the end of a round.
MOVE_MS, END_MS = 1000, 3000


def add_replay(commands: Any) -> None:
    """Add ``fives replay`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "replay",
        help="step through a recorded game",
        description="Print the moves and the score sheet of a recorded game, or draw them.",
    )
    parser.add_argument("file", metavar="FILE", help="records, one game a line")
    parser.add_argument(
        "--game", type=int, default=1, metavar="K", help="which game: its line, from 1"
    )
    parser.add_argument("--round", type=int, metavar="N", help="moves of this round only, from 1")
    parser.add_argument("--boards", action="store_true", help="print the table after each move")
    parser.add_argument("--svg", metavar="FOLDER", help="write a picture of each move there")
    parser.add_argument("--gif", metavar="FILE", help="write a moving picture (extra: render)")
    parser.add_argument("--html", metavar="FILE", help="write a page with pictures and score sheet")
    parser.set_defaults(run=_replay)


def add_verify(commands: Any) -> None:
    """Add ``fives verify`` to the subparsers of a command line."""
    parser = commands.add_parser(
        "verify",
        help="replay all games of a file and compare",
        description="Replay all games of a file; exit with 1 if one differs from its record.",
    )
    parser.add_argument("file", metavar="FILE", help="records, one game a line")
    parser.set_defaults(run=_verify)


def _verify(args: argparse.Namespace) -> int:
    try:
        size = Path(args.file).stat().st_size
        columns = BarColumn(), TimeRemainingColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("", total=size)
            verdict = verify(args.file, lambda n: progress.advance(task, n))
    except OSError as error:
        raise ValueError(_unusable(args.file, error)) from None
    if verdict.first is None:
        print(f"{args.file}: all {verdict.games:,} games are right.")
        return 0
    print(f"{args.file}: {verdict.right:,} of {verdict.games:,} games are right.")
    print(f"First difference: {verdict.first}")
    return 1


def _replay(args: argparse.Namespace) -> int:
    record = _game(args.file, args.game)
    Rules.of(record["rules"])
    if args.round is not None:
        whole("round", args.round, 1, len(record["rounds"]))
    everything = moments(record)
    if not (args.svg or args.gif or args.html):
        _print(record, everything, args.round, args.boards)
        return 0
    seen = list(everything)
    shown = [moment for moment in seen if args.round in (None, moment.data["round"] + 1)]
    path = args.file
    try:
        if path := args.svg:
            _write_svg(shown, Path(path))
        if path := args.gif:
            _write_gif(shown, path)
        if path := args.html:
            drawn = page(
                _title(record), _result(record), _facts(record), shown, _sheet(record, seen)
            )
            Path(path).write_text(drawn, "utf-8")
    except OSError as error:
        raise ValueError(_unusable(path, error)) from None
    for path in filter(None, (args.svg, args.gif, args.html)):
        print(f"Wrote {path}, {len(shown)} pictures.")
    return 0


def _game(path: str, number: int) -> Record:
    """The game in a line of a file."""
    try:
        with Path(path).open("rb") as file:
            line = next(islice(file, max(0, number - 1), None), None)
    except OSError as error:
        raise ValueError(_unusable(path, error)) from None
    if line is None or number < 1:
        raise ValueError(f"game is {number}, but {path} has no such line.")
    return from_line(line)


def _unusable(path: str, error: OSError) -> str:
    return choice("file", path, f"one that can be used ({error.strerror or error})")


# --- words ----------------------------------------------------------------------------------------


def _title(record: Mapping[str, Any]) -> str:
    players = record["players"]
    sides = [players[:1], players[1:]]
    if record["rules"]["teams"]:
        sides = [players[::2], players[1::2]]
    elif len(players) > 2:
        return ", ".join(players[:-1]) + f" and {players[-1]}"
    return " against ".join(" and ".join(side) for side in sides)


def _result(record: Mapping[str, Any]) -> str:
    rules, winners = record["rules"], record["winners"]
    sides = 2 if rules["teams"] else rules["players"]
    scores = " : ".join(str(score) for score in record["scores"][:sides])
    if not winners:
        return f"One round: {scores}"
    names = " and ".join(f"{seat} ({record['players'][seat]})" for seat in winners)
    return f"Seat {names} wins {scores}" if len(winners) == 1 else f"Seats {names} win {scores}"


def _facts(record: Mapping[str, Any]) -> str:
    deals = "deals of its own"
    if record["seed"] is not None:
        deals = f"seed {record['seed']}, game {record['game']}"
    return f"{Rules(**record['rules'])!r}, {deals}"


def _sheet(record: Mapping[str, Any], seen: Sequence[Moment]) -> sheet.Sheet:
    ends = [moment.data for moment in seen if moment.data["turn"] is None]
    return sheet.sheet(ends, record["players"])


def _print(
    record: Mapping[str, Any], everything: Iterator[Moment], only: int | None, boards: bool
) -> None:
    """The game as text, printed as it is replayed."""
    print(_title(record), _facts(record), sep="\n")
    for seat, name in enumerate(record["players"]):
        print(f"{words.seat_name(seat)}: {name}")
    seen = []
    for moment in everything:
        seen.append(moment)
        if only in (None, moment.data["round"] + 1):
            print(_line(moment))
            if boards:
                print("\n" + text(moment.data, colour=sys.stdout.isatty()))
    print("\n" + sheet.text(_sheet(record, seen)))
    print(_result(record))


def _line(moment: Moment) -> str:
    data, move = moment
    if move is None:
        return f"\nRound {data['round'] + 1}, {words.seat_name(data['leader'])} leads"
    points = f"{move.points:+d}" if move.points else ""
    done = f"{move.number:>4}  {words.seat_name(move.seat)}  {move.action:<8} {points:>4}"
    return f"{done}  total {move.total:>2}  {', '.join(move.then)}".rstrip()


# --- pictures -------------------------------------------------------------------------------------


def _write_svg(shown: Sequence[Moment], folder: Path) -> None:
    """A picture of each moment: ``round-01-move-00.svg`` is the first deal."""
    folder.mkdir(parents=True, exist_ok=True)
    for data, move in shown:
        number = move.number if move else 0
        name = f"round-{data['round'] + 1:02}-move-{number:02}.svg"
        (folder / name).write_text(svg(data), "utf-8")


def _write_gif(shown: Sequence[Moment], path: str) -> None:
    """All moments one after the other, in the colours of the last."""
    try:
        from PIL import Image

        from fives_env.render.window import rgb_array

        last = Image.fromarray(rgb_array(shown[-1].data))
    except ImportError:
        needed = (
            'GIF files need pygame and Pillow, which are missing: pip install "fives-env[render]"'
        )
        raise ValueError(needed) from None
    palette = last.quantize(128, dither=Image.Dither.NONE)
    frames = (
        Image.fromarray(rgb_array(moment.data)).quantize(palette=palette, dither=Image.Dither.NONE)
        for moment in shown
    )
    durations = [END_MS if moment.data["turn"] is None else MOVE_MS for moment in shown]
    first = next(frames)
    first.save(path, save_all=True, append_images=frames, duration=durations, loop=0, format="GIF")
