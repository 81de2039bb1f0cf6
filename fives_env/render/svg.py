"""A table as an SVG picture."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fives_env.render.scene import picture
from fives_env.render.shapes import Box, Dots, Group, Shape, Words

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Inter, 'DejaVu Sans', sans-serif"


def svg(data: Mapping[str, Any]) -> str:
    """The table that ``Table.to_dict()`` describes as an SVG document.

    Tiles and open ends are groups with ``data-tile``, ``data-seat`` and ``data-end``, for pages
    that let them be clicked.
    """
    shown = picture(data)
    width, height = shown.width, shown.height
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
        f"<title>{escape(shown.caption)}</title>",
        *_elements(shown.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _elements(shapes: Sequence[Shape]) -> list[str]:
    return [_element(shape) for shape in shapes]


def _element(shape: Shape) -> str:
    if isinstance(shape, Group):
        data = "".join(f' {name}="{escape(value)}"' for name, value in shape.data)
        return f"<g{data}>{''.join(_elements(shape.shapes))}</g>"
    if isinstance(shape, Dots):
        path = "".join(f"M{_n(x)} {_n(y)}h0" for x, y in shape.middles)
        pen = f'stroke="{shape.fill}" stroke-width="{_n(2 * shape.radius)}" stroke-linecap="round"'
        return f'<path d="{path}" {pen}/>'
    if isinstance(shape, Box):
        return _box(shape)
    return _words(shape)


def _box(box: Box) -> str:
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    radius = f' rx="{_n(box.radius)}"' if box.radius else ""
    line = f' stroke="{box.line}" stroke-width="{_n(box.thick)}"' if box.line else ""
    return f'<rect {place}{radius} fill="{box.fill or "none"}"{line}/>'


def _words(words: Words) -> str:
    baseline = words.y + 0.36 * words.size
    anchor = "" if words.anchor == "start" else f' text-anchor="{words.anchor}"'
    bold = ' font-weight="700"' if words.bold else ""
    return (
        f'<text x="{_n(words.x)}" y="{_n(baseline)}" font-size="{_n(words.size)}" '
        f'fill="{words.fill}"{anchor}{bold}>{escape(words.text)}</text>'
    )


def _n(value: float) -> str:
    """A number with at most two decimals, none for nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
