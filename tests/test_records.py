"""Games on disk: what is written comes back, and nothing changed goes unnoticed."""

import random
import sys
from collections import Counter

import numpy as np
import pytest

from fives_env import PRESETS, IllegalAction, Rules, Table
from fives_env.arena.evaluate import duel
from fives_env.arena.jobs import Hall
from fives_env.players.program import ProgramPlayer
from fives_env.records import (
    Recorder,
    append,
    from_line,
    play_record,
    read,
    record_of,
    to_line,
)
from fives_env.replay import replay, verify
from fives_env.tiles import in_play

SEATS = [(2, False), (3, False), (4, False), (4, True)]


def small(seed=1, **options):
    """A game of a few rounds."""
    return play_record(["greedy", "random"], seed=seed, target=120, **options)


def scripted(rng, preset, **options):
    """A game at random that begins with a deal that no seed gives."""
    rules = Rules(preset, **options)
    deal = in_play(rules.highest)
    rng.shuffle(deal)
    recorder = Recorder(Table(rules, seed=rng.randrange(2**40), deal=deal), ["x"] * rules.players)
    while not recorder.table.over:
        recorder.play(rng.choice(recorder.table.legal))
    return recorder.record()


@pytest.mark.parametrize(("players", "teams"), SEATS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_record_comes_back_and_replays(preset, players, teams, tmp_path):
    options = {"teams": True} if teams else {}
    forced = "act" if players == 3 else "auto"
    seats = ["greedy", "random"] * 2
    record = play_record(seats[:players], preset, seed=players, forced=forced, **options)
    assert from_line(to_line(record)) == record
    append(tmp_path / "games.jsonl", record)
    assert list(read(tmp_path / "games.jsonl")) == [(1, record)]
    steps = list(replay(record))
    assert len(steps) == sum(len(round_["actions"]) for round_ in record["rounds"])
    last = steps[-1].table
    last.play(steps[-1].action)
    assert last.over and last.scores == record["scores"] and last.winners == record["winners"]
    assert [step.table.turn for step in steps if not step.table.events] == [
        round_["leader"] for round_ in record["rounds"]
    ]


@pytest.mark.parametrize(("players", "teams"), SEATS)
def test_a_record_is_the_round_that_a_match_plays(players, teams):
    rules = Rules(players=players, teams=teams)
    blocks = Hall(duel("greedy", "random", rules, 9), 1).play(0, 3).blocks
    for game in range(3):
        for side in range(rules.sides):
            names = ["greedy" if s % rules.sides == side else "random" for s in range(players)]
            record = play_record(
                names, rules, seed=9, game=game, seating=side, episode="round", forced="auto"
            )
            assert record["scores"][: rules.sides] == blocks.scores[game, side].tolist()


def test_known_actions_make_the_same_record():
    record = small(game=3)
    actions = [step.action for step in replay(record)]
    table = Table(seed=1, game=3, target=120)
    again = record_of(table, actions, ["greedy", "random"], {1: "late"})
    assert again.pop("forfeits") == [[0, 1, "late"]] and record.pop("forfeits") == []
    assert again == record


def test_a_recorder_takes_a_whole_game():
    table = Table(seed=1)
    with pytest.raises(ValueError, match="players is"):
        Recorder(table, ["a", "b", "c"])
    recorder = Recorder(table, ["a", "b"])
    with pytest.raises(IllegalAction):
        recorder.play(-1)
    recorder.play(table.legal[0])
    with pytest.raises(ValueError, match="not over"):
        recorder.record()
    with pytest.raises(ValueError, match="played on"):
        Recorder(table, ["a", "b"])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_scripted_game_replays_without_a_seed(preset):
    rng = random.Random(preset)
    for players in (2, 3):
        record = scripted(rng, preset, players=players)
        assert record["seed"] is None and len(record["rounds"]) > 1
        again = list(replay(from_line(to_line(record))))
        assert len(again) == sum(len(round_["actions"]) for round_ in record["rounds"])


def test_a_scripted_deal_that_the_seed_gives_is_no_other():
    table = Table(seed=5, episode="round")
    deal = [tile for hand in table.hands for tile in hand] + table.boneyard
    same = Table(seed=5, deal=deal, leader=table.leader)
    assert Recorder(same, ["a", "b"])._head["seed"] == 5
    assert Recorder(Table(seed=6, deal=deal), ["a", "b"])._head["seed"] is None


def test_scores_to_begin_with_are_kept():
    record = play_record(["random"] * 3, seed=3, scores=[10, 0, -5])
    assert record["start"] == [10, 0, -5]
    assert len(list(replay(record))) > 0


# --- forfeits -------------------------------------------------------------------------------------


def test_forfeits_are_named(tmp_path):
    bot = tmp_path / "bot.py"
    bot.write_text("print('{}', flush=True)\n")  # answers the greeting and ends
    player = ProgramPlayer(f"{sys.executable} -S {bot}")
    record = play_record([player, "greedy"], seed=3, episode="round")
    mine = [
        [0, k, "crash"] for k, (table, *_) in enumerate(list(replay(record))) if table.turn == 0
    ]
    kinds = Counter(kind for _, _, kind in record["forfeits"])
    assert kinds["crash"] + kinds["given up"] == len(mine) and dict(player.forfeits) == dict(kinds)
    assert [forfeit[:2] for forfeit in record["forfeits"]] == [forfeit[:2] for forfeit in mine]
    player.close()


@pytest.mark.parametrize("answer", [[], [-1], [[0]], [10**6]])
def test_a_bad_answer_is_refused(answer):
    def player(views):
        return np.array(answer)

    with pytest.raises(ValueError, match=r"player player .*, but must .*\.$"):
        play_record([player, "random"], seed=3)


def test_what_play_record_refuses():
    for players in ("greedy", 7):
        with pytest.raises(ValueError, match="a sequence of players"):
            play_record(players)
    with pytest.raises(ValueError, match="players is 1"):
        play_record(["greedy"])
    with pytest.raises(ValueError, match="3 players"):
        play_record(["greedy", "random"], Rules(players=3))
    with pytest.raises(ValueError, match="seating is -1"):
        play_record(["greedy", "random"], seating=-1)


# --- files ----------------------------------------------------------------------------------------


def test_every_changed_byte_is_found(tmp_path):
    path = tmp_path / "games.jsonl"
    good = to_line(small(episode="round"))
    line = to_line(small(2, episode="round"))
    rng = random.Random(0)
    for k in range(len(line)):
        other = rng.choice([b for b in b'"0123456789abc{}[],:\n A\xff' if b != line[k]])
        path.write_bytes(good + line[:k] + bytes([other]) + line[k + 1 :])
        verdict = verify(path)
        assert verdict.right == 1 and verdict.games > 1, (k, chr(other))
        assert verdict.first.startswith("line 2: record "), verdict.first
        assert verdict.first.count("\n") == 0 and verdict.first.endswith(".")


def test_a_torn_last_line_is_found_and_healed(tmp_path):
    path = tmp_path / "games.jsonl"
    first, second, third = (small(seed, episode="round") for seed in range(3))
    whole = to_line(first) + to_line(second)
    for k in [*range(1, len(to_line(second)) - 1, 7), len(to_line(second)) - 2]:
        path.write_bytes(to_line(first) + to_line(second)[:k])
        with pytest.raises(ValueError, match="line 2: record is cut short"):
            list(read(path))
        assert verify(path)[:2] == (2, 1)
        append(path, third)
        assert path.read_bytes() == to_line(first) + to_line(third)
    path.write_bytes(whole[:-1])  # all but the line break is there
    assert verify(path) == (2, 2, None)
    append(path, third)
    assert path.read_bytes() == whole + to_line(third)


def test_a_long_torn_line_is_healed(tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"{" * 200_000)
    append(path, small())
    append(path, small())
    path.write_bytes(path.read_bytes() + b"x" * 150_000)
    append(path, small())
    assert path.read_bytes() == 3 * to_line(small())
