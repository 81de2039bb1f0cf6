"""evaluate and the command line: known margins, honest pairs, refusals in one sentence."""

import json
import subprocess
import sys

import numpy as np
import pytest

from fives_env import PRESETS, Rules, evaluate
from fives_env.arena.evaluate import duel
from fives_env.arena.jobs import Hall
from fives_env.cli import main
from fives_env.players import make_player


def first_legal(views):
    return views.mask.argmax(1)


def test_greedy_beats_random_by_the_known_margin():
    result = evaluate("greedy", "random", pairs=4000)
    assert result.low > 23 and result.high < 29
    assert evaluate("greedy", "random", pairs=4000, tiles=7).low > 13
    assert 0.75 < result.win_share < 0.85 and 0.08 < result.blocked < 0.13
    assert result.points_a - result.points_b == pytest.approx(result.margin)
    assert result.rounds == 8000


def test_the_first_call_is_not_timed():
    """It may compile much, which is no time of a decision."""
    calls = []

    def slow_at_first(views):
        calls.append(len(views.keys))
        return views.mask.argmax(1)

    result = evaluate(slow_at_first, "random", pairs=20)
    assert result.decisions_a == sum(calls[1:]) > 0


def test_equal_players_are_equal():
    result = evaluate("greedy", "greedy", pairs=4000)
    assert result.low < 0 < result.high


def test_the_result_does_not_depend_on_threads_or_on_who_computes():
    greedy = make_player("greedy")
    for rules in ("all_fives", "muggins"):
        one = evaluate("greedy", "random", rules=rules, pairs=500, threads=1).to_dict()
        two = evaluate("greedy", "random", rules=rules, pairs=500, threads=3).to_dict()
        views = evaluate(lambda v: greedy.act(v), "random", rules=rules, pairs=500).to_dict()
        for name in ("margin", "low", "high", "win_share", "points_a", "blocked"):
            assert one[name] == two[name] == views[name]


def test_a_pair_is_one_deal_with_seats_swapped():
    blocks = Hall(duel(first_legal, first_legal, Rules(), 7), 1).play(0, 50).blocks
    # The same player on both sides: what A makes in one seat, B makes when A sits in the other.
    own, others = blocks.points(0), blocks.points(0, others=True)
    assert (own[:, 0] == others[:, 1]).all() and (own[:, 1] == others[:, 0]).all()
    assert np.ptp(own) > 0


@pytest.mark.parametrize("preset", PRESETS)
def test_greedy_is_better_everywhere(preset):
    for seats in ({}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}):
        assert evaluate("greedy", "random", rules=preset, pairs=1000, **seats).low > 0


def test_players_are_asked_only_with_what_they_may_see():
    seen = []

    def spy(views):
        assert (views.records["seed"] == np.uint64(2**64 - 1)).all()
        held = np.array([[int(h).bit_count() for h in row] for row in views.records["hands"]])
        assert ((held > 0).sum(1) == 1).all()
        seen.append(len(views.keys))
        return first_legal(views)

    evaluate(spy, "random", pairs=5, players=3)
    assert seen


@pytest.mark.parametrize(
    ("player", "says"),
    [
        ("greedi", "player is 'greedi', but must be one of 'random', 'greedy'"),
        ("greedy:", "player is 'greedy:'"),
        (3, "player is 3"),
        ("python:nowhere:Bot", "player is 'python:nowhere:Bot', but must be a class that"),
        ("network:nowhere", "nowhere"),
        (lambda views: np.full(len(views.keys), 117), "chose action 117, but must choose one of"),
        (lambda views: np.full(len(views.keys), -1), "chose action -1"),
        (lambda views: views.mask.argmax(1)[:-1], "whole numbers"),
        (lambda views: views.mask.argmax(1) * 1.0, "whole numbers"),
        (lambda views: None, "whole numbers"),
    ],
)
def test_refused_players(player, says):
    with pytest.raises(ValueError) as error:
        evaluate(player, "random", pairs=5)
    assert says in str(error.value) and str(error.value).endswith(".")


@pytest.mark.parametrize("bad", [{"pairs": 1}, {"pairs": 2.0}, {"seed": -1}, {"tiles": 30}])
def test_refused_matches(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} is"):
        evaluate("random", "random", **{"pairs": 5} | bad)


def test_the_command_prints_a_table_or_one_object(capsys):
    line = ["evaluate", "greedy", "random", "--rounds", "400", "--players", "3", "--tiles", "6"]
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert "95 % interval" in shown and "rounds a second" in shown and "tiles=6" in shown
    assert main([*line, "--json", "--seed", "5", "--block", "none"]) == 0
    data = json.loads(capsys.readouterr().out)
    again = evaluate("greedy", "random", pairs=133, players=3, tiles=6, seed=5, block="none")
    for name, value in json.loads(json.dumps(again.to_dict())).items():
        assert name in ("seconds", "rounds_per_s") or data[name] == value, name
    assert {"margin", "low", "high", "pairs", "win_share", "rounds_per_s"} <= set(data)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["evaluate", "greedy", "nobody"], "player is 'nobody'"),
        (["evaluate", "greedy", "random", "--tiles", "99"], "tiles is 99"),
        (["evaluate", "greedy", "random", "--rules", "chess"], "preset is 'chess'"),
        (["evaluate", "greedy", "random", "--rounds", "0"], "rounds is 0"),
        (["evaluate", "greedy", "random", "--seed", "-4"], "seed is -4"),
        (["evaluate", "greedy", "random", "--teams", "perhaps"], "must be yes or no"),
        (["evaluate", "greedy", "random", "--rounds", "many"], "invalid int value: 'many'"),
        (["evaluate", "greedy"], "required: B"),
        (["hop"], "invalid choice: 'hop'"),
        ([], "required: COMMAND"),
    ],
)
def test_the_command_refuses_in_a_sentence(arguments, says):
    result = subprocess.run(
        [sys.executable, "-m", "fives_env.cli", *arguments], capture_output=True, text=True
    )
    assert result.returncode == 2 and says in result.stderr
    assert "Traceback" not in result.stderr
