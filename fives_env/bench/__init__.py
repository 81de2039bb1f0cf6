"""``fives bench``: how fast everything here plays, beside other libraries, in one run.

All contenders play random legal moves through whole games, and are timed in turn, again and again;
the median counts. A *decision* is a step by a seat that was offered at least one placement; forced
draws and passes, deals and settlements take their time but are not counted.
"""

import argparse
import json
from typing import Any


def add_bench(commands: Any) -> None:
    """Add the command ``bench`` to the subparsers of ``fives``."""
    parser = commands.add_parser(
        "bench",
        help="measure the speed on this machine",
        description="Time everything here beside other libraries, where these are installed "
        "(pip install 'fives-env[bench]'); print rates, ratios and the machine.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument(
        "--seconds", type=float, default=0.2, metavar="S", help="of each timing (0.2)"
    )
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="of the timings (7)")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    from fives_env.bench.measure import bench
    from fives_env.errors import choice, whole

    if not 0 < args.seconds <= 60:
        raise ValueError(choice("seconds", args.seconds, "a number above 0, at most 60"))
    repeats = whole("repeats", args.repeats, 1, 1000)
    report = bench(0.001, 1, quick=True) if args.quick else bench(args.seconds, repeats)
    if args.json:
        print(json.dumps(report))
        return
    from fives_env.bench.report import show

    show(report)
