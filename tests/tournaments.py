"""Plans of tournaments that take seconds, for tests."""

import json
from pathlib import Path

from fives_env.arena.plan import plan_of
from fives_env.cli import main

ROOT = Path(__file__).parent.parent
PLAYERS = ["random", "greedy", "tactician"]


def small(path, **settings):
    """A plan of a few seconds."""
    given = {"file": str(path), "players": PLAYERS, "blocks": 130, "games": 1} | settings
    return plan_of(given)


def plan_file(folder, **settings):
    """A plan of two players on disk, whose results come to ``r.jsonl`` beside it."""
    path = folder / "plan.yaml"
    given = {"file": str(folder / "r.jsonl"), "players": ["random", "greedy"], "blocks": 4}
    path.write_text(json.dumps(given | {"games": 0} | settings))
    return str(path)


def refused(capsys, *words):
    """What a command says when it refuses."""
    assert main([str(word) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fives: ") and said.endswith(".\n") and said.count("\n") == 1
    return said
