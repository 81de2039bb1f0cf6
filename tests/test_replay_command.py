"""``fives replay`` and ``fives verify``: text, pictures, pages, exit codes."""

import argparse
import json
import re
import sys
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from fives_env.records import append, play_record, to_line
from fives_env.replay_command import END_MS, MOVE_MS, add_replay, add_verify


def fives(*words):
    """The exit status of a command; bad input raises ValueError."""
    parser = argparse.ArgumentParser("fives")
    commands = parser.add_subparsers(required=True)
    add_replay(commands)
    add_verify(commands)
    args = parser.parse_args([str(word) for word in words])
    return args.run(args)


@pytest.fixture
def file(tmp_path):
    """A file of two games: one round of two seats, a game of three."""
    path = tmp_path / "games.jsonl"
    append(path, play_record(["greedy", "random"], seed=5, episode="round"))
    append(path, play_record(["greedy", "random", "greedy"], seed=6, target=100))
    return path


def names(record):
    """Action names of a record, in order."""
    return [name for round_ in record["rounds"] for name in round_["actions"]]


# --- text -----------------------------------------------------------------------------------------


def test_text_steps_through_a_game(file, capsys):
    assert fives("replay", file, "--game", 2) == 0
    shown = capsys.readouterr().out
    record = json.loads(file.read_bytes().splitlines()[1])
    assert shown.startswith(
        "greedy, random and greedy\nRules('all_fives', players=3, target=100), "
    )
    found = re.findall(r"^ +\d+  Seat \d  (\S+) .*  total +\d+", shown, re.MULTILINE)
    assert found == names(record)
    for number, round_ in enumerate(record["rounds"], 1):
        assert f"\nRound {number}, Seat {round_['leader']} leads\n" in shown
    assert "Seat 0: greedy\nSeat 1: random\nSeat 2: greedy\n" in shown
    totals = " : ".join(map(str, record["scores"]))
    (winner,) = record["winners"]
    assert shown.endswith(f"\nSeat {winner} ({record['players'][winner]}) wins {totals}\n")
    assert "┏" not in shown and "\x1b" not in shown


def test_boards_and_single_rounds(file, capsys):
    assert fives("replay", file, "--game", 2, "--round", 1, "--boards") == 0
    shown = capsys.readouterr().out
    moves = len(re.findall(r"^ +\d+  Seat \d", shown, re.MULTILINE))
    actions = json.loads(file.read_bytes().splitlines()[1])["rounds"][0]["actions"]
    assert moves == len(actions) and "Round 2, " not in shown
    assert shown.count("\nTotal ") == moves + 1 and "┏" in shown and "Round over" in shown
    for number in (0, 99):
        with pytest.raises(ValueError, match=f"round is {number}, but must be a whole number"):
            fives("replay", file, "--game", 2, "--round", number)
        with pytest.raises(ValueError, match=f"round is {number}, but must be a whole number"):
            fives("replay", file, "--round", number, "--svg", file.parent / "x")


# --- pictures and pages ---------------------------------------------------------------------------


def test_svg_gif_and_html(file, tmp_path, capsys):
    folder, moving, html = tmp_path / "a" / "b", tmp_path / "game.gif", tmp_path / "game.html"
    assert fives("replay", file, "--svg", folder, "--gif", moving, "--html", html) == 0
    record = json.loads(file.read_bytes().splitlines()[0])
    pictures = sorted(folder.iterdir())
    count = len(names(record)) + 1
    assert [path.name for path in pictures] == [f"round-01-move-{k:02}.svg" for k in range(count)]
    for path in pictures:
        ET.fromstring(path.read_text())
    assert "Round over" in pictures[-1].read_text()
    page = html.read_text("utf-8")
    assert page.count("class='move'") == count - 1 and "<h1>greedy against random</h1>" in page
    with Image.open(moving) as image:
        assert image.n_frames == count and image.size == (640, 740)
        times = [MOVE_MS] * (count - 1) + [END_MS]
        for k, time in enumerate(times):
            image.seek(k)
            assert image.info["duration"] == time
    assert f"{count} pictures" in capsys.readouterr().out


def test_forfeits_show(file, tmp_path, capsys):
    record = play_record(["random", "random"], seed=1, episode="round")
    record["forfeits"] = [[0, 3, "late"]]
    path = tmp_path / "late.jsonl"
    append(path, record)
    assert fives("replay", path) == 0
    (line,) = [row for row in capsys.readouterr().out.splitlines() if "forfeited: late" in row]
    assert line.startswith("   4  ")


# --- the commands ---------------------------------------------------------------------------------


def test_verify_says_how_many_are_right(file, capsys):
    assert fives("verify", file) == 0
    assert capsys.readouterr().out == f"{file}: all 2 games are right.\n"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1].replace(b"greedy", b"greody", 1) + lines[0])
    assert fives("verify", file) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{file}: 2 of 3 games are right."
    assert re.fullmatch(
        r"First difference: line 2: record was changed: its checksum is \w{8}, not \w{8}\.", told[1]
    )
    assert fives("replay", file, "--game", 3) == 0  # a bad line does not hide the others
    with pytest.raises(ValueError, match="record was changed"):
        fives("replay", file, "--game", 2)


def test_a_game_is_shown_up_to_its_difference(tmp_path, capsys):
    record = play_record(["random", "random"], seed=1, episode="round")
    record["rounds"][0]["actions"][3] = "6-6@3"
    (tmp_path / "bad.jsonl").write_bytes(to_line(record))
    with pytest.raises(ValueError, match=r"round 1, action 4: action .* is illegal"):
        fives("replay", tmp_path / "bad.jsonl")
    assert capsys.readouterr().out.count("total") == 3


def test_bad_input_is_told_in_a_sentence(file, tmp_path, monkeypatch):
    for game in (0, -1, 3):
        with pytest.raises(ValueError, match=f"game is {game}, but .* has no such line"):
            fives("replay", file, "--game", game)
    for command in ("replay", "verify"):
        with pytest.raises(ValueError, match=r"file is .*No such file"):
            fives(command, tmp_path / "none.jsonl")
        with pytest.raises(ValueError, match=r"file is .*directory"):
            fives(command, tmp_path)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ValueError, match="holds no games"):
        fives("verify", tmp_path / "empty.jsonl")
    with pytest.raises(ValueError, match=r"file is '.*x\.html', but must be .*No such file"):
        fives("replay", file, "--html", tmp_path / "no" / "x.html")
    for missing in ("pygame", "PIL"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(ValueError, match=r'pip install "fives-env\[render\]"'):
                fives("replay", file, "--gif", tmp_path / "x.gif")
