"""A table as plain data: the schema of records, replays and the web page.

The keys:

==========  ======================================================================================
rules       all options, by name
viewer      seat that sees it so, None for everything
seed        seed of the deals; ``game``: number of the game of that seed
forced      ``auto`` or ``act``; ``episode``: ``game`` or ``round``
round       from 0
turn        seat to act, None when over
phase       ``play``, ``announce``, ``call``, ``over``
leader      seat that leads this round
hands       names of the tiles, a list for each seat
boneyard    names, in drawing order
layout      plays in order: ``tile``, ``seat``, ``end``, ``on`` (index of the play joined, or None)
ends        open ends: ``end``, ``tile`` (that shows it), ``value``, ``counts`` (pips)
total       pips that the layout counts
scores      by seat; partners show their side's
winners     seats that won the game
ended       how the last round ended: ``out``, ``blocked``, ``target``, None
events      of this round: ``seat``, ``do``, ``tile``, ``end``, ``points``
==========  ======================================================================================

As one seat sees it, None stands for all that it may not know.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env import checks
from fives_env.engine import single, state
from fives_env.errors import choice, one_of, whole
from fives_env.rules import Rules
from fives_env.tiles import NAMES, names

if TYPE_CHECKING:
    from fives_env.table import Table


class Event(NamedTuple):
    """Something that happened at a table.

    Attributes:
        seat: Who did it or was paid or charged; None where nobody was.
        do: ``set place draw pass announce silent call let_go out blocked win``.
        tile: Name of the tile set, placed or drawn.
        end: End that it was laid on.
        points: What the seat's side gained (or lost) on the scoreboard.
    """

    seat: int | None
    do: str
    tile: str | None
    end: int | None
    points: int


@lru_cache(maxsize=1 << 14)
def event_of(do: int, seat: int, tile: int, end: int, points: int) -> Event:
    """The event in a row of the engine's buffer."""
    return Event(
        seat if seat >= 0 else None,
        state.DEEDS[do],
        NAMES[tile] if tile >= 0 else None,
        end if end >= 0 else None,
        points,
    )


def to_dict(table: "Table", seat: int | None) -> dict[str, Any]:
    """The table as plain data, everything or as a seat sees it."""
    record = table.state if seat is None else table.redact(seat)
    events = [event._asdict() for event in table.events]
    for event in events:
        if event["do"] == "draw" and seat not in (None, event["seat"]):
            event["tile"] = None
    ends = {"forced": table.forced, "episode": table.episode, "events": events}
    return position(record, table.rules) | ends


def position(record: NDArray[Any], rules: Rules) -> dict[str, Any]:
    """What one record holds, as plain data; None for what a redacted one leaves out.

    Args:
        record: An array of one ``STATE``.
        rules: The rules that it is played by.
    """
    t = record[0]
    viewer = int(t["viewer"])
    redacted = viewer != state.NOBODY
    blind = redacted and rules.muggins != "off"
    turn = int(t["turn"])
    top, tiles = int(t["top"]), int(t["tiles"])
    seats = range(rules.players)
    hands = [
        [None] * int(t["held"][seat])
        if redacted and seat != viewer
        else names(int(t["hands"][seat]))
        for seat in seats
    ]
    boneyard = [None if redacted else NAMES[tile] for tile in t["order"][top:tiles]]
    return {
        "rules": rules.to_dict(),
        "viewer": viewer if redacted else None,
        "seed": None if redacted else int(t["seed"]),
        "game": None if redacted else int(t["game"]),
        "round": int(t["round"]),
        "turn": None if turn == state.NOBODY else turn,
        "phase": state.PHASES[t["phase"]],
        "leader": int(t["leader"]),
        "hands": hands,
        "boneyard": boneyard,
        "layout": _layout(record, rules),
        "ends": [
            {
                "end": end,
                "tile": NAMES[t["shows"][end]],
                "value": int(t["value"][end]),
                "counts": None if blind else int(t["counts"][end]),
            }
            for end in range(int(t["ends"]))
        ],
        "total": None if blind else int(t["total"]),
        "scores": [int(t["scores"][seat % rules.sides]) for seat in seats],
        "winners": [seat for seat in seats if int(t["winners"]) >> seat & 1],
        "ended": state.ENDED[t["ended"]],
    }


def _layout(record: NDArray[Any], rules: Rules) -> list[dict[str, Any]]:
    """The plays in order, each with the play that it joins."""
    on = np.zeros(28, np.int32)
    single.joins(state.copy_of(record), 0, rules.record(), on)
    t = record[0]
    return [
        {
            "tile": NAMES[t["order"][k]],
            "seat": int(t["how"][k]) >> 4,
            "end": int(t["how"][k]) & 15,
            "on": int(on[k]) if on[k] >= 0 else None,
        }
        for k in range(int(t["played"]))
    ]


def from_dict(kind: type["Table"], data: Mapping[str, Any]) -> "Table":
    """The table of ``data``: its round dealt again, and its events replayed.

    Raises:
        ValueError: The data is not that of a table, or does not follow the rules.
    """
    try:
        if data["viewer"] is not None:
            raise ValueError(choice("viewer", data["viewer"], "None: a seat does not see enough"))
        events = [Event(**event) for event in data["events"]]
        table = _at_start(kind, data, events)
        for _ in events:
            if len(table.events) < len(events):
                table.play(_action(table.rules, events[len(table.events)]))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"table data is not as to_dict() gives it: {error!r}.") from None
    if table.to_dict() != data:
        raise ValueError("table data is not what its events lead to under its rules.")
    return table


def _at_start(kind: type["Table"], data: Mapping[str, Any], events: list[Event]) -> "Table":
    """The table as it was when its round was dealt."""
    rules = Rules.of(data["rules"])
    hands = [list(hand) for hand in data["hands"]]
    drawn = [(event.seat, event.tile) for event in events if event.do == "draw"]
    for play in data["layout"]:
        hands[play["seat"]].append(play["tile"])
    for seat, tile in drawn:
        hands[seat or 0].remove(tile)
    deal = [tile for hand in hands for tile in hand]
    deal += [tile for _, tile in drawn] + list(data["boneyard"])
    scores = list(data["scores"])
    for event in events:
        for seat in range(rules.players):
            if event.seat is not None and (seat - event.seat) % rules.sides == 0:
                scores[seat] -= event.points
    names = ("seed", "game", "forced", "episode")
    table = kind(rules, **{name: data[name] for name in names})
    table.start(
        table.seed,
        table.game,
        whole("round", data["round"], 0, 2**31),
        checks.deal_order(rules, deal),
        whole("leader", data["leader"], 0, rules.players - 1),
        checks.side_scores(rules, scores),
    )
    table.state["ended"] = state.ENDED.index(one_of("ended", data["ended"], state.ENDED))
    return table


def _action(rules: Rules, event: Event) -> int:
    named = f"{event.tile}@{event.end}" if event.do in ("set", "place") else event.do
    return rules.action(named)
