"""A game as one HTML page that needs nothing else: picture, moves, score sheet."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from fives_env.render import words
from fives_env.render.sheet import Sheet, written
from fives_env.render.svg import svg


class Move(NamedTuple):
    """An action, as a list of moves shows it.

    Attributes:
        number: Its number in its round, from 1.
        seat: Who did it.
        action: Its name.
        points: What it brought.
        total: What the layout counts after it.
        then: What followed of itself, a phrase for each seat's doing.
    """

    number: int
    seat: int
    action: str
    points: int
    total: int
    then: list[str]


class Moment(NamedTuple):
    """The table after a move, or after a deal.

    Attributes:
        data: The table as ``Table.to_dict()`` has it; a round that has ended still lies there.
        move: The move; None after a deal.
    """

    data: Mapping[str, Any]
    move: Move | None


def page(title: str, result: str, facts: str, moments: Sequence[Moment], sheet: Sheet) -> str:
    """The page.

    Args:
        title: Who played.
        result: Who won.
        facts: Rules and seed.
        moments: All that is to be shown, beginning with a deal.
        sheet: The score sheet.
    """
    lines: dict[str, int] = {}
    pictures = [
        [lines.setdefault(line, len(lines)) for line in svg(moment.data).splitlines()]
        for moment in moments
    ]
    template = resources.files("fives_env.render").joinpath("page.html").read_text("utf-8")
    return Template(template).substitute(
        title=escape(title),
        result=escape(result),
        facts=escape(facts),
        picture=svg(moments[-1].data),
        last=len(moments) - 1,
        moves=_moves(moments),
        sheet=_sheet(sheet),
        lines=_script(list(lines)),
        pictures=_script(pictures),
        starts=_script([k for k, moment in enumerate(moments) if moment.move is None]),
    )


def _script(data: Any) -> str:
    """Data as JavaScript; a ``<`` in it must not end the script."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _moves(moments: Sequence[Moment]) -> str:
    """A link for each moment, in order."""
    parts = []
    for k, (data, move) in enumerate(moments):
        if move is None:
            scores = " : ".join(str(score) for score in _by_side(data))
            leads = f"{words.seat_name(data['leader'])} leads at {scores}"
            parts.append(f"{'</ol>' if k else ''}<h3><a href='#{k}'>Round {data['round'] + 1}")
            parts.append(f"<span>{leads}</span></a></h3><ol>\n")
            continue
        points = f"<b>{_signed(move.points)}</b>" if move.points > 0 else _signed(move.points)
        then = "".join(f"<span class='then'>{escape(phrase)}</span>" for phrase in move.then)
        parts.append(
            f"<li><a class='move' href='#{k}'><span>{move.number}</span>"
            f"<span>{words.seat_name(move.seat)}</span><span>{move.action}</span>"
            f"<span class='points'>{points}</span><span class='total'>{move.total}</span>"
            f"{then}</a></li>\n"
        )
    return "".join(parts) + "</ol>\n"


def _by_side(data: Mapping[str, Any]) -> list[int]:
    return list(data["scores"][:2] if data["rules"]["teams"] else data["scores"])


def _signed(points: int) -> str:
    return f"{points:+d}".replace("-", "\N{MINUS SIGN}") if points else ""


def _sheet(sheet: Sheet) -> str:
    heads = [f"<th>{label}<small>{escape(name)}</small></th>" for label, name in sheet.heads]
    parts = [f"<thead><tr><th></th>{''.join(heads)}</tr></thead>\n<tbody>\n"]
    rows = [(str(k), row.sums, row.totals) for k, row in enumerate(sheet.rows, 1)]
    if any(sheet.start):
        rows.insert(0, ("", [[] for _ in sheet.start], sheet.start))
    for k, (number, sums, totals) in enumerate(rows, 1):
        cells = [
            f"<td><div class='sum'><span>{_sum(each)}</span><b>{total}</b></div></td>"
            for each, total in zip(sums, totals, strict=True)
        ]
        last = " class='last'" if k == len(rows) else ""
        parts.append(f"<tr{last}><th>{number}</th>{''.join(cells)}</tr>\n")
    return "".join(parts) + "</tbody>\n"


def _sum(sums: Sequence[int]) -> str:
    """A sum that breaks its lines before a sign."""
    minus = written(sums).replace("-", "\N{MINUS SIGN}")
    return minus.replace("+ ", "+\xa0").replace("\N{MINUS SIGN} ", "\N{MINUS SIGN}\xa0")
