"""Judging players: duplicate deals, and margins with honest intervals."""

from fives_env.arena.evaluate import Result, evaluate
from fives_env.arena.sequential import Sprt

__all__ = ["Result", "Sprt", "evaluate"]
