"""The whole table as a picture: the layout, hands and boneyard around it, scores, whose turn.

The seat that looks (seat 0 where everything is open) sits below, the others above in playing order.
"""

from collections.abc import Sequence

from fives_env.render import words
from fives_env.render.face import GOLD, face
from fives_env.render.place import Arrangement, arrange
from fives_env.render.poses import DX, DY
from fives_env.render.shapes import Box, Dots, Group, Picture, Shape, Words
from fives_env.render.words import Data

WIDTH, HEIGHT = 640, 740
EDGE = 14

FELT = "#2d6f5d"
DEEP = "#245a4b"
LIGHT = "#f5f1e3"
MUTED = "#a9cbbd"
INK = "#2a2b2e"
TEAMS = ("#f4bb35", "#7cc4ff")

#: Upper borders of the bands: other hands, layout, what happened, own hand.
OTHERS, LAYOUT, NEWS, OWN = 38, 122, 592, 650
#: Pixels of a quarter of a tile on the layout, at most.
UNIT = 17.0
#: The box that the arms are bent to, in quarters of a tile.
BOX = (36, 27)


def picture(data: Data) -> Picture:
    """The table that ``to_dict()`` describes, as shapes."""
    shapes: list[Shape] = [
        Box(0, 0, WIDTH, HEIGHT, 0, FELT),
        Box(0, 0, WIDTH, LAYOUT, 0, DEEP),
        Box(0, NEWS, WIDTH, HEIGHT - NEWS, 0, DEEP),
    ]
    shapes += _head(data)
    shapes += _others(data)
    shapes += _layout(data)
    shapes += _news(data)
    shapes += _own(data)
    caption = f"All Fives. {words.total(data)}. {words.asked(data)}."
    return Picture(WIDTH, HEIGHT, caption, shapes)


def _head(data: Data) -> list[Shape]:
    right = WIDTH - EDGE
    return [
        Words(EDGE, 20, words.asked(data), 19, GOLD, "start", True),
        Words(right, 20, words.match(data), 17, MUTED, "end"),
    ]


def _others(data: Data) -> list[Shape]:
    """The hands of the other seats, and the boneyard at their right."""
    players = len(data["hands"])
    near = words.viewer(data)
    seats = [(near + i) % players for i in range(1, players)]
    width = (WIDTH - 2 * EDGE) / players
    shapes: list[Shape] = []
    for column, seat in enumerate(seats):
        x = EDGE + column * width
        shapes += _plate(data, seat, x, OTHERS + 14)
        shapes += _row(data["hands"][seat], x, OTHERS + 30, width - 14, 46, 10.5, seat)
    x = EDGE + len(seats) * width
    bones = data["boneyard"]
    shapes.append(Words(x, OTHERS + 14, f"Boneyard {len(bones)}", 17, MUTED))
    return shapes + _row(bones, x, OTHERS + 30, width, 46, 10.5)


def _plate(data: Data, seat: int, x: float, y: float) -> list[Shape]:
    """Name and score of a seat, a lamp where it is its turn."""
    turn = data["turn"] == seat
    colour = GOLD if turn else LIGHT
    shapes: list[Shape] = []
    if data["rules"]["teams"]:
        shapes.append(Box(x, y - 9, 4, 18, 2, TEAMS[seat % 2]))
        x += 10
    if turn:
        shapes.append(Dots(((x + 5, y),), 5, GOLD))
        x += 16
    shapes.append(Words(x, y, words.seat_name(seat), 17, colour, "start", turn))
    shapes.append(Words(x + 74, y, str(data["scores"][seat]), 19, colour, "start", True))
    return shapes


def _row(
    tiles: Sequence[str | None],
    x: float,
    y: float,
    width: float,
    height: float,
    largest: float,
    seat: int | None = None,
) -> list[Shape]:
    """Standing tiles as large as the space allows, in up to three rows."""
    if not tiles:
        return []
    rows, unit = max(
        ((rows, _unit(len(tiles), rows, width, height, largest)) for rows in (1, 2, 3)),
        key=lambda found: (found[1], -found[0]),
    )
    across = -(-len(tiles) // rows)
    holder = () if seat is None else (("data-seat", str(seat)),)
    shapes: list[Shape] = []
    for i, tile in enumerate(tiles):
        middle_x = x + (1.2 + 2.4 * (i % across)) * unit
        middle_y = y + (2.1 + 4.3 * (i // across)) * unit
        named = () if tile is None else (("data-tile", tile),)
        shapes.append(Group(holder + named, face(tile, middle_x, middle_y, 3, unit)))
    return shapes


def _unit(count: int, rows: int, width: float, height: float, largest: float) -> float:
    across = -(-count // rows)
    return min(largest, width / (2.4 * across), height / (4.3 * rows))


def _layout(data: Data) -> list[Shape]:
    """The tiles played and what each open end counts."""
    drawn = arrange(data["layout"], data["ends"], data["rules"]["spinner"], BOX)
    left, top, width, height = drawn.needed
    room = WIDTH - 2 * EDGE, NEWS - LAYOUT - 16
    unit = min(UNIT, room[0] / max(1, width), room[1] / max(1, height))
    x = WIDTH / 2 - (left + width / 2) * unit
    y = LAYOUT + 8 + room[1] / 2 - (top + height / 2) * unit
    last = len(drawn.tiles) - 1
    shapes: list[Shape] = []
    for i, tile in sorted(enumerate(drawn.tiles), key=lambda pair: pair[0] == last):
        where = x + tile.x * unit, y + tile.y * unit
        parts = face(tile.tile, *where, tile.turn, unit, tile.spinner, i == last)
        shapes.append(Group((("data-tile", tile.tile),), parts))
    return shapes + _labels(data, drawn, x, y, unit)


def _labels(data: Data, drawn: Arrangement, x: float, y: float, unit: float) -> list[Shape]:
    shapes: list[Shape] = []
    for end in data["ends"]:
        edge = drawn.ends[end["end"]]
        far = drawn.label / 2
        middle_x = x + (edge.x + far * DX[edge.heading]) * unit
        middle = middle_x, y + (edge.y + far * DY[edge.heading]) * unit
        counts = end["counts"]
        lit = bool(counts)
        parts: list[Shape] = [Dots((middle,), 0.72 * unit, GOLD if lit else DEEP)]
        shown = "?" if counts is None else str(counts)
        parts.append(Words(*middle, shown, 0.95 * unit, INK if lit else MUTED, "middle", lit))
        shapes.append(Group((("data-end", str(end["end"])),), parts))
    return shapes


def _news(data: Data) -> list[Shape]:
    """The total, and what happened last."""
    shapes: list[Shape] = [Words(EDGE, NEWS + 32, words.total(data), 26, LIGHT, "start", True)]
    points = words.gained(data)
    if points:
        shapes.append(Box(EDGE + 136, NEWS + 17, 58, 30, 15, GOLD))
        shapes.append(Words(EDGE + 165, NEWS + 32, f"+{points}", 20, INK, "middle", True))
    phrases = words.happened(data)[-3:]
    lines = [", ".join(phrases[:2]), *phrases[2:]]
    for i, line in enumerate(lines):
        y = NEWS + (32 if len(lines) == 1 else 21 + 23 * i)
        shapes.append(Words(WIDTH - EDGE, y, line, 17, MUTED, "end"))
    return shapes


def _own(data: Data) -> list[Shape]:
    seat = words.viewer(data)
    shapes = _plate(data, seat, EDGE, OWN + 20)
    hand = data["hands"][seat]
    return shapes + _row(hand, EDGE + 130, OWN + 4, WIDTH - 2 * EDGE - 130, 82, 18, seat)
