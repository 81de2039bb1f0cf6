"""Judging players: duplicate deals, and margins with honest intervals."""

from fives_env.arena.evaluate import Result, evaluate

__all__ = ["Result", "evaluate"]
