"""``exec:COMMAND``: a program in any language as a player.

It reads one JSON object a line from standard input and answers on standard output; what it writes
to standard error is shown as it is. First comes

    {"hello": {"version": 1, "rules": {...}}}

which it answers with ``{"ready": true}`` (any object will do) when it is set up. Then, each time
that it is to act,

    {"id": 12, "seat": 0, "view": {...}, "legal": ["6-4@0", "6-4@1"], "random": 0.7310}

where ``view`` is the table as that seat sees it (:mod:`fives_env.plain`; None for tiles face down),
``legal`` the actions by name, and ``random`` a number in [0, 1) that is the same whenever the match
is played again. It answers with the same ``id`` and one of the actions:

    {"id": 12, "action": "6-4@1"}

One program may sit on several seats of a table, and meets a deal again from the other side. It has
to decide by ``view`` alone.

A program that is late, crashes, or answers with something else forfeits that decision: a random
legal action is played and counted. It is started again after a crash; after ten forfeits running it
is asked no more. ``tests/bots/plain.py`` is an example.
"""

import contextlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.deal import below
from fives_env.errors import choice, real
from fives_env.plain import position
from fives_env.players.base import Views
from fives_env.rules import Rules

#: Seconds until a program must be ready, and until it must have answered.
START_LIMIT, MOVE_LIMIT = 10.0, 5.0
#: Forfeits running after which a program is asked no more.
PATIENCE = 10
#: Bytes that one answer may have.
LONGEST = 1 << 16
#: Name under which every process of a program carries its mark in its environment.
MARK = "FIVES_PROGRAM"


class Forfeit(Exception):
    """The program did not answer a decision as it must; the message is the kind of fault."""


class ProgramPlayer:
    """A program that plays over standard input and output.

    Args:
        command: Command line; it is split as a shell would, but no shell is started.
        start_limit: Seconds until it must be ready.
        move_limit: Seconds for one decision.

    Attributes:
        forfeits: Number of forfeited decisions by kind: ``late``, ``crash``, ``illegal``,
            ``unreadable``, ``given up``.
        faults: The first faults in words.

    Raises:
        ValueError: There is no such program, or a limit is not what it may be.
    """

    def __init__(
        self, command: str, start_limit: float = START_LIMIT, move_limit: float = MOVE_LIMIT
    ) -> None:
        self._pipe: _Pipe | None = None
        self.name = f"exec:{command}"
        self.forfeits: Counter[str] = Counter()
        self.faults: list[str] = []
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise ValueError(choice("player", self.name, f"a command line ({error})")) from None
        if not self._words:
            raise ValueError(choice("player", self.name, "a command line"))
        self._limits = real("start limit", start_limit, 0.01), real("move limit", move_limit, 0.01)
        self._running = 0
        self._id = 0

    def act(self, views: Views) -> NDArray[np.int64]:
        """One legal action for each view, asked one after the other."""
        return np.array([self._decide(views, k) for k in range(len(views.keys))], np.int64)

    def close(self) -> None:
        """End the program and all that it has started."""
        if self._pipe:
            self._pipe.close()
            self._pipe = None

    __del__ = close

    def _decide(self, views: Views, k: int) -> int:
        legal = np.flatnonzero(views.mask[k])
        try:
            if self._running >= PATIENCE:
                raise Forfeit("given up")
            action = self._ask(views, k, [views.rules.action_name(int(a)) for a in legal])
            self._running = 0
        except Forfeit as fault:
            kind = str(fault.args[0])
            self.forfeits[kind] += 1
            if len(self.faults) < PATIENCE:
                self.faults.append(": ".join(fault.args))
            self._running += 1
            action = int(legal[below(views.keys[k], 0, len(legal))])
        return action

    def _ask(self, views: Views, k: int, legal: list[str]) -> int:
        pipe = self._started(views.rules)
        self._id += 1
        question = {
            "id": self._id,
            "seat": int(views.records["viewer"][k]),
            "view": position(views.records[k : k + 1], views.rules),
            "legal": legal,
            "random": below(views.keys[k], 1, 1 << 30) / (1 << 30),
        }
        limit = time.monotonic() + self._limits[1]
        try:
            pipe.write(question, limit)
            while True:
                answer = pipe.read(limit)
                if "id" not in answer:
                    raise Forfeit("unreadable", f"{answer!r} has no id")
                if answer["id"] == self._id:
                    break  # others are answers to earlier questions that came too late
        except Forfeit as fault:
            if fault.args[0] == "crash":
                self.close()
            raise
        action = answer.get("action")
        if action not in legal:
            raise Forfeit("illegal", f"{repr(action)[:80]} is none of {', '.join(legal)}")
        return views.rules.action(str(action))

    def _started(self, rules: Rules) -> "_Pipe":
        if self._pipe is None:
            limit = time.monotonic() + self._limits[0]
            self._pipe = _Pipe(self._words)
            try:
                self._pipe.write({"hello": {"version": 1, "rules": rules.to_dict()}}, limit)
                self._pipe.read(limit)
            except Forfeit:
                self.close()
                raise
        return self._pipe


class _Pipe:
    """A running program, and lines to and from it that never wait beyond a limit."""

    def __init__(self, words: list[str]) -> None:
        self._mark = uuid.uuid4().hex
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, MARK: self._mark},
            )
        except (OSError, ValueError) as error:
            spec = "exec:" + shlex.join(words)
            raise ValueError(choice("player", spec, f"a program ({error})")) from None
        assert self._process.stdin and self._process.stdout
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._buffer = b""

    def _wait(self, descriptor: int, event: int, limit: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            if not selector.select(max(0.0, limit - time.monotonic())):
                raise Forfeit("late", "no answer in time")

    def write(self, message: dict[str, Any], limit: float) -> None:
        """Send one line."""
        rest = json.dumps(message).encode() + b"\n"
        while rest:
            self._wait(self._in, selectors.EVENT_WRITE, limit)
            try:
                rest = rest[os.write(self._in, rest) :]
            except BrokenPipeError:
                raise Forfeit("crash", "it has ended") from None

    def read(self, limit: float) -> dict[str, Any]:
        """The next line as an object."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > LONGEST:
                self._buffer = b""
                raise Forfeit("unreadable", f"a line of more than {LONGEST} bytes")
            self._wait(self._out, selectors.EVENT_READ, limit)
            more = os.read(self._out, LONGEST)
            if not more:
                raise Forfeit("crash", "it has ended")
            self._buffer += more
        if time.monotonic() > limit:
            raise Forfeit("late", "no answer in time")
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise Forfeit("unreadable", f"{line[:80]!r} is no JSON object")
        return answer

    def close(self) -> None:
        """Kill the program, its process group, and whatever still carries its mark."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        while left := _marked(self._mark):
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()


def _marked(mark: str) -> list[int]:
    """Processes whose environment carries a mark, where the system shows it (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
