"""Files of results: nothing that is there is lost, whatever it is."""

import json
from pathlib import Path

import pytest

from fives_env import Rules
from fives_env.arena import jobs
from fives_env.arena.results import locked, read_times, times_file
from fives_env.arena.tournament import tournament
from fives_env.cli import main
from tests.tournaments import plan_file, refused, small


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
