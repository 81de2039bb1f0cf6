"""A table as text, SVG and pixels: what they show, and that they show nothing hidden."""

import random
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fives_env import Table
from fives_env.render import words
from fives_env.render.svg import svg
from fives_env.render.text import COLUMNS, text
from fives_env.render.window import Window, rgb_array


def play_out(rng, plays=28, **options):
    """A round played at random to a number of plays."""
    table = Table(seed=rng.randrange(2**40), episode="round", **options)
    while not table.over and sum(event.do in ("set", "place") for event in table.events) < plays:
        table.play(rng.choice(table.legal))
    return table


def opening(seat=None, **changes):
    """Four plays of which the totals are known: 10 12 5 11, the last scoring nothing."""
    deal = (
        "5-5 5-3 6-4 2-1 3-0 1-0 0-0 5-2 5-6 4-3 4-4 6-1 6-6 1-1 5-4 5-1 5-0 2-0 2-2 3-1 3-2 3-3 "
        "4-0 4-1 4-2 6-0 6-2 6-3"
    ).split()
    table = Table(deal=deal, leader=0, tiles=7, episode="round", **changes)
    for action in ("5-5@0", "5-2@0", "5-3@1", "6-5@2"):
        table.play(table.rules.action(action))
    return table.to_dict(seat)


def test_text_shows_the_table():
    assert text(opening()) == OPENING


OPENING = """\
Seat 0 to play                                                  Round 1 to 250
> Seat 0   15  0-0 1-0 3-0 2-1 6-4
  Seat 1    0  1-1 6-1 4-3 4-4 6-6
  Boneyard 14  5-4 5-1 5-0 2-0 2-2 3-1 3-2 3-3 4-0 4-1 4-2 6-0 6-2 6-3

                                     (6)
                                    ┏━━━┓
                                    ┃ 6 ┃
                                    ┠───┨
                                    ┃ 5 ┃
                                    ┡━━━┩
                            ┌───┬───┤ 5 ├───┬───┐
                         (2)│ 2 │ 5 ├─◆─┤ 5 │ 3 │(3)
                            └───┴───┤ 5 ├───┴───┘
                                    └───┘
                                     (0)

Total 11                                                       Seat 1 laid 6-5
Open ends: 2@0 3@1 6@2 5@3
"""


def test_text_of_a_seat_hides_the_rest():
    shown = text(opening(1))
    assert shown.count("?-?") == 5 and "Boneyard 14\n" in shown
    assert "> Seat 0   15  ?-? ?-? ?-? ?-? ?-?\n" in shown and "(6)" in shown
    assert re.search(r"Seat 1 +0  1-1 6-1 4-3 4-4 6-6", shown)


def test_text_under_muggins_counts_nothing():
    options = {"muggins": "any"}
    table = Table(seed=2, players=2, tiles=7, episode="round", **options)
    table.play(table.legal[0])
    shown = text(table.to_dict(1))
    assert "Total ?" in shown and "(?)" in shown and "announce or silent" in shown


def test_text_in_colour_is_the_same_text():
    data = opening()
    plain, coloured = text(data), text(data, colour=True)
    assert "\x1b" not in plain and "\x1b[1;33m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_text_keeps_to_its_columns():
    rng = random.Random(4)
    for _ in range(20):
        shown = text(play_out(rng, players=4, teams=True).to_dict())
        assert max(map(len, shown.splitlines())) <= COLUMNS


def test_words_tell_what_happened_since_the_last_placement():
    data = opening() | {
        "events": [
            {"seat": 0, "do": "draw", "tile": "6-1", "end": None, "points": 0},
            {"seat": 1, "do": "place", "tile": "5-5", "end": 0, "points": 10},
            {"seat": 2, "do": "draw", "tile": None, "end": None, "points": 0},
            {"seat": 2, "do": "draw", "tile": None, "end": None, "points": 0},
            {"seat": 0, "do": "draw", "tile": None, "end": None, "points": 0},
            {"seat": 0, "do": "pass", "tile": None, "end": None, "points": 0},
        ]
    }
    assert words.happened(data) == [
        "Seat 1 laid 5-5 +10",
        "Seat 2 drew 2",
        "Seat 0 drew 1",
        "Seat 0 passed",
    ]
    assert words.gained(data) == 10
    over = data | {"turn": None, "phase": "over", "winners": [0, 2]}
    assert words.asked(over) == "Seats 0 and 2 win"
    assert words.asked(over | {"winners": [1]}) == "Seat 1 wins"


def test_svg_names_tiles_and_ends():
    data = opening(1)
    root = ET.fromstring(svg(data))
    groups = root.findall(".//{*}g")
    named = {group.get("data-tile") for group in groups} - {None}
    assert named == {play["tile"] for play in data["layout"]} | set(data["hands"][1])
    counts = {g.get("data-end"): g.find("{*}text").text for g in groups if g.get("data-end")}
    assert counts == {str(end["end"]): str(end["counts"]) for end in data["ends"]}
    written = [element.text for element in root.iter() if element.text]
    assert "Total 11" in written and "Boneyard 14" in written and "Seat 0 to play" in written


def alike_for(seat, seed):
    """Two tables that look the same to a seat though every hidden tile may differ, or None."""
    rng = random.Random(seed)
    rules = {"players": 3, "leader": 0, "episode": "round", "tiles": 6}
    table = Table(seed=seed, **rules)
    deal = [tile for hand in table.hands for tile in hand] + table.boneyard
    actions = []
    for _ in range(7):
        actions.append(rng.choice(table.legal))
        if any(event.do != "place" for event in table.play(actions[-1])[1:]):
            return None
    data = table.to_dict()
    seen = {play["tile"] for play in data["layout"]} | set(data["hands"][seat])
    hidden = [tile for tile in deal if tile not in seen]
    rng.shuffle(hidden)
    other = Table(deal=[tile if tile in seen else hidden.pop() for tile in deal], **rules)
    try:
        for action in actions:
            other.play(action)
    except ValueError:
        return None
    return (table, other) if len(other.events) == len(table.events) else None


def test_nothing_hidden_is_in_any_rendering():
    pairs = [pair for seed in range(400) if (pair := alike_for(1, seed))][:12]
    assert len(pairs) >= 5
    for table, other in pairs:
        data, again = table.to_dict(1), other.to_dict(1)
        assert table.hands[2] != other.hands[2] or table.boneyard != other.boneyard
        assert text(data) == text(again) and svg(data) == svg(again)
        assert text(data, colour=True) == text(again, colour=True)
        shown = text(data) + svg(data)
        for tile in table.hands[0] + table.hands[2] + table.boneyard:
            assert tile not in shown
        if "pygame" in sys.modules:
            assert np.array_equal(rgb_array(data), rgb_array(again))


def test_pixels_have_one_shape(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pytest.importorskip("pygame")
    rng = random.Random(6)
    tables = [play_out(rng, players=n, plays=plays) for n in (2, 3, 4) for plays in (0, 5, 28)]
    pictures = [rgb_array(table.to_dict(seat)) for table in tables for seat in (None, 1)]
    assert {(p.shape, p.dtype.name) for p in pictures} == {((740, 640, 3), "uint8")}
    assert len({p.tobytes() for p in pictures}) > 9


def test_window_opens_and_closes(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    window = Window()
    window.close()
    for _ in range(2):
        window.show(opening())
        assert np.array_equal(
            pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1),
            rgb_array(opening()),
        )
        window.close()
        assert not pygame.display.get_init()
    window.show(opening())
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(opening())
    window.show(opening())
    assert not pygame.display.get_init()


def test_without_pygame_a_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    for draw in (lambda: rgb_array(opening()), Window):
        with pytest.raises(ImportError, match=r'pip install "fives-env\[render\]"'):
            draw()


def test_text_and_svg_import_nothing_heavy():
    code = (
        "import sys; from fives_env.render import svg, text, window; "
        "print({'pygame', 'PIL', 'torch'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
