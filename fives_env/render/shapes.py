"""What a picture is made of, measured in pixels from its upper left corner.

SVG and the window draw the same list of these; nothing else is ever drawn.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias


class Box(NamedTuple):
    """A rectangle with round corners; without ``fill`` only its border is drawn."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str | None
    line: str | None = None
    thick: float = 0


class Dots(NamedTuple):
    """Discs of one size and colour."""

    middles: tuple[tuple[float, float], ...]
    radius: float
    fill: str


class Words(NamedTuple):
    """A line of text, its capitals' middle at ``y``."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


class Group(NamedTuple):
    """Shapes that are one thing: a tile, an end; ``data`` says which."""

    data: tuple[tuple[str, str], ...]
    shapes: "Sequence[Shape]"


Shape: TypeAlias = Box | Dots | Words | Group


class Picture(NamedTuple):
    """Shapes from back to front, and what they show in words."""

    width: int
    height: int
    caption: str
    shapes: list[Shape]
