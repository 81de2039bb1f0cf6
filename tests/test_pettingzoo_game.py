"""The rules and the manual of fives_v0, through the environment."""

import itertools
import random
import re

import numpy as np
import pytest

from fives_env import PRESETS, Rules, fives_v0
from fives_env.engine import view
from fives_env.tiles import HI, LO, NAMES, PIPS, index
from tests.aec import every_seats, one_step, scripted

# --- the game through the environment -----------------------------------------------------------

NUMBERS = [
    ("first", "4-1, 1-1@4-1, 4-4@4-1, 4-3@4-4, 2-1@1-1, 5-1@1-1, 5-5@5-1, 5-0@5-5, 3-1@1-1",
     [5, 6, 10, 5, 5, 10, 15, 5, 8]),
    ("none", "5-5, 5-0@5-5, 0-0@5-0, 6-5@5-5, 4-0@0-0", [10, 10, 10, 6, 10]),
    ("none", "4-2, 4-3@4-2", [6, 5]),
    ("first", "6-6, 6-3@6-6, 6-2@6-6, 6-5@6-6", [12, 15, 5, 10]),
    ("first", "5-5, 5-2@5-5, 5-3@5-5, 6-5@5-5, 5-4@5-5", [10, 12, 5, 11, 15]),
    ("first", "5-5, 5-3@5-5, 5-4@5-5, 5-2@5-5, 5-1@5-5", [10, 13, 7, 9, 10]),
    ("first", "6-6, 6-4@6-6, 6-2@6-6, 2-2@6-2", [12, 16, 6, 8]),
]  # fmt: skip


@pytest.mark.parametrize(("spinner", "plays", "totals"), NUMBERS, ids=lambda v: str(v)[:20])
@every_seats
def test_totals_of_the_rules(spinner, plays, totals, seats):
    plays = [play.split("@") for play in plays.split(", ")]
    players = seats["players"]
    hands = [[play[0] for play in plays[seat::players]] for seat in range(players)]
    kw = {"spinner": spinner, "tiles": 28 // players, "target": 10_000, **seats}
    env = fives_v0.env(**kw)
    env.reset(seed=0, options={"deal": scripted(hands, **kw), "leader": 0})
    rules = env.table.rules
    for number, (play, total) in enumerate(zip(plays, totals, strict=True)):
        tile, *on = play
        where = 0
        if on:
            ends = [e for e in env.table.to_dict()["ends"] if e["tile"] == on[0]]
            where = next(e["end"] for e in ends if e["value"] in map(int, tile.split("-")))
        assert env.agent_selection == f"player_{number % players}"
        env.step(rules.action(f"{tile}@{where}"))
        assert env.table.total == total
        won = total if total % 5 == 0 else 0
        side = number % players % rules.sides
        assert list(env.rewards.values()) == [
            won if seat % rules.sides == side else 0 for seat in range(players)
        ]


def test_the_sets_that_score():
    scoring = {"6-4": 10, "5-5": 10, "5-0": 5, "4-1": 5, "3-2": 5}
    for spinner in ("none", "set", "first", "all"):
        env = fives_v0.env(spinner=spinner)
        for tile in NAMES:
            deal = [tile, *(other for other in NAMES if other != tile)]
            env.reset(options={"deal": deal, "leader": 0})
            env.step(env.table.rules.action(f"{tile}@0"))
            assert env.table.total == PIPS[index(tile)]
            assert env.rewards == {"player_0": scoring.get(tile, 0), "player_1": 0}


@pytest.mark.parametrize(
    ("losers", "rounding", "paid"),
    [
        (["0-0"], "each", 0), (["1-1"], "each", 0), (["2-1"], "each", 5), (["4-3"], "each", 5),
        (["4-4"], "each", 10), (["6-6"], "each", 10), (["5-4 2-2"], "each", 15),
        (["6-6 5-5"], "each", 20), (["6-6 6-5"], "each", 25), (["6-6 6-5"], "down", 20),
        (["6-6 6-5"], "exact", 23),
        (["5-4 2-2", "4-4 3-2", "5-2 3-3"], "each", 45),
        (["5-4 2-2", "4-4 3-2", "5-2 3-3"], "total", 40),
        (["5-4 2-2", "5-3 0-0"], "each", 25), (["5-4 2-2", "5-3 0-0"], "total", 20),
    ],
)  # fmt: skip
def test_going_out_pays_what_the_rules_say(losers, rounding, paid):
    hands = [hand.split() for hand in losers]
    tiles = len(hands[0])
    mine = ["1-0"] if tiles == 1 else ["6-1", "1-0"]
    if any("0-0" in hand or "6-6" in hand for hand in hands) and tiles == 2:
        mine = ["2-1", "4-1"] if len(hands) == 1 else ["6-1", "6-6"]
    kw = {"tiles": tiles, "draw": "none", "rounding": rounding, "players": 1 + len(hands)}
    env = fives_v0.env(spinner="none", **kw)
    for seat in range(kw["players"]):  # whoever it is that goes out
        turned = [hands[(k - seat - 1) % kw["players"]] if k != seat else mine
                  for k in range(kw["players"])]  # fmt: skip
        env.reset(seed=0, options={"deal": scripted(turned, **kw), "leader": seat})
        earlier = 0.0
        for tile in mine:
            assert env.agent_selection == f"player_{seat}"
            named = {env.table.rules.action_name(a): a for a in env.table.legal}
            action = next(a for name, a in named.items() if name.startswith(tile))
            layout = env.table.clone().play(action)[0].points
            env.step(action)
            assert env.rewards[f"player_{seat}"] == layout + paid * (tile == mine[-1])
            earlier += layout
        assert env.table.round == 1 and env.table.scores[seat] == earlier + paid
        others = [r for agent, r in env.rewards.items() if agent != f"player_{seat}"]
        assert others == [0.0] * len(hands)


# --- the manual ---------------------------------------------------------------------------------


def manual_rows(first):
    """The rows of the manual's table whose first column is headed so, as lists of cells."""
    lines = iter(fives_v0.__doc__.splitlines())
    for line in lines:
        if line.startswith(f"| {first} "):
            next(lines)
            rows = itertools.takewhile(lambda row: row.startswith("|"), lines)
            return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    raise AssertionError(first)


def test_the_manual_lists_every_field():
    rules = Rules()
    fields = view.fields(rules)
    largest = np.rint(1 / view.scale(rules))
    rows = manual_rows("field")
    assert [row[0] for row in rows] == [f"`{name}`" for name in fields]
    for (name, part), (_, where, size, counts, meaning) in zip(fields.items(), rows, strict=True):
        assert where == f"{part.start}:{part.stop}"
        assert int(size.split("=")[0]) == part.stop - part.start
        assert counts == f"0-{largest[part].max():.0f}" and len(meaning) > 10
        formula = size.split("=")[-1].strip()
        for players, spinner in itertools.product((2, 3, 4), ("none", "first", "all")):
            other = Rules(players=players, spinner=spinner)
            values = {"P": players, "E": other.n_ends}
            wanted = np.prod([values.get(word) or int(word) for word in formula.split()])
            there = view.fields(other)[name]
            assert there.stop - there.start == wanted, (name, players, spinner)
            total = 123 + 43 * players + 36 * other.n_ends
            assert view.size(other) == total
            space = fives_v0.raw_env(other).observation_space("player_0")["observation"]
            assert space.shape == (total,)
    assert "123 + 43 P + 36 E" in fives_v0.__doc__


def test_the_manual_lists_every_action_and_argument():
    rules = Rules()
    for name, number, _ in manual_rows("action")[1:]:
        assert rules.action(name.strip("`")) == int(number)
    assert manual_rows("action")[0][:2] == ["placements", "0-111"]
    assert len(manual_rows("action")) == 7 and rules.n_actions == 118
    assert [Rules(spinner=s).n_actions for s in ("none", "set", "all")] == [62, 118, 454]
    assert rules.action_name(33) == "2-1@1" and rules.action("2-1@1") == 33
    for argument, values, _ in manual_rows("argument"):
        if argument in ("`episode`", "`reward`", "`forced`", "`mask_in_info`", "`render_mode`"):
            for value in values.split(", "):
                kw = {argument.strip("`"): eval(value.strip("`"))}
                env = fives_v0.raw_env(**kw)
                assert kw.items() <= (vars(env) | vars(env.table)).items()
    for preset in PRESETS:
        assert f"`{preset}`" in fives_v0.__doc__
        fives_v0.raw_env(preset)
    fives_v0.raw_env(Rules("muggins"))
    fives_v0.raw_env(rules={"preset": "muggins", "players": 3})


def test_the_examples_of_the_manual_run(capsys):
    examples = re.findall(r"```python\n(.*?)```", fives_v0.__doc__, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "manual", "exec"), {})
    printed = capsys.readouterr().out
    assert "250" in printed and len(printed.splitlines()) > 3


def counts(env, agent):
    """The counts of each field of an agent's observation, by name."""
    rules = env.table.rules
    row = np.rint(env.observe(agent)["observation"] / view.scale(rules)).astype(int)
    return {name: row[part] for name, part in view.fields(rules).items()}


@every_seats
@pytest.mark.parametrize("rules", ["all_fives", "five_up", "hoyle"])
def test_observations_hold_what_the_manual_says(rules, seats):
    env, rng = fives_v0.env(rules, **seats), random.Random(4)
    rules, players = env.unwrapped.table.rules, seats["players"]
    blind = rules.muggins != "off"
    seen_points = 0
    for game in range(2):
        env.reset(seed=None if game else 5)
        for _ in range(60):
            t = env.table.to_dict()
            on_layout = {play["tile"]: play["seat"] for play in t["layout"]}
            ends = {end["end"]: end for end in t["ends"]}
            for me, agent in enumerate(env.possible_agents):
                saw = counts(env, agent)
                seats_from_me = [(me + k) % players for k in range(players)]

                def relative(seat, order=seats_from_me):
                    return [int(other == seat) for other in order]

                assert saw["hand"].tolist() == [int(n in t["hands"][me]) for n in NAMES]
                hidden = set(NAMES) - set(t["hands"][me]) - set(on_layout)
                assert saw["unseen"].tolist() == [int(n in hidden) for n in NAMES]
                for k, seat in enumerate(seats_from_me):
                    laid = [int(on_layout.get(n, -1) == seat) for n in NAMES]
                    assert saw["laid"][28 * k : 28 * k + 28].tolist() == laid
                    for suit in range(7):
                        held = [n for n in t["hands"][seat] if suit in (LO[index(n)], HI[index(n)])]
                        assert saw["cap"][8 * k + suit] >= len(held)
                shown = saw["end_value"].reshape(rules.n_ends, 7)
                for end in range(rules.n_ends):
                    value = ends[end]["value"] if end in ends else -1
                    assert shown[end].tolist() == [int(v == value) for v in range(7)]
                    pips = ends[end]["counts"] if end in ends and not blind else 0
                    assert saw["end_counts"][end] == pips
                assert saw["total"] == [0 if blind else t["total"]]
                assert saw["boneyard"] == [len(t["boneyard"])]
                assert saw["held"].tolist() == [len(t["hands"][seat]) for seat in seats_from_me]
                lacking = [rules.target - t["scores"][seat] for seat in seats_from_me]
                assert saw["to_go"].tolist() == [max(0, lack) for lack in lacking]
                assert not saw["far"].any()
                partner = (me + 2) % 4 if rules.teams else None
                assert saw["partner"].tolist() == relative(partner)
                assert saw["leader"].tolist() == relative(t["leader"])
                assert saw["turn"].tolist() == relative(t["turn"])
                mover = t["layout"][-1]["seat"] if t["layout"] else None
                assert saw["mover"].tolist() == relative(mover)
                phases = ("play", "announce", "call", "over")
                assert saw["phase"].tolist() == [int(t["phase"] == phase) for phase in phases]
                assert saw["rules"][0] == rules.tiles and saw["rules"][15] == rules.target
                points = np.zeros(28 * rules.n_ends, int)
                if me == t["turn"] and t["phase"] == "play" and not blind:
                    for action in env.table.legal:
                        points[action] = env.table.clone().play(action)[0].points * rules.peg
                    seen_points += points.any()
                assert saw["points"].tolist() == points.tolist()
                doubles = [f"{v}-{v}" for v in range(7)]
                joined = dict.fromkeys(doubles, 0)
                for number, play in enumerate(t["layout"]):
                    on = t["layout"][play["on"]]["tile"] if play["on"] is not None else None
                    if play["tile"] in joined and number:
                        joined[play["tile"]] += 1
                    if on in joined:
                        joined[on] += 1
                spins = [p["tile"] for p in t["layout"] if p["tile"] in joined]
                spins = {"none": [], "first": spins[:1], "all": spins}[rules.spinner]
                assert saw["spinner"].tolist() == [
                    1 + joined[double] if double in spins else 0 for double in doubles
                ]
            if env.table.over:
                break
            one_step(env, rng)
    assert (seen_points > 20) == (not blind)
