"""An example of an outside player: it lays the tile with the most pips."""

import json
import sys


def answer(message):
    """The answer to one message."""
    if "hello" in message:
        return {"ready": True}

    def pips(action):
        tile = action.partition("@")[0]
        return sum(int(half) for half in tile.split("-")) if "@" in action else -1

    return {"id": message["id"], "action": max(message["legal"], key=pips)}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
