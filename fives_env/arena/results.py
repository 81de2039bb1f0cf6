"""Results of a tournament on disk: JSON Lines that any interruption leaves usable.

The first line holds the plan. Then come, in the order of the plan's meetings, lines of blocks::

    {"meeting": 0, "first": 0, "scores": [[[35, 20], ...], ...], ...}

and after a meeting's last blocks one ``{"meeting": 0, "game": {...}}`` for each recorded game, a
record as :mod:`fives_env.records` has it. The last line is ``{"result": ...}``. Each line ends with
a checksum and is written at once, so that a process killed at any moment leaves whole lines and at
most a torn last one, which is taken away. Nothing in it depends on when, where or with how many
processes it was played; times are kept in a file beside it. One tournament writes a file at a time:
it holds the lock of another file beside it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from fives_env.arena.jobs import Meeting, Part
from fives_env.arena.match import Blocks
from fives_env.arena.seating import seatings
from fives_env.errors import choice, real, whole
from fives_env.records import append, object_of, to_line

FORMAT = 1


def line_of(number: int, first: int, part: Part) -> dict[str, Any]:
    """The line of some blocks of a meeting."""
    blocks = part.blocks
    line: dict[str, Any] = {
        "meeting": number,
        "first": first,
        "scores": blocks.scores.tolist(),
        "leader": blocks.leader.tolist(),
        "blocked": blocks.blocked.astype(int).tolist(),
        "rounds": blocks.rounds.tolist(),
        "forfeits": part.forfeits.tolist(),
        "marks": part.marks,
    }
    if blocks.won.any():
        line["won"] = blocks.won.astype(int).tolist()
    if part.judged.any():
        line["luck"] = np.round(blocks.luck, 3).tolist()
        line["judged"] = part.judged.tolist()
    return line


def part_of(line: dict[str, Any], meeting: Meeting) -> Part:
    """The blocks of a line; without times."""
    specs, sides = meeting.seats
    ways = seatings(sides, meeting.rotations)
    owner = np.array([[entrant for entrant, _ in way[: meeting.rules.sides]] for way in ways])
    scores = np.array(line["scores"], np.int64)
    blocks = Blocks(
        owner,
        scores,
        np.array(line["won"], bool) if "won" in line else np.zeros(scores.shape, bool),
        np.array(line["leader"], np.int64),
        np.array(line["blocked"], bool),
        np.array(line["rounds"], np.int64),
        np.array(line["luck"]) if "luck" in line else np.zeros(scores.shape),
    )
    judged = line.get("judged", np.zeros((len(specs), 4)))
    forfeits = np.array(line["forfeits"], np.int64)
    none = np.zeros(len(specs))
    counted = none.astype(int), none, np.array(judged, np.int64), forfeits
    return Part(specs, line["marks"], 0.0, blocks, *counted)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file of results, and the folder that it needs, to one tournament.

    The file of the lock stays: to remove it could let two others in.

    Raises:
        ValueError: Another one writes it, or nobody can.
    """
    lock = FileLock(f"{path}.lock")
    try:
        if path.is_dir():
            raise ValueError(choice("file", str(path), "a file, which a folder is not"))
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        allowed = "one that no other tournament is writing"
        raise ValueError(choice("file", str(path), allowed)) from None
    except (OSError, NotImplementedError) as error:  # the latter where a file system has no locks
        raise _unwritten(path, error) from None
    try:
        yield
    finally:
        lock.release()


def _unwritten(path: Path, error: Exception) -> ValueError:
    fault = getattr(error, "strerror", None) or error
    return ValueError(f"results {str(path)!r} cannot be written: {fault}.")


def begin(path: Path, head: dict[str, Any]) -> None:
    """Write the first line, of which an interruption may have left a part.

    Raises:
        ValueError: The file holds something else, or cannot be written.
    """
    try:
        rest = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise _unwritten(path, error) from None
    if not to_line(head).startswith(rest):
        raise ValueError(choice("file", str(path), "a new one, or one of this tournament"))
    write_line(path, head)


def end(path: Path) -> None:
    """Give the last line its line break, which an interruption may have left out.

    Raises:
        ValueError: The file cannot be written.
    """
    try:
        with path.open("r+b") as file:
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
    except OSError as error:
        raise _unwritten(path, error) from None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file of results, but for a torn last one.

    Raises:
        ValueError: The file cannot be read, or a line in it was changed.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    yield object_of(line)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        return
                    raise ValueError(f"{path}, line {number}: {error}") from None
    except OSError as error:
        raise ValueError(f"results {str(path)!r} cannot be read: {error.strerror}.") from None


def write_line(path: Path, line: dict[str, Any]) -> None:
    """Add a line.

    Raises:
        ValueError: The file cannot be written.
    """
    try:
        append(path, line)
    except OSError as error:
        raise _unwritten(path, error) from None


def times_file(path: Path) -> Path:
    """Where the times of a file of results are kept."""
    return path.with_suffix(".times.jsonl")


def write_times(path: Path, specs: list[str], part: Part) -> None:
    """Note how long the players of some blocks took, if that can be written."""
    counts = zip(specs, part.decisions.tolist(), part.seconds.tolist(), strict=True)
    rows = [json.dumps({"player": n, "decisions": d, "seconds": s}) for n, d, s in counts if d]
    if rows:
        with suppress(OSError), times_file(path).open("a", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")


def read_times(path: Path) -> dict[str, float]:
    """Microseconds a decision of each player that was asked in Python, by name."""
    totals: dict[str, list[float]] = {}
    try:
        lines = times_file(path).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            row = json.loads(line)
            decisions = whole("decisions", row["decisions"], 1, 2**63 - 1)
            seconds = real("seconds", row["seconds"], 0)
            total = totals.setdefault(str(row["player"]), [0, 0])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # torn, or no time
        total[0] += decisions
        total[1] += seconds
    return {name: 1e6 * seconds / count for name, (count, seconds) in totals.items()}
