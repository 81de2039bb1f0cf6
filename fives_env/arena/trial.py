"""One decision of every player, before a tournament begins."""

from fives_env.arena.plan import Plan
from fives_env.players import make_player
from fives_env.players.ask import ask_at
from fives_env.rules import Rules
from fives_env.table import Table


def try_players(plan: Plan) -> None:
    """Try everybody who meets others, under all rules.

    Raises:
        ValueError: A player cannot be made, or gives no legal answer.
    """
    tried = {(plan.players[k], rules) for rules, who, _ in plan.meetings() for k in who}
    for player, rules in sorted(tried):
        _try(player, plan.rules[rules])


def _try(spec: str, rules: Rules) -> None:
    """Make a player, ask it for one decision, and close it."""
    player = make_player(spec)
    try:
        ask_at(player, Table(rules, seed=0), 0)
    finally:
        if hasattr(player, "close"):
            player.close()
