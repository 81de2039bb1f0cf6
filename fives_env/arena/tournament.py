"""Tournaments: all meetings of a plan, that go on where they were interrupted."""

from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fives_env.arena.jobs import Job, Meeting, Part, joined, run
from fives_env.arena.plan import Plan, plan_of
from fives_env.arena.results import (
    FORMAT,
    begin,
    end,
    line_of,
    locked,
    part_of,
    read_lines,
    write_line,
    write_times,
)
from fives_env.arena.standing import Standing, standing
from fives_env.arena.trial import try_players
from fives_env.errors import choice
from fives_env.records import Record, play_record

#: Blocks of one line, which an interruption may lose.
STEP = 64


class Step(NamedTuple):
    """One line of results: ``blocks`` blocks from ``first`` on; with 0 the game of that number."""

    meeting: int
    first: int
    blocks: int


class Played(NamedTuple):
    """What has been played of a plan.

    Attributes:
        plan: The plan.
        parts: For each set of rules, blocks by the numbers of the players who met.
        games: Recorded games.
        result: What the last line says, if the tournament is over.
    """

    plan: Plan
    parts: list[dict[tuple[int, ...], list[Part]]]
    games: list[Record]
    result: list[dict[str, Any]] | None

    def standing(self, rules: int) -> Standing:
        """Where the players stand under one set of rules."""
        return standing(self.plan, rules, self.joined(rules))

    def joined(self, rules: int) -> dict[tuple[int, ...], Part]:
        """The blocks under one set of rules, by the numbers of the players who met."""
        return {who: joined(parts) for who, parts in self.parts[rules].items()}


def steps(plan: Plan) -> list[Step]:
    """All lines of a tournament between its first and its last, in order."""
    found = []
    for number in range(len(plan.meetings())):
        firsts = range(0, plan.blocks, STEP)
        found += [Step(number, first, min(STEP, plan.blocks - first)) for first in firsts]
        found += [Step(number, game, 0) for game in range(plan.games)]
    return found


def tournament(
    plan: Plan,
    workers: int = 1,
    engine: Literal["processes", "ray"] = "processes",
    progress: Callable[[Played], Any] | None = None,
) -> Played:
    """Play what a plan's file does not hold yet.

    Args:
        plan: What is to be played.
        workers: Processes that play; the file is the same.
        engine: Whose processes; see :func:`.jobs.run`.
        progress: Called after each line with all that has been played.

    Raises:
        ValueError: A player is unknown or chose an illegal action; or the file cannot be used, or
            belongs to another plan or a tournament that is being played.
    """
    with locked(Path(plan.file)):
        return _play(plan, workers, engine, progress)


def _play(
    plan: Plan,
    workers: int,
    engine: Literal["processes", "ray"],
    progress: Callable[[Played], Any] | None,
) -> Played:
    path, meetings = Path(plan.file), plan.meetings()
    played, rest = _resume(path, plan)
    if played.result is not None:
        end(path)
        return played
    jobs = (Job(meetings[s.meeting][2], s.first, s.blocks) for s in rest if s.blocks)
    playing = run(jobs, workers, engine=engine)
    try:
        for step in rest:
            rules, who, meeting = meetings[step.meeting]
            if step.blocks:
                part = next(playing)
                line = line_of(step.meeting, step.first, part)
                write_times(path, meeting.seats[0], part)
            else:
                line = {"meeting": step.meeting, "game": _game(meeting, step.first)}
            write_line(path, line)
            _take(played, rules, who, meeting, line)
            if progress:
                progress(played)
    finally:
        playing.close()
    result = [_summary(played.standing(rules)) for rules in range(len(plan.rules))]
    write_line(path, {"result": result})
    return played._replace(result=result)


def read_results(path: str | Path) -> Played:
    """What a file of results holds, finished or not.

    Raises:
        ValueError: It cannot be read, or is no file of results.
    """
    lines = read_lines(Path(path))
    head = next(lines, {})
    if head.get("tournament") != FORMAT:
        raise ValueError(choice("file", str(path), "one that fives tournament has written"))
    given = {k: v for k, v in head.items() if k not in ("tournament", "crc")}
    return _replay(plan_of({**given, "file": str(path)}), lines)[0]


def _resume(path: Path, plan: Plan) -> tuple[Played, list[Step]]:
    """What has been played, and what is left; the first line is written if there is none.

    Nothing is written before every player has shown that it can be made and answers.
    """
    head = {"tournament": FORMAT, **plan.to_dict()}
    lines = read_lines(path) if path.exists() else iter(())
    found = next(lines, None)
    if found is None:
        try_players(plan)
        begin(path, head)
    else:
        for name, value in head.items():
            if found.get(name) != value:
                allowed = f"{found.get(name)!r} as in {path}, or another file"
                raise ValueError(choice(name, value, allowed))
    return _replay(plan, lines)


def _replay(plan: Plan, lines: Iterator[dict[str, Any]]) -> tuple[Played, list[Step]]:
    played = Played(plan, [{} for _ in plan.rules], [], None)
    meetings, planned = plan.meetings(), steps(plan)
    done = 0
    for line in lines:
        if "result" in line:
            return played._replace(result=line["result"]), []
        step = planned[done] if done < len(planned) else None
        if step is None or not _fits(line, step):
            raise ValueError(f"{plan.file}, line {done + 2}: it is not the one that was planned.")
        rules, who, meeting = meetings[step.meeting]
        _take(played, rules, who, meeting, line)
        done += 1
    return played, planned[done:]


def _fits(line: dict[str, Any], step: Step) -> bool:
    """Whether a line is the one of a step."""
    if line.get("meeting") != step.meeting or ("game" in line) != (step.blocks == 0):
        return False
    if step.blocks:
        scores = line.get("scores")
        whole = isinstance(scores, list) and len(scores) == step.blocks
        return whole and line.get("first") == step.first
    return isinstance(line["game"], dict) and line["game"].get("game") == step.first


def _take(
    played: Played, rules: int, who: tuple[int, ...], meeting: Meeting, line: dict[str, Any]
) -> None:
    """Add a line to what has been played: read back, so that a resumed run sees the same."""
    if "game" in line:
        played.games.append(line["game"])
    else:
        played.parts[rules].setdefault(who, []).append(part_of(line, meeting))


def _game(meeting: Meeting, number: int) -> Record:
    """A whole game of a meeting, in its first seating."""
    seats = [meeting.sides[seat % len(meeting.sides)][0] for seat in range(meeting.rules.players)]
    return play_record(seats, meeting.rules, seed=meeting.seed, game=number)


def _summary(found: Standing) -> dict[str, Any]:
    """The last line's account of one set of rules, rounded."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return round(value, 4) if isfinite(value) else None  # JSON has no infinite numbers
        return [rounded(one) for one in value] if isinstance(value, list | tuple) else value

    return {
        "ratings": rounded(found.ratings),
        "payoffs": rounded(found.payoffs),
        "cycles": rounded(found.cycles),
        "players": [
            dict(zip(place._fields, rounded(place), strict=True)) for place in found.places
        ],
    }
