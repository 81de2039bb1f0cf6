"""Many tables at once play the games that Table plays, to the byte; and how much room they take."""

import os
import tracemalloc

import numpy as np
import pytest

from fives_env import PRESETS, Table
from fives_env.engine import batch, state
from fives_env.envs.rewards import margin
from fives_env.envs.self_play import SelfPlay
from tests.one_seat import choose

#: Games of each preset; the full check plays 5000.
GAMES = int(os.environ.get("FIVES_GAMES", "60"))

SEATS = ({}, {"players": 3}, {"players": 4}, {"players": 4, "teams": True})


@pytest.mark.parametrize("preset", PRESETS)
def test_the_batch_plays_what_a_table_plays(preset):
    for k, seats in enumerate(SEATS):
        play_games(preset, seats, ("game", "round")[k % 2], GAMES // len(SEATS) + 1)


def play_games(preset, seats, episode, games):
    """Compare until so many games have ended: states, views, rewards, by one thread and by two."""
    n, rng = min(games, 64), np.random.default_rng(games)
    one, two = (SelfPlay(n, preset, seed=1, episode=episode, threads=k, **seats) for k in (1, 2))
    fresh = {"episode": episode, **seats}
    tables = [Table(preset, seed=int(seed), **fresh) for seed in one.tables["seed"]]
    rounds = ended = 0
    while ended < games:
        for i, table in enumerate(tables):
            assert one.tables[i : i + 1].tobytes() == table.state.tobytes()
            assert (one.mask[i] == table.mask()).all() and one.seats[i] == table.turn
            assert (one.obs[i] == table.observe(table.turn)).all()
        for name in ("tables", "obs", "mask", "seats", "delta", "ended"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        actions = choose(rng, one.mask)
        one.step(actions)
        two.step(actions)
        for i, table in enumerate(tables):
            before, round_ = margins(table), table.round
            table.play(actions[i])
            assert np.allclose(one.delta[i], margins(table) - before, rtol=0, atol=1e-4)
            assert one.ended[i] == (table.over or table.round != round_)
            rounds += one.ended[i]
            if table.over:
                ended += 1
                tables[i] = Table(preset, seed=table.seed, game=table.game + 1, **fresh)
    assert one.take_stats()["games"] == ended and two.take_stats()["rounds"] == rounds


def margins(table):
    """Each seat's margin."""
    counts, unit = margin(table)
    return np.array([counts[seat % len(counts)] / unit for seat in range(table.rules.players)])


def test_records_are_small_and_so_are_many_tables():
    assert state.STATE.itemsize <= 256
    SelfPlay(2)  # what compiling takes is not counted
    tracemalloc.start()
    tables = SelfPlay(65_536)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(tables.obs) == 65_536 and most < 100 * 2**20


def test_a_step_allocates_nothing():
    tables = SelfPlay(2000)
    actions = tables.mask.argmax(1)
    tables.step(actions)
    tracemalloc.start()
    for _ in range(5):
        np.argmax(tables.mask, 1, actions)
        tables.step(actions)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50_000


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_slices_cover_every_table_once(threads):
    counts = np.zeros(20, int)

    def count(k, lo, hi):
        counts[lo:hi] += 1

    batch.sliced(count, 20, threads)
    assert (counts == 1).all()
