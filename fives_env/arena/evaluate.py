"""``evaluate``: the margin between two players, with an interval that can be trusted."""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from fives_env.arena.match import Blocks, Match
from fives_env.errors import whole
from fives_env.players import Player, make_player
from fives_env.rules import Rules


@dataclass(frozen=True)
class Result:
    """What a match between players A and B showed.

    Attributes:
        a: Name of player A.
        b: Name of player B.
        rules: The rules, as they print themselves.
        seed: Seed of the deals.
        margin: Own points less the mean of the other sides', per round, for player A.
        low: Lower end of the 95 % interval of ``margin`` (Student's t over blocks).
        high: Its upper end.
        pairs: Blocks: one deal with player A on each side in turn.
        rounds: Rounds played.
        win_share: Share of rounds that A ended ahead of the others' mean; a tie counts half.
        points_a: A's points a round.
        points_b: The mean of the other sides' points a round.
        blocked: Share of rounds that were blocked.
        forfeits_a: Decisions that A, an outside program, forfeited.
        forfeits_b: The same of B.
        seconds: Time that it took.
        rounds_per_s: Rounds a second.
    """

    a: str
    b: str
    rules: str
    seed: int
    margin: float
    low: float
    high: float
    pairs: int
    rounds: int
    win_share: float
    points_a: float
    points_b: float
    blocked: float
    forfeits_a: int
    forfeits_b: int
    seconds: float
    rounds_per_s: float

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)

    def __str__(self) -> str:
        """Margin and interval in one line."""
        return (
            f"{self.a} against {self.b}: margin {self.margin:+.2f} a round, "
            f"95 % interval {self.low:+.2f} to {self.high:+.2f}, {self.pairs} pairs"
        )


def evaluate(
    a: Any,
    b: Any,
    *,
    rules: Any = None,
    pairs: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int], Any] | None = None,
    **options: Any,
) -> Result:
    """Play duplicate deals, seats swapped, and judge by the margin per round.

    Each round starts from scores of 0. With more than two sides, A sits on each side in turn
    against B on all others; the block of one deal is the unit of the statistics.

    Args:
        a: A player, its spec, or a callable from :class:`~fives_env.players.Views` to actions.
        b: The other.
        rules: A preset's name, :class:`Rules` or a dict of options.
        pairs: Deals, at least 2.
        seed: Seed of the deals; the same seed gives the same deals to any players.
        threads: Threads for compiled players, from 1 (default: all cores); the result is the same.
        progress: Called with the number of pairs just played.
        **options: Any option of :class:`Rules`.

    Raises:
        ValueError: An unknown player or rule, or a player that answers with an illegal action.
    """
    rules = Rules.of(rules, **options)
    pairs = whole("pairs", pairs, 2, 10**9)
    seed = whole("seed", seed, 0, 2**63 - 1)
    threads = os.cpu_count() or 1 if threads is None else threads
    threads = whole("threads", threads, 1, 1024)
    players = make_player(a), make_player(b)
    forfeits = [_forfeits(player) for player in players]
    try:
        match = Match(*players, rules, seed, threads)
        began = time.perf_counter()
        parts = []
        for part in match.play(pairs):
            parts.append(part)
            if progress:
                progress(len(part.own))
        seconds = time.perf_counter() - began
    finally:
        for given, player in zip((a, b), players, strict=True):
            if player is not given and hasattr(player, "close"):
                player.close()
    blocks = Blocks(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return Result(
        a=players[0].name,
        b=players[1].name,
        rules=repr(rules),
        seed=seed,
        forfeits_a=_forfeits(players[0]) - forfeits[0],
        forfeits_b=_forfeits(players[1]) - forfeits[1],
        seconds=seconds,
        rounds_per_s=blocks.own.size / seconds,
        **_figures(blocks),
    )


def _forfeits(player: Player) -> int:
    return sum(getattr(player, "forfeits", {}).values())


def _figures(blocks: Blocks) -> dict[str, Any]:
    """What the scores of some blocks show, by the names of :class:`Result`."""
    margins = blocks.own - blocks.others
    by_block = margins.mean(1)
    n = len(by_block)
    mean = float(by_block.mean())
    half = float(stats.t.ppf(0.975, n - 1) * by_block.std(ddof=1) / np.sqrt(n))
    return {
        "margin": mean,
        "low": mean - half,
        "high": mean + half,
        "pairs": n,
        "rounds": margins.size,
        "win_share": float((margins > 0).mean() + (margins == 0).mean() / 2),
        "points_a": float(blocks.own.mean()),
        "points_b": float(blocks.others.mean()),
        "blocked": float(blocks.blocked.mean()),
    }
