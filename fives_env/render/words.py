"""What is going on at a table, in words."""

from collections.abc import Mapping
from typing import Any

Data = Mapping[str, Any]


def seat_name(seat: int) -> str:
    """How a seat is called."""
    return f"Seat {seat}"


def viewer(data: Data) -> int:
    """The seat whose side of the table the picture shows; seat 0 where everything is open."""
    return int(data["viewer"] or 0)


def match(data: Data) -> str:
    """Which round, and what the game goes to."""
    rules = data["rules"]
    unit = " pegs" if rules["peg"] == 5 else ""
    return f"Round {data['round'] + 1} to {rules['target']}{unit}"


def total(data: Data) -> str:
    """The total, unless it is the player's to count."""
    return "Total ?" if data["total"] is None else f"Total {data['total']}"


def asked(data: Data) -> str:
    """Whose turn it is and what for, or who has won."""
    turn, phase = data["turn"], data["phase"]
    if turn is None:
        winners = data["winners"]
        if not winners:
            return "Round over"
        names = " and ".join(str(seat) for seat in winners)
        return f"Seat {names} wins" if len(winners) == 1 else f"Seats {names} win"
    if phase == "announce":
        return f"{seat_name(turn)}: announce or silent"
    if phase == "call":
        return f"{seat_name(turn)}: call or let go"
    return f"{seat_name(turn)} to {'play' if data['layout'] else 'set'}"


def happened(data: Data) -> list[str]:
    """The last placement and what followed it, a phrase for each seat's doing."""
    phrases: list[str] = []
    drawn = 0
    for event in _latest(data):
        drawn = drawn + 1 if event["do"] == "draw" else 0
        if drawn > 1 and phrases[-1].startswith(seat_name(event["seat"]) + " "):
            phrases.pop()
        else:
            drawn = min(drawn, 1)
        phrases.append(_phrase(event, drawn, data["rules"]["out"]))
    return phrases


def gained(data: Data) -> int:
    """What the last placement brought, as far as that is known: pegs or points."""
    paid = ("set", "place", "announce", "call")
    return sum(max(0, event["points"]) for event in _latest(data) if event["do"] in paid)


def _latest(data: Data) -> list[Mapping[str, Any]]:
    """Events of this round from its last placement on."""
    events = data["events"]
    placed = [i for i, event in enumerate(events) if event["do"] in ("set", "place")]
    return list(events[placed[-1] if placed else 0 :])


def _phrase(event: Mapping[str, Any], drawn: int, out: str) -> str:
    done = {
        "set": f"set {event['tile']}",
        "place": f"laid {event['tile']}",
        "draw": f"drew {drawn}",
        "pass": "passed",
        "announce": "announced",
        "silent": "stayed silent",
        "call": "called",
        "let_go": "let go",
        "out": "left with tiles" if out == "own" else "out",
        "blocked": "in the block",
        "win": "won",
    }[event["do"]]
    points = f" {event['points']:+d}" if event["points"] else ""
    return f"{'Nobody' if event['seat'] is None else seat_name(event['seat'])} {done}{points}"
