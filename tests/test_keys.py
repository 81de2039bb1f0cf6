"""The numbers that players draw their luck from: they lead back to nothing."""

import numpy as np

from fives_env import Rules, Table, evaluate
from fives_env.engine.batch import decision, decision_key
from fives_env.engine.deal import fold, players_key, siphash

WORD = 1 << 64


def words(text):
    return [np.uint64(int(word, 16)) for word in text.split()]


def test_siphash_gives_the_value_of_its_authors():
    """Key 00..0f, message 00..0e: appendix A of the paper."""
    given = words("0706050403020100 0f0e0d0c0b0a0908 0706050403020100 0f0e0d0c0b0a0908")
    assert siphash(*given) == 0xA129CA6149BE45E5


def unmix(x):
    """The inverse of SplitMix64's finaliser."""
    for shift, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        y = x
        for _ in range(64 // shift):
            y = x ^ (y >> shift)
        x = y * pow(factor, -1, WORD) % WORD
    y = x
    for _ in range(2):
        y = x ^ (y >> 30)
    return y


def unfold(key, number):
    return (unmix((unmix(int(key)) - int(number)) % WORD) - 0x9E3779B97F4A7C15) % WORD


def test_what_a_player_sees_cannot_be_undone():
    """Undoing the folds, as the inverse of ``fold`` shows it could, gives another key."""
    key, table = players_key(np.uint64(7), np.uint64(3), np.uint64(0)), Table(seed=7, game=3)
    assert unfold(fold(np.uint64(key), 99), 99) == key
    seen, t = decision_key(table.state[0], np.uint64(key)), table.state[0]
    assert unfold(unfold(seen, decision(t)), int(t["round"])) != key


def test_decisions_of_a_match_have_keys_of_their_own():
    seen = []

    def first(views):
        seen.extend(int(key) for key in views.keys)
        return views.mask.argmax(1)

    evaluate(first, first, rules=Rules(players=3), pairs=20)
    assert len(seen) == len(set(seen)) > 400
