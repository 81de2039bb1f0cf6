"""Exact play: the solver against plain minimax, against itself with seats swapped, and in play."""

import os
import random

import numpy as np
import pytest

from fives_env import Rules, Table, evaluate
from fives_env.engine import single, state
from fives_env.players import make_player
from fives_env.players.endgame import EndgamePlayer, solve
from tests.test_players import views_of

#: Endings of each set of rules that brute force looks at.
COUNT = int(os.environ.get("FIVES_ENDINGS", "12"))
EVENTS = np.zeros((state.MAX_EVENTS, 5), np.int32)

#: Rules, and the tiles that brute force can bear to have left.
ENDINGS = [
    ({}, 7),
    ({"tiles": 7, "spinner": "all", "arms_open": "at_once", "out": "own"}, 6),
    ({"preset": "fives_and_threes", "highest": 4, "target": 20}, 6),
    ({"preset": "muggins", "highest": 4}, 5),
    ({"preset": "hoyle", "highest": 4, "false_call": "lose_five", "exact": True}, 4),
    ({"preset": "cribbage", "draw": "one", "may_draw": True, "highest": 4}, 5),
    ({"players": 4, "teams": True, "block": "difference"}, 7),
    ({"preset": "pagat", "reserve": 2, "target": 60, "block": "own"}, 7),
]


def endings(rules, most, count, seed, forced="auto"):
    """Positions of random rounds, from scores far from the target and near it, with few tiles."""
    chance = random.Random(seed)
    found = []
    while len(found) < count:
        near = rules.target - 1 - np.array([chance.randrange(40) for _ in range(rules.sides)])
        by_side = [max(0, int(x)) if chance.random() < 0.5 else 0 for x in near]
        scores = [by_side[seat % rules.sides] for seat in range(rules.players)]
        seed = chance.randrange(10**9)
        table = Table(rules, seed=seed, scores=scores, forced=forced, episode="round")
        while not table.over:
            left = sum(map(len, table.hands))
            if rules.draw != "none":
                left += len(table.boneyard)
            if left <= most and len(table.legal) > 1:
                found.append(table)
                break
            table.play(chance.choice(table.legal))
    return found


def lead(tables):
    return int(tables["scores"][0, 0]) - int(tables["scores"][0, 1])


def minimax(tables, rules):
    """Margin of side 0 to come, by looking at everything."""
    if tables["phase"][0] == state.OVER:
        return 0
    actions = np.zeros(rules.n_actions, np.int32)
    record = rules.record(episode="round")
    n = single.legal(tables, 0, record, actions)
    values = [after(tables, rules, int(action)) for action in actions[:n]]
    return max(values) if tables["turn"][0] % 2 == 0 else min(values)


def after(tables, rules, action):
    """Value of an action to side 0."""
    next_ = tables.copy()
    scratch = np.zeros(rules.n_actions, np.int32)
    single.act(next_, 0, rules.record(episode="round"), action, EVENTS, scratch)
    return lead(next_) - lead(tables) + minimax(next_, rules)


@pytest.mark.parametrize(("options", "most"), ENDINGS, ids=str)
def test_the_solver_agrees_with_minimax(options, most):
    rules = Rules(**options)
    for table in endings(rules, most, COUNT, seed=1):
        sign = 1 if table.turn % 2 == 0 else -1
        expected = {a: sign * after(table.state, rules, a) for a in table.legal}
        assert solve(table) == expected


def swapped(table, events):
    """The same round with seats 0 and 1 changed, played as far as ``table``."""
    rules, n = table.rules, table.rules.tiles
    start = Table(rules, seed=table.seed, episode="round")
    deal = [name for hand in reversed(start.hands) for name in hand] + start.boneyard
    assert len(start.hands[0]) == n
    other = Table(rules, deal=deal, leader=1 - start.leader, episode="round")
    for event in events:
        if event.do in ("set", "place"):
            other.play(rules.action(f"{event.tile}@{event.end}"))
    return other


def test_swapped_seats_have_the_same_values():
    for seed in range(12):
        table, chance = Table(tiles=6, seed=seed, episode="round"), random.Random(seed)
        while not table.over:
            if len(table.legal) > 1 and sum(map(len, table.hands)) < 11:
                other = swapped(table, table.events)
                assert other.turn == 1 - table.turn
                assert solve(other) == solve(table)
            table.play(chance.choice(table.legal))


@pytest.mark.parametrize("options", [{}, {"preset": "muggins"}, {"preset": "hoyle"}], ids=str)
def test_best_play_makes_what_was_promised(options):
    """From the first decision of a round, draws from a known boneyard included."""
    for seed in range(3):
        table = Table(Rules(**{"preset": "all_fives", **options}, tiles=5), seed=seed)
        table = Table(table.rules, seed=seed, episode="round")
        promised = None
        while not table.over:
            sign = 1 if table.turn == 0 else -1
            values = solve(table)
            best = max(values, key=lambda action: values[action])
            assert sorted(values) == table.legal
            if promised is not None:
                assert sign * values[best] + lead(table.state) == promised
            promised = sign * values[best] + lead(table.state)
            table.play(best)
        assert lead(table.state) == promised


def test_forced_draws_and_passes_have_a_value_too():
    for table in endings(Rules(), 8, 3, seed=5, forced="act"):
        while not table.over:
            values = solve(table)
            if len(table.legal) == 1:
                sign = 1 if table.turn == 0 else -1
                assert values == {table.legal[0]: sign * minimax(table.state, table.rules)}
            table.play(table.legal[0])


def test_ten_tiles_are_solved_at_once():
    tables = endings(Rules(), 10, 20, seed=3)
    for table in tables:
        assert solve(table, most=60_000)
    with pytest.raises(ValueError, match="most is 2, but must be more"):
        solve(tables[0], most=2)


def test_what_cannot_be_solved_is_refused():
    with pytest.raises(ValueError, match="sides is 3, but must be 2 to be solved"):
        solve(Table(players=3))
    table = Table(tiles=1, seed=1, episode="round")
    table.play(table.legal[0])
    with pytest.raises(ValueError, match="phase is 'over'"):
        solve(table)


def test_the_player_is_exact_once_nothing_is_hidden():
    tables = []
    for seed in range(300):
        table, chance = Table(seed=seed, episode="round"), random.Random(seed)
        while not table.over:
            if len(table.legal) > 1 and not table.boneyard:
                tables.append(table.clone())
            table.play(chance.choice(table.legal))
    assert len(tables) > 50
    records = np.concatenate([t.redact(t.turn) for t in tables])
    chosen = EndgamePlayer().act(views_of(Rules(), records, range(len(tables))))
    assert (chosen == EndgamePlayer(threads=3).act(views_of(Rules(), records, chosen))).all()
    usual = make_player("tactician").act(views_of(Rules(), records, range(len(tables))))
    assert (chosen != usual).any()
    for table, action in zip(tables, chosen.tolist(), strict=True):
        values = solve(table)
        assert values[action] == max(values.values())


def test_the_player_beats_the_tactician():
    assert evaluate(EndgamePlayer(), "tactician", pairs=1500).low > 0.5
    for options in ({"players": 3}, {"players": 4, "teams": True}, {"rules": "fives_and_threes"}):
        assert evaluate(EndgamePlayer(), "tactician", pairs=300, **options).high > -0.1
