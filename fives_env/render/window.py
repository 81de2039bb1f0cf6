"""A table in a window, or as an array of pixels; both need pygame."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.render.scene import HEIGHT, WIDTH, picture
from fives_env.render.shapes import Box, Dots, Group, Shape, Words

#: Pictures are painted this many times larger and then shrunk, which smooths their edges.
_FINE = 2
#: Height of a line of the font that comes with pygame, in ems.
_LINE = 1.38


def rgb_array(data: Mapping[str, Any]) -> NDArray[np.uint8]:
    """The table that ``Table.to_dict()`` describes as pixels.

    Returns:
        uint8, shape (740, 640, 3), whatever the table shows.

    Raises:
        ImportError: pygame is not installed.
    """
    pygame = _pygame()
    pixels: NDArray[np.uint8] = pygame.surfarray.array3d(_painted(data))
    return np.ascontiguousarray(pixels.swapaxes(0, 1))


class Window:
    """A window that shows a table, for ``render_mode="human"``.

    It opens when something is first shown. If its user closes it, it stays shut until
    :meth:`close` is called.

    Raises:
        ImportError: pygame is not installed.
    """

    def __init__(self, title: str = "All Fives") -> None:
        self._pygame = _pygame()
        self._title = title
        self._screen: Any = None
        self._shut = False

    def show(self, data: Mapping[str, Any]) -> None:
        """Show the table that ``Table.to_dict()`` describes."""
        if self._shut:
            return
        pygame = self._pygame
        if self._screen is None:
            pygame.display.init()
            self._screen = pygame.display.set_mode((WIDTH, HEIGHT))
            pygame.display.set_caption(self._title)
        self._screen.blit(_painted(data), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            self._shut = True

    def close(self) -> None:
        """Close the window, if it is open; it may be opened again by showing something."""
        if self._screen is not None:
            self._pygame.display.quit()
        self._screen = None
        self._shut = False


def _pygame() -> Any:
    """The module pygame, or an error that says how to get it."""
    try:
        return import_module("pygame")
    except ImportError:
        raise ImportError(
            'Windows and pixels need pygame, which is missing: pip install "fives-env[render]"'
        ) from None


def _painted(data: Mapping[str, Any]) -> Any:
    """The picture of a table as a pygame surface."""
    pygame = _pygame()
    surface = pygame.Surface((WIDTH * _FINE, HEIGHT * _FINE), depth=32)
    _paint(pygame, surface, picture(data).shapes)
    return pygame.transform.smoothscale(surface, (WIDTH, HEIGHT))


def _paint(pygame: Any, surface: Any, shapes: Sequence[Shape]) -> None:
    for shape in shapes:
        if isinstance(shape, Group):
            _paint(pygame, surface, shape.shapes)
        elif isinstance(shape, Box):
            _paint_box(pygame, surface, shape)
        elif isinstance(shape, Dots):
            for x, y in shape.middles:
                middle = x * _FINE, y * _FINE
                pygame.draw.circle(surface, shape.fill, middle, shape.radius * _FINE)
        else:
            _paint_words(pygame, surface, shape)


def _paint_box(pygame: Any, surface: Any, box: Box) -> None:
    """A border lies half inside and half outside, as in SVG."""
    left, top = box.x * _FINE, box.y * _FINE
    right, bottom = left + box.width * _FINE, top + box.height * _FINE
    out = box.thick * _FINE / 2
    if box.line is not None:
        rect = _rect(pygame, left - out, top - out, right + out, bottom + out)
        thick = 0 if box.fill is not None else max(1, round(2 * out))
        radius = round(box.radius * _FINE + out)
        pygame.draw.rect(surface, box.line, rect, thick, border_radius=radius)
        left, top, right, bottom = left + out, top + out, right - out, bottom - out
    if box.fill is not None:
        radius = max(0, round(box.radius * _FINE - out))
        rect = _rect(pygame, left, top, right, bottom)
        pygame.draw.rect(surface, box.fill, rect, border_radius=radius)


def _rect(pygame: Any, left: float, top: float, right: float, bottom: float) -> Any:
    """The rectangle of whole pixels nearest to this one, at least one wide and high."""
    x, y = round(left), round(top)
    return pygame.Rect(x, y, max(1, round(right) - x), max(1, round(bottom) - y))


def _paint_words(pygame: Any, surface: Any, words: Words) -> None:
    drawn = _font(round(words.size * _FINE * _LINE)).render(words.text, True, words.fill)
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
    x = words.x * _FINE - share * drawn.get_width()
    y = words.y * _FINE - 0.46 * drawn.get_height()  # capitals stand a little high in a line
    surface.blit(drawn, (round(x), round(y)))


@lru_cache(maxsize=32)
def _font(size: int) -> Any:
    """The font that comes with pygame, the same on every machine."""
    pygame = _pygame()
    pygame.font.init()
    return pygame.font.Font(None, size)
