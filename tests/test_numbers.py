"""The vectors of the rules, through Table: totals, rounding, sets that score, sheet A's round."""

import pytest

from fives_env import Rules, Table
from fives_env.engine.settle import hand_pips, losers_pips, nearest
from fives_env.tiles import INDEX, NAMES, PIPS

#: Spinner rule; plays as (tile, end); totals.
VECTORS = [
    (
        "first",
        [
            *[("4-1", 0), ("1-1", 0), ("4-4", 1), ("4-3", 1), ("2-1", 0), ("5-1", 2), ("5-5", 2)],
            *[("5-0", 2), ("3-1", 3)],
        ],
        [5, 6, 10, 5, 5, 10, 15, 5, 8],
    ),
    ("none", [("5-5", 0), ("5-0", 0), ("0-0", 0), ("6-5", 1), ("4-0", 0)], [10, 10, 10, 6, 10]),
    ("none", [("4-2", 0), ("4-3", 1)], [6, 5]),
    ("first", [("6-6", 0), ("6-3", 0), ("6-2", 1), ("6-5", 2)], [12, 15, 5, 10]),
    ("first", [("5-5", 0), ("5-2", 0), ("5-3", 1), ("6-5", 2), ("5-4", 3)], [10, 12, 5, 11, 15]),
    ("first", [("5-5", 0), ("5-3", 0), ("5-4", 1), ("5-2", 2), ("5-1", 3)], [10, 13, 7, 9, 10]),
    ("first", [("6-6", 0), ("6-4", 0), ("6-2", 1), ("2-2", 1)], [12, 16, 6, 8]),
]


def scripted(plays, **options):
    """A table whose two seats hold just the tiles to play, in turn."""
    tiles = [tile for tile, _ in plays]
    rest = [tile for tile in NAMES if tile not in tiles]
    hands = [tiles[0::2], tiles[1::2]]
    each = max(len(hand) for hand in hands) + 1
    for hand in hands:
        while len(hand) < each:
            hand.append(rest.pop())
    return Table(tiles=each, deal=hands[0] + hands[1] + rest, leader=0, seed=1, **options)


def test_numbering_follows_the_set_not_the_name():
    assert NAMES[0] == "0-0" and NAMES[8] == "2-1" and NAMES[27] == "6-6"
    assert INDEX["4-6"] == INDEX["6-4"]


@pytest.mark.parametrize(("spinner", "plays", "totals"), VECTORS)
def test_totals(spinner, plays, totals):
    table = scripted(plays, spinner=spinner)
    for (tile, end), total in zip(plays, totals, strict=True):
        before = table.total
        seat = table.turn
        events = table.play(table.rules.action(f"{tile}@{end}"))
        assert table.total == total, (tile, before)
        assert events[0].points == (total if total % 5 == 0 else 0)
        assert (events[0].seat, events[0].tile, events[0].end) == (seat, tile, end)
        shown = table.to_dict()["ends"]
        assert sum(end["counts"] for end in shown) == total


def test_a_lone_double_counts_once_and_shows_half_at_each_end():
    table = scripted([("5-5", 0), ("5-2", 0)])
    table.play(table.rules.action("5-5@0"))
    assert [end["counts"] for end in table.to_dict()["ends"]] == [5, 5]
    table.play(table.rules.action("5-2@0"))
    assert [end["counts"] for end in table.to_dict()["ends"]] == [2, 10]


def test_sets_that_score():
    points = {}
    for tile in NAMES:
        table = scripted([(tile, 0)])
        points[tile] = table.play(table.rules.action(f"{tile}@0"))[0].points
    scoring = {tile: p for tile, p in points.items() if p}
    assert scoring == {"6-4": 10, "5-5": 10, "5-0": 5, "4-1": 5, "3-2": 5}


def test_rounding():
    assert [nearest(x) for x in (0, 2, 3, 7, 8, 12, 13, 22, 23)] == [0, 0, 5, 5, 10, 10, 15, 20, 25]


@pytest.mark.parametrize(("rounding", "points"), [("each", 45), ("total", 40), ("exact", 39)])
def test_three_hands_of_thirteen(rounding, points):
    losers = {"6-6": "1-0", "6-5": "2-0", "4-3": "5-1"}
    deal = ["0-0", "1-1"]
    for tile, other in losers.items():
        deal += [tile, other]
    deal += [tile for tile in NAMES if tile not in deal]
    rules = Rules(players=4, tiles=2, rounding=rounding)
    table = Table(rules, deal=deal, leader=0, seed=0)
    hands = [sum(PIPS[INDEX[tile]] for tile in hand) for hand in table.hands]
    assert hands[1:] == [13, 13, 13]
    record = rules.record()[0]
    assert losers_pips(hand_pips(table.state[0]), record, 0, record["rounding"]) == points


def test_sheet_a_round():
    """You 10; Mara 5 + 20; Dev 10 + 15, then out against 8 and 13; 70/110/95 to 80/135/145."""
    you, mara, dev = 0, 1, 2
    deal = ["3-0", "5-5", "4-1", "1-0", "4-4", "5-4", "2-2", "6-2", "6-6", "5-3"]
    deal += ["2-1", "5-0", "1-1", "6-4", "4-3", "6-1"]
    deal += [tile for tile in NAMES if tile not in deal]
    plays = "2-1@0 4-1@0 5-4@0 5-0@0 1-0@0 2-2@1 1-1@0 6-1@0 6-2@1 6-4@0 4-4@0 6-6@1 4-3@0".split()
    table = Table(
        players=3,
        tiles=5,
        spinner="none",
        deal=deal,
        leader=dev,
        scores=[70, 110, 95],
        seed=0,
    )
    won = {you: [], mara: [], dev: []}
    last = []
    for name in plays:
        last = table.play(table.rules.action(name))
        for event in last:
            if event.points and event.do in ("set", "place"):
                won[event.seat].append(event.points)
    assert won == {you: [10], mara: [5, 20], dev: [10, 15]}
    assert [(e.seat, e.points) for e in last if e.do == "out"] == [(dev, 25)]
    assert table.scores == [80, 135, 145]
    assert table.round == 1 and table.leader == dev
