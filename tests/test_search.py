"""Search: stronger than its play-outs, the same on any number of threads, and no peeking."""

import inspect
import itertools
import random

import numpy as np
import pytest

from fives_env import Rules, Table, evaluate
from fives_env.cli import main
from fives_env.engine.jit import jit, popcount
from fives_env.players import OPTIONS, make_player, search
from fives_env.players.endgame import EndgamePlayer, solve
from fives_env.players.playouts import LAP, begin, deal_likely, new_room
from fives_env.players.search import SearchPlayer, analyse
from fives_env.players.values import no_net
from tests.test_endgame import endings
from tests.test_players import SEATS, positions, views_of

GREEDY = "search:worlds=64,playouts=greedy"


@pytest.mark.parametrize(
    ("better", "worse", "least", "options"),
    [
        ("search:worlds=48", "tactician", 4, {}),
        (GREEDY, "greedy", 8, {}),
        ("search:worlds=48", "tactician", 0, {"players": 3}),
        ("search", "tactician", 0, {"players": 4}),
        ("search", "tactician", 0, {"players": 4, "teams": True}),
        (GREEDY, "greedy", 0, {"rules": "muggins"}),
        (GREEDY, "greedy", 0, {"rules": "fives_and_threes", "players": 3}),
    ],
)
def test_the_ladder_goes_on(better, worse, least, options):
    assert evaluate(better, worse, pairs=300, **options).low > least


@pytest.mark.parametrize(
    "options", ["", "playouts=greedy,voids=no", "exact=9", "depth=4", "doubt=100"]
)
def test_answers_depend_on_the_view_alone(options):
    """Not on threads, nor on the other views of a batch."""
    rules = Rules()
    tables = [table.clone() for table in positions(rules, seed=6)]
    records = np.concatenate([table.redact(table.turn) for table in tables])
    views = views_of(rules, records, range(len(tables)))
    player = make_player(f"search:worlds=20,{options}".rstrip(","))
    one, three = (
        SearchPlayer(**arguments(options), threads=1),
        SearchPlayer(**arguments(options), threads=3),
    )
    answers = player.act(views)
    assert views.mask[np.arange(len(tables)), answers].all()
    assert (one.act(views) == answers).all() and (three.act(views) == answers).all()
    last = views_of(rules, records[-1:], [len(tables) - 1])
    assert three.act(last)[0] == answers[-1]


def arguments(options):
    given = dict(part.split("=") for part in options.split(",") if part)
    given = {
        k: int(v) if v.isdecimal() else v == "yes" if k == "voids" else v for k, v in given.items()
    }
    return {"worlds": 20, **given}


@pytest.mark.parametrize("preset", ["all_fives", "hoyle", "five_up", "fives_and_threes"])
def test_every_answer_is_legal(preset):
    for seats in [*SEATS, {"draw": "one", "may_draw": True}]:
        rules = Rules(preset, **seats)
        records = np.concatenate([t.redact(t.turn) for t in positions(rules, 2, forced="act")])
        views = views_of(rules, records, range(len(records)))
        answers = make_player("search:worlds=3,playouts=random").act(views)
        assert views.mask[np.arange(len(records)), answers].all()


def test_an_analysis_names_every_action():
    table, chance = Table(seed=5), random.Random(5)
    while table.round == 0:
        for found in (analyse(table, worlds=32), analyse(table, ms=2, playouts="greedy")):
            assert list(found.values) == list(found.visits) == table.legal
            assert found.action in table.legal and found.seconds > 0
            if found.exact:
                assert found.values == solve(table)
                assert found.values[found.action] == max(found.values.values())
            elif len(table.legal) > 1:
                assert found.visits[found.action] == max(found.visits.values())
        table.play(chance.choice(table.legal))


def test_what_is_solved_is_played_best():
    """Opinion only tells equal values apart."""
    player, seen = SearchPlayer(worlds=8), 0
    for table in endings(Rules(), 9, 120, seed=2):
        found = player.analyse(table)
        if found.exact:
            seen += 1
            assert found.values == solve(table)
            assert found.values[found.action] == max(found.values.values())
            record = table.redact(table.turn)
            assert player.act(views_of(table.rules, record, [1]))[0] == found.action
    assert seen > 20


def test_nothing_is_remembered_from_one_question_to_the_next():
    """Neither under other rules, nor where the limit of positions bites."""
    shared, other = SearchPlayer(worlds=8), Rules(out="own", block="own")
    for table in endings(Rules(), 8, 40, seed=3):
        shared.analyse(table)
        again = Table.from_dict(table.to_dict() | {"rules": other.to_dict()})
        assert shared.analyse(again).values == SearchPlayer(worlds=8).analyse(again).values
    tables = endings(Rules(), 12, 60, seed=4)
    records = np.concatenate([table.redact(table.turn) for table in tables])
    for positions_ in (20, 100, 1000):
        player = EndgamePlayer(positions=positions_)
        views = views_of(Rules(), records, range(len(records)))
        assert (player.act(views) == player.act(views)).all()


def test_an_analysis_values_what_is_forced_and_what_is_claimed():
    table, chance, seen = Table("muggins", seed=2), random.Random(2), set()
    while len(seen) < 2 and not table.over:
        found = analyse(table, worlds=16)
        if len(table.legal) == 1 and table.phase == "play" and found.values[table.legal[0]]:
            seen.add("forced")
        if table.phase == "announce" and table.state["pending"][0]:
            claim, silent = table.legal
            assert found.values[claim] > found.values[silent] and found.action == claim
            assert found.visits[claim] == found.visits[silent] == 16
            seen.add("claimed")
        table.play(chance.choice(table.legal))
    assert len(seen) == 2


def test_actions_that_are_the_same_are_tried_once():
    """Both ends of a double alone on the table."""
    deal = "6-6 5-4 5-3 6-5 6-4 6-3".split()
    table = Table(tiles=3, deal=[*deal, *(set_of_names() - set(deal))], leader=0)
    table.play(table.rules.action("6-6@0"))
    found = analyse(table, worlds=16)
    assert len(table.legal) == 6
    for tile in ("6-5", "6-4", "6-3"):
        left, right = (table.rules.action(f"{tile}@{end}") for end in (0, 1))
        assert found.values[left] == found.values[right] and found.visits[right] == 0


def set_of_names():
    from fives_env.tiles import NAMES

    return set(NAMES)


def test_an_analysis_sees_only_what_the_seat_sees():
    table = Table(seed=8)
    for _ in range(4):
        table.play(table.legal[0])
    other = table.clone()
    hidden = 1 - table.turn
    hand, yard = int(other.state["hands"][0, hidden]), other.state["order"][0]
    tile, at = (hand & -hand).bit_length() - 1, int(other.state["top"][0])
    other.state["hands"][0, hidden] = hand & ~(1 << tile) | 1 << int(yard[at])
    yard[at] = tile
    assert other.hands != table.hands
    assert analyse(other).values == analyse(table).values


def test_time_bounds_a_decision(monkeypatch):
    player = make_player("search:ms=20,playouts=greedy")
    assert player.time_bounded and not make_player("search").time_bounded
    table = Table(seed=3)
    table.play(table.legal[0])
    clock = itertools.count(0, 0.008)  # so a lap takes 8 of the 20 milliseconds
    monkeypatch.setattr(search.time, "perf_counter", lambda: next(clock))
    assert max(player.analyse(table).visits.values()) == 3 * LAP
    record = table.redact(table.turn)
    answer = player.act(views_of(table.rules, record, [1]))
    assert answer[0] in table.legal


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("search:worlds=0", "worlds is 0, but must be a whole number from 1 to"),
        ("search:worlds=many", "worlds is 'many', but must be a whole number"),
        ("search:world=3", "option is 'world=3', but must be one of 'worlds', 'playouts'"),
        ("search:worlds=3,worlds=4", "option is 'worlds=4'"),
        ("search:playouts=network", "playouts is 'network', but must be one of 'random', 'greedy'"),
        ("search:voids=perhaps", "voids is 'perhaps', but must be yes or no."),
        ("search:ms=5,worlds=4", "ms is 5, but must be given without worlds."),
        ("search:depth=-1", "depth is '-1'"),
        ("search:weight=5", "weight is 5, but must be given with a guide."),
        ("search:guide=", "checkpoint is '', but must be"),
        ("search:doubt=101", "doubt is 101, but must be a whole number from 0 to 100."),
        ("search:", "player is 'search:'"),
        ("endgame:", "player is 'endgame:'"),
        ("endgame:positions=0", "positions is 0"),
        ("endgame:worlds=3", "option is 'worlds=3', but must be one of 'positions'."),
    ],
)
def test_refused_options(spec, says):
    with pytest.raises(ValueError) as error:
        make_player(spec)
    assert says in str(error.value) and str(error.value).endswith(".")


def test_a_shipped_network_plays_worlds_out():
    """By the name of either kind of player: they are the same network."""
    table = Table(seed=4)
    one, other = (analyse(table, worlds=8, playouts=f"{kind}:tiny") for kind in ("tiny", "network"))
    assert one.values == other.values != analyse(table, worlds=8).values
    assert make_player("search:playouts=network:duel").name.endswith("playouts=network:duel")


def test_an_analysis_chooses_what_the_player_plays():
    """Opinion rules out the same actions, of which an analysis tries to say something too."""
    player, ruled_out = SearchPlayer(worlds=24, playouts="greedy", guide="duel", weight=400), 0
    for table in positions(Rules(), seed=12):
        record = table.redact(table.turn)
        found = player.analyse(table, key=9)
        assert player.act(views_of(table.rules, record, [9]))[0] == found.action
        visits = [number for number in found.visits.values() if number]
        ruled_out += max(visits) > min(visits)
    assert ruled_out > 1


def test_the_tactician_takes_play_outs_over():
    """After no decision, some or all of the network's."""
    table = Table(seed=4)
    whole, long, short, tactician = (
        analyse(table, worlds=8, playouts=playouts, depth=depth).values
        for playouts, depth in (
            ("network:tiny", 0),
            ("network:tiny", 1000),
            ("network:tiny", 1),
            ("tactician", 0),
        )
    )
    assert whole == long != short != tactician != whole


def test_tiles_that_a_seat_has_declined_are_rarer_in_its_hand():
    @jit
    def dubious(records, rules, room, doubt, key):  # type: ignore[no-untyped-def]
        begin(records[0], rules[0], True, 0, room)
        other = 1 - records[0]["turn"]
        room.tables[1] = room.tables[0]
        deal_likely(room.tables[1], rules[0], room, doubt, key)
        return popcount(room.tables[1]["hands"][other] & room.declined[other])

    rules, found = Rules(), np.zeros(3)
    room = new_room(rules.n_actions, 2, 2, no_net(), no_net())
    for table in positions(rules, seed=9):
        if table.phase == "play" and len(table.to_dict()["layout"]) > 5:
            for key in range(40):
                for k, doubt in enumerate((0.0, 0.3, 1.0)):
                    record = table.redact(table.turn)
                    number = dubious(record, rules.record(), room, doubt, np.uint64(key))
                    found[k] += number
    assert 0 <= found[0] < found[1] / 3 and 0.2 < found[1] / found[2] < 0.6


def test_names_tell_the_options():
    for spec in (
        "search:worlds=160,playouts=tactician",
        "search:worlds=8,playouts=greedy,depth=3,exact=6,voids=no,doubt=50",
        "search:ms=5,playouts=random",
        "endgame:positions=5",
        "endgame",
    ):
        assert make_player(spec).name == spec
    assert make_player("search").name == "search:worlds=160,playouts=tactician"


def test_the_command_lists_every_option(capsys):
    for name, kind in {"search": SearchPlayer, "endgame": EndgamePlayer}.items():
        assert set(OPTIONS[name]) == set(inspect.signature(kind).parameters) - {"threads"}
    assert main(["players"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {option}= " in shown for options in OPTIONS.values() for option in options)
