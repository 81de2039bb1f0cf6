"""Parts of matches, played here or by other processes; who plays them changes no result."""

import atexit
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fives_env.arena.match import Blocks, Match, depends_on_time
from fives_env.errors import choice, threads_of
from fives_env.players import Player, make_player
from fives_env.players.base import forfeits_of
from fives_env.rules import Rules

#: Whose processes can play.
ENGINES = ("processes", "ray")


@dataclass(frozen=True)
class Meeting:
    """Who plays what: everything about a match but how many blocks.

    Attributes:
        sides: The players of each side by seat; specs, if other processes are to play.
        rules: Their rules.
        seed: Seed of the deals.
        unit: A round, or a whole game.
        rotations: Whether seats are only turned, not permuted.
        studied: Whether luck and blunders are measured.
        same: Entrant of each side; empty where all differ.

    Raises:
        ValueError: There is not one entrant for each side, or luck is to be studied in games.
    """

    sides: tuple[tuple[Any, ...], ...]
    rules: Rules
    seed: int
    unit: Literal["round", "game"] = "round"
    rotations: bool = False
    studied: bool = False
    same: tuple[int, ...] = ()

    def __post_init__(self) -> None:  # noqa: D105
        if len(self.sides) != self.rules.sides:
            sides = f"one for each of {self.rules.sides} sides"
            raise ValueError(choice("number of entrants", len(self.sides), sides))
        if self.studied and self.unit == "game":
            raise ValueError(choice("unit", self.unit, "'round' where luck is studied"))

    @property
    def entrants(self) -> tuple[int, ...]:
        """Entrant of each side."""
        return self.same or tuple(range(len(self.sides)))

    @property
    def seats(self) -> tuple[list[Any], list[tuple[int, list[int]]]]:
        """The specs of the different players, and each side's entrant and players by number."""
        numbers: dict[Any, int] = {}
        specs: list[Any] = []
        sides = []
        for entrant, side in zip(self.entrants, self.sides, strict=True):
            members = []
            for spec in side:
                key = entrant, spec if isinstance(spec, str) else id(spec)
                if key not in numbers:
                    numbers[key] = len(specs)
                    specs.append(spec)
                members.append(numbers[key])
            sides.append((entrant, members))
        return specs, sides


class Job(NamedTuple):
    """``blocks`` blocks of a meeting, from number ``first`` on."""

    meeting: Meeting
    first: int
    blocks: int


class Part(NamedTuple):
    """What came of a job; lists are by player, numbered as by :attr:`Meeting.seats`.

    Attributes:
        names: The players' names.
        marks: Whether each one's choices depend on the machine, so that none can be repeated.
        wall: Seconds that passed.
        blocks: The blocks.
        decisions: Decisions of each that were timed; see :class:`.match.Tally`.
        seconds: Time that it took for them.
        judged: See :class:`.match.Tally`, int64, (players, 4).
        forfeits: Decisions that it forfeited.
    """

    names: list[str]
    marks: list[bool]
    wall: float
    blocks: Blocks
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]
    judged: NDArray[np.int64]
    forfeits: NDArray[np.int64]

    def shortened(self, blocks: int) -> "Part":
        """The same with the first blocks only; what is counted by player stays."""
        return self._replace(blocks=self.blocks.first(blocks))


class Hall:
    """A meeting's players, at their tables.

    Players that specs name are made here, and closed by :meth:`close`.
    """

    def __init__(self, meeting: Meeting, threads: int) -> None:
        self._specs, sides = meeting.seats
        self.players: list[Player] = []
        try:
            self.players += (make_player(spec) for spec in self._specs)
            self._match = Match(
                self.players,
                sides,
                meeting.rules,
                meeting.seed,
                threads,
                unit=meeting.unit,
                rotations=meeting.rotations,
                studied=meeting.studied,
            )
        except BaseException:
            self.close()
            raise

    def play(self, first: int, blocks: int) -> Part:
        """Play some blocks."""
        tallies = self._match.tallies
        for tally in tallies:
            tally.decisions, tally.seconds, tally.judged = 0, 0.0, np.zeros(4, np.int64)
        before = np.array([sum(forfeits_of(player).values()) for player in self.players])
        began = time.perf_counter()
        parts = list(self._match.play(blocks, first))
        return Part(
            [player.name for player in self.players],
            [depends_on_time(player) for player in self.players],
            time.perf_counter() - began,
            Blocks.joined(parts),
            np.array([tally.decisions for tally in tallies]),
            np.array([tally.seconds for tally in tallies]),
            np.array([tally.judged for tally in tallies]),
            np.array([sum(forfeits_of(player).values()) for player in self.players]) - before,
        )

    def close(self) -> None:
        """End the programs that play here."""
        for spec, player in zip(self._specs, self.players, strict=False):
            if player is not spec and hasattr(player, "close"):
                player.close()


def joined(parts: list[Part]) -> Part:
    """Some parts of a meeting, one after the other."""
    blocks = Blocks.joined([part.blocks for part in parts])
    counted = list(zip(*parts, strict=True))
    wall, *rest = (sum(column[1:], column[0]) for column in (counted[2], *counted[4:]))
    return Part(parts[0].names, parts[0].marks, wall, blocks, *rest)


def run(
    jobs: Iterable[Job],
    workers: int = 1,
    threads: int | None = None,
    engine: Literal["processes", "ray"] = "processes",
) -> Generator[Part]:
    """Play jobs and hand out what came of them, in order.

    Args:
        jobs: What is to be played.
        workers: Processes that play; with 1 it is this one, unless ``engine`` is Ray.
        threads: Threads of this one (default: all cores).
        engine: Whose processes: this machine's, or those of the Ray cluster that ``RAY_ADDRESS``
            names, of one on this machine if there is none.

    Raises:
        ValueError: An unknown player or engine; or other processes are to play one that is no spec.
    """
    if engine not in ENGINES:
        raise ValueError(choice("engine", engine, ENGINES))
    if engine == "ray":
        yield from _run_on_ray(jobs, workers)
    elif workers == 1:
        yield from _run_here(jobs, threads_of(threads))
    else:
        yield from _run_elsewhere(jobs, workers)


def _run_here(jobs: Iterable[Job], threads: int) -> Generator[Part]:
    hall, where = None, None
    try:
        for job in jobs:
            if hall is None or where != job.meeting:
                if hall is not None:
                    hall.close()
                hall, where = Hall(job.meeting, threads), job.meeting
            yield hall.play(job.first, job.blocks)
    finally:
        if hall is not None:
            hall.close()


def _run_elsewhere(jobs: Iterable[Job], workers: int) -> Generator[Part]:
    # Fresh processes: a forked one would inherit the locks of threads that it does not have.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        yield from _in_order(
            jobs, 2 * workers, lambda job: pool.submit(_play, job), lambda future: future.result()
        )
    except BrokenProcessPool:
        raise ValueError(
            "a process that played has ended; a script that uses workers must do so under "
            "if __name__ == '__main__'."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _run_on_ray(jobs: Iterable[Job], workers: int) -> Generator[Part]:
    try:
        ray: Any = import_module("ray")
    except ImportError:
        missing = 'engine ray needs Ray, which is missing: pip install "fives-env[scale]".'
        raise ValueError(missing) from None
    begun = not ray.is_initialized()
    if begun:
        own = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers}
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error", **own)
    try:
        yield from _in_order(jobs, 2 * workers, ray.remote(_play).remote, ray.get)
    finally:
        if begun:
            ray.shutdown()


def _in_order(
    jobs: Iterable[Job], ahead: int, submit: Callable[[Job], Any], result: Callable[[Any], Part]
) -> Generator[Part]:
    """Results in the order of jobs, of which as many as ``ahead`` are under way."""
    waiting = iter(jobs)
    running = deque(submit(_portable(job)) for job in islice(waiting, ahead))
    while running:
        yield result(running.popleft())
        running.extend(submit(_portable(job)) for job in islice(waiting, 1))


def _portable(job: Job) -> Job:
    for spec in job.meeting.seats[0]:
        if not isinstance(spec, str):
            raise ValueError(choice("player", spec, "a spec where other processes play"))
    return job


#: Meetings that are open in this process, the one played last at the end, and how many may be.
_halls: dict[Meeting, Hall] = {}
_OPEN = 4


def _hall(meeting: Meeting) -> Hall:
    """The hall of a meeting; of those that are open, the one left longest is closed."""
    hall = _halls.pop(meeting, None) or Hall(meeting, 1)
    _halls[meeting] = hall
    if len(_halls) > _OPEN:
        _halls.pop(next(iter(_halls))).close()
    return hall


@atexit.register
def _close_halls() -> None:
    while _halls:
        _halls.popitem()[1].close()


def _play(job: Job) -> Part:
    """Play a job in a process of its own."""
    return _hall(job.meeting).play(job.first, job.blocks)
