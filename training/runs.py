"""A training run: its folder, kept to one process, its state, and how it goes on and ends."""

import contextlib
import dataclasses
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

import fives_env
from fives_env.arena import evaluate
from fives_env.errors import choice
from fives_env.players import checkpoint
from training.log import Log
from training.settings import as_yaml, parse

#: A run that was stopped keeps what it needs to go on in this file of its folder.
STATE = "state.safetensors"

#: Raised whenever what a learner keeps there changes its meaning.
LAYOUT = "2"


def origin() -> dict[str, Any]:
    """The commit, if this is a checkout, and the versions of all that has a say in the weights."""
    here = Path(__file__).parent
    try:
        git = ["git", "-C", str(here), "rev-parse", "HEAD"]
        commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""
    versions = {name: version(name) for name in ("numba", "numpy", "safetensors", "torch")}
    versions |= {"fives_env": fives_env.__version__, "python": platform.python_version()}
    machine = f"{os.cpu_count()} cores ({platform.machine()})"
    return {"commit": commit or None, "machine": machine, "versions": versions}


def store(arrays: dict[str, NDArray[Any]], path: Path, text: str) -> None:
    """Write the state of a run with some settings."""
    about = {"settings": text, "layout": LAYOUT}
    checkpoint.write({path: safetensors.numpy.save(arrays, about)})


def recall(path: Path, text: str) -> dict[str, NDArray[Any]]:
    """The state of a run with some settings.

    Raises:
        ValueError: The file is damaged, or of a run with other settings or an earlier layout.
    """
    try:
        with safe_open(path, "numpy") as file:
            if file.metadata() != {"settings": text, "layout": LAYOUT}:
                raise ValueError(f"{path} is of another run: move it away to begin again.")
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        raise ValueError(f"{path} cannot be read: delete it to begin again.") from None


def match(settings: Any, player: str, opponent: str) -> dict[str, Any]:
    """The result of a player against another, on the deals that the settings name."""
    rules = settings.table_rules
    result = evaluate(player, opponent, rules=rules, pairs=settings.pairs, seed=settings.seed)
    return result.to_dict()


def told(results: Sequence[dict[str, Any]]) -> str:
    """Some results as sentences, each with a blank before it."""
    return "".join(
        f" It wins {r['margin']:+.2f} points a round from {r['b']}, 95 % interval {r['low']:+.2f} "
        f"to {r['high']:+.2f}."
        for r in results
    )


def folder_of(settings: Any, default: str) -> Path:
    """The run's folder: as given, else named after the file with settings, else ``default``.

    Raises:
        ValueError: It cannot be a folder.
    """
    folder = Path(settings.folder or Path("runs") / (Path(settings.config).stem or default))
    if "\0" in str(folder):
        raise ValueError(choice("folder", str(folder), "a path"))
    # Files are written, and earlier runs moved, beside it: it needs a name.
    return folder if folder.name not in ("", "..") else folder.resolve()


@contextlib.contextmanager
def only_here(folder: Path) -> Iterator[None]:
    """Keep a run's folder to this process.

    The file of the lock stays: to remove it could let two others in.

    Raises:
        ValueError: Another process has it.
    """
    lock = FileLock(f"{folder}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(NotImplementedError):  # a file system without locks
            lock.acquire(timeout=0)
    except Timeout:
        there = Path(lock.lock_file).exists()  # if not, it is no rival that is in the way
        allowed = "one that no other run is writing" if there else "where files can be written"
        raise ValueError(choice("folder", str(folder), allowed)) from None
    except (FileExistsError, NotADirectoryError):
        raise ValueError(
            choice("folder", str(folder), "in a folder, which a file is not")
        ) from None
    try:
        yield
    finally:
        lock.release()


def goes_on(folder: Path, text: str) -> bool:
    """Whether a run with these settings, as text, was stopped in the folder."""
    file = folder / "settings.yaml"
    return (folder / STATE).is_file() and file.is_file() and file.read_bytes() == text.encode()


def make_folder(folder: Path, text: str) -> None:
    """Make a run's folder; an earlier run that lies there is moved aside to NAME-1, NAME-2, ...

    Args:
        folder: The folder.
        text: The settings as text: a run with the same ones that was stopped stays, to go on.

    Raises:
        ValueError: Something else lies there.
    """
    file = folder / "settings.yaml"
    # A run that was killed at its very beginning leaves at most this.
    begun = {f"{file.name}.new"}
    if folder.exists() and not (folder.is_dir() and {p.name for p in folder.iterdir()} <= begun):
        if not file.is_file():
            raise ValueError(choice("folder", str(folder), "new, empty or that of an earlier run"))
        if goes_on(folder, text):
            print(f"Going on with the run in {folder}.")
            return
        number = 1
        while (aside := folder.with_name(f"{folder.name}-{number}")).exists():
            number += 1
        folder.rename(aside)
        print(f"The earlier {folder} is now {aside}.")
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint.write({file: text.encode()})


def run(name: str, kind: Any, settings: Any, given: str = "") -> tuple[str, bool]:
    """Let a learner learn, log and save in the run's folder; how that ended, and whether by itself.

    Ctrl-C ends it early; what has been learned is saved then too, and the run can go on later.

    Args:
        name: The script's.
        kind: The class of what learns, made of the settings. It has the decisions ``done`` and in
            ``total``; ``line()``, which learns on and gives figures for a line of the log and a
            text for the bar; ``save``; and ``arrays`` and ``restore``, for its state between two
            lines.
        settings: The run's.
        given: The command line's arguments, for the card.

    Raises:
        ValueError: It cannot be trained with these settings, in this folder or from this state.
    """
    folder, where = folder_of(settings, name.rpartition(".")[2]), origin()
    text = as_yaml(settings, where["versions"])
    about = {
        "command": f"python -m {name} {given}".rstrip(),
        "settings": dataclasses.asdict(settings),
        "seed": settings.seed,
        **where,
    }
    try:
        learner = kind(settings)  # before an earlier run is moved: it may not fit into memory
        make_folder(folder, text)
        return _train(learner, folder, text, about)
    except KeyboardInterrupt:
        if goes_on(folder, text):
            return f"Stopped: the same command goes on with the run in {folder}.", False
        return "Stopped before anything was learned.", False


def _train(learner: Any, folder: Path, text: str, about: dict[str, Any]) -> tuple[str, bool]:
    """Learn to the end or until Ctrl-C, in a folder that is there; as :func:`run`."""
    s, kept = learner.settings, folder / STATE
    if kept.is_file():
        learner.restore(recall(kept, text))
    judged: list[dict[str, Any]] = []
    margins, ended = "", False
    with Log(folder, learner.total, learner.done) as log:
        try:
            while learner.done < learner.total:
                before, judged = learner.done, []
                row, shown = learner.line()
                _check_finite(learner, row)
                began = time.perf_counter()
                if learner.done * s.matches // learner.total > before * s.matches // learner.total:
                    judged = _judge(learner, folder, about)
                    row |= {f"against_{r['b']}": r["margin"] for r in judged}
                    row["seconds_judging"] = time.perf_counter() - began
                    margins = "".join(f", {r['margin']:+.1f} against {r['b']}" for r in judged)
                log.write(learner.done, row, shown + margins)
                store(learner.arrays(), kept, text)
            if s.matches and not judged:  # it was killed after its last line
                judged = _judge(learner, folder, about)
            ended = True
        except KeyboardInterrupt:
            judged = []
        minutes = log.seconds / 60
    done, how = learner.done, "Trained for" if ended else "Stopped after"
    learner.save(folder, **about, decisions=done, minutes=round(minutes, 1), results=judged)
    if ended:
        kept.unlink(missing_ok=True)
    said = f"{how} {done:,} decisions in {minutes:.1f} minutes: network:{folder}.{told(judged)}"
    return said, ended


def _judge(learner: Any, folder: Path, about: dict[str, Any]) -> list[dict[str, Any]]:
    """Save what has been learned and let it play; the results."""
    learner.save(folder, **about)
    return [match(learner.settings, f"network:{folder}", b) for b in ("greedy", "tactician")]


def _check_finite(learner: Any, row: dict[str, float]) -> None:
    """Refuse, with a ValueError, to go on with a run that has diverged."""
    arrays = [array for array in learner.arrays().values() if array.dtype.kind == "f"]
    wrong = [f"{name} is {value}" for name, value in row.items() if not math.isfinite(value)]
    if wrong or not all(np.isfinite(array).all() for array in arrays):
        what = (wrong or ["some weights are not finite"])[0]
        raise ValueError(
            f"the run has diverged after {learner.done:,} decisions: {what}. "
            "Try a smaller learning_rate."
        )


def guarded(work: Callable[[], object]) -> int:
    """Do a script's work; 2, after one sentence, if something is refused or does not fit."""
    try:
        work()
    except KeyboardInterrupt:
        print("Stopped.")
    except OSError as error:
        fault = error.strerror or str(error)
        what = f"file {str(error.filename)!r}" if error.filename else "a file"
        print(f"{what} cannot be read or written: {fault}.", file=sys.stderr)
        return 2
    except MemoryError as error:
        print(f"There is not enough memory ({error}).", file=sys.stderr)
        return 2
    except (ValueError, SafetensorError) as error:
        print(error, file=sys.stderr)
        return 2
    except RuntimeError as error:
        if "allocate memory" not in str(error):  # what torch says where others say MemoryError
            raise
        print("There is not enough memory.", file=sys.stderr)
        return 2
    return 0


def main(kind: Any, name: str, trained: Any, arguments: Sequence[str] | None) -> int:
    """Read the settings, train, and say how it ended; 2 if the settings are refused.

    Args:
        kind: The settings' class.
        name: The script's.
        trained: Its function that trains, of settings and the command line's arguments.
        arguments: Those; None for the program's own.
    """

    def work() -> None:
        settings = parse(kind, f"python -m {name}", arguments)
        with only_here(folder_of(settings, name.rpartition(".")[2])):
            print(trained(settings, " ".join(sys.argv[1:] if arguments is None else arguments)))

    return guarded(work)
