"""A tournament as one HTML page that needs nothing else."""

import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from fives_env.arena import charts
from fives_env.arena.pace import micros_of
from fives_env.arena.results import read_times
from fives_env.arena.standing import Standing, remarks
from fives_env.arena.statistics import Interval
from fives_env.arena.tournament import Played, read_results
from fives_env.errors import choice
from fives_env.players.compiled import KINDS
from fives_env.records import Record
from fives_env.render.svg import svg
from fives_env.replay import moments
from fives_env.rules import Rules
from fives_env.shown import within

#: Where a training run keeps its rows, and what it was told.
METRICS, SETTINGS = "metrics.jsonl", "settings.yaml"
#: Layouts that are drawn, and columns of the table.
DRAWN = 4
HEADS = ("", "Elo", "margin", "won", "without luck", "luck", "blunders", "lost", "forfeits")


def report(path: str | Path, runs: Sequence[str | Path] = ()) -> str:
    """The page about a file of results, finished or not.

    Args:
        path: What ``fives tournament`` has written.
        runs: Folders of training runs whose curves are drawn: those that differ in nothing but
            their seed as one, with its spread.

    Raises:
        ValueError: A file cannot be read or is not what it should be, or Matplotlib is missing.
    """
    played = read_results(path)
    times = read_times(Path(path))
    parts = [_rules(played, number, times) for number in range(len(played.plan.rules))]
    if runs:
        parts.append(_learning(runs))
    parts.append(_games(played.games))
    template = resources.files("fives_env.arena").joinpath("report.html").read_text("utf-8")
    plan = played.plan
    state = "" if played.result is not None else " It is not finished yet."
    facts = (
        f"{len(plan.players)} players, {plan.blocks:,} deals for each meeting, every deal in all "
        f"seatings; seed {plan.seed}.{state} Intervals are of 95 %, from deals."
    )
    return Template(template).substitute(
        title=escape(Path(path).stem), facts=escape(facts), body="\n".join(parts)
    )


def _rules(played: Played, number: int, times: dict[str, float]) -> str:
    """All about one set of rules."""
    rules, plan = played.plan.rules[number], played.plan
    heading = f"<h2>{escape(repr(rules))}</h2>"
    parts = played.joined(number)
    if not parts or min(len(part.blocks.scores) for part in parts.values()) < 2:
        return f"{heading}<p>Nothing has been played yet.</p>"
    found = played.standing(number)
    order = [k for k in found.order() if found.places[k].margin]
    names = [plan.players[k] + (" *" if found.places[k].marked else "") for k in order]
    places = [found.places[k] for k in order]
    payoffs = [[found.payoffs[i][j] for j in order] for i in order]
    rated = _rated(names, [found.ratings[k] for k in order])
    figures = [("Ratings", charts.ladder(*rated))] if rated[0] else []
    figures += [
        ("Margins of rows against columns", charts.heat(names, payoffs)),
        ("Margins by side, leading and following", charts.sides(names, found, order)),
    ]
    if any(place.adjusted for place in places):
        figures.append(("With and without luck", charts.luck(names, found, order)))
    if any(place.judged[1] for place in places):
        wrong = [100 * place.judged[2] / max(1, place.judged[1]) for place in places]
        text = "blunders, % of the decisions that could be solved"
        figures.append(("Blunders", charts.bars(names, wrong, text)))
    paces = [_micros(plan.players[k], rules, times) for k in order]
    known = [k for k, pace in enumerate(paces) if pace]
    shown = [names[k] for k in known], [paces[k] for k in known]
    if known:
        figures.append(("Time for a decision", charts.bars(*shown, "microseconds", "log")))
    drawn = "".join(_section(title, figure) for title, figure in figures)
    said = "".join(f"<p>{escape(remark)}</p>" for remark in remarks(plan.players, found))
    return f"{heading}{_table(names, found, order)}{said}{drawn}"


def _rated(
    names: Sequence[str], ratings: Sequence[Interval | None]
) -> tuple[list[str], list[Interval]]:
    """The players that have a rating, and it."""
    known = [(name, one) for name, one in zip(names, ratings, strict=True) if one]
    return [name for name, _ in known], [one for _, one in known]


def _micros(player: str, rules: Rules, times: dict[str, float]) -> float:
    """Microseconds a decision, 0 where that was not measured."""
    return micros_of(player, rules) if player in KINDS else times.get(player, 0.0)


def _section(title: str, figure: str, kind: str = "plot") -> str:
    return f"<figure class='{kind}'><figcaption>{escape(title)}</figcaption>{figure}</figure>\n"


def _table(names: Sequence[str], found: Standing, order: Sequence[int]) -> str:
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    rows = []
    for name, k in zip(names, order, strict=True):
        place, rating = found.places[k], found.ratings[k]
        _, solved, wrong, lost = place.judged
        cells = [
            within(rating, 0),
            within(place.margin, 2),
            f"{place.wins.value:.1%}" if place.wins else "",
            within(place.adjusted.margin if place.adjusted else None, 2),
            f"{place.adjusted.removed:.0%}" if place.adjusted else "",
            f"{wrong / solved:.1%}" if solved else "",
            f"{lost / wrong:.1f}" if wrong else "",
            str(place.forfeits or ""),
        ]
        row = "".join(f"<td>{_minus(one)}</td>" for one in cells)
        rows.append(f"<tr><th>{escape(name)}</th>{row}</tr>")
    note = (
        "<p class='note'>Margin: own points less the mean of the others' at the same table. Luck: "
        "share of the margin's variance that it was. Blunders: share of the decisions that could "
        "be solved; lost: points for each.</p>"
    )
    return f"<div class='wide'><table><tr>{heads}</tr>{''.join(rows)}</table></div>{note}"


def _minus(text: str) -> str:
    return escape(text).replace("-", "\N{MINUS SIGN}")


def _games(games: Sequence[Record]) -> str:
    """The fullest layouts of some games, drawn."""
    if not games:
        return ""
    count = min(DRAWN, len(games))
    chosen = [games[k * len(games) // count] for k in range(count)]
    parts = []
    for game in chosen:
        fullest = max(moments(game), key=lambda moment: len(moment.data["layout"]))
        names = ", ".join(game["players"])
        scores = " : ".join(str(score) for score in game["scores"])
        title = f"{names}: {scores} in {len(game['rounds'])} rounds"
        parts.append(_section(title, svg(fullest.data), "game"))
    return f"<h2>Games</h2><div class='games'>{''.join(parts)}</div>"


def _learning(runs: Sequence[str | Path]) -> str:
    """Curves of training runs; those that differ in nothing but their seed are one."""
    groups: dict[Any, list[Path]] = {}
    repeated: Counter[Any] = Counter()
    for run in dict.fromkeys(map(Path, runs)):
        settings, seed = _settings(run)
        repeated[settings, seed] += 1  # the same run twice would pass for two that agree
        groups.setdefault((settings, repeated[settings, seed]), []).append(run)
    title, curves = "Learning", {}
    for seeds in groups.values():
        name = f"{len(seeds)} seeds: {seeds[0]}, ..." if len(seeds) > 1 else str(seeds[0])
        curves[name] = [_metrics(run) for run in seeds]
        if len(seeds) > 1:
            title = (
                "Learning; runs that differ in nothing but their seed are one curve, their mean in "
                "a band from the lowest to the highest"
            )
    return _section(title, charts.curves(curves))


def _settings(run: Path) -> tuple[str, str]:
    """The settings of a training run without its seed, and that; the folder's name if unknown."""
    try:
        lines = (run / SETTINGS).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return str(run), ""
    # Where a run lies and which file its settings come from is none of them.
    kept = [line for line in lines if not line.startswith(("seed:", "folder:", "config:"))]
    return "\n".join(kept), "".join(line for line in lines if line.startswith("seed:"))


def _metrics(run: Path) -> list[dict[str, float]]:
    """The rows of a training run; a torn last one is left out."""
    path = run / METRICS
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        fault = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(choice("run", str(run), f"a folder with {METRICS} ({fault})")) from None
    rows: list[dict[str, float]] = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines):
                break
            row = None
        if not isinstance(row, dict) or not _plotted(row):
            allowed = "a JSON object with decisions and what else was measured, in numbers"
            raise ValueError(f"{path}, line {number}: {choice('row', line, allowed)}")
        rows.append(row)
    if not rows:
        raise ValueError(choice("metrics", str(path), "a file with at least one row"))
    return rows


def _plotted(row: dict[str, float]) -> bool:
    """Whether everything in a row that curves show is a number."""
    shown = [row.get("decisions"), *(row.get(name, 0.0) for name in ("seconds", *charts.FIGURES))]
    return all(isinstance(one, int | float) and abs(one) < 1e300 for one in shown)
