"""Games on disk: JSON Lines, one game a line.

The keys of a record:

===========  =====================================================================================
format       1
rules        all options, by name; ``fingerprint``: their fingerprint
seed         seed of the deals, None where they are the record's own; ``game``: number of the game
forced       ``auto`` or ``act``; ``episode``: ``game`` or ``round``
players      names, by seat
start        scores by seat to begin with
rounds       for each round ``deal`` (tiles by name: seat 0's hand, seat 1's, ..., the boneyard in
             drawing order), ``leader``, ``actions`` (by name) and ``scores`` after it, by seat
forfeits     ``[round, action, kind]`` for each action, counted from 0, that a player forfeited
scores       at the end, by seat; ``winners``: seats that won the game
===========  =====================================================================================

On disk each line ends with one more key, ``crc``: the CRC-32, as 8 hex digits, of all that stands
before it in the line, so that no changed byte goes unnoticed.

A record with a seed holds its deals for readers; replaying it deals from the seed and compares. A
deal that does not come from a seed (``Table(deal=...)`` scripts the first round's) leaves ``seed``
None: then deals and leaders are taken from the record, in every round, and only a leader that the
rules find by the highest double is still compared.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fives_env.engine.deal import players_key
from fives_env.errors import choice, whole
from fives_env.plain import Event
from fives_env.players import make_player
from fives_env.players.ask import ask_at
from fives_env.players.base import forfeits_of
from fives_env.rules import Rules
from fives_env.table import Table

FORMAT = 1
Record: TypeAlias = dict[str, Any]

_LINE = re.compile(rb'(\{.*),"crc":"([0-9a-f]{8})"\}\n?')
_KEYS: dict[str, Any] = {"rules": dict, "game": int, "seed": int | None}
_KEYS |= dict.fromkeys(("fingerprint", "forced", "episode"), str)
_LISTS: dict[str, Any] = {"players": str, "rounds": dict, "forfeits": list}
_LISTS |= dict.fromkeys(("start", "scores", "winners"), int)


def dealt(table: Table) -> list[str]:
    """The deal of a round that nobody has played in yet, by name."""
    return [tile for hand in table.hands for tile in hand] + table.boneyard


class Recorder:
    """Writes a game down while it is played.

    Args:
        table: A table before its first action; play on it through :meth:`play` only.
        players: Names by seat.

    Raises:
        ValueError: The table has been played on, or there is not a name for each seat.
    """

    def __init__(self, table: Table, players: Sequence[str]) -> None:
        rules = table.rules
        if table.round or table.events:
            raise ValueError("table has been played on, but a record begins with the first action.")
        if isinstance(players, str) or len(players) != rules.players:
            raise ValueError(choice("players", players, f"{rules.players} names"))
        self.table = table
        fresh = Table(rules, seed=table.seed, game=table.game)
        seeded = (dealt(fresh), fresh.leader) == (dealt(table), table.leader)
        self._head: Record = {
            "format": FORMAT,
            "rules": rules.to_dict(),
            "fingerprint": rules.fingerprint,
            "seed": table.seed if seeded else None,
            "game": table.game,
            "forced": table.forced,
            "episode": table.episode,
            "players": [str(name) for name in players],
            "start": table.scores,
        }
        self._rounds: list[Record] = []
        self._forfeits: list[list[Any]] = []
        self._begin_round()

    def _begin_round(self) -> None:
        begun = {"deal": dealt(self.table), "leader": self.table.leader}
        self._rounds.append(begun | {"actions": [], "scores": []})

    def play(self, action: int, forfeit: str | None = None) -> list[Event]:
        """Do an action at the table and write it down; what happened.

        Args:
            action: As :meth:`Table.play` takes it.
            forfeit: How the player forfeited this decision, if it did.

        Raises:
            IllegalAction: The action is not legal now; nothing has changed.
        """
        table, number = self.table, self.table.round
        events = table.play(action)
        if forfeit is not None:
            self._forfeits.append([number, len(self._rounds[-1]["actions"]), forfeit])
        self._rounds[-1]["actions"].append(table.rules.action_name(action))
        if table.over or table.round != number:
            self._rounds[-1]["scores"] = table.scores
            if not table.over:
                self._begin_round()
        return events

    def record(self) -> Record:
        """The record of the game.

        Raises:
            ValueError: The game is not over.
        """
        if not self.table.over:
            raise ValueError("game is not over, but a record holds whole games only.")
        tail = {
            "rounds": self._rounds,
            "forfeits": self._forfeits,
            "scores": self.table.scores,
            "winners": self.table.winners,
        }
        return self._head | tail


def record_of(
    table: Table,
    actions: Sequence[int],
    players: Sequence[str],
    forfeits: Mapping[int, str] | None = None,
) -> Record:
    """The record of a game whose actions are known already.

    Args:
        table: The table before the first action; it is played to the end.
        actions: All actions of the game, through all rounds.
        players: Names by seat.
        forfeits: Kind of each action, by its index in ``actions``, that was forfeited.

    Raises:
        ValueError: An action is illegal, or the game is not over after the last.
    """
    recorder = Recorder(table, players)
    for k, action in enumerate(actions):
        recorder.play(action, (forfeits or {}).get(k))
    return recorder.record()


def play_record(
    players: Sequence[Any],
    rules: Any = None,
    *,
    seed: int | None = None,
    game: int = 0,
    seating: int = 0,
    **options: Any,
) -> Record:
    """Play one game and record it.

    Args:
        players: A player or its spec for each seat; what a spec started is closed at the end.
        rules: A preset's name, :class:`Rules` or a dict of options; except with ``Rules``, the
            number of seats is that of the players.
        seed: Seed of the deals and of the players' randomness; None takes one from the system.
        game: Number of the game of that seed.
        seating: Which seating of a match this is; it gives the players other random numbers. A
            round of :class:`~fives_env.arena.match.Match` with player A on side ``k`` is the round
            that is played here with ``seating=k`` and ``episode="round"``.
        **options: Anything else that :class:`Table` takes.

    Raises:
        ValueError: An unknown player or rule, or a player that answers with an illegal action.
    """
    if isinstance(players, str) or not isinstance(players, Sequence):
        raise ValueError(choice("players", players, "a sequence of players"))
    if not isinstance(rules, Rules):
        options["players"] = len(players)
    table = Table(rules, seed=seed, game=game, **options)
    if len(players) != table.rules.players:
        raise ValueError(choice("players", players, f"{table.rules.players} players"))
    seated = [make_player(player) for player in players]
    recorder = Recorder(table, [player.name for player in seated])
    seating = whole("seating", seating, 0, 2**56 - 1)
    numbers = np.uint64(table.seed), np.uint64(table.game), np.uint64(seating)
    key = players_key(*numbers)
    try:
        while table.turn is not None:
            player = seated[table.turn]
            before = dict(forfeits_of(player))
            action = ask_at(player, table, key)
            after = forfeits_of(player).items()
            kinds = [kind for kind, count in after if count > before.get(kind, 0)]
            recorder.play(action, kinds[0] if kinds else None)
    finally:
        for given, player in zip(players, seated, strict=True):
            if player is not given and hasattr(player, "close"):
                player.close()
    return recorder.record()


def to_line(record: Mapping[str, Any]) -> bytes:
    """The line of a record, checksum and line break included."""
    body = json.dumps(dict(record), separators=(",", ":"))[:-1].encode()
    return body + f',"crc":"{zlib.crc32(body):08x}"}}\n'.encode()


def from_line(line: bytes) -> Record:
    """The record of a line; it is complete and unchanged, but not yet replayed.

    Raises:
        ValueError: It is cut short, was changed, or is not a record of this format.
    """
    record = object_of(line)
    check(record)
    return record


def object_of(line: bytes) -> Record:
    """What :func:`to_line` wrote, whatever it is about.

    Raises:
        ValueError: It is cut short or was changed.
    """
    parts = _LINE.fullmatch(line)
    if parts is None:
        broken = "was changed" if line.endswith(b"\n") else "is cut short"
        raise ValueError(f"record {broken}: it does not end with a checksum.")
    body, crc = parts[1], parts[2].decode()
    found = f"{zlib.crc32(body):08x}"
    if crc != found:
        raise ValueError(f"record was changed: its checksum is {found}, not {crc}.")
    try:
        record: Record = json.loads(body + b"}")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"record is no JSON object: {error}.") from None
    return record


def check(record: Mapping[str, Any]) -> None:
    """Raise ValueError where a record has another format, or a key does not hold what it must."""
    if record.get("format") != FORMAT:
        raise ValueError(choice("format", record.get("format"), str(FORMAT)))
    wrong = [key for key, kind in _KEYS.items() if not isinstance(record.get(key, ...), kind)]
    for key, kind in _LISTS.items():
        each = record.get(key)
        if not isinstance(each, list) or not all(isinstance(one, kind) for one in each):
            wrong.append(key)
    if wrong:
        raise ValueError(f"record is not as fives_env.records has it: see {', '.join(wrong)}.")


def read(path: str | Path) -> Iterator[tuple[int, Record]]:
    """Line numbers, from 1, and records of a file, one at a time.

    Raises:
        OSError: The file cannot be read.
        ValueError: A line is broken; the sentence has its number.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                record = from_line(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            yield number, record


def append(path: str | Path, record: Mapping[str, Any]) -> None:
    """Add a game to a file, in one write; one process may do so at a time.

    What a process that was killed has left of a last line is taken away first. A last line that
    lacks nothing but its line break is kept.

    Raises:
        OSError: The file cannot be written.
    """
    line = to_line(record)
    with Path(path).open("a+b", buffering=0) as file:
        _heal(file)
        if file.write(line) != len(line):
            raise OSError(f"{path} took only a part of a game; is the disk full?")


def _heal(file: FileIO) -> None:
    """End a file with a whole line."""
    end = file.seek(0, 2)
    tail, back = b"", 0
    while back < end and b"\n" not in tail:
        back = min(end, back + (1 << 16))
        file.seek(end - back)
        tail = file.readall()
    rest = tail.rpartition(b"\n")[2]
    if _LINE.fullmatch(rest):
        file.write(b"\n")
    elif rest:
        file.truncate(end - len(rest))
