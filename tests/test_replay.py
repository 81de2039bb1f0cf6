"""Recorded games played again: the same steps, every difference named, all that there is to see."""

import copy
from itertools import pairwise

import pytest

from fives_env import PRESETS
from fives_env.records import append, play_record, to_line
from fives_env.render import sheet
from fives_env.replay import moments, replay, verify

SEATS = [(2, False), (3, False), (4, False), (4, True)]


def small(seed=1, **options):
    """A game of a few rounds."""
    return play_record(["greedy", "random"], seed=seed, target=120, **options)


def test_steps_hold_tables_of_their_own():
    steps = list(replay(small()))
    for before, after in pairwise(steps):
        assert before.table.clone().play(before.action) == before.events
        before.table.play(before.action)
        assert before.table == after.table


@pytest.mark.parametrize(("players", "teams"), SEATS)
@pytest.mark.parametrize("preset", PRESETS)
def test_moments_and_sheet_tell_the_game(preset, players, teams):
    forced = "act" if preset == "pagat" else "auto"
    scores = [5, 10] * 2 if teams else [5, 0, 10, 0][:players]
    seats = ["greedy", "random"] * 2
    options = {"teams": teams} if teams else {}
    record = play_record(
        seats[:players], preset, seed=players, forced=forced, scores=scores, **options
    )
    seen = list(moments(record))
    assert [moment.move.action for moment in seen if moment.move] == [
        name for round_ in record["rounds"] for name in round_["actions"]
    ]
    ends = [moment.data for moment in seen if moment.data["turn"] is None]
    assert [end["scores"] for end in ends] == [round_["scores"] for round_ in record["rounds"]]
    assert [end["round"] for end in ends] == list(range(len(record["rounds"])))
    assert ends[-1]["winners"] == record["winners"]
    for before, after in pairwise(seen):
        if after.move:
            placed = "@" in after.move.action
            assert len(after.data["layout"]) == len(before.data["layout"]) + placed
            assert after.data["total"] == after.move.total
            assert after.data["round"] == before.data["round"]
        else:
            assert before.data["turn"] is None and not after.data["layout"]
    filled = sheet.sheet(ends, record["players"])
    running = list(filled.start)
    assert running == scores[: len(running)] and len(running) == (2 if teams else players)
    for row in filled.rows:
        assert all(part for sums in row.sums for part in sums)
        running = [score + sum(sums) for score, sums in zip(running, row.sums, strict=True)]
        assert running == row.totals
    assert all(len(line) <= sheet.COLUMNS for line in sheet.text(filled).splitlines())


# --- differences ----------------------------------------------------------------------------------

TAMPERED = {
    "format": (lambda r: r.update(format=2), "format is 2, but must be 1."),
    "rules": (lambda r: r["rules"].update(target=61), "record: fingerprint of the rules is"),
    "option": (lambda r: r["rules"].update(spinner="two"), "spinner is 'two', but must be one of"),
    "unknown": (lambda r: r["rules"].update(jokers=2), "option is 'jokers', but must be one of"),
    "print": (lambda r: r.update(fingerprint="0" * 16), "record: fingerprint of the rules is '00"),
    "seed": (lambda r: r.update(seed=8), "round 1: tile 1 of the deal is"),
    "no seed": (lambda r: r.update(seed=-8), "seed is -8, but must be a whole number"),
    "game": (lambda r: r.update(game=1), "round 1: tile 1 of the deal is"),
    "players": (lambda r: r.update(players=["a"]), "players is ['a'], but must be 2 names."),
    "start": (lambda r: r.update(start=[5, 0]), "round 1: scores is"),
    "deal": (lambda r: r["rounds"][1]["deal"].reverse(), "round 2: tile 1 of the deal is"),
    "tile": (lambda r: r["rounds"][1]["deal"].pop(), "round 2: number of tiles is 27 in the"),
    "leader": (
        lambda r: r["rounds"][0].update(leader=9),
        "round 1: leader is 9 in the record, but",
    ),
    "action": (
        lambda r: r["rounds"][0]["actions"].insert(2, "6-6@3"),
        "round 1, action 3: action ",
    ),
    "name": (
        lambda r: r["rounds"][0]["actions"].insert(2, "7-7@1"),
        "round 1, action 3: action is",
    ),
    "more": (lambda r: r["rounds"][0]["actions"].append("pass"), "round 1 ends with action "),
    "less": (
        lambda r: r["rounds"][0]["actions"].pop(),
        "round 1 is not over after its last action,",
    ),
    "scores": (lambda r: r["rounds"][0]["scores"].reverse(), "round 1: scores is"),
    "extra": (lambda r: r["rounds"].append(r["rounds"][0]), "cannot be, since the game is over"),
    "missing": (lambda r: r["rounds"].pop(), "game is not over after its last round, "),
    "end": (lambda r: r["scores"].reverse(), "end of the game: scores is"),
    "winners": (lambda r: r.update(winners=[0, 1]), "end of the game: winners is [0, 1] in the"),
    "forfeit": (
        lambda r: r.update(forfeits=[[0, 99, "late"]]),
        "forfeit [0, 99, 'late'] is not [round, ",
    ),
    "forfeits": (
        lambda r: r.update(forfeits=[[0, 2]]),
        "forfeit [0, 2] is not [round, action, kind] of an action.",
    ),
    "shape": (
        lambda r: r.update(rounds=7),
        "record is not as fives_env.records has it: see rounds",
    ),
    "round": (lambda r: r["rounds"][0].pop("deal"), "fives_env.records has it: KeyError('deal')."),
    "none": (lambda r: r["rounds"].clear(), "record is not as fives_env.records has it: Ind"),
    "key": (
        lambda r: r.pop("seed"),
        "record is not as fives_env.records has it: see seed.",
    ),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_differences_are_named(kind, tmp_path):
    change, sentence = TAMPERED[kind]
    record = copy.deepcopy(small())
    assert len(record["rounds"]) > 1 and record["scores"][0] != record["scores"][1]
    change(record)
    with pytest.raises(ValueError) as caught:
        list(replay(record))
    told = str(caught.value)
    assert sentence in told and told.endswith(".") and "\n" not in told
    append(tmp_path / "games.jsonl", small())
    append(tmp_path / "games.jsonl", record)
    games, right, first = verify(tmp_path / "games.jsonl")
    assert (games, right) == (2, 1) and first.startswith("line 2: ") and sentence in first


def test_deals_without_a_seed_are_taken_as_they_are():
    record = small()
    record["seed"] = None
    assert len(list(replay(record))) > 0
    for round_ in record["rounds"]:
        deal = round_["deal"]
        deal[0], deal[-1] = deal[-1], deal[0]
        with pytest.raises(ValueError, match=r"^round "):
            list(replay(record))
        deal[0], deal[-1] = deal[-1], deal[0]
    record["rounds"][1]["deal"][0] = record["rounds"][1]["deal"][1]
    with pytest.raises(ValueError, match="round 2: deal is not a permutation of the tiles: "):
        list(replay(record))


def test_verify_goes_on_and_names_the_first(tmp_path):
    path = tmp_path / "games.jsonl"
    lines = [to_line(small(seed)) for seed in range(4)]
    lines[1] = lines[1].replace(b'"greedy"', b'"greody"')
    lines[3] = b"\n"
    path.write_bytes(b"".join(lines))
    done = []
    games, right, first = verify(path, done.append)
    assert (games, right) == (4, 2) and first.startswith("line 2: record was changed: ")
    assert sum(done) == path.stat().st_size
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="holds no games"):
        verify(path)
