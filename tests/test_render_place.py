"""Where tiles lie: no overlap, in the box, joined halves touching and equal.

``FIVES_LAYOUTS=20000 pytest tests/test_render_place.py -s`` draws more layouts.
"""

import itertools
import os
import random
import time

import numpy as np
import pytest

from fives_env import PRESETS, Table
from fives_env.render.place import arrange
from fives_env.render.poses import DX, DY, ahead
from fives_env.tiles import HI, LO

LAYOUTS = int(os.environ.get("FIVES_LAYOUTS", "400"))
#: Sizes of the box, as the picture and the text have them, and one for a telephone.
SIZES = (((36, 27), 0), ((38, 24), 60), ((28, 44), 0))


def play_out(rng, crowd=False, plays=28, **options):
    """A round played at random; with ``crowd``, doubles and cross sides come first."""
    table = Table(seed=rng.randrange(2**40), episode="round", **options)
    n = table.rules.n_ends
    while not table.over and sum(event.do in ("set", "place") for event in table.events) < plays:
        legal = table.legal
        placing = [action for action in legal if action < 28 * n] if crowd else []
        doubles = [action for action in placing if LO[action // n] == HI[action // n]]
        across = [action for action in placing if action % n >= 2]
        table.play(rng.choice(doubles or across or legal))
    return table


def options(rng):
    """House rules of every kind that a layout depends on."""
    players = rng.choice((2, 3, 4))
    chosen = {"rules": rng.choice(list(PRESETS)), "players": players}
    if players == 4 and rng.random() < 0.5:
        chosen["teams"] = True
    if rng.random() < 0.4:
        chosen["spinner"] = rng.choice(("none", "set", "first", "all"))
    if rng.random() < 0.4:
        chosen["arms_open"] = "at_once"
    if rng.random() < 0.3:
        chosen["tiles"] = 28 // players
    return chosen


def halves(tile):
    """Space of each half of a placed tile with its pips: [(pips, left, top), ...], 2 by 2 each."""
    dx, dy = DX[tile.turn], DY[tile.turn]
    low = int(tile.tile[2]), tile.x - dx - 1, tile.y - dy - 1
    high = int(tile.tile[0]), tile.x + dx - 1, tile.y + dy - 1
    return low, high


def contact(first, second):
    """Length of the border that two 2 by 2 squares share, and whether it is upright."""
    across, down = abs(first[1] - second[1]), abs(first[2] - second[2])
    if across == 2 and down < 2:
        return 2 - down, True
    if down == 2 and across < 2:
        return 2 - across, False
    return 0, False


def cells(rect):
    x, y, width, height = rect
    return {(x + i, y + j) for i in range(width) for j in range(height)}


def check(data, size):
    """All that a drawing promises; the seconds that it took."""
    start = time.process_time()
    drawn = arrange(data["layout"], data["ends"], data["rules"]["spinner"], *size)
    took = time.process_time() - start
    box = cells((0, 0, *drawn.size))
    covered = set()
    for tile in drawn.tiles:
        space = cells(tile.rect)
        assert len(space) == 8 and space <= box and not space & covered
        covered |= space
    for play, tile in zip(data["layout"], drawn.tiles, strict=True):
        assert tile.tile == play["tile"]
        if play["on"] is not None:
            check_joint(tile, drawn.tiles[play["on"]])
    assert sorted(drawn.ends) == [end["end"] for end in data["ends"]]
    by_name = {tile.tile: tile for tile in drawn.tiles}
    for end in data["ends"]:
        check_end(end, drawn.ends[end["end"]], by_name[end["tile"]])
    labels = [ahead(edge, 0, drawn.label, 2) for edge in drawn.ends.values()]
    space = [cell for label in labels for cell in cells(label)]
    assert len(space) == len(set(space)) and set(space) <= box and not set(space) & covered
    return took


def check_joint(tile, below):
    touching = [
        (one[0] == other[0], *contact(one, other))
        for one in halves(tile)
        for other in halves(below)
        if contact(one, other)[0]
    ]
    assert touching and all(match for match, _, _ in touching)
    assert sum(length for _, length, _ in touching) == 2
    if tile.tile[0] == tile.tile[2]:  # crosswise: the border lies along the double
        assert all(upright == tile.turn % 2 for _, _, upright in touching)


def check_end(end, edge, tile):
    """The edge lies on the border of the tile, beside the halves that show its value."""
    x, y = edge.x + 0.5 * DX[edge.heading], edge.y + 0.5 * DY[edge.heading]
    left, top, width, height = tile.rect
    assert not (left < x < left + width and top < y < top + height)
    x, y = edge.x - 0.5 * DX[edge.heading], edge.y - 0.5 * DY[edge.heading]
    shown = {h[0] for h in halves(tile) if h[1] <= x <= h[1] + 2 and h[2] <= y <= h[2] + 2}
    assert shown == {end["value"]}


def draw(data):
    return arrange(data["layout"], data["ends"], data["rules"]["spinner"])


def test_random_layouts_of_every_preset_lie_as_dominoes_do(record_property):
    rng = random.Random(1)
    took = [
        check(play_out(rng, **options(rng)).to_dict(), rng.choice(SIZES)) for _ in range(LAYOUTS)
    ]
    report(record_property, took)


@pytest.mark.parametrize("arms_open", ["covered", "at_once"])
def test_crowded_layouts_with_every_double_a_spinner(arms_open, record_property):
    rng = random.Random(2)
    rules = {"spinner": "all", "arms_open": arms_open, "players": 2, "tiles": 14}
    took = []
    for i in range(max(20, LAYOUTS // 8)):
        table = play_out(rng, crowd=i % 4 > 0, **rules)
        took.append(check(table.to_dict(), rng.choice(SIZES)))
    report(record_property, took)


def report(record_property, took):
    figures = f"{1000 * np.mean(took):.2f} ms a layout, {1000 * max(took):.0f} ms at most"
    record_property("time", figures)
    print(figures)


def test_every_position_of_a_round_is_drawn_and_repeats():
    rng = random.Random(3)
    for spinner in ("none", "set", "first", "all"):
        table = Table(seed=5, spinner=spinner, players=3, episode="round")
        while not table.over:
            data = table.to_dict()
            check(data, SIZES[0])
            assert draw(data) == draw(data)
            table.play(rng.choice(table.legal))


def test_one_long_chain_of_28_tiles():
    chain = [0]
    left = {(a, b) for a in range(7) for b in range(a, 7)}

    def extend():  # a walk over all 28 edges of the complete graph with loops
        if not left:
            return True
        for edge in sorted(edge for edge in left if chain[-1] in edge):
            left.remove(edge)
            chain.append(sum(edge) - chain[-1])
            if extend():
                return True
            left.add(edge)
            chain.pop()
        return False

    assert extend()
    steps = list(itertools.pairwise(chain))
    layout = [
        {"tile": f"{max(a, b)}-{min(a, b)}", "seat": 0, "end": 1, "on": i - 1 if i else None}
        for i, (a, b) in enumerate(steps)
    ]
    for size in SIZES:
        ends = [{"end": 1, "tile": layout[-1]["tile"], "value": chain[-1], "counts": 0}]
        check({"layout": layout, "ends": ends, "rules": {"spinner": "none"}}, size)
