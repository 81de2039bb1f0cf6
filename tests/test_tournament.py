"""Tournaments: interrupted anywhere, played by any number of processes, the file is the same."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fives_env.arena.plan import plan_of, read_plan
from fives_env.arena.results import read_lines, times_file
from fives_env.arena.tournament import read_results, steps, tournament
from fives_env.cli import main
from fives_env.records import check
from fives_env.replay import replay
from tests.tournaments import PLAYERS, ROOT, small


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a tournament that nothing interrupted."""
    path = tmp_path_factory.mktemp("whole") / "results.jsonl"
    tournament(small(path, rules=["all_fives", {"players": 3}]))
    return path.read_bytes()


def test_a_tournament_goes_on_from_any_byte(whole, tmp_path):
    plan = small(tmp_path / "results.jsonl", rules=["all_fives", {"players": 3}])
    for cut in random.Random(0).sample(range(len(whole)), 6):
        Path(plan.file).write_bytes(whole[:cut])
        tournament(plan)
        assert Path(plan.file).read_bytes() == whole, cut


def test_what_is_there_is_not_played_again(whole, tmp_path):
    plan = small(tmp_path / "results.jsonl", rules=["all_fives", {"players": 3}])
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 1 + len(steps(plan)) + 1
    Path(plan.file).write_bytes(b"".join(lines[:8]))
    seen = []
    tournament(plan, progress=seen.append)
    assert len(seen) == len(steps(plan)) - 7
    tournament(plan, progress=seen.append)
    assert len(seen) == len(steps(plan)) - 7


def test_two_processes_give_the_same_file(whole, tmp_path):
    plan = small(tmp_path / "results.jsonl", rules=["all_fives", {"players": 3}])
    tournament(plan, workers=2)
    assert Path(plan.file).read_bytes() == whole


def test_ray_gives_the_same_file(whole, tmp_path):
    pytest.importorskip("ray")
    plan = small(tmp_path / "results.jsonl", rules=["all_fives", {"players": 3}])
    tournament(plan, workers=1, engine="ray")
    assert Path(plan.file).read_bytes() == whole


def test_killed_ten_times_the_file_is_the_same(tmp_path):
    """Search is slow enough to be caught playing."""
    players = ["random", "greedy", "search:worlds=8,playouts=greedy"]
    settings = {"players": players, "blocks": 320, "games": 1}
    wanted = tmp_path / "wanted.jsonl"
    tournament(plan_of({"file": str(wanted), **settings}))
    path, config = tmp_path / "results.jsonl", tmp_path / "plan.yaml"
    config.write_text(json.dumps({"file": str(path), **settings}))
    command = [sys.executable, "-m", "fives_env.cli", "tournament", str(config)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    rng, sizes = random.Random(1), []
    for _ in range(10):
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        before = path.stat().st_size if path.exists() else 0
        limit = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < limit:
            time.sleep(rng.uniform(0, 0.05))
            if path.exists() and path.stat().st_size > before:
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        sizes.append(path.stat().st_size)
    assert len(set(sizes)) > 3
    assert subprocess.run(command, env=env, stdout=subprocess.DEVNULL).returncode == 0
    assert path.read_bytes() == wanted.read_bytes()


def test_a_file_tells_its_tournament(whole, tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(whole)
    played = read_results(path)
    assert played.plan.players == tuple(PLAYERS) and len(played.plan.rules) == 2
    two, three = played.standing(0), played.standing(1)
    assert two.order() == three.order() == [2, 1, 0]
    assert two.ratings[0].value == 0 and two.ratings[1].low > 0
    assert two.payoffs[1][0].low > 15 and two.payoffs[0][1].high < -15
    assert len(three.places[0].by_side) == 3
    assert played.result[0]["ratings"] == [[round(x, 4) for x in r] for r in two.ratings]
    assert len(played.games) == 4
    for game in played.games:
        check(game)
        assert list(replay(game))


def test_a_changed_line_is_named(whole, tmp_path):
    path = tmp_path / "results.jsonl"
    at = whole.index(b"\n") + 30
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(ValueError, match="line 2: record was changed"):
        read_results(path)


def test_another_plan_is_refused(whole, tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="seed is 5, but must be 0 as in"):
        tournament(small(path, rules=["all_fives", {"players": 3}], seed=5))
    assert path.read_bytes() == whole


def test_times_are_kept_apart(tmp_path):
    plan = small(tmp_path / "r.jsonl", players=["random", "endgame"], blocks=8, games=0)
    tournament(plan)
    (row, *_) = times_file(Path(plan.file)).read_text().splitlines()
    assert json.loads(row)["player"] == "endgame" and json.loads(row)["decisions"] > 50
    assert all("seconds" not in line for line in read_lines(Path(plan.file)))


def test_a_gauntlet_and_whole_games_and_a_study(tmp_path):
    plan = small(tmp_path / "a.jsonl", pairing="gauntlet", unit="game", blocks=20, games=0)
    assert [line_up for _, line_up, _ in plan.meetings()] == [(0, 1), (0, 2)]
    found = tournament(plan).standing(0)
    assert found.places[0].wins.high < 0.3 and found.payoffs[1][2] is None
    plan = small(tmp_path / "b.jsonl", study=True, blocks=10, games=0, players=["random", "greedy"])
    place = tournament(plan).standing(0).places[1]
    assert place.adjusted is not None and place.judged[0] > 100


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"blocks": 1}, "blocks is 1, but must be"),
        ({"player": []}, "setting is 'player'"),
        ({"players": ["greedy"]}, "players is ['greedy']"),
        ({"players": "greedy"}, "players is 'greedy'"),
        ({"players": ["greedy", "greedy"]}, "all different"),
        ({"players": ["greedy", "nobody"]}, "player is 'nobody'"),
        ({"rules": [{"tiles": 99}]}, "tiles is 99"),
        ({"rules": 7}, "rules is 7"),
        ({"pairing": "swiss"}, "pairing is 'swiss'"),
        ({"unit": "match"}, "unit is 'match'"),
        ({"unit": "game", "study": True}, "unit is 'game'"),
        ({"seed": True}, "seed is True"),
    ],
)
def test_refused_plans(settings, says, tmp_path, capsys):
    config = tmp_path / "plan.yaml"
    given = {"file": str(tmp_path / "r.jsonl"), "players": PLAYERS} | settings
    config.write_text(json.dumps(given))
    assert main(["tournament", str(config)]) == 2
    error = capsys.readouterr().err
    assert says in error and error.strip().count("\n") == 0


def test_plans_on_disk(tmp_path):
    assert len(read_plan(str(ROOT / "configs/ladder.yaml")).players) == 7
    for text, says in (
        ("a: [", "is no YAML"),
        ("[" * 3000, "is no YAML"),
        ("a: 2001-99-99", "is no YAML"),
        ("- 1", "mapping of settings"),
        ("a: 1", "'a'"),
        ("{file: a, players: [a, b], rules: {1: 2}}", "option is 1"),
        ('{file: "a\\0", players: [a, b]}', "file is "),
    ):
        (tmp_path / "plan.yaml").write_text(text)
        with pytest.raises(ValueError, match=says):
            read_plan(str(tmp_path / "plan.yaml"))
    with pytest.raises(ValueError, match="cannot be read"):
        read_plan(str(tmp_path / "none.yaml"))
