"""What a tournament plays, as a YAML file says it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from fives_env.arena.jobs import Meeting
from fives_env.errors import choice, whole
from fives_env.rules import Rules

PAIRINGS, UNITS = ("round_robin", "gauntlet"), ("round", "game")


@dataclass(frozen=True)
class Plan:
    """A tournament.

    Attributes:
        file: Where its results are kept.
        players: Specs.
        rules: All sets of rules that are played.
        pairing: ``round_robin``: all who can meet do; ``gauntlet``: the first against all others.
        unit: Single rounds, or whole games.
        blocks: Deals of each meeting.
        seed: Seed of the deals.
        rotations: Seats are only turned, not permuted.
        study: Luck and blunders are measured (rounds).
        games: Whole games of each meeting that are recorded beside.

    Raises:
        ValueError: Something cannot be played.
    """

    file: str
    players: tuple[str, ...]
    rules: tuple[Rules, ...] = (Rules(),)
    pairing: str = "round_robin"
    unit: str = "round"
    blocks: int = 1000
    seed: int = 0
    rotations: bool = False
    study: bool = False
    games: int = 1

    def __post_init__(self) -> None:  # noqa: D105
        for name, most, least in (("blocks", 10**9, 2), ("seed", 2**63 - 1, 0), ("games", 1000, 0)):
            whole(name, getattr(self, name), least, most)
        for name in ("rotations", "study"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(choice(name, getattr(self, name), (True, False)))
        for name, words in (("pairing", PAIRINGS), ("unit", UNITS)):
            if getattr(self, name) not in words:
                raise ValueError(choice(name, getattr(self, name), words))
        most = max((rules.sides for rules in self.rules), default=0)
        if not self.rules:
            raise ValueError(choice("rules", [], "a list of at least one"))
        if len(self.players) < most or len(set(self.players)) < len(self.players):
            allowed = f"at least {most} for these rules, all different"
            raise ValueError(choice("players", list(self.players), allowed))
        _ = self.meetings()  # refuses what cannot be studied

    def line_ups(self, rules: Rules) -> Iterator[tuple[int, ...]]:
        """Numbers of the players of each meeting under some rules."""
        everyone = range(len(self.players))
        if self.pairing == "round_robin":
            yield from combinations(everyone, rules.sides)
        else:
            yield from ((0, *others) for others in combinations(everyone[1:], rules.sides - 1))

    def meetings(self) -> list[tuple[int, tuple[int, ...], Meeting]]:
        """All meetings in order: number of the rules, numbers of the players, the meeting."""
        return [
            (k, line_up, self._meeting(rules, line_up))
            for k, rules in enumerate(self.rules)
            for line_up in self.line_ups(rules)
        ]

    def _meeting(self, rules: Rules, line_up: tuple[int, ...]) -> Meeting:
        seats = rules.players // rules.sides
        sides = tuple((self.players[number],) * seats for number in line_up)
        unit: Any = self.unit
        return Meeting(sides, rules, self.seed, unit, self.rotations, self.study)

    def to_dict(self) -> dict[str, Any]:
        """Everything that has a say in the results; rules by all their options."""
        return {
            "players": list(self.players),
            "rules": [rules.to_dict() for rules in self.rules],
            "pairing": self.pairing,
            "unit": self.unit,
            "blocks": self.blocks,
            "seed": self.seed,
            "rotations": self.rotations,
            "study": self.study,
            "games": self.games,
        }


def plan_of(given: Any) -> Plan:
    """The plan that a mapping of settings describes; ``rules`` may be one or a list.

    Raises:
        ValueError: A name or value in it is none of a plan.
    """
    names = [field.name for field in dataclasses.fields(Plan)]
    if not isinstance(given, dict):
        raise ValueError(choice("plan", given, f"a mapping of settings: {', '.join(names)}"))
    for name in given:
        if name not in names:
            raise ValueError(choice("setting", name, names))
    for name in ("file", "players"):
        if name not in given:
            raise ValueError(choice("settings", sorted(given), f"with a {name}"))
    rules, players = given.get("rules", {}), given["players"]
    if not isinstance(players, list) or not all(isinstance(spec, str) for spec in players):
        raise ValueError(choice("players", players, "a list of specs"))
    if not isinstance(given["file"], str) or not given["file"] or "\0" in given["file"]:
        raise ValueError(choice("file", given["file"], "the path of a file"))
    played = tuple(_rules(one) for one in (rules if isinstance(rules, list) else [rules]))
    return Plan(**{**given, "players": tuple(players), "rules": played})


def _rules(given: Any) -> Rules:
    if isinstance(given, str):
        return Rules(given)
    if not isinstance(given, dict):
        raise ValueError(choice("rules", given, "a preset's name, a mapping of options, or a list"))
    return Rules.of(given)


def read_plan(path: str) -> Plan:
    """The plan in a YAML file.

    Raises:
        ValueError: It cannot be read, or is no plan.
    """
    try:
        import yaml
    except ImportError:
        raise ValueError('plans need PyYAML: pip install "fives-env[report]".') from None
    try:
        given = yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"config {path!r} cannot be read: {error.strerror}.") from None
    except (
        yaml.YAMLError,
        ValueError,
        RecursionError,
    ) as error:  # ValueError: text, dates, numbers
        raise ValueError(f"config {path!r} is no YAML: {' '.join(str(error).split())}.") from None
    return plan_of(given)
