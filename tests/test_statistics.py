"""Intervals, sequential tests and luck: they keep the error rates that they promise."""

from math import log

import numpy as np
import pytest
from scipy import stats

from fives_env import Rules, evaluate
from fives_env.arena.evaluate import duel
from fives_env.arena.jobs import Hall, Job, Meeting, run
from fives_env.arena.seating import seatings
from fives_env.arena.sequential import Sprt, at_most
from fives_env.arena.statistics import (
    blocks_for,
    bootstrap_of,
    elo_of,
    margin_for,
    mean_of,
    share_at,
    share_of,
    without_luck,
)


@pytest.fixture(scope="module")
def equal():
    """Margins and wins of 30 000 blocks between players of equal strength, who differ in luck."""
    part = Hall(duel("random", "random", Rules(tiles=5), 11), 2).play(0, 30_000)
    return part.blocks.margins().mean(1), part.blocks.wins()


# --- intervals ------------------------------------------------------------------------------------


def test_of_1000_small_matches_between_equals_95_percent_hold_0(equal):
    margins, wins = equal
    matches = margins.reshape(1000, 30)
    held = [mean_of(match) for match in matches]
    share = np.mean([interval.low <= 0 <= interval.high for interval in held])
    assert 0.93 <= share <= 0.97
    shares = [share_of(match) for match in wins.reshape(1000, 30, 2)]
    assert 0.93 <= np.mean([found.low <= 0.5 <= found.high for found in shares]) <= 0.97


def test_the_bootstrap_agrees_with_t(equal):
    margins = equal[0][:2000]
    t, bootstrap = mean_of(margins), bootstrap_of(margins)
    assert bootstrap == bootstrap_of(margins)
    assert bootstrap.low == pytest.approx(t.low, abs=0.1)
    assert bootstrap.high == pytest.approx(t.high, abs=0.1)


def test_wilson_is_the_textbooks_where_games_are_independent():
    wins = np.array([1.0] * 7 + [0.0] * 3)[:, None]
    found = share_of(np.repeat(wins, 100, axis=0))
    book = stats.binomtest(700, 1000).proportion_ci(method="wilson")
    assert found.low == pytest.approx(book.low, abs=1e-4)
    assert found.high == pytest.approx(book.high, abs=1e-4)
    nothing = share_of(np.zeros((10, 2)))
    assert nothing.value == nothing.low == 0 and 0.25 < nothing.high < 0.4
    # Blocks that are all alike are worth no more than a game each.
    assert nothing == share_of(np.zeros((10, 24)))


def test_shares_of_few_blocks_keep_their_level(equal):
    wins = equal[1]
    for blocks in (2, 3, 5):
        shares = [share_of(match) for match in wins.reshape(-1, blocks, 2)[:3000]]
        assert np.mean([found.low <= 0.5 <= found.high for found in shares]) >= 0.94


def test_elo():
    assert elo_of(0.5) == 0 and elo_of(10 / 11) == pytest.approx(400)
    assert elo_of(0) == -np.inf and elo_of(1) == np.inf
    assert elo_of(share_at(123.0)) == pytest.approx(123)


def test_power_is_what_was_asked_for():
    blocks = blocks_for(1.0, 20.0, power=0.8)
    assert margin_for(blocks, 20.0, power=0.8) == pytest.approx(1.0, abs=1e-3)
    rng = np.random.default_rng(0)
    shown = [mean_of(rng.normal(1.0, 20.0, blocks)).low > 0 for _ in range(1000)]
    assert 0.77 <= np.mean(shown) <= 0.83


# --- sequential tests -----------------------------------------------------------------------------


@pytest.mark.parametrize(("truth", "wrong"), [(0.0, "high"), (2.0, "low")])
def test_a_sequential_test_keeps_its_error_rates(equal, truth, wrong):
    """On margins as they are: the blocks of equal players, shifted, drawn anew."""
    rng = np.random.default_rng(2)
    margins = equal[0] - equal[0].mean() + truth
    errors, blocks, held, means = 0, [], 0, []
    for _ in range(600):
        test = Sprt(0, 2)
        end = test.add(rng.choice(margins, 8000))
        assert end is not None
        errors += test.decision == wrong
        blocks.append(end)
        found = test.outcome()
        held += found.mean.low <= truth <= found.mean.high
        means.append(found.mean.value)
    assert errors / 600 <= 0.05 + 0.012  # alpha = beta = 5 %, and the error of 600 tests
    assert np.mean(blocks) < blocks_for(2.0, margins.std(), power=0.95)
    assert held / 600 > 0.93
    assert np.mean(np.array(means) > truth) == pytest.approx(0.5, abs=0.1)


def test_chances_between_barriers_are_those_of_a_random_walk():
    rng, steps = np.random.default_rng(0), 1000
    for drift, way in ((0.5, 2.0), (-1.0, 4.0), (3.0, 9.0), (1.5, 0.3)):
        step = (way / steps) ** 0.5
        place, hit = np.zeros(10_000), np.zeros(10_000, int)
        for _ in range(steps):
            place += drift / steps + step * rng.standard_normal(10_000)
            # A walk overshoots a barrier by 0.58 steps (Siegmund).
            now = np.where(
                place >= 2.5 - 0.58 * step, 1, np.where(place <= -2 + 0.58 * step, -1, 0)
            )
            hit = np.where(hit == 0, now, hit)
        assert at_most(-2, drift, way, -2, 2.5) == pytest.approx((hit == -1).mean(), abs=0.015)
        assert at_most(2.5, drift, way, -2, 2.5) == pytest.approx((hit < 1).mean(), abs=0.015)
        below = (hit == -1) | ((hit == 0) & (place <= 0.7))
        assert at_most(0.7, drift, way, -2, 2.5) == pytest.approx(below.mean(), abs=0.015)


def test_a_match_stops_by_itself():
    result = evaluate("greedy", "random", pairs=100_000, sprt=Sprt(0, 1))
    assert result.sprt.decision == "high" and result.pairs == result.sprt.blocks < 2000
    assert result.sprt.above == pytest.approx(log(19))
    assert result.sprt.mean.low < result.margin < result.sprt.mean.high
    games = evaluate("greedy", "tactician", pairs=2000, unit="game", sprt=Sprt(0, 20), target=61)
    assert games.sprt.decision == "low" and games.sprt.mean.high < 0
    open_ = evaluate("greedy", "greedy", pairs=100, sprt=Sprt(0, 1))
    assert open_.sprt.decision is None and open_.pairs == 100
    for bad in (
        (1, 0, 0.05),
        (0, float("inf"), 0.05),
        (-1e9, 0, 0.05),
        (0, 1, 0),
        (0, 1, 0.5),
        (float("nan"), 1, 0.05),
    ):
        with pytest.raises(ValueError, match=r"(sprt|alpha) is .*must be"):
            Sprt(*bad)


@pytest.mark.parametrize(
    ("bounds", "spread"), [((-1, 1), 0), ((0, 2), 0), ((0, 1e-9), 20), ((0, 5e-324), 20)]
)
def test_a_sequential_test_that_cannot_tell_gives_the_plain_mean(bounds, spread):
    """Where all blocks are alike, or the hypotheses."""
    values = np.random.default_rng(0).normal(0, spread, 1000)
    test = Sprt(*bounds)
    end = test.add(values)
    found = test.outcome()
    plain = mean_of(values[:end])
    assert found.mean == pytest.approx(plain, rel=1e-3, abs=1e-9)
    assert found.decision == ("low" if bounds == (0, 2) else None)


def test_identical_players_can_be_tested():
    for unit, bounds in (("round", (-1, 1)), ("game", (-10, 10))):
        found = evaluate(
            first_legal, first_legal, pairs=300, unit=unit, sprt=Sprt(*bounds), tiles=3
        )
        assert found.sprt.decision is None and abs(found.sprt.mean.value) < 20
    with pytest.raises(ValueError, match=r"sprt is .*Elo from -2000 to 2000"):
        evaluate("greedy", "random", pairs=300, unit="game", sprt=Sprt(-20_000, 0))


def first_legal(views):
    return views.mask.argmax(1)


# --- luck and blunders ----------------------------------------------------------------------------


def test_luck_has_mean_0_and_is_a_part_of_the_spread():
    meeting = Meeting((("greedy",), ("tactician",)), Rules(), 3, studied=True)
    (part,) = run([Job(meeting, 0, 200)])
    margins, luck = (part.blocks.margins(luck=which).mean(1) for which in (False, True))
    found = without_luck(margins, luck)
    assert found.luck.low < 0 < found.luck.high
    raw = mean_of(margins)
    assert abs(found.margin.value - raw.value) < (raw.high - raw.low) / 2
    assert found.removed > 0.1
    assert found.margin.high - found.margin.low < raw.high - raw.low
    (plain,) = run([Job(Meeting(meeting.sides, meeting.rules, 3), 0, 200)])
    assert (plain.blocks.scores == part.blocks.scores).all()


def test_luck_has_mean_0_for_any_player_and_rules():
    """Also for one that plays badly, where tiles decide who leads, and with more seats."""
    for rules in (Rules("muggins"), Rules("pagat", players=3), Rules(may_draw=True)):
        meeting = duel("random", "tactician", rules, 5, studied=True)
        (part,) = run([Job(meeting, 0, 15)])
        luck = mean_of(part.blocks.margins(luck=True).mean(1), level=0.999)
        assert luck.low < 0 < luck.high and part.blocks.luck.std() > 1


def test_luck_that_explains_all_is_taken_away():
    rng = np.random.default_rng(0)
    luck = rng.normal(0, 5, 1000)
    found = without_luck(1 + 2 * luck, luck)
    assert found.removed > 0.999 and found.margin.value == pytest.approx(1, abs=1e-3)
    assert without_luck(luck, np.zeros(1000)).removed == 0


def test_blunders_are_counted_where_nothing_is_hidden():
    result = evaluate("endgame", "random", pairs=40, study=True)
    choices, solved, wrong, lost = result.blunders_a
    assert choices > 500 and solved > 10 and wrong == lost == 0
    choices, solved, wrong, lost = result.blunders_b
    assert solved > 10 and wrong > 3 and lost >= wrong


# --- seats and workers ----------------------------------------------------------------------------


def test_seatings():
    two, other = (0, [0]), (1, [1])
    assert seatings([two, other]) == [((0, 0), (1, 1)), ((1, 1), (0, 0))]
    duel_of_three = seatings([two, other, other])
    assert [way.index((0, 0)) for way in duel_of_three] == [0, 1, 2]
    four = [(k, [k]) for k in range(4)]
    assert len(seatings(four)) == 24 and len(seatings(four, rotations=True)) == 4
    partners = [(0, [0, 1]), (1, [2, 3])]
    ways = seatings(partners)
    assert len(ways) == 8
    assert all(way[seat][0] == way[seat - 2][0] for way in ways for seat in range(4))
    assert len(seatings(partners, rotations=True)) == 4
    assert len(seatings([(0, [0, 0]), (1, [1, 1])])) == 2


def test_mixed_partners_and_three_players_meet():
    rules = Rules(players=4, teams=True)
    meeting = Meeting((("greedy", "tactician"), ("random", "random")), rules, 1)
    (part,) = run([Job(meeting, 0, 300)])
    assert part.blocks.scores.shape == (300, 4, 2)
    assert mean_of(part.blocks.margins(0).mean(1)).low > 0
    three = Meeting((("random",), ("greedy",), ("tactician",)), Rules(players=3), 1)
    (part,) = run([Job(three, 0, 300)])
    assert part.blocks.scores.shape == (300, 6, 3)
    margins = [part.blocks.margins(k).mean() for k in range(3)]
    assert margins[0] < margins[1] < margins[2] and sum(margins) == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="number of entrants is 2"):
        Meeting((("random",), ("greedy",)), Rules(players=3), 1)


def test_processes_change_nothing():
    how = {"pairs": 600, "players": 3, "seed": 4}
    one, two = (evaluate("greedy", "random", workers=n, **how).to_dict() for n in (1, 2))
    for name in ("seconds", "rounds_per_s"):
        del one[name], two[name]
    assert one == two
    with pytest.raises(ValueError, match="spec where other processes play"):
        evaluate("greedy", lambda views: views.mask.argmax(1), workers=2, pairs=10)


def test_whole_games():
    result = evaluate("greedy", "random", unit="game", pairs=200)
    assert result.wins.low > 0.9 and result.elo.low > 350
    assert result.rounds > 1500 and "a game" in str(result)
