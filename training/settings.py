"""Settings of training scripts: house rules, bounds, YAML files, flags."""

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import tyro
import yaml

from fives_env.errors import choice, is_whole
from fives_env.rules import PRESETS, VALUES, Rules

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


def as_yaml(settings: Any, versions: dict[str, str]) -> str:
    """The settings as a file for --config; the first line says with which versions they ran."""
    values = dataclasses.asdict(settings) | {"hidden": list(settings.hidden)}
    values["rules"] = {k: v for k, v in values["rules"].items() if v is not None}
    first = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"# {first}\n" + yaml.safe_dump(values, sort_keys=False)
