"""Nothing hidden is shown: what a seat cannot know changes no byte of what it sees."""

import copy
import random

import numpy as np
import pytest

from fives_env import PRESETS, Rules, Table, evaluate, fives_v0
from fives_env.engine import single, state, view

SEATS = [{"players": 2}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}]


def positions(rules, seed, forced="auto"):
    """A random game's tables, at every decision."""
    table = Table(rules, seed=seed, forced=forced)
    chance = random.Random(seed)
    while not table.over and table.round < 2:
        yield table
        table.play(chance.choice(table.legal))


def twin(table, seat, key):
    """The same table for ``seat``, dealt otherwise within what the seat may know."""
    record = table.redact(seat)
    assert single.redeal(record, 0, table.rules.record(), np.uint64(key))
    other = table.clone()
    other.state = record
    other.events = [
        event._replace(tile="?") if event.do == "draw" and event.seat != seat else event
        for event in table.events
    ]
    other._begin_legal()
    return other


@pytest.mark.parametrize("seats", SEATS, ids=str)
@pytest.mark.parametrize("preset", PRESETS)
def test_hidden_tiles_change_nothing_that_a_seat_sees(preset, seats):
    rules = Rules(preset, **seats)
    changed = 0
    for k, table in enumerate(positions(rules, seed=5)):
        for seat in range(rules.players):
            other = twin(table, seat, key=k)
            changed += other.hands != table.hands or other.boneyard != table.boneyard
            assert other.redact(seat).tobytes() == table.redact(seat).tobytes()
            assert other.observe(seat).tobytes() == table.observe(seat).tobytes()
            assert other.text(seat) == table.text(seat)
            assert other.to_dict(seat) == table.to_dict(seat)
            if table.turn == seat:
                assert other.mask().tobytes() == table.mask().tobytes()
    assert changed > 10


@pytest.mark.parametrize("preset", PRESETS)
def test_hidden_tiles_change_nothing_in_the_environment(preset):
    env = fives_v0.raw_env(preset, mask_in_info=True, reward="margin")
    env.reset(seed=9)
    other = copy.deepcopy(env)
    chance = random.Random(2)
    for k in range(40):
        if env.table.over:
            break
        for seat, agent in enumerate(env.agents):
            other.table = twin(env.table, seat, key=k)
            mine, same = env.observe(agent), other.observe(agent)
            assert {name: row.tobytes() for name, row in mine.items()} == {
                name: row.tobytes() for name, row in same.items()
            }
            other._show(agent)
            assert other.rewards[agent] == 0 and other.agent_selection == env.agent_selection
            if agent == env.agent_selection:
                for name in env.infos[agent]:
                    assert (other.infos[agent][name] == env.infos[agent][name]).all()
        action = chance.choice(env.table.legal)
        env.step(action)
        other = copy.deepcopy(env)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_redacted_record_cannot_be_dealt_from(preset):
    """Not even with the seed 0 do the blanked seed and counters give the deal again."""
    table = Table(preset, seed=0)
    record = table.redact(1)
    assert record["seed"][0] == record["game"][0] == state.BLANK
    assert set(record["order"][0].tolist()) == {state.NOBODY}
    again = record.copy()
    single.reset(again, 0, table.rules.record(), record["seed"][0], record["game"][0])
    assert again["hands"].tolist() != table.state["hands"].tolist()
    assert record["hands"][0, 0] == 0


def test_under_muggins_the_sum_is_left_to_the_player():
    rules = Rules("muggins")
    for table in positions(rules, seed=3):
        for seat in range(2):
            part = view.fields(rules)
            seen = table.observe(seat)
            for name in ("total", "points", "end_counts"):
                assert not seen[part[name]].any()
            record = table.redact(seat)
            assert not record["total"].any() and not record["counts"].any()
            assert not record["pending"].any()
            shown = table.to_dict(seat)
            assert shown["total"] is None
            assert all(end["counts"] is None for end in shown["ends"])


@pytest.mark.parametrize("forced", ["auto", "act"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_true_deal_obeys_what_is_known(preset, forced):
    for seats in SEATS:
        rules = Rules(preset, **seats)
        for seed in range(8):
            for table in positions(rules, seed, forced):
                check_caps(table)


def check_caps(table):
    record = table.state[0]
    for seat in range(table.rules.players):
        hand = int(record["hands"][seat])
        for v in range(7):
            held = sum(1 for name in table.hands[seat] if str(v) in name)
            assert held <= record["cap"][seat][v]
        assert (hand & int(record["barred"])).bit_count() <= record["cap"][seat][7]


@pytest.mark.parametrize("seats", [{"players": 2}, {"players": 3}, {"players": 4, "teams": True}])
def test_no_call_shows_a_deal_from_two_seats(seats):
    """Nor in the order of the deals: either would tell a player what others hold."""
    rules, pairs, seed = Rules(**seats), 40, 77
    hands = [Table(rules, seed=seed, game=k).state["hands"][0].copy() for k in range(pairs)]
    calls = []

    def spy(views):
        games = []
        for t in views.records:
            seat = t["viewer"]
            held = int(t["hands"][seat]) | int(t["laid"][seat])
            found = [k for k in range(pairs) if int(hands[k][seat]) & ~held == 0]
            games += found if len(found) == 1 else []  # tiles drawn may make it look like others
        calls.append(games)
        return views.mask.argmax(1)

    evaluate(spy, "greedy", rules=rules, pairs=pairs, seed=seed)
    assert all(len(games) == len(set(games)) for games in calls)
    full = [games for games in calls if len(games) > 10]
    assert full and all(games != sorted(games) for games in full)
