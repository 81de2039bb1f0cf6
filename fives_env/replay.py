"""Playing recorded games again."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from fives_env import checks
from fives_env.engine import state
from fives_env.errors import choice, whole
from fives_env.plain import Event
from fives_env.records import check, dealt, from_line
from fives_env.render import words
from fives_env.render.page import Moment, Move
from fives_env.rules import Rules
from fives_env.table import Table


class Step(NamedTuple):
    """One action of a game.

    Attributes:
        table: The table before it; it may be played on.
        action: Its number.
        events: What it led to.
    """

    table: Table
    action: int
    events: list[Event]


class Verdict(NamedTuple):
    """What :func:`verify` found.

    Attributes:
        games: Lines of the file.
        right: Those that are complete, unchanged and lead to their own scores.
        first: The first other one in a sentence that names its line, None if all are right.
    """

    games: int
    right: int
    first: str | None


def moments(record: Mapping[str, Any]) -> Iterator[Moment]:
    """What there is to see of a recorded game: the table after each deal and each action.

    An action that ends a round deals the next one; the moment shows the end of its own round.

    Raises:
        ValueError: As :func:`replay` does, once it comes to a difference.
    """
    number = 0
    for before, action, events in replay(record):
        if not before.events:
            number = 0
            yield Moment(before.to_dict(), None)
        after = before.this_round()
        after.play(action)
        data = after.to_dict()
        here = [each for each in record["forfeits"] if each[:2] == [before.round, number]]
        then = [f"forfeited: {forfeit[-1]}" for forfeit in here]
        then += words.happened(data | {"events": [event._asdict() for event in events[1:]]})
        number += 1
        seat = before.turn
        assert seat is not None
        name = before.rules.action_name(action)
        yield Moment(data, Move(number, seat, name, events[0].points, data["total"], then))


def verify(path: str | Path, progress: Callable[[int], Any] | None = None) -> Verdict:
    """Replay all games of a file.

    Args:
        path: The file.
        progress: Called with the length of each line that is done.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is empty.
    """
    games = right = 0
    first = None
    with Path(path).open("rb") as file:
        for games, line in enumerate(file, 1):
            try:
                for _ in replay(from_line(line)):
                    pass
                right += 1
            except ValueError as error:
                first = first or f"line {games}: {error}"
            if progress:
                progress(len(line))
    if not games:
        raise ValueError(f"{path} holds no games.")
    return Verdict(games, right, first)


def replay(record: Mapping[str, Any]) -> Iterator[Step]:
    """Play a recorded game again, action by action, and compare it with the record.

    Raises:
        ValueError: The record is not one, or differs from the game that its rules, deals and
            actions lead to: the sentence says where, rounds and actions counted from 1.
    """
    try:
        yield from _replay(record)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"record is not as fives_env.records has it: {error!r}.") from None


def _replay(record: Mapping[str, Any]) -> Iterator[Step]:
    check(record)
    rules = Rules(**record["rules"])
    if record["fingerprint"] != rules.fingerprint:
        _differs("record", "fingerprint of the rules", record["fingerprint"], rules.fingerprint)
    if len(record["players"]) != rules.players:
        raise ValueError(choice("players", record["players"], f"{rules.players} names"))
    rounds = record["rounds"]
    table = _first_table(record, rules, rounds[0])
    for number, round_ in enumerate(rounds):
        where, actions = f"round {number + 1}", round_["actions"]
        if table.over:
            raise ValueError(f"{where} cannot be, since the game is over after round {number}.")
        if number and record["seed"] is None:
            _deal(where, table, round_)
        _compare_deal(where, table, round_)
        for k, name in enumerate(actions):
            if table.over or table.round != number:
                raise ValueError(f"{where} ends with action {k}, but has {len(actions)}.")
            before = table.clone()
            try:
                action = rules.action(name)
                events = table.play(action)
            except ValueError as error:
                raise ValueError(f"{where}, action {k + 1}: {error}") from None
            yield Step(before, action, events)
        if not table.over and table.round == number:
            raise ValueError(f"{where} is not over after its last action, {len(actions)}.")
        if round_["scores"] != table.scores:
            _differs(where, "scores", round_["scores"], table.scores)
    if not table.over:
        raise ValueError(f"game is not over after its last round, {len(rounds)}.")
    for what, found in (("scores", table.scores), ("winners", table.winners)):
        if record[what] != found:
            _differs("end of the game", what, record[what], found)
    places = [[n, k] for n, round_ in enumerate(rounds) for k in range(len(round_["actions"]))]
    for forfeit in record["forfeits"]:
        if len(forfeit) != 3 or forfeit[:2] not in places:
            raise ValueError(f"forfeit {forfeit} is not [round, action, kind] of an action.")


def _first_table(record: Mapping[str, Any], rules: Rules, first: Mapping[str, Any]) -> Table:
    """The table before the first action."""
    scripted: dict[str, Any] = {}
    if record["seed"] is None:
        scripted["deal"] = first["deal"]
        if rules.lead != "highest_double":
            scripted["leader"] = first["leader"]
    return Table(
        rules,
        seed=0 if scripted else record["seed"],
        game=record["game"],
        scores=record["start"],
        forced=record["forced"],
        episode=record["episode"],
        **scripted,
    )


def _deal(where: str, table: Table, round_: Mapping[str, Any]) -> None:
    """Deal a round as the record has it, instead of the one just dealt."""
    rules, ended = table.rules, table.ended
    found = rules.next_lead == "highest_double"
    try:
        leader = None if found else whole("leader", round_["leader"], 0, rules.players - 1)
        order = checks.deal_order(rules, round_["deal"])
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    scores = table.scores[: rules.sides]
    table.start(table.seed, table.game, table.round, order, leader, scores)
    table.state["ended"] = state.ENDED.index(ended)


def _compare_deal(where: str, table: Table, round_: Mapping[str, Any]) -> None:
    tiles = dealt(table)
    if len(round_["deal"]) != len(tiles):
        _differs(where, "number of tiles", len(round_["deal"]), len(tiles))
    for k, (given, found) in enumerate(zip(round_["deal"], tiles, strict=True)):
        if given != found:
            _differs(where, f"tile {k + 1} of the deal", given, found)
    if round_["leader"] != table.leader:
        _differs(where, "leader", round_["leader"], table.leader)


def _differs(where: str, what: str, given: Any, found: Any) -> NoReturn:
    raise ValueError(f"{where}: {what} is {given!r} in the record, but {found!r} when replayed.")
