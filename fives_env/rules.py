"""House rules: every option, the presets, and the checks.

``Rules(preset, **options)`` resolves a preset's defaults for the number of players, takes the given
options instead, and refuses what cannot be played.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fives_env.engine import state
from fives_env.errors import choice, one_of, whole
from fives_env.tiles import NAMES, as_mask, in_play, index

#: Values of each option that has a fixed list of them; the order is that of the engine's constants.
VALUES: dict[str, tuple[Any, ...]] = {
    "players": (2, 3, 4),
    "teams": (False, True),
    "spinner": ("none", "set", "first", "all"),
    "arms_open": ("covered", "at_once"),
    "lead": ("any", "highest_double"),
    "next_lead": ("winner", "left", "highest_double"),
    "draw": ("until_playable", "one", "none"),
    "reserve": (0, 1, 2),
    "may_draw": (False, True),
    "highest": (2, 3, 4, 5, 6),
    "scoring": ("fives", "fives_and_threes"),
    "peg": (1, 5),
    "rounding": ("each", "total", "down", "exact"),
    "out": ("others", "own", "one"),
    "block": ("others", "difference", "own", "none"),
    "block_rounding": ("each", "total", "down", "exact"),
    "exact": (False, True),
    "muggins": ("off", "next", "any"),
    "muggins_award": ("cancel", "take"),
    "false_call": ("nothing", "lose_five"),
}
_LEADS = {
    "any": state.LEAD_ANY,
    "winner": state.LEAD_WINNER,
    "left": state.LEAD_LEFT,
    "highest_double": state.LEAD_HIGHEST,
}

#: Defaults of the default preset; a tuple is by number of players (2, 3, 4, and 4 as partners).
_ALL_FIVES: dict[str, Any] = {
    "players": 2,
    "teams": False,
    "tiles": (9, 7, 5, 5),
    "spinner": "first",
    "arms_open": "covered",
    "lead": "any",
    "next_lead": "winner",
    "draw": "until_playable",
    "reserve": 0,
    "may_draw": False,
    "highest": 6,
    "scoring": "fives",
    "peg": 1,
    "rounding": "each",
    "out": "others",
    "block": "others",
    "block_rounding": None,  # as rounding
    "target": (250, 200, 200, 250),
    "exact": False,
    "muggins": "off",
    "muggins_award": "cancel",
    "false_call": "nothing",
}
#: The options that the defaults of tiles and target depend on.
_SEATING = ("players", "teams")

#: What each preset sets otherwise than ``all_fives``.
PRESETS: dict[str, dict[str, Any]] = {
    "all_fives": {},
    "pagat": {"rounding": "total"},
    "muggins": {
        "tiles": (7, 6, 5, 5),
        "spinner": "none",
        "lead": "highest_double",
        "rounding": "down",
        "block": "difference",
        "block_rounding": "total",
        "target": (200, 200, 200, 200),
        "muggins": "any",
        "muggins_award": "take",
    },
    "hoyle": {
        "tiles": (7, 7, 5, 5),
        "spinner": "none",
        "lead": "highest_double",
        "reserve": 2,
        "rounding": "total",
        "target": (100, 100, 100, 100),
        "muggins": "any",
        "muggins_award": "take",
    },
    "five_up": {
        "tiles": (5, 5, 5, 5),
        "spinner": "all",
        "peg": 5,
        "rounding": "total",
        "target": (61, 61, 61, 61),
    },
    "fives_and_threes": {
        "tiles": (7, 5, 5, 5),
        "spinner": "none",
        "next_lead": "left",
        "draw": "none",
        "scoring": "fives_and_threes",
        "out": "one",
        "block": "none",
        "target": (61, 61, 61, 61),
        "exact": True,
    },
    "cribbage": {"peg": 5, "rounding": "total", "target": (61, 61, 61, 61)},
}


def points_for(total: int, scoring: str) -> int:
    """Award in points of a placement that leaves ``total`` on the layout; 0 never scores."""
    if scoring == "fives":
        return total if total % 5 == 0 else 0
    return (total // 5 if total % 5 == 0 else 0) + (total // 3 if total % 3 == 0 else 0)


@dataclass(frozen=True, init=False)
class Rules:
    """A set of house rules: frozen, hashable, comparable by its options.

    Args:
        preset: One of :data:`PRESETS`.
        **options: Any field below, instead of the preset's value.

    Attributes:
        players: Seats, 2 to 4.
        teams: Seats 0 and 2 against 1 and 3 (four players).
        tiles: Tiles dealt to each hand.
        spinner: Which doubles may be joined on four sides: none, only one that is set, the first
            one played, all.
        arms_open: A spinner's cross sides open once both long sides are joined, or at once.
        lead: Who leads the first round: by lot, or the highest double, which must be set.
        next_lead: Who leads later rounds.
        draw: What a seat draws that cannot place.
        reserve: Tiles of the boneyard that are never drawn.
        may_draw: A seat that can place may draw instead.
        highest: Tiles with a higher half stay in the box.
        scoring: Multiples of five, or total/5 and total/3 for multiples of each.
        peg: Points to one peg; scores are pegs.
        rounding: How losers' pips become points when a seat goes out.
        out: Going out is paid by the others' pips, costs the others their own, or is worth one.
        block: The same for a block.
        block_rounding: As ``rounding``, for a block; the same unless given.
        target: Score that wins the game.
        exact: An award past the target is void.
        muggins: Points must be announced; who may call what was not: nobody, the next seat, any.
        muggins_award: A right call destroys the points or takes them.
        false_call: What a false announcement or call costs.

    Raises:
        ValueError: An unknown preset or option, a value out of its range, or options that cannot
            be played together.
    """

    players: int
    teams: bool
    tiles: int
    spinner: str
    arms_open: str
    lead: str
    next_lead: str
    draw: str
    reserve: int
    may_draw: bool
    highest: int
    scoring: str
    peg: int
    rounding: str
    out: str
    block: str
    block_rounding: str
    target: int
    exact: bool
    muggins: str
    muggins_award: str
    false_call: str

    def __init__(self, /, preset: str = "all_fives", **options: Any) -> None:
        defaults = _ALL_FIVES | PRESETS[one_of("preset", preset, PRESETS)]
        for name in options:
            one_of("option", name, _ALL_FIVES)
        chosen = defaults | options
        for name, allowed in VALUES.items():
            if name == "block_rounding" and chosen[name] is None:
                continue
            chosen[name] = one_of(name, chosen[name], allowed)
        if chosen["teams"] and chosen["players"] != 4:
            raise ValueError(choice("teams", True, f"False with {chosen['players']} players"))
        column = 3 if chosen["teams"] else chosen["players"] - 2
        in_play = (chosen["highest"] + 1) * (chosen["highest"] + 2) // 2
        most = in_play // chosen["players"]
        if "tiles" not in options:
            chosen["tiles"] = min(most, defaults["tiles"][column])
        if "target" not in options:
            chosen["target"] = defaults["target"][column]
        if chosen["block_rounding"] is None:
            chosen["block_rounding"] = chosen["rounding"]
        chosen["tiles"] = whole("tiles", chosen["tiles"], 1, most)
        chosen["target"] = whole("target", chosen["target"], 1, 10_000)
        if chosen["peg"] == 5 and chosen["scoring"] != "fives":
            raise ValueError(choice("scoring", chosen["scoring"], "'fives' with peg=5"))
        if chosen["peg"] == 5 and chosen["target"] > 100:
            raise ValueError(
                choice("target", chosen["target"], "at most 100 with peg=5, where it is in pegs")
            )
        if chosen["may_draw"] and chosen["draw"] == "none":
            raise ValueError(choice("may_draw", True, "False with draw='none'"))
        for name in _ALL_FIVES:
            object.__setattr__(self, name, chosen[name])

    @classmethod
    def of(cls, /, rules: Any = None, **options: Any) -> "Rules":
        """Rules from a preset's name, a dict of options, other rules or nothing, with changes.

        With ``Rules`` or a dict, ``options`` replace single values; players or teams other than
        those that it names bring the default number of tiles and target for them.
        """
        if isinstance(rules, Rules):
            if not options:
                return rules
            rules = rules.to_dict()
        if rules is None or isinstance(rules, str):
            rules = {} if rules is None else {"preset": rules}
        if not isinstance(rules, Mapping):
            raise ValueError(choice("rules", rules, "a preset's name, Rules or a dict of options"))
        for name in rules:
            one_of("option", name, ("preset", *_ALL_FIVES))
        if rules and "preset" in options:
            raise ValueError(choice("preset", options["preset"], "left out where rules are given"))
        base = dict(rules)
        if any(options.get(name, base[name]) != base[name] for name in _SEATING if name in base):
            for name in ("tiles", "target"):
                base.pop(name, None)
        return cls(**(base | options))

    def to_dict(self) -> dict[str, Any]:
        """All options by name; ``Rules(**rules.to_dict())`` is equal to ``rules``."""
        return asdict(self)

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> "Rules":
        """Rules of a dict as :meth:`to_dict` gives it."""
        return cls.of(options)

    def __repr__(self) -> str:
        """The preset that needs the fewest changes, and the changes."""
        best: tuple[str, dict[str, Any]] | None = None
        seats = {"players": self.players, "teams": self.teams}
        for preset in PRESETS:
            plain = Rules("all_fives", **seats) if preset == "all_fives" else Rules(preset, **seats)
            mine = self.to_dict()
            changes = {k: v for k, v in mine.items() if v != getattr(plain, k)}
            if best is None or len(changes) < len(best[1]):
                best = preset, changes
        assert best is not None
        seats = {k: v for k, v in seats.items() if v != _ALL_FIVES[k]}
        shown = "".join(f", {k}={v!r}" for k, v in (seats | best[1]).items())
        return f"Rules({best[0]!r}{shown})"

    @cached_property
    def fingerprint(self) -> str:
        """Stable name of these rules: 16 hex digits of a SHA-256 over all options."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def sides(self) -> int:
        """Number of sides: seats, or two partnerships."""
        return 2 if self.teams else self.players

    @property
    def n_ends(self) -> int:
        """Ends that an action can name: 2, 4 or 16."""
        return {"none": 2, "set": 4, "first": 4, "all": 16}[self.spinner]

    @property
    def n_actions(self) -> int:
        """Number of actions: 28 tiles on each end, then :data:`~.engine.state.EXTRA`."""
        return 28 * self.n_ends + len(state.EXTRA)

    @property
    def in_play(self) -> int:
        """Tiles in play."""
        return (self.highest + 1) * (self.highest + 2) // 2

    def action_name(self, action: int) -> str:
        """Name of an action: ``"2-1@1"`` (tile and end), ``"draw"``, ``"pass"``, ...

        Raises:
            ValueError: ``action`` is not a number below ``n_actions``.
        """
        action = whole("action", action, 0, self.n_actions - 1)
        tile, end = divmod(action, self.n_ends)
        return f"{NAMES[tile]}@{end}" if tile < 28 else state.EXTRA[action - 28 * self.n_ends]

    def names_of(self, mask: NDArray[Any]) -> str:
        """Names of the actions of a mask, (n_actions,), for sentences."""
        return ", ".join(self.action_name(int(action)) for action in np.flatnonzero(mask))

    def action(self, name: str) -> int:
        """Number of an action given by its name.

        Raises:
            ValueError: No action has this name.
        """
        if name in state.EXTRA:
            return 28 * self.n_ends + state.EXTRA.index(name)
        tile, _, end = str(name).partition("@")
        if tile in NAMES and end in [str(number) for number in range(self.n_ends)]:
            return index(tile) * self.n_ends + int(end)
        ends = f"an end from 0 to {self.n_ends - 1}"
        raise ValueError(choice("action", name, f"like '6-4@0' with {ends}, or in {state.EXTRA}"))

    def record(
        self,
        forced: Literal["auto", "act"] = "auto",
        episode: Literal["game", "round"] = "game",
    ) -> NDArray[Any]:
        """The rules as the engine reads them: an array of one ``RULES`` record, not to be changed.

        Args:
            forced: ``"auto"`` lets the engine play forced draws and passes, ``"act"`` asks.
            episode: ``"round"`` ends with the first round.
        """
        forced = one_of("forced", forced, ("auto", "act"))
        episode = one_of("episode", episode, ("game", "round"))
        return _record(self, forced == "act", episode == "round")


@lru_cache(maxsize=256)
def _record(rules: Rules, act: bool, one_round: bool) -> NDArray[Any]:
    record = np.zeros(1, state.RULES)
    r = record[0]

    def number(name: str) -> int:
        return VALUES[name].index(getattr(rules, name))

    for name in ("players", "sides", "tiles", "highest", "reserve", "may_draw", "peg", "target"):
        r[name] = getattr(rules, name)
    for name in ("spinner", "draw", "rounding", "out", "block", "block_rounding", "muggins"):
        r[name] = number(name)
    r["everything"] = as_mask(in_play(rules.highest))
    r["bits"] = rules.n_ends.bit_length() - 1
    r["at_once"] = number("arms_open")
    r["lead"], r["next_lead"] = _LEADS[rules.lead], _LEADS[rules.next_lead]
    r["exact"] = rules.exact
    r["take"], r["lose"] = number("muggins_award"), number("false_call")
    r["act"], r["one_round"] = act, one_round
    r["points"] = [points_for(total, rules.scoring) for total in range(256)]
    shown = [r[name] for name in ("tiles", "highest", "spinner", "at_once", "lead", "next_lead")]
    shown += [r["draw"], r["reserve"], r["may_draw"], rules.peg == 5, number("scoring")]
    shown += [rules.teams, r["out"], r["rounding"], r["block"]]
    shown += [min(255, rules.target), min(255, (max(0, rules.target - 255) + 63) // 64)]
    shown += [rules.exact, r["muggins"], r["take"], r["lose"], act, one_round, r["block_rounding"]]
    r["shown"] = shown
    return np.frombuffer(record.tobytes(), state.RULES)  # nobody can unlock bytes
