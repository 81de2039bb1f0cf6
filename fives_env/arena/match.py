"""Rounds or whole games of some players on the same deals, played in batches.

A *block* is one deal with every seating of the players, and the unit of all statistics. Deal ``k``
of a match is that of (seed, game ``k``, round 0), whatever the players.

Nobody is asked about two seatings of a deal at a time: one would show the other's hidden hands. The
tables are played seating after seating, and shown in an order that only the judge knows.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fives_env.arena import study
from fives_env.arena.seating import seatings
from fives_env.engine import batch, state
from fives_env.engine.deal import players_key
from fives_env.engine.jit import i64, jit
from fives_env.engine.state import BY_BLOCK, NOBODY
from fives_env.engine.turn import act
from fives_env.engine.turn import reset as start
from fives_env.players.ask import ask
from fives_env.players.base import Player
from fives_env.players.compiled import EXTERNAL, CompiledPlayer, play_on
from fives_env.rules import Rules

#: Deals that are played at the same time.
TABLES = 1024


@dataclass(frozen=True)
class Blocks:
    """What happened in some blocks; the scoring is the scoreboard's, points or pegs.

    Attributes:
        owner: Entrant on each side, int64, (seatings, sides).
        scores: Scores by side, int64, (blocks, seatings, sides).
        won: Whether each side won the game, bool, (blocks, seatings, sides); by round always False.
        leader: Side that led the (first) round, int64, (blocks, seatings).
        blocked: Whether the (last) round was blocked, bool, (blocks, seatings).
        rounds: Rounds played, int64, (blocks, seatings).
        luck: What chance added to each side's score, float64, (blocks, seatings, sides); 0 where
            that was not studied.
    """

    owner: NDArray[np.int64]
    scores: NDArray[np.int64]
    won: NDArray[np.bool_]
    leader: NDArray[np.int64]
    blocked: NDArray[np.bool_]
    rounds: NDArray[np.int64]
    luck: NDArray[np.float64]

    def margins(self, entrant: int = 0, luck: bool = False) -> NDArray[np.float64]:
        """Mean score of an entrant's sides less that of all others, (blocks, seatings).

        Args:
            entrant: Whose.
            luck: The part of it that was luck, instead.
        """
        own = self.owner == entrant
        weights = own / own.sum(1, keepdims=True) - ~own / (~own).sum(1, keepdims=True)
        margins: NDArray[np.float64] = ((self.luck if luck else self.scores) * weights).sum(2)
        return margins

    def points(self, entrant: int, others: bool = False) -> NDArray[np.float64]:
        """Mean score of an entrant's sides, or of all others, (blocks, seatings)."""
        own = (self.owner == entrant) != others
        points: NDArray[np.float64] = (self.scores * own).sum(2) / own.sum(1)
        return points

    def wins(self, entrant: int = 0) -> NDArray[np.float64]:
        """What an entrant won of each game, (blocks, seatings): 1, 0, or a share where it ties.

        A round is won by the side that is ahead of the mean of the others.
        """
        if not self.won.any():
            return (1 + np.sign(self.margins(entrant))) / 2
        own = (self.owner == entrant) & self.won
        wins: NDArray[np.float64] = own.sum(2) / self.won.sum(2)
        return wins

    def first(self, blocks: int) -> "Blocks":
        """The first blocks only."""
        names = [field.name for field in fields(Blocks) if field.name != "owner"]
        return Blocks(self.owner, *(getattr(self, name)[:blocks] for name in names))

    @staticmethod
    def joined(parts: Sequence["Blocks"]) -> "Blocks":
        """Some parts of a match, one after the other."""
        names = [field.name for field in fields(Blocks) if field.name != "owner"]
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return Blocks(parts[0].owner, *columns)


@dataclass
class Tally:
    """What is counted of a player during a match.

    Attributes:
        decisions: Decisions that were timed: those that Python asked for, a compiled player's are
            not; without its first call, in which much may be compiled.
        seconds: Time that it took for them.
        judged: Decisions with a choice, those of them that could be solved, those where it gave
            something away, and the points that it gave; int64, (4,). Only where studied.
    """

    decisions: int
    seconds: float
    judged: NDArray[np.int64]


@jit
def seat_players(  # type: ignore[no-untyped-def]
    tables, rules, seed, first, seating, kind_of, seated, kinds, owner, keys, shared, lo, hi
):
    """Deal game after game from ``first`` on and seat the players as ``seated[seating]`` is."""
    r = rules[0]
    for i in range(lo, hi):
        game = first + i
        start(tables[i], r, seed, game)
        keys[i] = players_key(seed, game, seating)
        shared[i] = players_key(seed, game, len(seated))
        for seat in range(i64(r["players"])):
            owner[i, seat] = seated[seating, seat]
            kinds[i, seat] = kind_of[seated[seating, seat]]


@jit
def waiting(tables, owner, player, index):  # type: ignore[no-untyped-def]
    """Write the tables that wait for a player into ``index``; their number."""
    n = 0
    for i in range(len(tables)):
        turn = tables[i]["turn"]
        if turn != NOBODY and owner[i, turn] == player:
            index[n] = i
            n += 1
    return n


@jit
def do(tables, rules, index, actions, none, lo, hi):  # type: ignore[no-untyped-def]
    """Do an action at each of the tables ``index[lo:hi]``."""
    for k in range(lo, hi):
        act(tables[index[k]], rules[0], i64(actions[k]), none)


class Match:
    """Tables at which some players meet.

    Args:
        players: The players.
        sides: For each side the number of its entrant, and its players' numbers by seat.
        rules: Their rules.
        seed: Seed of the deals.
        threads: Slices that compiled kernels work on at the same time.
        unit: A ``"round"`` from scores of 0, or a whole ``"game"``.
        rotations: Seat by turning the table only, not in every order.
        studied: Also measure luck (rounds only) and blunders, which takes much longer.

    Attributes:
        players: The players.
        tallies: What was counted of each.
        owner: Entrant on each side, int64, (seatings, sides).
    """

    def __init__(
        self,
        players: Sequence[Player],
        sides: Sequence[tuple[int, Sequence[int]]],
        rules: Rules,
        seed: int,
        threads: int = 1,
        *,
        unit: Literal["round", "game"] = "round",
        rotations: bool = False,
        studied: bool = False,
    ) -> None:
        self.players = list(players)
        self.rules, self.seed, self.threads = rules, np.uint64(seed), threads
        ways = seatings(sides, rotations)
        self._seated = np.array([[player for _, player in way] for way in ways])
        self.owner = np.array([[entrant for entrant, _ in way[: rules.sides]] for way in ways])
        self._kind_of = np.array(
            [p.kind if isinstance(p, CompiledPlayer) else EXTERNAL for p in self.players]
        )
        self.tallies = [Tally(0, 0.0, np.zeros(4, np.int64)) for _ in self.players]
        self._asked: set[int] = set()
        self._games = unit == "game"
        self._record = rules.record(episode=unit)
        self._scratch = np.zeros((threads, rules.n_actions), np.int32)
        self._studies = study.rooms(rules, threads, len(self.players)) if studied else []
        self._play(0, 0)  # compiles, before threads start and before anybody looks at the clock

    def play(self, blocks: int, first: int = 0) -> Iterator[Blocks]:
        """Play ``blocks`` blocks from number ``first`` on, some at a time."""
        for begin in range(first, first + blocks, TABLES):
            yield self._play(begin, min(TABLES, first + blocks - begin))

    def _play(self, first: int, blocks: int) -> Blocks:
        played = [self._play_seating(first, blocks, way) for way in range(len(self.owner))]
        for k, tally in enumerate(self.tallies):
            for room in self._studies:
                tally.judged += room.counts[k]
                room.counts[k] = 0
        return Blocks(self.owner, *(np.stack(column, 1) for column in zip(*played, strict=True)))

    def _play_seating(self, first: int, n: int, seating: int) -> tuple[NDArray[Any], ...]:
        """Play one seating of ``n`` deals; what :class:`Blocks` holds of it."""
        sides = self.rules.sides
        tables = state.new_tables(n)
        kinds, owner = np.zeros((2, n, self.rules.players), np.int64)
        keys, shared = np.zeros((2, n), np.uint64)
        luck = np.zeros((n, 4))

        def begin(k: int, lo: int, hi: int) -> None:
            places = self._kind_of, self._seated, kinds, owner, keys, shared, lo, hi
            seat_players(tables, self._record, self.seed, first, seating, *places)

        def compiled(k: int, lo: int, hi: int) -> None:
            where = tables, self._record, kinds, keys, batch.NO_EVENTS, self._scratch[k]
            if self._studies:
                study.play_on(*where, owner, shared, luck, self._studies[k], lo, hi)
            else:
                play_on(*where, lo, hi)

        batch.sliced(begin, n, self.threads)
        leader = tables["leader"].astype(np.int64) % sides
        batch.sliced(compiled, n, self.threads)
        while (tables["phase"] != state.OVER).any():
            for number in np.flatnonzero(self._kind_of == EXTERNAL):
                self._ask(int(number), tables, owner, keys, shared, luck)
            batch.sliced(compiled, n, self.threads)
        winners = tables["winners"][:, None] >> np.arange(sides) & 1 == 1
        return (
            tables["scores"][:, :sides].astype(np.int64),
            winners & self._games,
            leader,
            tables["ended"] == BY_BLOCK,
            tables["round"].astype(np.int64) + 1,
            luck[:, :sides],
        )

    def _ask(self, number: int, tables: Any, owner: Any, keys: Any, shared: Any, luck: Any) -> None:
        """Let an external player act once at every table that waits for it."""
        index = np.zeros(len(tables), np.int64)
        n = waiting(tables, owner, number, index)
        if n == 0:
            return
        index = index[:n]
        index = index[np.argsort(keys[index])]  # the order of deals would tell which they are
        player, record, tally = self.players[number], self._record, self.tallies[number]
        clock = time.perf_counter if depends_on_time(player) else time.process_time
        began = clock()
        actions = ask(player, self.rules, record, tables, index, keys[index], self._scratch)
        if number in self._asked:
            tally.seconds += clock() - began
            tally.decisions += n
        self._asked.add(number)

        def carry_out(k: int, lo: int, hi: int) -> None:
            where = tables, record, index, actions, batch.NO_EVENTS
            if self._studies:
                study.do(*where, owner, shared, luck, self._studies[k], lo, hi)
            else:
                do(*where, lo, hi)

        batch.sliced(carry_out, n, self.threads if self._studies else 1)


def depends_on_time(player: Player) -> bool:
    """Whether a player's choices depend on the machine: bounded by time, or an outside program."""
    return bool(getattr(player, "time_bounded", False)) or hasattr(player, "forfeits")
