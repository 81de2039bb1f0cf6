"""``search``: every action is tried in many deals that the seat on turn may believe in.

The deals (*worlds*) are drawn by :mod:`.redeal` from the redacted record, the same for every
action; each is played out to the end of the round by a compiled player or a network, and the action
with the largest mean margin is chosen. Actions clearly behind are dropped on the way; the opinion
of a guide, or of the tactician, counts as some worlds. Once nothing is hidden between two sides,
play is exact.
"""

import time
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import batch
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import PLAY
from fives_env.errors import choice, one_of, threads_of, whole
from fives_env.players.base import Views
from fives_env.players.compiled import KINDS
from fives_env.players.endgame import settled
from fives_env.players.playouts import (
    LAP,
    NETWORK,
    Room,
    begin,
    drop_behind,
    leader,
    new_room,
    play_worlds,
    solve_world,
)
from fives_env.players.positions import end_code
from fives_env.players.tactician import speak_up
from fives_env.players.values import no_net
from fives_env.players.valuing import load_net
from fives_env.table import Table

#: Positions that each thread remembers in exact play, and that it looks at for one world.
SLOTS, POSITIONS = 1 << 16, 1_000_000


@dataclass(frozen=True)
class Analysis:
    """What a search found out about one decision.

    Attributes:
        action: The action chosen.
        values: Of each legal action, the margin that the side on turn may expect from here to the
            end of the round.
        visits: Worlds that each was tried in; 0 for one that is the same as another.
        exact: Whether the values are exact, since nothing is hidden.
        seconds: Time that it took.
    """

    action: int
    values: dict[int, float]
    visits: dict[int, int]
    exact: bool
    seconds: float


#: Kinds of players whose networks can play worlds out.
NETWORKS = ("tiny", "network")
#: What is left of an opinion once whole values are known: it tells equal ones apart.
TIE = 1e-6
# How a decision is made.
FORCED, KNOWN, UNKNOWN = range(3)


@jit
def start(records, k, rules, voids, weight, asked, room):  # type: ignore[no-untyped-def]
    """Begin a decision; ``(candidates, how it is made)``.

    With something to search for (``UNKNOWN``), worlds are still to be played; what is ``KNOWN`` has
    been solved; ``FORCED`` leaves nothing to think about, unless it is ``asked`` for.
    """
    r = rules[0]
    n = begin(records[k], r, voids, weight, room)
    t = room.tables[0]
    if n == 1 and not asked:
        return n, FORCED
    if t["phase"] != PLAY:
        if asked:
            return n, UNKNOWN
        room.candidates[0] = speak_up(t, room.legal)
        return 1, FORCED
    if r["sides"] == 2 and settled(t, r, room.deals) and solve_world(room, r, n, 1.0, np.uint64(0)):
        for c in range(n):
            room.sums[c] = room.exact[c]
            room.visits[c] = 1
            room.prior[c] *= TIE
        return n, KNOWN
    if drop_behind(room, n) == 1 and not asked:
        return n, FORCED
    return n, UNKNOWN


@jit
def more(room, rules, n, kind, depth, exact, doubt, key, first, last):  # type: ignore[no-untyped-def]
    """Play some worlds of the decision begun."""
    play_worlds(room, rules[0], n, kind, depth, exact, doubt, key, first, last)


@jit
def revive(room, n):  # type: ignore[no-untyped-def]
    """Let only those candidates race that no world has seen; in how many worlds the leader was."""
    best = leader(room, n)
    for c in range(n):
        room.racing[c] = room.visits[c] == 0
    return room.visits[best]


@jit
def alone(room, n):  # type: ignore[no-untyped-def]
    """Whether only one candidate is left in the race."""
    left = 0
    for c in range(n):
        left += room.racing[c]
    return left == 1


@jit
def decide(  # type: ignore[no-untyped-def]
    records, rules, keys, chosen, room, kind, voids, weight, depth, exact, doubt, worlds, lo, hi
):
    """Actions for the redacted records ``lo`` to ``hi``."""
    for k in range(lo, hi):
        n, how = start(records, k, rules, voids, weight, False, room)
        if how == UNKNOWN:
            play_worlds(room, rules[0], n, kind, depth, exact, doubt, keys[k], 0, worlds)
        chosen[k] = room.candidates[leader(room, n)]


@jit
def twin(room, action, bits, n):  # type: ignore[no-untyped-def]
    """The candidate that an action is the same as."""
    t = room.tables[0]
    for c in range(n):
        other = i64(room.candidates[c])
        if other == action:
            return c
        if other >> bits == action >> bits and t["played"]:
            mask = (1 << bits) - 1
            if end_code(t, other & mask) == end_code(t, action & mask):
                return c
    return 0


class SearchPlayer:
    """A player that tries every action in many worlds.

    Args:
        worlds: Deals that each action is tried in, 160 unless ``ms`` is given.
        playouts: Who plays them out: ``random``, ``greedy``, ``tactician``, or a network of values,
            ``tiny:PATH`` or ``network:PATH``, which is the same but for its size.
        guide: Checkpoint of a network of values, whose opinion then settles what worlds leave open
            instead of the tactician's.
        weight: Worlds that the guide's opinion weighs as much as, 80 unless given.
        depth: Decisions with a choice in a play-out after which the tactician, who is faster than a
            network, plays on; 0 for never.
        exact: Worlds whose hands together hold no more tiles than this are solved instead (two
            sides).
        voids: Whether worlds obey what is known of the other seats; without, it plays worse.
        doubt: How likely a tile that a seat has declined is in its hand, in per cent of any other.
        ms: Milliseconds for each decision instead of a number of worlds. Its choices then depend on
            the machine.
        threads: Slices of a batch that are worked on at the same time; the result is the same.

    Attributes:
        name: How tables and reports call it.
        time_bounded: Whether its choices depend on the machine.

    Raises:
        ValueError: An option is not what it may be.
    """

    def __init__(
        self,
        worlds: int | None = None,
        playouts: str = "tactician",
        guide: str | None = None,
        weight: int | None = None,
        depth: int = 0,
        exact: int = 0,
        voids: bool = True,
        doubt: int = 30,
        ms: int | None = None,
        threads: int | None = None,
    ) -> None:
        kind, _, path = playouts.partition(":") if isinstance(playouts, str) else ("", "", "")
        if kind in NETWORKS and path:
            self._nets = load_net(path)[0], no_net()
        else:
            kind = one_of("playouts", playouts, [*KINDS, *(f"{net}:PATH" for net in NETWORKS)])
            self._nets = no_net(), no_net()
        if guide is not None:
            self._nets = self._nets[0], load_net(guide)[0]
        elif weight is not None:
            raise ValueError(choice("weight", weight, "given with a guide"))
        weight = 80 if weight is None else whole("weight", weight, 0, 1_000_000)
        self._weight = weight
        if not isinstance(voids, bool):
            raise ValueError(choice("voids", voids, "yes or no"))
        if ms is not None and worlds is not None:
            raise ValueError(choice("ms", ms, "given without worlds"))
        worlds = 160 if worlds is None else whole("worlds", worlds, 1, 1_000_000)
        self.worlds = worlds
        self.ms = None if ms is None else whole("ms", ms, 1, 3_600_000)
        self.time_bounded = ms is not None
        self.threads = threads_of(threads)
        depth = whole("depth", depth, 0, 1000)
        self._voids = voids
        exact, doubt = whole("exact", exact, 0, 28), whole("doubt", doubt, 0, 100)
        self._how = KINDS.get(kind, NETWORK), depth or -1, exact, doubt / 100
        shown = [f"worlds={worlds}" if ms is None else f"ms={ms}", f"playouts={playouts}"]
        shown += [f"guide={guide}"] * (guide is not None) + [f"weight={weight}"] * (weight != 80)
        shown += [f"depth={depth}"] * (depth > 0) + [f"exact={exact}"] * (exact > 0)
        shown += ["voids=no"] * (not voids) + [f"doubt={doubt}"] * (doubt != 30)
        self.name = f"search:{','.join(shown)}"
        self._rooms: dict[int, list[Room]] = {}

    def _room(self, records: NDArray[Any], rules: NDArray[Any], n: int) -> list[Room]:
        """Room for each thread, under rules of ``n`` actions.

        The first time, kernels are compiled on the first record: before threads start, and before
        anybody looks at the clock.
        """
        if n not in self._rooms:
            rooms = [new_room(n, SLOTS, POSITIONS, *self._nets) for _ in range(self.threads)]
            start(records, 0, rules, self._voids, self._weight, False, rooms[0])
            more(rooms[0], rules, 0, *self._how, np.uint64(0), 0, 0)
            self._rooms[n] = rooms
        return self._rooms[n]

    def __getstate__(self) -> dict[str, Any]:
        """All but the room, of which a copy makes its own."""
        return self.__dict__ | {"_rooms": {}}

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view."""
        chosen = np.zeros(len(views.records), np.int64)
        if not len(chosen):
            return chosen
        rules = views.rules.record(episode="round")
        rooms = self._room(views.records, rules, views.rules.n_actions)
        kind, depth, exact, doubt = self._how

        def kernel(slice_: int, lo: int, hi: int) -> None:
            decide(
                views.records,
                rules,
                views.keys,
                chosen,
                rooms[slice_],
                kind,
                self._voids,
                self._weight,
                depth,
                exact,
                doubt,
                self.worlds,
                lo,
                hi,
            )

        def timed(slice_: int, lo: int, hi: int) -> None:
            for k in range(lo, hi):
                room = rooms[slice_]
                best = self._think(views.records, k, rules, views.keys[k], room)[2]
                chosen[k] = room.candidates[best]

        if not self.time_bounded:
            kernel(0, 0, 0)  # compiles, before threads start
        batch.sliced(timed if self.time_bounded else kernel, len(chosen), self.threads)
        return chosen

    def _think(
        self,
        records: NDArray[Any],
        k: int,
        rules: NDArray[Any],
        key: np.uint64,
        room: Room,
        asked: bool = False,
    ) -> tuple[int, int, int, float]:
        """Look into one decision: candidates, how it was made, the best one, seconds.

        If it is ``asked`` for, those that opinion has ruled out are played in worlds too, at last.
        """
        began = time.perf_counter()
        n, how = start(records, k, rules, self._voids, self._weight, asked, room)
        lap, limit = (self.worlds, 0.0) if self.ms is None else (LAP, self.ms / 1000)
        for first in count(0, lap) if how == UNKNOWN else ():
            more(room, rules, n, *self._how, key, first, first + lap)
            if alone(room, n) or time.perf_counter() - began >= limit:
                break
        best = int(leader(room, n))
        if asked and how == UNKNOWN:
            more(room, rules, n, *self._how, key, 0, revive(room, n))
        return n, how, best, time.perf_counter() - began

    def analyse(self, table: Table, key: int = 0) -> Analysis:
        """What the search thinks of the decision at a table, as the seat on turn sees it.

        Args:
            table: The table; only what its seat on turn may see is looked at.
            key: Number from which all randomness comes.

        Raises:
            ValueError: Nobody is on turn, or one of these is not what it may be.
        """
        if not isinstance(table, Table):
            raise ValueError(choice("table", table, "a Table"))
        key = whole("key", key, 0, 2**64 - 1)
        if table.turn is None:
            raise ValueError(choice("phase", "over", "one in which somebody is to act"))
        rules = table.rules.record(episode="round")
        record = table.redact(table.turn)
        room = self._room(record, rules, table.rules.n_actions)[0]
        n, how, c, seconds = self._think(record, 0, rules, np.uint64(key), room, asked=True)
        bits = table.rules.n_ends.bit_length() - 1
        best, values, visits = int(room.candidates[c]), {}, {}
        for action in table.legal:
            c = twin(room, action, bits, n)
            values[action] = float(room.sums[c] / max(1, room.visits[c]))
            visits[action] = int(room.visits[c]) if room.candidates[c] == action else 0
        if table.phase != "play":
            best = int(speak_up(room.tables[0], room.legal))
        return Analysis(best, values, visits, how == KNOWN, seconds)


def analyse(table: Table, key: int = 0, **options: Any) -> Analysis:
    """What a search thinks of the decision at a table.

    Args:
        table: As :meth:`SearchPlayer.analyse` takes it.
        key: The same.
        **options: As :class:`SearchPlayer` takes them.
    """
    return SearchPlayer(**options).analyse(table, key)
