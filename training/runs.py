"""What every training script shares: settings out of YAML, the folder of a run, its log."""

import argparse
import contextlib
import dataclasses
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import safetensors.numpy
import tyro
import yaml
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from safetensors import SafetensorError, safe_open
from torch.utils.tensorboard import SummaryWriter

import fives_env
from fives_env.arena import evaluate
from fives_env.errors import choice, is_whole
from fives_env.players import checkpoint
from fives_env.rules import PRESETS, VALUES, Rules

#: A run that was stopped keeps what it needs to go on in this file of its folder.
STATE = "state.safetensors"

#: No setting is above this, and no layer has more units than that.
MOST, UNITS = 10**12, 4096

#: The options of ``Rules``, each left to the preset unless given.
HouseRules = dataclasses.make_dataclass(
    "HouseRules",
    [("preset", Literal[tuple(PRESETS)], "all_fives")]
    + [
        (f.name, (Literal[VALUES[f.name]] if f.name in VALUES else int) | None, None)
        for f in dataclasses.fields(Rules)
    ],
    frozen=True,
)
HouseRules.__doc__ = Rules.__doc__


def rules_of(house: Any) -> Rules:
    """The rules that some options give; refused with a ValueError if they do not go together."""
    options = dataclasses.asdict(house)
    return Rules(**{name: value for name, value in options.items() if value is not None})


def limit(settings: Any, names: str, least: float, most: float) -> None:
    """Refuse, with a ValueError, settings that are not numbers from ``least`` to ``most``."""
    for name in names.split():
        value = getattr(settings, name)
        if not least <= value <= most:
            allowed = f"at most {most}" if value > most else f"at least {least}"
            if most <= 1 or not (value > most or value < least):  # the latter: nan
                allowed = f"from {least} to {most}"
            raise ValueError(choice(name, value, allowed))


def limit_units(hidden: Sequence[int], said: str, least: int, most: int) -> None:
    """Refuse, with a ValueError, hidden layers that are too few, too many, empty or too wide."""
    if not (least <= len(hidden) <= most and 1 <= min(hidden) <= max(hidden) <= UNITS):
        raise ValueError(choice("hidden", hidden, f"{said}, from 1 to {UNITS}"))


def parse(kind: Any, program: str, arguments: Sequence[str] | None) -> Any:
    """Settings of a kind: the defaults, then those in the file of --config, then those given.

    Raises:
        ValueError: A setting is not what it may be.
    """
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", default="")
    path = first.parse_known_args(arguments)[0].config
    default = read_settings(kind, path) if path else kind()
    default.check()
    settings = tyro.cli(kind, args=arguments, default=default, prog=program)
    settings.check()
    return settings


def read_settings(kind: Any, path: str) -> Any:
    """Settings of a kind out of a YAML file, the defaults where it says nothing.

    Raises:
        ValueError: The file is not there or no YAML, or a name or value in it is not a setting.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"config {path!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"config {path!r} is no text in UTF-8.") from None
    except ValueError as error:
        raise ValueError(f"config {path!r} cannot be read: {error}.") from None
    try:
        given = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date or a number that is none
        raise ValueError(f"config {path!r} is no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(given, dict):
        raise ValueError(f"config {path!r} is {given!r}, but must be a mapping of settings.")
    rules = given.pop("rules", {})
    if not isinstance(rules, dict):
        raise ValueError(choice("rules", rules, "a mapping of options"))
    house = HouseRules(**_known(HouseRules, "rule", rules))
    values = {k: _typed(kind, k, value) for k, value in _known(kind, "setting", given).items()}
    return kind(**values | {"rules": house, "config": path})


def _known(kind: Any, what: str, given: dict[str, Any]) -> dict[str, Any]:
    """``given``, if every name in it is a field."""
    names = [f.name for f in dataclasses.fields(kind)]
    for name in given:
        if name not in names:
            raise ValueError(choice(what, name, names))
    return given


def _typed(kind: Any, name: str, value: Any) -> Any:
    """A value out of YAML, of the type that the setting's default has."""
    default = getattr(kind, name, ())
    if isinstance(default, tuple) and isinstance(value, list) and all(map(is_whole, value)):
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) <= MOST else value  # which is then refused as too large
    if type(value) is not type(default):
        said = {
            int: "a whole number",
            float: "a number like 0.001",
            str: "text",
            bool: "true or false",
        }
        raise ValueError(choice(name, value, said.get(type(default), "a list of whole numbers")))
    return value


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


def as_yaml(settings: Any, versions: dict[str, str]) -> str:
    """The settings as a file for --config; the first line says with which versions they ran."""
    values = dataclasses.asdict(settings) | {"hidden": list(settings.hidden)}
    values["rules"] = {k: v for k, v in values["rules"].items() if v is not None}
    first = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"# {first}\n" + yaml.safe_dump(values, sort_keys=False)


def store(arrays: dict[str, NDArray[Any]], path: Path, text: str) -> None:
    """Write the state of a run with some settings."""
    checkpoint.write({path: safetensors.numpy.save(arrays, {"settings": text})})


def recall(path: Path, text: str) -> dict[str, NDArray[Any]]:
    """The state of a run with some settings.

    Raises:
        ValueError: The file is damaged, or of a run with other settings.
    """
    try:
        with safe_open(path, "numpy") as file:
            if (file.metadata() or {}).get("settings") != text:
                raise ValueError(f"{path} is of another run: move it away to begin again.")
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        raise ValueError(f"{path} cannot be read: delete it to begin again.") from None


class Log:
    """A progress bar, TensorBoard's curves and metrics.jsonl, one line a window.

    Args:
        folder: The run's folder.
        total: Decisions after which it ends.
        done: Decisions of a run that goes on; lines about later ones are dropped.
    """

    def __init__(self, folder: Path, total: int, done: int = 0) -> None:
        path = folder / "metrics.jsonl"
        rows = _rows(path, done) if done else []
        checkpoint.write({path: "".join(json.dumps(row) + "\n" for row in rows).encode()})
        self.file = path.open("a")
        self.before = rows[-1]["seconds"] if rows else 0.0
        self.board = SummaryWriter(str(folder), purge_step=done or None)
        text = TextColumn("{task.description}")
        self.bar = Progress(text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self.task = self.bar.add_task("compiling", total=total, completed=done)
        self.began = time.perf_counter()

    def __enter__(self) -> Self:  # noqa: D105
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:  # noqa: D105
        self.bar.stop()
        self.board.close()
        self.file.close()

    @property
    def seconds(self) -> float:
        """Time that the run has taken, all of its parts together."""
        return self.before + time.perf_counter() - self.began

    def write(self, decisions: int, figures: dict[str, float], shown: str) -> None:
        """Log a window's figures after so many decisions in all; ``shown`` goes on the bar."""
        figures = {"decisions_per_s": decisions / self.seconds, **figures}
        for name, value in figures.items():
            self.board.add_scalar(name, value, decisions)
        row = {"decisions": decisions, "seconds": round(self.seconds, 3), **figures}
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        speed = f"{figures['decisions_per_s']:,.0f} decisions/s"
        self.bar.update(self.task, completed=decisions, description=f"{speed}{shown}")


def _rows(path: Path, done: int) -> list[dict[str, Any]]:
    """Lines of a log about the first ``done`` decisions; one that was cut short is none."""
    rows = []
    for line in path.read_text().splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            break
        if row["decisions"] <= done:
            rows.append(row)
    return rows


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
