"""redeal: uniform over all deals that obey what is known, checked against full enumeration."""

import itertools
import os
import random

import numpy as np
import pytest
from scipy import stats

from fives_env import PRESETS, Rules, Table
from fives_env.engine import redeal, single, state, turn, ways
from fives_env.engine.batch import NO_EVENTS
from fives_env.engine.deal import below
from fives_env.engine.jit import i64, jit, popcount
from fives_env.tiles import NAMES, SUIT, index

GAMES = int(os.environ.get("FIVES_GAMES", "500"))

SEATS = [{"players": 2}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True}]


@jit
def plan(record, rules, voids, plans, left, counts):
    """Plan the deals of the one record of an array."""
    return redeal.prepare(record[0], rules[0], voids, plans, left, counts)


@jit
def deal(record, rules, plans, left, counts, first, out):
    """Fill ``out`` with the planned deals of the keys from ``first`` on; how many there were."""
    found = 0
    for k in range(len(out)):
        out[k] = record[0]
        found += redeal.deal(out[k], rules[0], plans, left, counts, np.uint64(first + k))
    return found


class Dealer:
    """A plan of one redacted record's deals."""

    def __init__(self, record, rules, voids=True):
        self.base = record.copy()
        self.rules = rules.record()
        self.plan = np.zeros(1, ways.PLAN)
        self.scratch = np.zeros(ways.STATES, np.int64), np.zeros((29, ways.STATES))
        self.possible = plan(self.base, self.rules, voids, self.plan, *self.scratch)

    def number(self):
        """Deals that the plan counts, the boneyard's order aside."""
        return self.scratch[1][0, self.plan["states"][0] - 1]

    def deals(self, n, key=0):
        out = state.new_tables(n)
        assert deal(self.base, self.rules, self.plan, *self.scratch, key, out) == n
        return out


def obeys(record, seat, hand):
    suits = [int(SUIT[v]) for v in range(7)]
    caps = record["cap"][0, seat]
    return all((hand & suits[v]).bit_count() <= caps[v] for v in range(7)) and (
        (hand & int(record["barred"][0])).bit_count() <= caps[7] or not record["barred"][0]
    )


def every_deal(record, rules, voids=True):
    """The others' hands of all deals that a redacted record allows."""
    viewer = int(record["viewer"][0])
    seen = int(record["hands"][0, viewer]) | int(np.bitwise_or.reduce(record["laid"][0]))
    unseen = [k for k in range(28) if int(rules.record()["everything"][0]) & ~seen & 1 << k]
    found = [((), unseen)]
    for seat in range(rules.players):
        if seat == viewer:
            continue
        found = [
            ((*hands, hand), [k for k in left if not hand >> k & 1])
            for hands, left in found
            for tiles in itertools.combinations(left, int(record["held"][0, seat]))
            for hand in [sum(1 << k for k in tiles)]
            if not voids or obeys(record, seat, hand)
        ]
    return [hands for hands, _ in found]


def hands_of_others(records, viewer, players):
    return [
        tuple(row[s] for s in range(players) if s != viewer) for row in records["hands"].tolist()
    ]


def counted(records, viewer, rules, deals):
    """How often each of ``deals`` was dealt."""
    number = {hands: k for k, hands in enumerate(deals)}
    found = [number[hands] for hands in hands_of_others(records, viewer, rules.players)]
    return np.bincount(found, minlength=len(deals))


def tight_records(rules, count, seed):
    """Redacted records of random games whose caps bind, made tighter where the truth allows it."""
    chance = random.Random(seed)
    found = []
    while len(found) < count:
        table = Table(rules, seed=chance.randrange(10**6), episode="round")
        for _ in range(chance.randrange(6)):
            if not table.over:
                table.play(chance.choice(table.legal))
        if table.over:
            continue
        seat = chance.randrange(rules.players)
        record = table.redact(seat)
        for other in range(rules.players):
            hand = int(table.state["hands"][0, other])
            for v in range(7):
                truth = (hand & int(SUIT[v])).bit_count()
                if other != seat and chance.random() < 0.4:
                    record["cap"][0, other, v] = truth + chance.randrange(2)
        found.append(record)
    return found


SMALL = [
    {"highest": 2, "players": 2, "tiles": 2},
    {"highest": 3, "players": 2, "tiles": 4},
    {"highest": 2, "players": 3, "tiles": 2, "lead": "highest_double"},
    {"highest": 3, "players": 3, "tiles": 3},
    {"highest": 3, "players": 3, "tiles": 2, "lead": "highest_double"},
    {"highest": 3, "players": 4, "tiles": 2},
]


@pytest.mark.parametrize("options", SMALL, ids=str)
def test_deals_are_uniform(options):
    rules = Rules(**options)
    chances = []
    for number, record in enumerate(tight_records(rules, 12, seed=5)):
        viewer = int(record["viewer"][0])
        allowed = every_deal(record, rules)
        dealer = Dealer(record, rules)
        assert dealer.possible
        assert dealer.number() == len(allowed) or dealer.plan["loose"][0]
        dealt = dealer.deals(max(300, 20 * len(allowed)), 10**6 * number)
        seen = counted(dealt, viewer, rules, allowed)
        if len(allowed) > 1:
            chances.append(stats.chisquare(seen).pvalue)
    # Of uniform draws, p-values are uniform too.
    assert len(chances) >= 4
    assert min(chances) > 0.001 / len(chances)
    assert stats.kstest(chances, "uniform").pvalue > 0.001


def test_caps_beyond_the_states_are_met_by_rejection():
    """Ten caps do not fit among the states beside three hands; deals are uniform all the same."""
    rules = Rules(highest=3, players=4, tiles=2)
    table = Table(rules, seed=3)
    record = table.redact(0)
    for seat in range(1, 4):
        for v in range(4):
            truth = (int(table.state["hands"][0, seat]) & int(SUIT[v])).bit_count()
            record["cap"][0, seat, v] = max(1, truth)
    allowed = every_deal(record, rules)
    dealer = Dealer(record, rules)
    assert dealer.plan["loose"][0] and dealer.number() > len(allowed) > 50
    seen = counted(dealer.deals(20 * len(allowed)), 0, rules, allowed)
    assert stats.chisquare(seen).pvalue > 0.001


def test_the_boneyard_is_shuffled_evenly():
    rules = Rules(highest=2, tiles=1)
    record = Table(rules, seed=1).redact(0)
    record["cap"][0, 1, 0] = 0  # tiles with a blank lie in the boneyard or here
    dealt = Dealer(record, rules).deals(12_000)
    orders = np.concatenate([dealt["hands"][:, 1:2], dealt["order"][:, 2:6]], 1)
    different, seen = np.unique(orders, axis=0, return_counts=True)
    assert len(different) == 24 * len(every_deal(record, rules))
    assert stats.chisquare(seen).pvalue > 0.001


def test_without_voids_only_the_sizes_count():
    rules = Rules(highest=3, players=3, tiles=2)
    for record in tight_records(rules, 5, seed=1):
        assert Dealer(record, rules, voids=False).number() == len(every_deal(record, rules, False))


def test_a_record_that_allows_no_deal_is_refused():
    rules = Rules(highest=2, tiles=3)
    record = Table(rules, seed=1).redact(0)
    record["cap"][0, 1, :7] = 0
    assert not Dealer(record, rules).possible
    assert not single.redeal(record, 0, rules.record(), np.uint64(1))


@pytest.mark.parametrize("forced", ["auto", "act"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_true_deal_is_possible(preset, forced):
    """It obeys the caps, so a uniform draw from the deals that do can bring it."""
    for seats, seed in itertools.product(SEATS, range(6)):
        rules = Rules(preset, **seats)
        table, chance = Table(rules, seed=seed, forced=forced), random.Random(seed)
        while not table.over and table.round < 2:
            for seat in range(rules.players):
                record = table.redact(seat)
                for other in range(rules.players):
                    assert obeys(record, other, int(table.state["hands"][0, other]))
            dealer = Dealer(table.redact(table.turn), rules)
            dealt = dealer.deals(1, chance.randrange(10**9))
            assert (dealt["held"] == table.state["held"]).all()
            for other in range(rules.players):
                hand = int(dealt["hands"][0, other])
                assert hand.bit_count() == table.state["held"][0, other]
                assert obeys(dealt, other, hand)
            table.play(chance.choice(table.legal))


@jit
def excesses(table, rules, seed, actions, none):
    """Play a game at random; how often a hand held more than its caps say, and its decisions."""
    t, r = table[0], rules[0]
    turn.reset(t, r, np.uint64(seed), np.uint64(0))
    wrong, n = 0, 0
    while t["phase"] != state.OVER and n < 2000:
        for seat in range(i64(r["players"])):
            hand = i64(t["hands"][seat])
            for v in range(7):
                wrong += popcount(hand & SUIT[v]) > t["cap"][seat][v]
            wrong += popcount(hand & i64(t["barred"])) > t["cap"][seat][7]
        k = below(np.uint64(seed), n, turn.legal(t, r, actions))
        turn.act(t, r, i64(actions[k]), none)
        n += 1
    return wrong, n


@pytest.mark.parametrize("preset", PRESETS)
def test_the_true_deal_is_never_ruled_out(preset):
    """Whole games at random; FIVES_GAMES sets their number."""
    table = state.new_tables(1)
    for seed in range(GAMES):
        rules = Rules(preset, **SEATS[seed % len(SEATS)])
        record = rules.record(("auto", "act")[seed // len(SEATS) % 2])
        actions = np.zeros(rules.n_actions, np.int32)
        wrong, decisions = excesses(table, record, seed, actions, NO_EVENTS)
        assert wrong == 0 and decisions > 10


@pytest.mark.parametrize("preset", ["all_fives", "muggins"])
def test_junk_in_blanked_places_changes_no_deal(preset):
    table, chance = Table(preset, players=3, seed=2), random.Random(1)
    while table.round == 0 and not table.over:
        record = table.redact(table.turn)
        junk = spoiled(record, chance)
        clean, same = Dealer(record, table.rules).deals(3), Dealer(junk, table.rules).deals(3)
        assert clean.tobytes() == same.tobytes()
        table.play(chance.choice(table.legal))


def spoiled(record, chance):
    """The record with junk wherever :func:`.view.redact` blanks."""
    junk = record.copy()
    for seat in range(4):
        if seat != record["viewer"][0]:
            junk["hands"][0, seat] = chance.getrandbits(28)
    junk["seed"] = chance.getrandbits(63)
    junk["game"] = chance.getrandbits(63)
    for k in range(int(record["played"][0]), 28):
        junk["order"][0, k] = chance.randrange(28)
    if record["muggins"][0]:
        junk["total"] = chance.randrange(30)
        junk["pending"] = chance.randrange(30)
        junk["counts"][0] = [chance.randrange(12) for _ in range(16)]
    return junk


def test_the_plan_has_room_for_any_hands():
    assert state.STATE.itemsize <= 512
    assert max((a + 1) * (b + 1) * (27 - a - b + 1) for a in range(28) for b in range(28 - a)) == (
        1000
    )
    assert ways.STATES >= 1000


def test_a_tile_that_was_drawn_and_laid_tells_nothing_new():
    """Only what fits stops the drawing, so the hand still holds none of both ends' suits."""
    hands = "6-5 6-6 5-5 4-4".split(), "1-0 2-0 3-0 2-1".split()
    yard = "3-1 6-3".split()
    used = {*itertools.chain(*hands), *yard}
    deal = [*itertools.chain(*hands), *yard, *(tile for tile in NAMES if tile not in used)]
    table = Table(tiles=4, deal=deal, leader=0)
    table.play(table.rules.action("6-5@0"))
    assert table.turn == 1 and table.hands[1] == sorted(["6-3", *hands[1], "3-1"], key=index)
    table.play(next(a for a in table.legal if table.rules.action_name(a).startswith("6-3")))
    caps = table.redact(0)["cap"][0, 1]
    assert caps[5] == caps[6] == 0 and caps[3] == 6
