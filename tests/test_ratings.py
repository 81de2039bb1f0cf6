"""Ratings: they find strengths, and say what they cannot know."""

import json

import numpy as np
import pytest

from fives_env.arena.plan import read_plan
from fives_env.arena.ratings import SCALE, cycles, orders_of, ratings
from fives_env.arena.standing import Standing
from fives_env.arena.statistics import elo_interval, share_of
from fives_env.arena.tournament import tournament
from fives_env.cli import main
from tests.tournaments import plan_file


def test_ratings_find_the_strengths_that_were_drawn_from():
    rng = np.random.default_rng(1)
    strengths = np.array([0.0, 0.5, 1.0, 2.0])
    meetings = []
    for who in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)):
        luck = rng.gumbel(size=(1000, 6, 3))
        meetings.append(orders_of(who, np.argsort(np.argsort(strengths[list(who)] + luck, 2), 2)))
    found = ratings(meetings, 4, 0)
    assert found[0] == (0, 0, 0)
    for rating, strength in zip(found[1:], strengths[1:], strict=True):
        assert rating.low < strength * SCALE < rating.high
        assert rating.high - rating.low < 25


def test_ties_and_shut_outs():
    tie = orders_of((0, 1), np.zeros((5, 2, 2), np.int64))
    assert (tie.weights == 1).all()
    assert abs(ratings([tie], 2, 0)[1].value) < 1e-3
    shut_out = orders_of((0, 1), np.broadcast_to([0, 9], (50, 2, 2)))
    assert 500 < ratings([shut_out], 2, 0)[1].value < 2000


def shut_out(winner, loser, blocks=50):
    return orders_of((loser, winner), np.broadcast_to([0, 9], (blocks, 2, 2)))


def test_a_rating_that_nothing_bounds_is_open():
    """Every resample of a shut-out is alike; a share that Wilson bounds is about as wide."""
    bounds = elo_interval(share_of(np.ones((50, 2))))
    _, found = ratings([shut_out(1, 0)], 2, 0)
    assert found.high == bounds.high == np.inf
    assert 0.9 * bounds.low < found.low < 1.4 * bounds.low < found.value
    _, other = ratings([shut_out(0, 1)], 2, 0)
    assert other == pytest.approx((-found.value, -np.inf, -found.low), abs=0.1)
    scores = np.broadcast_to([0, 9], (200, 2, 2)).copy()
    scores[3, 0] = 9, 0
    _, once = ratings([orders_of((0, 1), scores)], 2, 0)
    assert once.low < once.value < once.high and 700 < once.high - once.low < 2000


def test_a_rating_goes_through_others_to_the_anchor():
    found = ratings([shut_out(1, 0), shut_out(2, 1)], 4, 0)
    assert found[1].low < found[2].low and found[2].high == np.inf and found[3] is None
    assert ratings([shut_out(1, 0), shut_out(1, 2)], 3, 0)[2] is None
    standing = Standing([], [], found, [])
    assert standing.order() == [2, 1, 0, 3]


def test_cycles_are_named():
    beats = np.zeros((4, 4), bool)
    beats[0, 1] = beats[1, 2] = beats[2, 0] = beats[0, 3] = True
    assert cycles(beats) == [(0, 1, 2)]
    beats[2, 0] = False
    beats[2, 3] = beats[3, 0] = True
    beats[0, 3] = False
    assert cycles(beats) == [(0, 1, 2, 3)]


def test_shut_outs_are_shown_and_written_as_json(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    players = ["random", "endgame"]
    plan = plan_file(tmp_path, unit="game", players=players, blocks=4)
    path = tmp_path / "r.jsonl"
    tournament(read_plan(plan))
    assert main(["tournament", plan]) == 0 and ">+" in capsys.readouterr().out
    (*_, last) = path.read_text().splitlines()
    assert json.loads(last, parse_constant=pytest.fail)["result"][0]["ratings"][1][2] is None
    assert main(["report", str(path)]) == 0 and "&gt;+" in (tmp_path / "r.html").read_text()
