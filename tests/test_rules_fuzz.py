"""The engine against the slow reference, at every event of random games over all options.

``FIVES_FUZZ=2000`` plays that many games instead of the few of the everyday run.
"""

import os
import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fives_env import PRESETS, Rules, Table
from fives_env.engine import deal as engine_deal
from fives_env.rules import VALUES
from fives_env.tiles import INDEX, PIPS
from tests.reference import Reference

GAMES = int(os.environ.get("FIVES_FUZZ", "250"))


@st.composite
def options(draw):
    """Any playable mix of options, near a preset or far from all."""
    if draw(st.booleans()):
        chosen = {"players": draw(st.sampled_from((2, 3, 4)))}
        if chosen["players"] == 4:
            chosen["teams"] = draw(st.booleans())
        chosen["preset"] = draw(st.sampled_from(sorted(PRESETS)))
        return chosen
    chosen = {name: draw(st.sampled_from(values)) for name, values in VALUES.items()}
    chosen["teams"] = chosen["teams"] and chosen["players"] == 4
    in_play = (chosen["highest"] + 1) * (chosen["highest"] + 2) // 2
    chosen["tiles"] = draw(st.integers(1, in_play // chosen["players"]))
    chosen["may_draw"] = chosen["may_draw"] and chosen["draw"] != "none"
    if chosen["peg"] == 5:
        chosen["scoring"] = "fives"
    chosen["target"] = draw(st.integers(5, 100))
    return chosen


def lot(table):
    """What the engine's generator draws by lot for a round of this table."""

    def seat(round_):
        state = table.state.copy()
        state["round"] = round_
        return int(engine_deal.lot(state[0], table.rules.record()[0]))

    return seat


def deal_of(table):
    return [tile for hand in table.hands for tile in hand] + table.boneyard


def compare(table, slow):
    """All that the table shows, against the reference."""
    data = table.to_dict()
    assert data["turn"] == slow.turn
    assert data["phase"] == slow.phase
    assert data["leader"] == slow.leader
    assert data["round"] == slow.round
    assert data["scores"] == slow.scores
    assert data["total"] == slow.total
    assert data["ends"] == slow.ends
    assert [sorted(hand) for hand in data["hands"]] == slow.hands
    assert data["boneyard"] == slow.boneyard
    assert data["layout"] == slow.layout
    assert data["winners"] == slow.winners
    assert {table.rules.action_name(a) for a in table.legal} == slow.legal()
    assert table.legal == sorted(table.legal)


def check_laws(table, happened):
    """What rules.md says of every game: pips, multiples of five, the largest scores, parity."""
    rules = table.rules
    everything = deal_of(table) + [play["tile"] for play in table.to_dict()["layout"]]
    pips = {2: 12, 3: 30, 4: 60, 5: 105, 6: 168}[rules.highest]
    assert sum(PIPS[INDEX[tile]] for tile in everything) == pips
    if rules.scoring == "fives" and rules.peg == 1:
        most = {"none": 20, "set": 35, "first": 35, "all": 1000}[rules.spinner]
        for event in happened:
            if event.do in ("set", "place", "announce", "call"):
                assert -5 <= event.points <= most
                assert event.points % 5 == 0 or rules.out == "one"
            if rules.rounding != "exact" and rules.block_rounding != "exact" and rules.out != "one":
                assert event.points % 5 == 0


def play_game(rules, seed, forced, episode, scores=None, max_rounds=6):
    """One random game, engine and reference side by side; the number of rounds."""
    table = Table(rules, seed=seed, forced=forced, episode=episode, scores=scores)
    deals = {0: deal_of(table)}
    slow = Reference(
        rules.to_dict(),
        deals.__getitem__,
        lot(table),
        scores=scores,
        forced=forced,
        episode=episode,
    )
    compare(table, slow)
    chance = random.Random(seed)
    while not table.over and table.round < max_rounds:
        action = chance.choice(table.legal)
        happened = table.play(action)
        if table.round not in deals:
            deals[table.round] = deal_of(table)
        assert [event._asdict() for event in happened] == slow.play(rules.action_name(action))
        compare(table, slow)
        check_laws(table, happened)
        blocked = any(event.do == "blocked" for event in happened)
        if blocked and episode == "round" and not table.boneyard and rules.highest % 2 == 0:
            held = sum(PIPS[INDEX[tile]] for hand in table.hands for tile in hand)
            assert held % 2 == 0
    return table.round + 1


@settings(max_examples=GAMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    options(),
    st.integers(0, 2**63 - 1),
    st.sampled_from(("auto", "act")),
    st.sampled_from(("game", "round")),
    st.booleans(),
)
def test_engine_agrees_with_the_reference(chosen, seed, forced, episode, late):
    rules = Rules(**chosen)
    scores = None
    if late:
        chance = random.Random(seed)
        by_side = [chance.randrange(-5, rules.target) for _ in range(rules.sides)]
        scores = [by_side[seat % rules.sides] for seat in range(rules.players)]
    play_game(rules, seed, forced, episode, scores)
