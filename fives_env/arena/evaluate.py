"""``evaluate``: the margin between two players, with an interval that can be trusted."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fives_env.arena.jobs import Job, Meeting, Part, joined, run
from fives_env.arena.match import TABLES, Blocks
from fives_env.arena.sequential import Outcome, Sprt
from fives_env.arena.statistics import (
    Adjusted,
    Interval,
    bootstrap_of,
    elo_interval,
    mean_of,
    share_of,
    without_luck,
)
from fives_env.errors import choice, one_of, threads_of, whole
from fives_env.rules import Rules

#: Blocks between two looks at a test, and in what one process plays at a time.
STEP = 256


@dataclass(frozen=True)
class Result:
    """What a match between players A and B showed; intervals are of 95 %, from blocks.

    Attributes:
        a: Name of player A.
        b: Name of player B.
        rules: The rules, as they print themselves.
        seed: Seed of the deals.
        unit: What was played, ``round`` or ``game``.
        margin: Own points less the mean of the other sides', per round (or game), for player A.
        low: Lower end of the interval of ``margin`` (Student's t over blocks).
        high: Its upper end.
        spread: Standard deviation of the margin of a block.
        bootstrap: ``margin`` with a bootstrap's interval over blocks: margin, low, high.
        pairs: Blocks: one deal with player A on each side in turn.
        rounds: Rounds played.
        win_share: Share of games that A won, or of rounds that A ended ahead of the others' mean; a
            tie counts half.
        wins: The same with its interval (Wilson).
        elo: The same as a difference in Elo: that, low, high.
        points_a: A's points a round (or game).
        points_b: The mean of the other sides' points.
        by_side: A's margin on each side in turn, seat 0's first.
        leading: A's margin where it led the (first) round.
        following: A's margin where it did not.
        blocked: Share of rounds that were blocked (of games: of their last rounds).
        forfeits_a: Decisions that A, an outside program, forfeited.
        forfeits_b: The same of B.
        decisions_a: Decisions of A that were timed: not its first call, in which much may be
            compiled, and none of a compiled player.
        decisions_b: The same of B.
        micros_a: Microseconds that one took; processor time, or the clock's for outside programs
            and players bounded by time. None if there was none.
        micros_b: The same of B.
        luck: The margin without the luck that was seen, if that was studied.
        blunders_a: Of A's decisions with a choice, if studied: how many there were, could be
            solved, gave points away, and how many points; (4,).
        blunders_b: The same of B.
        sprt: What the sequential test found, if there was one.
        marked_a: Whether A is an outside program or bounded by time, so that the same call may give
            other figures.
        marked_b: The same of B.
        seconds: Time that it took, without compiling.
        rounds_per_s: Rounds a second.
    """

    a: str
    b: str
    rules: str
    seed: int
    unit: str
    margin: float
    low: float
    high: float
    spread: float
    bootstrap: Interval
    pairs: int
    rounds: int
    win_share: float
    wins: Interval
    elo: Interval
    points_a: float
    points_b: float
    by_side: tuple[float, ...]
    leading: float
    following: float
    blocked: float
    forfeits_a: int
    forfeits_b: int
    decisions_a: int
    decisions_b: int
    micros_a: float | None
    micros_b: float | None
    luck: Adjusted | None
    blunders_a: tuple[int, ...] | None
    blunders_b: tuple[int, ...] | None
    sprt: Outcome | None
    marked_a: bool
    marked_b: bool
    seconds: float
    rounds_per_s: float

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Margin and interval in one line."""
        return (
            f"{self.a} against {self.b}: margin {self.margin:+.2f} a {self.unit}, "
            f"95 % interval {self.low:+.2f} to {self.high:+.2f}, {self.pairs} pairs"
        )


def evaluate(
    a: Any,
    b: Any,
    *,
    rules: Any = None,
    pairs: int = 10_000,
    seed: int = 0,
    unit: Literal["round", "game"] = "round",
    study: bool = False,
    sprt: Sprt | None = None,
    workers: int = 1,
    threads: int | None = None,
    engine: Literal["processes", "ray"] = "processes",
    progress: Callable[[int], Any] | None = None,
    **options: Any,
) -> Result:
    """Play duplicate deals, seats swapped, and judge by the margin.

    Each round, or game, starts from scores of 0. With more than two sides, A sits on each side in
    turn against B on all others; the block of one deal is the unit of the statistics.

    Args:
        a: A player, its spec, or a callable from :class:`~fives_env.players.Views` to actions.
        b: The other.
        rules: A preset's name, :class:`Rules` or a dict of options.
        pairs: Deals, at least 2; with ``sprt`` the most.
        seed: Seed of the deals; the same seed gives the same deals to any players.
        unit: Single rounds, or whole games.
        study: Also measure luck and blunders, which takes some milliseconds a round.
        sprt: Stop as soon as this test is decided. On rounds it is about the margin, on games about
            the difference in Elo.
        workers: Processes that play; with more than 1, players must be given by spec, and a script
            must call this under ``if __name__ == "__main__"``. The result is the same.
        threads: Threads for compiled players, from 1 (default: all cores); the result is the same.
        engine: Whose processes; see :func:`.jobs.run`.
        progress: Called with the number of pairs just played.
        **options: Any option of :class:`Rules`.

    Raises:
        ValueError: An unknown player or rule, or a player that answers with an illegal action.
    """
    rules = Rules.of(rules, **options)
    pairs = whole("pairs", pairs, 2, 10**9)
    seed = whole("seed", seed, 0, 2**63 - 1)
    workers = whole("workers", workers, 1, 1024)
    threads = threads_of(threads)
    unit = one_of("unit", unit, ("round", "game"))
    if not (progress is None or callable(progress)):
        raise ValueError(choice("progress", progress, "a function"))
    meeting = duel(a, b, rules, seed, unit=unit, studied=study)
    test = None if sprt is None else replace(sprt)
    if test and unit == "game":
        test = test.of_games()
    step = min(pairs, STEP if test or workers > 1 or engine == "ray" else TABLES)
    jobs = (Job(meeting, k, min(step, pairs - k)) for k in range(0, pairs, step))
    playing = run(jobs, workers, threads, engine)
    parts: list[Part] = []
    try:
        for part in playing:
            end = test.add(_units(part.blocks, unit)) if test else None
            parts.append(part if end is None else part.shortened(end))
            if progress:
                progress(len(parts[-1].blocks.scores))
            if end is not None:
                break
    finally:
        playing.close()
    return _result(joined(parts), meeting, test, workers)


def duel(a: Any, b: Any, rules: Rules, seed: int, **how: Any) -> Meeting:
    """The meeting of A on one side and B on all others; ``how`` are fields of :class:`Meeting`."""
    seats = rules.players // rules.sides
    sides = (a,) * seats, *((b,) * seats for _ in range(rules.sides - 1))
    return Meeting(sides, rules, seed, same=(0, *(1 for _ in sides[1:])), **how)


def _units(blocks: Blocks, unit: str) -> NDArray[np.float64]:
    """What a sequential test looks at: the margin of each block, or the share of its games won."""
    values: NDArray[np.float64] = (blocks.wins() if unit == "game" else blocks.margins()).mean(1)
    return values


def _result(part: Part, meeting: Meeting, test: Sprt | None, workers: int) -> Result:
    blocks = part.blocks
    margins = blocks.margins()
    by_block = margins.mean(1)
    margin, wins = mean_of(by_block), share_of(blocks.wins())
    led = np.take_along_axis(
        np.broadcast_to(blocks.owner, (len(margins), *blocks.owner.shape)),
        blocks.leader[:, :, None],
        2,
    )[:, :, 0]
    outcome = test.outcome() if test else None
    if outcome and meeting.unit == "game":
        outcome = outcome._replace(mean=elo_interval(outcome.mean))
    micros = [
        1e6 * seconds / count if count else None
        for seconds, count in zip(part.seconds.tolist(), part.decisions.tolist(), strict=True)
    ]
    seconds = part.wall / workers
    rounds = int(blocks.rounds.sum())
    judged = [tuple(row) for row in part.judged.tolist()] if meeting.studied else [None, None]
    return Result(
        a=part.names[0],
        b=part.names[1],
        rules=repr(meeting.rules),
        seed=meeting.seed,
        unit=meeting.unit,
        margin=margin.value,
        low=margin.low,
        high=margin.high,
        spread=float(by_block.std(ddof=1)),
        bootstrap=bootstrap_of(by_block),
        pairs=len(margins),
        rounds=rounds,
        win_share=wins.value,
        wins=wins,
        elo=elo_interval(wins),
        points_a=float(blocks.points(0).mean()),
        points_b=float(blocks.points(0, others=True).mean()),
        by_side=tuple(margins.mean(0).tolist()),
        leading=float(margins[led == 0].mean()) if (led == 0).any() else 0.0,
        following=float(margins[led != 0].mean()) if (led != 0).any() else 0.0,
        blocked=float(blocks.blocked.mean()),
        forfeits_a=int(part.forfeits[0]),
        forfeits_b=int(part.forfeits[1]),
        decisions_a=int(part.decisions[0]),
        decisions_b=int(part.decisions[1]),
        micros_a=micros[0],
        micros_b=micros[1],
        luck=without_luck(by_block, blocks.margins(luck=True).mean(1)) if meeting.studied else None,
        blunders_a=judged[0],
        blunders_b=judged[1],
        sprt=outcome,
        marked_a=part.marks[0],
        marked_b=part.marks[1],
        seconds=seconds,
        rounds_per_s=rounds / seconds,
    )
