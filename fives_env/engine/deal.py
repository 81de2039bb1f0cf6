"""Seed, game and round to a deal: a hashed counter instead of a generator with a state.

The hash is SplitMix64's finaliser (Steele, Lea, Flood 2014). A stream is a key; its ``n``-th number
is the hash of the key plus ``n`` golden-ratio steps, so any number can be had without the others.

That hash can be undone. What players get to see is therefore made from the seed by SipHash-2-4
(Aumasson and Bernstein 2012), which cannot.
"""

import numpy as np

from fives_env.engine.jit import add64, i64, jit, mul64
from fives_env.engine.state import MUGGINS_OFF, NOBODY
from fives_env.tiles import HI

# Streams of one (seed, game, round), none of which a player may see.
DEAL, LOT, SEAT = range(3)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = (np.uint64(s) for s in (27, 30, 31, 32))
# SipHash: the text "somepseudorandomlygeneratedbytes", and its last block's length of 15 bytes.
_V0, _V1, _V2, _V3 = (
    np.uint64(v)
    for v in (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
)
_FINAL, _LENGTH = np.uint64(0xFF), np.uint64(15 << 56)


@jit
def mix(x):  # type: ignore[no-untyped-def]
    """Hash of a uint64 (SplitMix64's finaliser)."""
    x = mul64(x ^ (x >> _S30), _M1)
    x = mul64(x ^ (x >> _S27), _M2)
    return x ^ (x >> _S31)


@jit
def fold(key, number):  # type: ignore[no-untyped-def]
    """Key of the sub-stream ``number`` of ``key``."""
    return mix(add64(mix(add64(key, _GOLDEN)), np.uint64(number)))


@jit
def key_of(seed, game, round_, stream):  # type: ignore[no-untyped-def]
    """Key of one stream of a round."""
    return fold(fold(fold(mix(np.uint64(seed)), game), round_), stream)


@jit
def rotated(x, bits):  # type: ignore[no-untyped-def]
    """A uint64 rotated to the left."""
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@jit
def sip_rounds(n, v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    """``n`` rounds of SipHash."""
    for _ in range(n):
        v0, v2 = add64(v0, v1), add64(v2, v3)
        v1, v3 = rotated(v1, 13) ^ v0, rotated(v3, 16) ^ v2
        v0, v2 = add64(rotated(v0, 32), v3), add64(v2, v1)
        v3, v1 = rotated(v3, 21) ^ v0, rotated(v1, 17) ^ v2
        v2 = rotated(v2, 32)
    return v0, v1, v2, v3


@jit
def siphash(k0, k1, m0, m1):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of two blocks with a key of two words, all uint64."""
    v0, v1, v2, v3 = k0 ^ _V0, k1 ^ _V1, k0 ^ _V2, k1 ^ _V3
    v0, v1, v2, v3 = sip_rounds(2, v0, v1, v2, v3 ^ m0)
    v0, v1, v2, v3 = sip_rounds(2, v0 ^ m0, v1, v2, v3 ^ m1)
    v0, v1, v2, v3 = sip_rounds(4, v0 ^ m1, v1, v2 ^ _FINAL, v3)
    return v0 ^ v1 ^ v2 ^ v3


@jit
def players_key(seed, game, seating):  # type: ignore[no-untyped-def]
    """Key of the players' randomness in a game: nobody can get back from it to the seed.

    Args:
        seed: Seed of the deals, uint64.
        game: Number of the game of that seed, uint64.
        seating: Which of the seatings of a match this is, below 2**56.
    """
    return siphash(np.uint64(seed), _GOLDEN, np.uint64(game), np.uint64(seating) | _LENGTH)


@jit
def below(key, counter, n):  # type: ignore[no-untyped-def]
    """The ``counter``-th number of a stream, uniform in [0, n) up to 2**-32."""
    x = mix(add64(key, mul64(_GOLDEN, np.uint64(counter + 1))))
    return i64(mul64(x >> _S32, np.uint64(n)) >> _S32)


@jit
def shuffle(order, n, key):  # type: ignore[no-untyped-def]
    """Shuffle ``order[:n]`` in place (Fisher-Yates)."""
    for i in range(n - 1, 0, -1):
        j = below(key, i, i + 1)
        order[i], order[j] = order[j], order[i]


@jit
def shuffled_deal(t, r):  # type: ignore[no-untyped-def]
    """Write the deal of this table's (seed, game, round) into ``order``."""
    highest = i64(r["highest"])
    order = t["order"]
    n = 0
    for tile in range(28):
        if HI[tile] <= highest:
            order[n] = tile
            n += 1
    shuffle(order, n, key_of(t["seed"], t["game"], t["round"], DEAL))


@jit
def lot(t, r):  # type: ignore[no-untyped-def]
    """Seat drawn by lot for this table's (seed, game, round)."""
    return below(key_of(t["seed"], t["game"], t["round"], LOT), 0, i64(r["players"]))


@jit
def hand_out(t, r):  # type: ignore[no-untyped-def]
    """Deal ``order`` to the hands and clear everything that belongs to a round."""
    seats = i64(r["players"])
    each = i64(r["tiles"])
    suit = i64(r["highest"]) + 1
    order = t["order"]
    top = 0
    for seat in range(4):
        hand = 0
        t["laid"][seat] = 0
        t["held"][seat] = 0
        for v in range(8):
            t["cap"][seat][v] = suit if seat < seats and v < 7 else 0
        if seat < seats:
            for _ in range(each):
                hand |= 1 << i64(order[top])
                order[top] = NOBODY
                top += 1
            t["held"][seat] = each
        t["hands"][seat] = hand
    for i in range(28):
        t["how"][i] = NOBODY
    tiles = suit * (suit + 1) // 2
    for i in range(tiles, 28):
        order[i] = NOBODY
    for e in range(16):
        t["value"][e] = NOBODY
        t["counts"][e] = 0
        t["shows"][e] = NOBODY
    for v in range(7):
        t["joined"][v] = 0
    t["fits"] = 0
    t["barred"] = 0
    t["cross"] = 0
    t["top"] = top
    t["tiles"] = tiles
    t["played"] = 0
    t["ends"] = 0
    t["suits"] = 0
    t["spinner"] = NOBODY
    t["total"] = 0
    t["pending"] = 0
    t["phase"] = 0
    t["passes"] = 0
    t["drew"] = 0
    t["mover"] = NOBODY
    t["seats"] = seats
    t["muggins"] = r["muggins"] != MUGGINS_OFF
