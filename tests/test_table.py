"""Table: bad input in one sentence and nothing changed, copies, plain data."""

import copy
import json
import pickle
import random

import numpy as np
import pytest

from fives_env import PRESETS, Event, IllegalAction, Rules, Table
from fives_env.tiles import NAMES

SEATS = [{"players": 2}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}]


def sentence(error):
    """The message, which must be one sentence without a line break."""
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text and len(text) < 600, text
    return text


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (10_000, "10000, but must be a whole number from 0 to 117"),
        (-1, "-1, but must be a whole number from 0 to 117"),
        (1.0, "1.0, but must be a whole number"),
        ("6-4@0", "'6-4@0', but must be a whole number"),
        (True, "True, but must be a whole number"),
        (None, "None, but must be a whole number"),
        (np.float32(3), "but must be a whole number"),
        ([3], "[3], but must be a whole number"),
        (112, "112 (draw) is illegal, since that is not open now"),
        (np.array([3, 4]), "but must be a whole number"),
    ],
)
def test_refused_actions_change_nothing(action, says):
    table = Table(seed=3)
    before = table.clone()
    with pytest.raises(IllegalAction) as error:
        table.play(action)
    assert says in sentence(error)
    assert table == before and table.events == before.events and table.legal == before.legal


def test_illegal_placements_say_why():
    deal = [*"1-0 2-0 3-3 4-0 5-0 6-0 6-1 6-2 6-3".split()]
    deal += [tile for tile in NAMES if tile not in deal]
    table = Table(deal=deal, leader=0, seed=0)
    for name, why in [
        ("6-6@0", "seat 0 does not hold 6-6"),
        ("1-0@1", "the set goes to end 0"),
        ("1-0@2", "the set goes to end 0"),
    ]:
        with pytest.raises(IllegalAction, match=why):
            table.play(table.rules.action(name))
    table.play(table.rules.action("6-1@0"))
    held = table.hands[1]
    tile = next(t for t in held if "1" not in t and "6" not in t)
    for name, why in [(f"{tile}@0", "end 0 shows 1"), (f"{tile}@2", "end 2 is not open")]:
        with pytest.raises(IllegalAction, match=why):
            table.play(table.rules.action(name))
    table = Table("muggins", seed=1)
    other = next(a for a in range(0, 56, 2) if held_but(table, a))
    with pytest.raises(IllegalAction, match="the highest double must be set"):
        table.play(other)
    table.play(table.legal[0])
    with pytest.raises(IllegalAction, match="is asked to announce or not"):
        table.play(0)


def held_but(table, action):
    return action not in table.legal and NAMES[action // 2] in table.hands[table.turn]


def test_after_the_end_nothing_is_legal():
    table = Table(seed=1, target=5)
    while not table.over:
        table.play(table.legal[0])
    assert table.legal == [] and table.turn is None and table.phase == "over" and table.winners
    assert not table.mask().any()
    before = table.clone()
    with pytest.raises(IllegalAction, match="the game is over") as error:
        table.play(0)
    sentence(error)
    assert table == before


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"rules": "domino"}, "preset is 'domino', but must be one of 'all_fives'"),
        ({"rules": 7}, "rules is 7"),
        ({"spiner": "first"}, "option is 'spiner'"),
        ({"spinner": "second"}, "spinner is 'second', but must be one of 'none'"),
        ({"players": 5}, "players is 5, but must be one of 2, 3, 4"),
        ({"players": True}, "players is True"),
        ({"teams": True}, "teams is True, but must be False with 2 players"),
        ({"teams": 1, "players": 4}, "teams is 1"),
        ({"tiles": 15}, "tiles is 15, but must be a whole number from 1 to 14"),
        ({"tiles": 0}, "tiles is 0"),
        ({"target": 0}, "target is 0, but must be a whole number from 1 to 10000"),
        ({"target": 10_001}, "target is 10001"),
        ({"target": 2.5}, "target is 2.5"),
        ({"peg": 5}, "target is 250, but must be at most 100 with peg=5"),
        ({"peg": 5, "target": 61, "scoring": "fives_and_threes"}, "scoring is"),
        ({"may_draw": True, "draw": "none"}, "may_draw is True"),
        ({"reserve": 3}, "reserve is 3"),
        ({"highest": 7}, "highest is 7"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**63}, "seed is 9223372036854775808"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"leader": 2}, "leader is 2, but must be a whole number from 0 to 1"),
        ({"leader": 0, "rules": "muggins"}, "leader is 0, but must be None where the highest"),
        ({"scores": [250, 0]}, "scores is [250, 0], but must be 2 whole numbers below the target"),
        ({"scores": [1]}, "scores is [1]"),
        ({"scores": [1, "2"]}, "scores is"),
        ({"scores": [1, 2, 3, 4], "players": 4, "teams": True}, "the same for partners"),
        ({"forced": "maybe"}, "forced is 'maybe', but must be one of 'auto', 'act'"),
        ({"episode": "hand"}, "episode is 'hand'"),
        ({"deal": ["6-6"] * 28}, "0-0 is missing"),
        ({"deal": [*NAMES, "6-6"]}, "6-6 is more than once"),
        ({"deal": NAMES[:-1]}, "6-6 is missing"),
        ({"deal": [*NAMES[:-1], "7-6"]}, "tile is '7-6'"),
        ({"deal": NAMES, "highest": 5}, "deal holds a tile above 5-5"),
        ({"deal": 5}, "deal is 5"),
        ({"scores": 5}, "scores is 5"),
    ],
)
def test_refused_tables(keywords, says):
    with pytest.raises(ValueError) as error:
        Table(**keywords)
    assert says in sentence(error)


@pytest.mark.parametrize("seat", [2, -1, "0", 0.0, None])
def test_refused_seats(seat):
    table = Table(seed=1)
    for look in (table.observe, table.redact, lambda seat: table.text(seat or "none")):
        with pytest.raises(ValueError, match="seat is") as error:
            look(seat)
        sentence(error)


@pytest.mark.parametrize("seats", SEATS, ids=str)
@pytest.mark.parametrize("preset", PRESETS)
def test_copies_and_plain_data_go_on_identically(preset, seats):
    for forced in ("auto", "act"):
        table = Table(preset, seed=11, forced=forced, **seats)
        chance = random.Random(4)
        while not table.over and table.round < 2:
            data = json.loads(json.dumps(table.to_dict()))
            twins = [table.clone(), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
            twins += [copy.copy(table), Table.from_dict(data)]
            action = chance.choice(table.legal)
            happened = table.play(action)
            for twin in twins:
                assert twin.to_dict() == data
                assert twin.play(action) == happened
                assert twin == table and twin.events == table.events
                assert twin.legal == table.legal


def test_a_pickled_table_compiles_nothing_anew():
    """Numba takes an array that may be written to for another type than one that may not."""
    table = Table(seed=1)
    for twin in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), table.clone()):
        assert not twin.record.flags.writeable


def test_broken_plain_data_is_refused():
    table = Table(seed=5)
    for _ in range(6):
        table.play(table.legal[0])
    good = table.to_dict()
    for key in good:
        for bad in ("junk", None, -7, [{}]):
            if bad == good[key]:
                continue
            with pytest.raises(ValueError) as error:
                Table.from_dict(good | {key: bad})
            assert len(str(error.value)) > 10
        with pytest.raises(ValueError):
            Table.from_dict({k: v for k, v in good.items() if k != key})
    for bad in (None, 3, [], "x"):
        with pytest.raises(ValueError):
            Table.from_dict(bad)


def test_the_same_seed_deals_the_same_and_rounds_do_not_depend_on_the_play():
    def deals(chance):
        table, found = Table(seed=21, next_lead="left", target=2000), []
        while table.round < 5:
            if len(found) <= table.round:
                found.append((table.hands, table.boneyard, table.leader))
            table.play(chance.choice(table.legal))
        return found

    assert deals(random.Random(1)) == deals(random.Random(2))
    assert Table(seed=21).hands != Table(seed=22).hands
    assert Table(seed=21).hands != Table(seed=21, game=1).hands


def test_scores_are_by_seat_and_events_add_up():
    for seats in SEATS:
        table = Table(seed=8, **seats)
        expected = [0] * table.rules.players
        while not table.over:
            for event in table.play(table.legal[-1]):
                assert isinstance(event, Event)
                for seat in range(table.rules.players):
                    if event.seat is not None and (seat - event.seat) % table.rules.sides == 0:
                        expected[seat] += event.points
            assert table.scores == expected
        assert all(table.scores[seat] == max(table.scores) for seat in table.winners)


def test_rules_print_compare_and_round_trip():
    seen = set()
    for preset in PRESETS:
        for seats in SEATS:
            rules = Rules(preset, **seats)
            assert eval(repr(rules)) == rules
            assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules
            assert Rules(**rules.to_dict()) == rules and hash(Rules(**rules.to_dict())) == hash(
                rules
            )
            assert pickle.loads(pickle.dumps(rules)) == rules
            assert rules.fingerprint not in seen
            seen.add(rules.fingerprint)
            for action in range(rules.n_actions):
                assert rules.action(rules.action_name(action)) == action
    assert repr(Rules("pagat", target=150)) == "Rules('pagat', target=150)"
    assert Rules().fingerprint == "04d205a452a332dd"
    assert Rules().action_name(33) == "2-1@1" and Rules().action("2-1@1") == 33
    with pytest.raises(AttributeError):
        Rules().players = 3


@pytest.mark.parametrize("name", ["2-1@4", "2-1", "7-1@0", "1-2@0", "hop", "", "2-1@-1", 3])
def test_refused_action_names(name):
    with pytest.raises(ValueError, match="action is") as error:
        Rules().action(name)
    sentence(error)


@pytest.mark.parametrize("number", [118, -1, 1.0, "3"])
def test_refused_action_numbers(number):
    with pytest.raises(ValueError, match="action is") as error:
        Rules().action_name(number)
    sentence(error)


#: tiles by 2/3/4 players; target for 2, for 3-4, for partners; actions.
PRESET_NUMBERS = {
    "all_fives": ((9, 7, 5), (250, 200, 250), 118),
    "pagat": ((9, 7, 5), (250, 200, 250), 118),
    "muggins": ((7, 6, 5), (200, 200, 200), 62),
    "hoyle": ((7, 7, 5), (100, 100, 100), 62),
    "five_up": ((5, 5, 5), (61, 61, 61), 454),
    "fives_and_threes": ((7, 5, 5), (61, 61, 61), 62),
    "cribbage": ((9, 7, 5), (61, 61, 61), 118),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_preset_numbers(preset):
    tiles, targets, actions = PRESET_NUMBERS[preset]
    assert tuple(Rules(preset, players=p).tiles for p in (2, 3, 4)) == tiles
    assert Rules(preset).target == targets[0]
    assert Rules(preset, players=3).target == Rules(preset, players=4).target == targets[1]
    assert Rules(preset, players=4, teams=True).target == targets[2]
    assert Rules(preset).n_actions == actions
