"""The benchmark's report as tables on the terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table as Grid


def show(report: dict[str, Any]) -> None:
    """Print what :func:`.measure.bench` returned."""
    console = Console()
    rates = Grid("", "tables", "threads", "a second", "of CPU")
    for column in rates.columns[1:]:
        column.justify = "right"
    for row in report["rows"]:
        unit = "" if row["unit"] == "decisions" else f" {row['unit']}"
        rates.add_row(
            row["name"],
            "" if row["tables"] is None else f"{row['tables']:,}",
            str(row["threads"]),
            "absent" if row["missing"] else f"{row['per_second']:,.0f}{unit}",
            "" if row["missing"] else f"{row['per_cpu_second']:,.0f}",
        )
    console.print(rates)
    compared = Grid("", "ratio", "aim")
    for column in compared.columns[1:]:
        column.justify = "right"
    for row in report["ratios"]:
        value = "absent" if row["ratio"] is None else f"{row['ratio']:,.3g}"
        compared.add_row(row["name"], value, row["aim"])
    console.print(compared)
    machine, settings = report["machine"], report["settings"]
    known = (f"{name} {number}" for name, number in machine["libraries"].items() if number)
    load = "" if machine["load"] is None else f", load {machine['load']:.1f} before"
    console.print(
        "Decisions of random legal play; medians of "
        f"{settings['repeats']} timings of {settings['seconds']} s in turn.\n"
        "Ratios are of processor time, those of threads of time by the clock.\n"
        f"{machine['processor']}, {machine['cores']} cores{load}; {machine['system']}; "
        f"Python {machine['python']}, {', '.join(known)}",
        style="dim",
        highlight=False,
    )
