"""What every training script shares: settings out of YAML, the folder of a run, its log."""

import argparse
import dataclasses
import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Self

import safetensors.numpy
import tyro
import yaml
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

import fives_env
from fives_env.arena import evaluate
from fives_env.errors import choice, is_whole
from fives_env.rules import PRESETS, VALUES, Rules

#: A run that was stopped keeps what it needs to go on in this file of its folder.
STATE = "state.safetensors"

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
        if not (least <= value <= most and math.isfinite(value)):
            bound = f"at most {most}" if value > most else f"at least {least}"
            allowed = bound if most > 1 else f"from {least} to {most}"
            raise ValueError(choice(name, value, allowed))


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
        given = yaml.safe_load(Path(path).read_text()) or {}
    except OSError as error:
        raise ValueError(f"config {path!r} cannot be read: {error.strerror}.") from None
    except yaml.YAMLError as error:
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
        return float(value)
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


def store(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    """Write the state of a run beside its place, then rename it."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(safetensors.numpy.save(arrays))
    beside.replace(path)


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
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
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


def make_folder(settings: Any, default: str, text: str = "") -> Path:
    """The run's folder, empty; an earlier run that lies there is moved aside to NAME-1, NAME-2, ...

    Args:
        settings: Those of the run.
        default: Its name, if neither a folder nor a file with settings gives one.
        text: The settings as text: a run with the same ones that was stopped stays, to go on.

    Raises:
        ValueError: Something else lies there.
    """
    folder = Path(settings.folder or Path("runs") / (Path(settings.config).stem or default))
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        file = folder / "settings.yaml"
        if not file.is_file():
            raise ValueError(choice("folder", str(folder), "new, empty or that of an earlier run"))
        if text and (folder / STATE).is_file() and file.read_text() == text:
            print(f"Going on with the run in {folder}.")
            return folder
        number = 1
        while (aside := folder.with_name(f"{folder.name}-{number}")).exists():
            number += 1
        folder.rename(aside)
        print(f"The earlier {folder} is now {aside}.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def train(name: str, learner: Any, folder: Path, given: str) -> str:
    """Let a learner learn, log and save, into a folder that is there; how it ended.

    Ctrl-C ends it early; what has been learned is saved then too, and the run can go on later.

    Args:
        name: The script's.
        learner: What learns. It has ``settings``; the decisions ``done`` and in ``total``;
            ``line()``, which learns on and gives figures for a line of the log and a text for the
            bar; ``save``; and ``arrays`` and ``restore``, for its state between two lines.
        folder: The run's.
        given: The command line's arguments, for the card.
    """
    s, kept = learner.settings, folder / STATE
    command = f"python -m {name} {given}".rstrip()
    about = {"command": command, "settings": dataclasses.asdict(s), "seed": s.seed, **origin()}
    (folder / "settings.yaml").write_text(as_yaml(s, about["versions"]))
    if kept.is_file():
        learner.restore(safetensors.numpy.load(kept.read_bytes()))
    judged: list[dict[str, Any]] = []
    margins = ""
    with Log(folder, learner.total, learner.done) as log:
        try:
            while learner.done < learner.total:
                before, judged = learner.done, []
                row, shown = learner.line()
                began = time.perf_counter()
                if learner.done * s.matches // learner.total > before * s.matches // learner.total:
                    learner.save(folder, **about)
                    judged = [match(s, f"network:{folder}", b) for b in ("greedy", "tactician")]
                    row |= {f"against_{r['b']}": r["margin"] for r in judged}
                    row["seconds_judging"] = time.perf_counter() - began
                    margins = "".join(f", {r['margin']:+.1f} against {r['b']}" for r in judged)
                log.write(learner.done, row, shown + margins)
                store(learner.arrays(), kept)
        except KeyboardInterrupt:
            judged = []
        minutes = log.seconds / 60
    done, how = learner.done, "Stopped after"
    learner.save(folder, **about, decisions=done, minutes=round(minutes, 1), results=judged)
    if done == learner.total:
        kept.unlink(missing_ok=True)
        how = "Trained for"
    return f"{how} {done:,} decisions in {minutes:.1f} minutes: network:{folder}.{told(judged)}"


def main(kind: Any, name: str, trained: Any, arguments: Sequence[str] | None) -> int:
    """Read the settings, train, and say how it ended; 2 if the settings are refused.

    Args:
        kind: The settings' class.
        name: The script's.
        trained: Its function that trains, of settings, folder and the command line's arguments.
        arguments: Those; None for the program's own.
    """
    try:
        settings = parse(kind, f"python -m {name}", arguments)
        text = as_yaml(settings, origin()["versions"])
        folder = make_folder(settings, name.rpartition(".")[2], text)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        print(trained(settings, folder, " ".join(sys.argv[1:] if arguments is None else arguments)))
    except KeyboardInterrupt:
        print("Stopped before anything was learned.")
    return 0
