"""The players: a ladder on the same deals, and none of them peeks."""

import itertools
import random

import numpy as np
import pytest

from fives_env import PRESETS, Rules, Table, evaluate
from fives_env.engine import single, state
from fives_env.engine.jit import jit
from fives_env.players import Views, make_player
from fives_env.players import tactician as tactics
from fives_env.players.weights import NAMES
from tests.test_redeal import spoiled

SEATS = [{"players": 2}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}]


def positions(rules, seed, forced="auto"):
    """A random game's tables, at every decision with a choice."""
    table = Table(rules, seed=seed, forced=forced)
    chance = random.Random(seed)
    while not table.over and table.round < 2:
        if len(table.legal) > 1:
            yield table
        table.play(chance.choice(table.legal))


def views_of(rules, records, keys):
    """Views as a match hands them out; the masks are of the records themselves."""
    masks = []
    for record in records:
        actions = np.zeros(rules.n_actions, np.int32)
        n = single.legal(record[None], 0, rules.record(), actions)
        mask = np.zeros(rules.n_actions, bool)
        mask[actions[:n]] = True
        masks.append(mask)
    obs = np.zeros((len(records), 1), np.uint8)
    return Views(rules, obs, np.array(masks), records, np.array(keys, np.uint64))


@pytest.mark.parametrize(
    ("better", "worse", "least", "options"),
    [
        ("greedy", "random", 20, {}),
        ("tactician", "greedy", 13, {}),
        ("tactician", "greedy", 8, {"tiles": 7}),
        ("greedy", "random", 0, {"players": 3}),
        ("greedy", "random", 0, {"players": 4}),
        ("greedy", "random", 0, {"players": 4, "teams": True}),
        ("tactician", "greedy", 5, {"players": 3}),
        ("tactician", "greedy", 3, {"players": 4}),
        ("tactician", "greedy", 8, {"players": 4, "teams": True}),
        ("tactician", "greedy", 0, {"may_draw": True}),
    ],
)
def test_the_ladder(better, worse, least, options):
    assert evaluate(better, worse, pairs=3000, **options).low > least


@pytest.mark.parametrize("preset", PRESETS)
def test_the_tactician_is_better_everywhere(preset):
    for seats in SEATS:
        assert evaluate("tactician", "greedy", rules=preset, pairs=1000, **seats).low > 0


@pytest.mark.parametrize(
    "spec", ["random", "greedy", "tactician", "endgame", "search:worlds=4,playouts=greedy"]
)
@pytest.mark.parametrize("preset", PRESETS)
def test_junk_in_blanked_places_changes_no_choice(preset, spec):
    chance = random.Random(4)
    player = make_player(spec)
    for seats in [*SEATS, {"players": 2, "draw": "one", "may_draw": True}]:
        rules = Rules(preset, **seats)
        tables = [table.redact(table.turn) for table in positions(rules, seed=3)]
        junk = np.concatenate([spoiled(record, chance) for record in tables])
        records = np.concatenate(tables)
        keys = [chance.getrandbits(63) for _ in tables]
        answers = player.act(views_of(rules, records, keys))
        assert (answers == player.act(views_of(rules, junk, keys))).all()
        # Nor does a view depend on its neighbours.
        alone = [player.act(views_of(rules, records[k : k + 1], keys[k : k + 1])) for k in (3, 7)]
        assert np.concatenate(alone).tolist() == answers[[3, 7]].tolist()


@jit
def peek(tables, rules, action, kept):
    """Lay a tile and take it back; the total between."""
    t = tables[0]
    bits = rules[0]["bits"]
    tile, end = action >> bits, action & ((1 << bits) - 1)
    tactics.lay_aside(t, rules[0], tile, end, kept)
    total = t["total"]
    tactics.take_back(t, tile, end, kept)
    return total


@jit
def worth(tables, rules, weights, action, near, far, scratch):
    """What the tactician thinks of an action."""
    return tactics.worth(tables[0], rules[0], weights, action, near, far, scratch)


@pytest.mark.parametrize("options", [{}, {"spinner": "all", "arms_open": "at_once"}], ids=str)
def test_a_tile_laid_aside_is_taken_back_to_the_byte(options):
    rules = Rules(**options)
    for table in positions(rules, seed=1):
        for action in table.legal:
            before = table.state.copy()
            total = peek(table.state, table.record, action, np.zeros(60, np.int32))
            assert table.state.tobytes() == before.tobytes()
            after = table.clone()
            after.play(action)
            assert after.round != table.round or after.total == total


@pytest.mark.parametrize("options", [{"spinner": "all"}, {"players": 3, "tiles": 2}], ids=str)
def test_the_expected_reply_is_that_over_all_hands(options):
    """With weights for the replies alone, a placement is worth its points less their mean."""
    rules = Rules(highest=3, **options)
    weights = np.zeros(len(NAMES))
    weights[NAMES.index("reply")], weights[NAMES.index("later")] = 1, 0.5
    for table in itertools.islice(positions(rules, seed=2), 4):
        record = table.state[0]
        seat = table.turn
        seen = int(np.bitwise_or.reduce(record["laid"])) | int(record["hands"][seat])
        hidden = int(table.record[0]["everything"]) & ~seen
        tiles = [k for k in range(28) if hidden >> k & 1]
        seats = [(seat + k) % rules.players for k in range(1, rules.players)]
        for action in table.legal:
            after = table.clone()
            after.state["cap"] = 9
            far = hidden if rules.players > 2 else 0
            scratch = np.zeros(500, np.int32)
            got = worth(after.state, table.record, weights, action, hidden, far, scratch)
            points = after.play(action)[0].points
            if after.round != table.round or after.number("phase") != state.PLAY:
                continue
            expected = float(points)
            for other, weight in zip(seats, (1, 0.5), strict=False):
                held = int(record["held"][other])
                scores = [
                    best_score(after, hand, other) for hand in itertools.combinations(tiles, held)
                ]
                expected -= weight * np.mean(scores)
            assert got == pytest.approx(expected)


def best_score(table, hand, seat):
    """Most points that a seat with these tiles could score on the layout."""
    twin = table.clone()
    twin.state["turn"] = seat
    twin.state["hands"][0, seat] = sum(1 << k for k in hand)
    twin._begin_legal()
    best = 0
    for action in twin.legal:
        if action < 28 * table.rules.n_ends:
            trial = twin.clone()
            best = max(best, trial.play(action)[0].points)
    return best
