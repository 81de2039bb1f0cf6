"""Tournaments: interrupted anywhere, played by any number of processes, the file is the same."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from fives_env import Rules
from fives_env.arena import charts, jobs
from fives_env.arena.plan import plan_of, read_plan
from fives_env.arena.ratings import SCALE, cycles, orders_of, ratings
from fives_env.arena.results import locked, read_lines, read_times, times_file
from fives_env.arena.standing import Standing
from fives_env.arena.statistics import elo_interval, share_of
from fives_env.arena.tournament import read_results, steps, tournament
from fives_env.cli import main
from fives_env.flags import json_of
from fives_env.records import check
from fives_env.replay import replay

ROOT = Path(__file__).parent.parent
PLAYERS = ["random", "greedy", "tactician"]


def small(path, **settings):
    """A plan of a few seconds."""
    given = {"file": str(path), "players": PLAYERS, "blocks": 130, "games": 1} | settings
    return plan_of(given)


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
    assert len(read_plan(str(ROOT / "configs/ladder.yaml")).players) == 6
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


# --- files ----------------------------------------------------------------------------------------


def plan_file(folder, **settings):
    """A plan of two players on disk, whose results come to ``r.jsonl`` beside it."""
    path = folder / "plan.yaml"
    given = {"file": str(folder / "r.jsonl"), "players": ["random", "greedy"], "blocks": 4}
    path.write_text(json.dumps(given | {"games": 0} | settings))
    return str(path)


def refused(capsys, *words):
    """What a command says when it refuses."""
    assert main([str(word) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fives: ") and said.endswith(".\n") and said.count("\n") == 1
    return said


@pytest.mark.parametrize("notes", [b"my notes", b'{"a": 1}', b'{"tournament":1,"notes":', b"a\nb"])
def test_a_foreign_file_stays_as_it_is(notes, tmp_path, capsys):
    path = tmp_path / "notes.json"
    path.write_bytes(notes)
    said = refused(capsys, "tournament", plan_file(tmp_path), "--file", path)
    assert "notes.json" in said and path.read_bytes() == notes
    assert "notes.json" in refused(capsys, "tournament", plan_file(tmp_path, file=str(path)))
    assert path.read_bytes() == notes


def test_a_torn_first_line_is_written_again(tmp_path):
    plan, path = plan_file(tmp_path), tmp_path / "r.jsonl"
    assert main(["tournament", plan]) == 0
    whole = path.read_bytes()
    for cut in (0, 1, whole.index(b"\n"), len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert main(["tournament", plan]) == 0
        assert path.read_bytes() == whole


def test_one_tournament_writes_a_file(tmp_path, capsys):
    plan = plan_file(tmp_path)
    with locked(tmp_path / "r.jsonl"):
        said = refused(capsys, "tournament", plan)
    assert "but must be one that no other tournament is writing" in said
    assert not (tmp_path / "r.jsonl").exists()
    assert main(["tournament", plan]) == 0


@pytest.mark.parametrize("player", ["nobody", "network:nowhere", "exec:/nowhere", "greedy:x"])
def test_a_player_that_cannot_play_is_refused_before_a_line_is_written(player, tmp_path, capsys):
    plan = plan_file(tmp_path, players=["random", "greedy", player])
    assert player.rpartition(":")[2] in refused(capsys, "tournament", plan)
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.parametrize("name", ["none/x.jsonl/y", "a" * 300, ".", "plan.yaml/x.jsonl"])
def test_files_that_cannot_be_written(name, tmp_path, capsys):
    (tmp_path / "none").mkdir()
    (tmp_path / "none/x.jsonl").write_text("")
    said = refused(capsys, "tournament", plan_file(tmp_path), "--file", tmp_path / name)
    assert str(tmp_path) in said


def test_times_have_no_say(tmp_path):
    times = times_file(tmp_path / "r.jsonl")
    times.mkdir()
    plan = plan_file(tmp_path, players=["random", "endgame"])
    assert main(["tournament", plan]) == 0 and read_times(tmp_path / "r.jsonl") == {}
    times.rmdir()
    rows = [3, {"player": "a", "decisions": "x", "seconds": 1}]
    rows += [{"player": "a", "decisions": n, "seconds": 0.5} for n in (0, 2)]
    times.write_bytes(b"\xff\n" + "".join(json.dumps(row) + "\n" for row in rows).encode())
    assert read_times(tmp_path / "r.jsonl") == {"a": 250_000}


def test_a_line_must_be_the_one_that_was_planned(tmp_path):
    plan = small(tmp_path / "r.jsonl", players=["random", "greedy"], blocks=4, games=2)
    tournament(plan)
    path = Path(plan.file)
    lines = path.read_bytes().splitlines(keepends=True)
    for k, other in ((1, 2), (2, 1), (2, 3), (3, 2)):
        path.write_bytes(b"".join([*lines[:k], lines[other]]))
        with pytest.raises(ValueError, match=f"line {k + 1}: it is not the one that was planned"):
            tournament(plan)


def test_of_the_halls_of_a_process_those_left_are_closed(monkeypatch):
    closed = []
    monkeypatch.setattr(jobs.Hall, "close", lambda hall: closed.append(hall))
    for seed in (0, 1, 2, 3, 0, 4, 0):
        meeting = jobs.Meeting((("random",), ("greedy",)), Rules(), seed)
        jobs._play(jobs.Job(meeting, 0, 2))
    assert len(closed) == 1 and len(jobs._halls) == 4
    jobs._close_halls()
    assert len(closed) == 5


# --- ratings --------------------------------------------------------------------------------------


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


# --- ladder, power, report ------------------------------------------------------------------------


def test_the_ladder_prints_every_margin(capsys):
    assert main(["ladder", *PLAYERS, "--rounds", "400", "--json"]) == 0
    rungs = json.loads(capsys.readouterr().out)
    assert [rung["name"] for rung in rungs] == PLAYERS
    for i, rung in enumerate(rungs):
        assert rung["margins"][i] is None and 0 < rung["micros"] < 1000
        for j, margin in enumerate(rung["margins"]):
            if i > j:
                assert margin[1] > 0 and margin[0] == -rungs[j]["margins"][i][0]
    assert main(["ladder", "greedy", "endgame", "--rounds", "40"]) == 0
    assert "±" in capsys.readouterr().out


def test_power_says_how_many_rounds(capsys):
    assert main(["power", "greedy", "tactician", "--margin", "1"]) == 0
    out = capsys.readouterr().out
    assert "spreads by 2" in out and "for 80% power" in out
    assert main(["power", "greedy", "tactician", "--rounds", "20000"]) == 0
    assert "20,000 rounds show 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["power", "greedy", "random", "--margin", "0"], "margin is 0.0"),
        (["power", "greedy", "random", "--power", "1"], "power is 1.0"),
        (["power", "greedy", "random", "--rounds", "1"], "rounds is 1"),
        (["ladder", "greedy"], "players is ['greedy']"),
        (["ladder", "greedy", "random", "--rounds", "2"], "rounds is 2"),
        (["evaluate", "greedy", "random", "--sprt", "1", "0"], "sprt is (1.0, 0.0)"),
        (["evaluate", "greedy", "random", "--games", "1"], "games is 1"),
        (["evaluate", "greedy", "random", "--workers", "0"], "workers is 0"),
        (["evaluate", "greedy", "random", "--games", "9", "--study"], "unit is 'game'"),
        (["power", "greedy", "random", "--power", "0.01"], "power is 0.01"),
        (["power", "greedy", "random", "--power", "nan"], "power is nan"),
        (["power", "greedy", "random", "--margin", "1e-200"], "margin is 1e-200"),
        (["power", "greedy", "random", "--margin", "inf"], "margin is inf"),
        (["power", "greedy", "random", "--rounds", "9" * 400], "rounds is 999"),
        (["evaluate", "greedy", "random", "--sprt", "0", "inf"], "sprt is (0.0, inf)"),
        (["evaluate", "greedy", "random", "--sprt", "nan", "0"], "sprt is (nan, 0.0)"),
        (["evaluate", "greedy", "random", "--sprt", "-9999999", "0"], "sprt is (-9999999.0, 0.0)"),
        (
            ["evaluate", "greedy", "random", "--games", "40", "--sprt", "-200000", "0"],
            "sprt is (-200000.0, 0.0)",
        ),
        (["report", "."], "'.' cannot be read"),
        (["report", "/"], "'/' cannot be read"),
        (["report", "nowhere.jsonl"], "'nowhere.jsonl' cannot be read"),
        (["tournament", "configs/ladder.yaml", "--workers", "0"], "workers is 0"),
    ],
)
def test_commands_refuse_in_a_sentence(arguments, says, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error and error.strip().count("\n") == 0


def test_a_report_is_one_file(whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, run = tmp_path / "results.jsonl", tmp_path / "run"
    path.write_bytes(whole)
    run.mkdir()
    rows = [{"decisions": k, "entropy": 1 / k, "against_greedy": k} for k in (1, 2, 3)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"dec')
    assert main(["report", str(path), "--runs", str(run)]) == 0
    page = (tmp_path / "results.html").read_text()
    assert page.count("<svg") == page.count("</svg>") == 4 + 4 + 1 + 4
    for player in PLAYERS:
        assert page.count(player) > 10
    assert "src=" not in page and "<script" not in page and "@import" not in page
    assert ("not finished" not in page and "Alpha-rank" in page) or "alpha" not in page
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    assert main(["report", str(path)]) == 0
    assert "not finished" in (tmp_path / "results.html").read_text()
    assert main(["report", str(path), "--runs", str(tmp_path)]) == 2
    assert "a folder with metrics.jsonl" in capsys.readouterr().err
    path.write_bytes(b"{}\n")
    assert main(["report", str(path)]) == 2


def test_a_report_spares_what_it_reads(whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, link, page = (tmp_path / name for name in ("r.jsonl", "link", "out.html"))
    path.write_bytes(whole)
    page.write_bytes(whole)
    link.hardlink_to(path)
    (tmp_path / "metrics.jsonl").write_text('{"decisions": 1}')
    for results, html in ((path, path), (path, link), (page, page)):
        said = refused(capsys, "report", results, "--html", html)
        assert f"page is '{html}'" in said and results.read_bytes() == whole
    assert "page is" in refused(capsys, "report", page)
    metrics = tmp_path / "metrics.jsonl"
    assert "page is" in refused(capsys, "report", path, "--html", metrics, "--runs", tmp_path)
    assert metrics.read_text() == '{"decisions": 1}'


@pytest.mark.parametrize(
    "metrics",
    [
        b"\xff\n",
        b"",
        b"nonsense\n{}\n",
        b"3\n",
        b'{"decisions": "x"}\n',
        b'{"entropy": 1}\n',
        b"[" * 9999,
    ],
)
def test_nonsense_instead_of_metrics(metrics, whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "r.jsonl"
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    (tmp_path / "metrics.jsonl").write_bytes(metrics)
    assert str(tmp_path) in refused(capsys, "report", path, "--runs", tmp_path)


def test_a_name_is_no_markup(tmp_path, capsys, monkeypatch):
    """Nor an emoji's, nor a formula's; a long one is cut short in plots."""
    pytest.importorskip("matplotlib")
    name = "[red]$x^$[/blue]:smile:" + "y" * 300
    source = f"class Bot:\n    name = {name!r}\n    act = lambda self, v: v.mask.argmax(1)\n"
    (tmp_path / "smile.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    assert main(["evaluate", "python:smile:Bot", "random", "--rounds", "8"]) == 0
    assert capsys.readouterr().out.count(name) >= 3
    assert main(["ladder", "python:smile:Bot", "random", "--rounds", "8"]) == 0
    assert name in capsys.readouterr().out
    spec = "python:smile:Bot"
    assert main(["tournament", plan_file(tmp_path, players=["random", spec])]) == 0
    assert spec in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (charts.bars([name, "b"], [1, 2], "m"), charts.heat([name], [[None]])):
            assert "[red]$x^$[/blue]:smile:" in text and name not in text


def test_json_has_no_infinite_numbers(capsys):
    command = ["evaluate", "greedy", "random", "--games", "8", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["win_share"] < 1 or found["elo"][2] is None
    assert json_of({"a": (1, np.inf, [-np.inf, np.nan])}) == '{"a": [1, null, [null, null]]}'
